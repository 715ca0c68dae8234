"""Find out which brokers are silent, for how long, and what they held when they were last heard."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.catalog.models import Topic
from apps.systems.models import System
from apps.telemetry.models import Agent, Sample
from apps.topology.models import Broker


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Describe how long one broker is silent whose agent connected at least once."""

    broker: str
    since: datetime
    """When its agent was last heard."""
    seconds: float
    """How long it has been silent; 0 while it holds its lease."""


def silences(system: System, now: datetime) -> list[Silence]:
    """Return every broker whose agent ever connected, by name; an agent that was revoked counts as
    silent."""
    rows = Agent.objects.filter(system=system, incarnation__gt=0).select_related("broker")
    result = []
    for row in rows.order_by("broker__name"):
        since = row.last_report_at or row.enrolled_at
        live = row.revoked_at is None and row.lease_until is not None and row.lease_until > now
        seconds = 0.0 if live else max(0.0, (now - since).total_seconds())
        result.append(Silence(broker=row.broker.name, since=since, seconds=seconds))
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Hold the messages that only this broker held, as measured last: at least these are lost with
    it.

    They may be more, since the broker went on after the measurement; and some may be saved, since
    messages count here that its neighbours have not seen settled.
    """

    broker: str
    at: datetime | None
    """When it was measured; None means never."""
    flows: Mapping[str, int]
    """Flow -> messages that waited before its gate."""
    links: Mapping[str, int]
    """Neighbour -> messages of any flow that waited for it."""
    unknown: tuple[str, ...]
    """Flows that enter here without any measurement."""

    @property
    def total(self) -> int:
        """Return the number of all known messages."""
        return sum(self.flows.values()) + sum(self.links.values())

    @property
    def sentence(self) -> str:
        """Return a sentence such as `At least 1,204 messages of customs were at b4 alone, measured
        10:03:12 UTC.`"""
        parts = [f"{n:,} of {flow}" for flow, n in sorted(self.flows.items()) if n]
        parts += [f"{n:,} on their way to {name}" for name, n in sorted(self.links.items()) if n]
        unknown = f" Nothing is known of {', '.join(self.unknown)}." if self.unknown else ""
        if self.at is None:
            return f"What {self.broker} held was never measured.{unknown}"
        when = f"measured {self.at:%Y-%m-%d %H:%M:%S} UTC"
        if not parts:
            return (
                f"{self.broker} alone held no message, {when}; later ones are not known.{unknown}"
            )
        listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        return f"{self.broker} alone held at least {listed}, {when}.{unknown}"

    def plain(self) -> dict[str, Any]:
        """Return the object as plain data for storing."""
        return {
            "at": None if self.at is None else self.at.isoformat(),
            "flows": dict(self.flows),
            "links": dict(self.links),
            "unknown": list(self.unknown),
        }


def held_last(broker: Broker) -> Held:
    """Return what the broker's newest sample says about messages that wait there."""
    sample = Sample.objects.filter(broker=broker).order_by("-at", "-id").first()
    sources = Topic.objects.filter(source=broker).order_by("name").values_list("name", flat=True)
    payload = {} if sample is None else sample.payload
    flows = _backlogs(payload.get("flows", {}))
    return Held(
        broker=broker.name,
        at=None if sample is None else sample.at,
        flows=flows,
        links=_backlogs(payload.get("links", {})),
        unknown=tuple(name for name in sources if name not in flows),
    )


def _backlogs(table: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    return {name: int(row["backlog"]) for name, row in table.items() if "backlog" in row}
