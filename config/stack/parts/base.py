"""Describe what the launcher needs to know about a part."""

import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from urllib.parse import urlsplit

from config.stack.proc import StopSteps
from config.stack.site import ROOT, Site

CHECK_TIMEOUT_S = 2.0
SETTLED_S = 2.0


@dataclass(frozen=True, slots=True)
class Command:
    """Name a program, and what its process does between fork and exec."""

    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    before_exec: Callable[[], None] | None = None
    user: int | None = None
    directory: Path = ROOT


def _nothing(site: Site) -> None:
    return None


def _never(site: Site) -> bool:
    return False


def _no_address(site: Site) -> dict[str, str]:
    return {}


class Layer(IntEnum):
    """Order the parts: they start layer by layer and stop in the opposite order."""

    STORE = 0
    """Our tables and our queue, which `migrate` needs."""
    SERVER = 1
    """Servers that our processes use but can start without."""
    OWN = 2
    """Our code, on our database."""
    FLEET = 3
    """Our code beside the brokers, which must be enrolled with the layer below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Describe one supervised server or process."""

    name: str
    layer: Layer
    command: Callable[[Site], Command]
    ready: Callable[[Site], str | None]
    """A function that returns None when the part answers, else what is wrong. It works on the
    user's own server, too."""
    advice: str
    """What to do when it does not start."""
    needs: tuple[str, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    """Port name -> preferred number; the first identifies the part."""
    address: Callable[[Site], dict[str, str]] = _no_address
    """The variables by which others find it, when it runs in the stack."""
    replaced_by: str | None = None
    """The variable that names the user's own server instead."""
    prepare: Callable[[Site], None] = _nothing
    stop: StopSteps = ((signal.SIGTERM, 5.0),)
    start_timeout_s: float = 60.0
    group: str | None = None
    """The group of parts that `up` and `down` print in one line."""
    outdated: Callable[[Site], bool] = _never
    """A function that returns whether its configuration differs from what it would be started with
    now."""

    @property
    def stop_s(self) -> float:
        return sum(grace for _, grace in self.stop)


def host_and_port(url: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or default_port


def connect(url: str, default_port: int) -> socket.socket:
    return socket.create_connection(host_and_port(url, default_port), timeout=CHECK_TIMEOUT_S)


def settled(site: Site, part: str) -> str | None:
    """Check a part that answers nobody, but ends at once when something is wrong."""
    if site.process(part) is None:
        return "not running"
    started = float(site.record(part).get("started_unix", 0.0))
    return None if time.time() - started >= SETTLED_S else "started a moment ago"
