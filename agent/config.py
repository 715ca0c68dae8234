"""Read the agent's options: from the command line, then from `WEIR_AGENT_*`, then defaults."""

from __future__ import annotations

import argparse
import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agent.drivers.nats.multicast import MulticastOptions
from agent.drivers.nats.server_config import BrokerSecrets
from agent.fleet import FleetOptions
from agent.memory import DEFAULT_MIB
from weir_client.multicast import GroupAddresses

PREFIX = "WEIR_AGENT_"


class ConfigError(Exception):
    """Signal that an option is missing or wrong; the text names it and says what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Hold the options of one agent."""

    control_plane: str
    credential: str
    broker: str
    """The URL at which this agent reaches its broker."""
    address: str
    """The address at which the neighbours' agents should reach the broker; empty when not given."""
    state_dir: Path
    secrets: BrokerSecrets | None
    """None when the broker does not ask this agent whom to admit; then nobody enforces limits."""
    admission_lease_s: float
    report_every_s: float
    ca_file: Path | None
    memory_limit_mib: int
    broker_ca_file: Path | None
    multicast: MulticastOptions | None
    """None: streams are sent by NATS alone."""
    """Whether reliable flows of the map are kept on streams."""


SCHEMES = ("nats", "tls")
"""The schemes that a broker's URL may have; each has a driver in `agent.__main__`."""

_HELP = {
    "control_plane": "URL of the Weir installation, such as https://weir.example.org",
    "credential_file": "file that holds the agent's credential, as given when it was enrolled",
    "broker": "URL of the broker beside this agent, such as nats://127.0.0.1:4222",
    "state_dir": "directory for what must survive a restart; one per agent",
    "secrets_file": "the broker's secrets as JSON (docs/agent.md); without it the broker "
    "admits everybody",
    "address": "URL under which the neighbours' agents should reach the broker; only compared with "
    "the address that was fixed when the agent was enrolled",
    "ca_file": "certificates (PEM) to verify the control plane by, instead of the system's",
    "broker_ca_file": "certificates (PEM) to verify tls:// brokers by, this one and the "
    "neighbours', instead of the system's",
    "admission_lease_s": "seconds until an admitted consumer has to be admitted anew; 0: never "
    "(default 3600)",
    "report_every_s": "seconds between two reports (default 1)",
    "memory_limit_mib": "MiB of messages that may wait in the agent; more wait at the broker or, "
    f"best effort, are shed and counted (default {DEFAULT_MIB})",
    "multicast": "range of IPv4 multicast addresses for the groups of this broker alone, such as "
    "239.192.0.0/16; without it streams are sent by NATS alone",
    "multicast_port": "UDP port of these groups (default 7424)",
    "multicast_interface": "IPv4 address of the interface to send them from (default: where the "
    "route goes)",
    "multicast_hops": "networks that a datagram may enter; 1: this one alone (default 1)",
    "plain_http": "1: allow http:// to another machine, which sends the credential unencrypted",
}


_FLEET_HELP = {
    "control_plane": _HELP["control_plane"],
    "credentials": "directory with one file per broker, <broker>.credential (manage.py "
    "enrol_agents writes it)",
    "state_dir": "directory for what must survive a restart; a folder per agent is made in it",
    "seed": "whole number that seeds the traffic of publishers and consumers (default 1)",
    "speed": "how much faster than real time the simulated brokers run (default 1)",
    "offered_per_s": "messages per second of a flow's publisher, on average (default 20)",
    "crowd": "consumers that ask to be admitted to a class, on average (default 8)",
    "report_every_s": "seconds between two reports of an agent (default 5)",
    "ca_file": _HELP["ca_file"],
    "plain_http": _HELP["plain_http"],
}


