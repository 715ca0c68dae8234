"""Read the files that describe the traffic: publishers, consumers and brokers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class BadTraffic(ValueError):
    """Signal that a file lacks an entry or has a wrong one; the message names both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTraffic:
    """Describe the publisher of one flow."""

    name: str
    broker: str
    reliable: bool
    rate_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTraffic:
    """Describe the consumers of one class, each of which asks for admission."""

    name: str
    flow: str
    broker: str
    reliable: bool
    consumers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Say where the brokers are and with which key clients connect."""

    brokers: dict[str, str]
    publisher: str
    client_key: str


def read_traffic(path: Path) -> tuple[list[FlowTraffic], list[ClassTraffic]]:
    """Read the publishers and consumers. Raises BadTraffic."""
    plain = _object(path)
    flows = [
        FlowTraffic(
            name=name,
            broker=_entry(path, f"flows.{name}", row, "broker", str),
            reliable=_entry(path, f"flows.{name}", row, "delivery", str) == "reliable",
            rate_per_s=float(_entry(path, f"flows.{name}", row, "rate_per_s", (int, float))),
        )
        for name, row in _entry(path, "", plain, "flows", dict).items()
    ]
    classes = [
        ClassTraffic(
            name=name,
            flow=_entry(path, f"classes.{name}", row, "flow", str),
            broker=_entry(path, f"classes.{name}", row, "broker", str),
            reliable=_entry(path, f"classes.{name}", row, "delivery", str) == "reliable",
            consumers=_entry(path, f"classes.{name}", row, "consumers", int),
        )
        for name, row in _entry(path, "", plain, "classes", dict).items()
    ]
    return flows, classes


def read_access(path: Path) -> Access:
    """Read the addresses of brokers and the client key. Raises BadTraffic."""
    plain = _object(path)
    return Access(
        brokers=_entry(path, "", plain, "brokers", dict),
        publisher=_entry(path, "", plain, "publisher", str),
        client_key=_entry(path, "", plain, "client_key", str),
    )


def _object(path: Path) -> dict[str, Any]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadTraffic(f"{path}: {error}") from error
    if not isinstance(plain, dict):
        raise BadTraffic(f"{path}: must hold an object")
    return plain


def _entry(path: Path, where: str, row: Any, name: str, kind: Any) -> Any:
    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadTraffic(f"{path}: {where + '.' if where else ''}{name} is missing or malformed")
    return value