_SWITCHES = frozenset({"plain_http"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    _add(parser, _HELP)


def add_fleet_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `fleet`."""
    _add(parser, _FLEET_HELP)


def _add(parser: argparse.ArgumentParser, known: Mapping[str, str]) -> None:
    for name, text in known.items():
        flag = "--" + name.replace("_", "-")
        given = f"{text} [{PREFIX}{name.upper()}]"
        if name in _SWITCHES:
            parser.add_argument(flag, action="store_const", const="1", help=given)
        else:
            parser.add_argument(flag, help=given)


class _Given:
    """Read options one by one, from the command line or else from the environment."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        environment: Mapping[str, str],
        known: Mapping[str, str],
    ) -> None:
        self._arguments = arguments
        self._environment = environment
        self._known = known

    def get(self, name: str) -> str | None:
        value = getattr(self._arguments, name) or self._environment.get(PREFIX + name.upper())
        return str(value) if value else None

    def need(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag} (or {PREFIX}{name.upper()}) is missing: {self._known[name]}")
        return value

    def control_plane(self) -> str:
        return control_plane_url(self.need("control_plane"), plain_http=self.get("plain_http"))

    def ca_file(self, name: str = "ca_file") -> Path | None:
        text = self.get(name)
        if text is None:
            return None
        flag = name.replace("_", "-")
        if not Path(text).is_file():
            raise ConfigError(f"--{flag}: {text} is not a file")
        try:
            ssl.create_default_context(cafile=text)
        except OSError as error:
            raise ConfigError(f"--{flag}: {text} holds no certificates: {error}") from error
        return Path(text)

    def number(self, name: str, default: str, *, least: float) -> float:
        return amount(self.get(name) or default, name.replace("_", "-"), least=least)

    def whole(self, name: str, default: str, *, least: int, most: int | None = None) -> int:
        text = self.get(name) or default
        try:
            value = int(text)
        except ValueError as error:
            flag = name.replace("_", "-")
            raise ConfigError(f"--{flag}: {text!r} is not a whole number") from error
        if value < least:
            raise ConfigError(f"--{name.replace('_', '-')}: must be at least {least}, not {value}")
        if most is not None and value > most:
            raise ConfigError(f"--{name.replace('_', '-')}: must be at most {most}, not {value}")
        return value


def options(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Options:
    """Return the options of `run`. Raises ConfigError."""
    given = _Given(arguments, environment, _HELP)
    control_plane = given.control_plane()
    broker = _broker_url(given.need("broker"), "broker")
    secrets_file = given.get("secrets_file")
    return Options(
        control_plane=control_plane,
        credential=credential(Path(given.need("credential_file"))),
        broker=broker,
        address=_address(given.get("address")),
        state_dir=Path(given.need("state_dir")),
        secrets=None if secrets_file is None else _secrets(Path(secrets_file)),
        admission_lease_s=_lease(given.get("admission_lease_s") or "3600"),
        report_every_s=given.number("report_every_s", "1", least=0.1),
        ca_file=given.ca_file(),
        memory_limit_mib=given.whole("memory_limit_mib", str(DEFAULT_MIB), least=16),
        broker_ca_file=given.ca_file("broker_ca_file"),
        multicast=_multicast(given),
    )


def fleet_options(arguments: argparse.Namespace, environment: Mapping[str, str]) -> FleetOptions:
    """Return the options of `fleet`. Raises ConfigError."""
    given = _Given(arguments, environment, _FLEET_HELP)
    directory = Path(given.need("credentials"))
    files = sorted(directory.glob("*.credential"))
    if not files:
        raise ConfigError(f"--credentials: {directory} holds no file <broker>.credential")
    return FleetOptions(
        control_plane=given.control_plane(),
        credentials={path.stem: credential(path) for path in files},
        state_dir=Path(given.need("state_dir")),
        seed=given.whole("seed", "1", least=0),
        speed=given.number("speed", "1", least=0.01),
        offered_per_s=given.number("offered_per_s", "20", least=0.0),
        crowd=given.whole("crowd", "8", least=1),
        report_every_s=given.number("report_every_s", "5", least=0.1),
        ca_file=given.ca_file(),
    )


def control_plane_url(text: str, *, plain_http: str | None) -> str:
    """Return a usable base URL. Raises ConfigError, also where a credential would travel
    unencrypted."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"--control-plane: {text!r} is not an http(s):// URL")
    if parts.scheme == "http" and not _loopback(parts.hostname) and plain_http != "1":
        raise ConfigError(
            f"--control-plane: {text} would send the credential unencrypted to another "
            f"machine; use "
            "https://, or --plain-http where you trust the network between"
        )
    return text.rstrip("/")


def credential(path: Path) -> str:
    """Return the secret in a file. Raises ConfigError."""
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--credential-file: {error}") from error
    if not text or not text.isprintable() or " " in text:
        raise ConfigError(f"--credential-file: {path} does not hold one credential")
    return text


def amount(text: str, name: str, *, least: float) -> float:
    """Return the number that an option gives. Raises ConfigError."""
    try:
        value = float(text)
    except ValueError as error:
        raise ConfigError(f"--{name}: {text!r} is not a number") from error
    if not least <= value < 1e9:
        raise ConfigError(f"--{name}: must be at least {least:g}, not {text}")
    return value


def _lease(text: str) -> float:
    value = amount(text, "admission-lease-s", least=0.0)
    if 0 < value < 30:
        raise ConfigError("--admission-lease-s: must be 0 or at least 30 s")
    return value


def _multicast(given: _Given) -> MulticastOptions | None:
    network = given.get("multicast")
    if network is None:
        for name in ("multicast_port", "multicast_interface", "multicast_hops"):
            if given.get(name) is not None:
                flag = name.replace("_", "-")
                raise ConfigError(f"--{flag}: says nothing without --multicast, which is missing")
        return None
    port = given.whole("multicast_port", "7424", least=1, most=65_535)
    hops = given.whole("multicast_hops", "1", least=0, most=255)
    try:
        addresses = GroupAddresses(ipaddress.IPv4Network(network), port)
    except ValueError as error:
        raise ConfigError(f"--multicast: {error}") from error
    if addresses.network.num_addresses < 2:
        raise ConfigError(f"--multicast: {network} has no address for a group beside its first one")
    return MulticastOptions(
        addresses=addresses, interface=_interface(given.get("multicast_interface")), hops=hops
    )


def _interface(text: str | None) -> str:
    if text is None:
        return ""
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError as error:
        raise ConfigError(
            f"--multicast-interface: {text!r} is not the IPv4 address of an interface"
        ) from error
    if address.is_multicast or address.is_unspecified:
        raise ConfigError(f"--multicast-interface: {text} is no address that an interface can have")
    return text


def _secrets(path: Path) -> BrokerSecrets:
    try:
        return BrokerSecrets.load(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--secrets-file: {error}") from error


def _broker_url(text: str, name: str) -> str:
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in SCHEMES or not parts.hostname or port == -1:
        raise ConfigError(f"--{name}: {text!r} is not a nats://host:port URL")
    return text


def _address(text: str | None) -> str:
    if text is None:
        return ""
    if "@" in urlsplit(_broker_url(text, "address")).netloc:
        raise ConfigError("--address: holds a user or a password; neighbours need neither")
    return text


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
