"""Sum what agents measured over the last seconds over a system's brokers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.systems.models import System
from apps.telemetry.models import Sample

Payload = Mapping[str, Any]
"""What one sample of an agent says; see `Sample.payload`."""

WINDOW_S = 5.0
"""The time of the means: one second of a slow flow says little about its rate."""

LEAST_GROWTH = 20
"""The messages by which an outbox must have grown in the window to count as growing."""

GROWTH_SHARE = 0.1
"""The share of the messages sent over the link by which it must have grown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Hold means over the window; rates in msg/s. Only brokers that reported in it are counted."""

    offered: Mapping[str, float]
    passed: Mapping[str, float]
    shed: Mapping[str, float]
    backlog: Mapping[str, int]
    """The latest backlog of each link, in messages."""
    admitted: Mapping[str, int]
    """The latest number of admitted consumers, by class."""
    brokers: frozenset[str]
    growing: frozenset[tuple[str, str]]
    """The pairs (broker, neighbour) whose outbox fills faster than the neighbour reads it."""


def measured(system: System, *, window_s: float = WINDOW_S) -> Measured:
    """Return the measurements in one query; empty where no agent reported lately."""
    since = timezone.now() - timedelta(seconds=window_s)
    by_broker: dict[str, list[Payload]] = defaultdict(list)
    rows = Sample.objects.filter(broker__system=system, at__gte=since).order_by("at", "id")
    for broker, payload in rows.values_list("broker__name", "payload"):
        by_broker[broker].append(payload)
    rates: dict[str, dict[str, float]] = {
        name: defaultdict(float) for name in ("offered_per_s", "passed_per_s", "shed_per_s")
    }
    backlog: dict[str, int] = defaultdict(int)
    admitted: dict[str, int] = defaultdict(int)
    growing: set[tuple[str, str]] = set()
    for broker, payloads in by_broker.items():
        for name, total in rates.items():
            for flow, mean in means(payloads, "flows", name).items():
                total[flow] += mean
        latest = payloads[-1]
        for flow, row in latest.get("flows", {}).items():
            backlog[flow] += int(row.get("backlog") or 0)
        for consumers, row in latest.get("classes", {}).items():
            admitted[consumers] += int(row.get("admitted") or 0)
        growing |= {(broker, neighbour) for neighbour in _growing(payloads)}
    return Measured(
        offered=dict(rates["offered_per_s"]),
        passed=dict(rates["passed_per_s"]),
        shed=dict(rates["shed_per_s"]),
        backlog=dict(backlog),
        admitted=dict(admitted),
        brokers=frozenset(by_broker),
        growing=frozenset(growing),
    )


def means(payloads: Iterable[Payload], table: str, name: str) -> dict[str, float]:
    """Return the mean of a rate per entry of samples, weighted by how long each measured.

    An entry that a sample lacks had rate 0; one without the rate was not measured meanwhile, and
    suspect samples are left out.
    """
    total: dict[str, float] = defaultdict(float)
    unmeasured_s: dict[str, float] = defaultdict(float)
    seconds = 0.0
    for payload in payloads:
        if "suspect" in payload:
            continue
        interval_s = float(payload.get("interval_s") or 1.0)
        seconds += interval_s
        for key, row in (payload.get(table) or {}).items():
            rate = row.get(name)
            if rate is None:
                unmeasured_s[key] += interval_s
            else:
                total[key] += float(rate) * interval_s
    return {
        key: amount / (seconds - unmeasured_s[key])
        for key, amount in total.items()
        if seconds > unmeasured_s[key]
    }


def _growing(payloads: list[Payload]) -> set[str]:
    """Return the neighbours whose outbox grew from the first to the last sample, beyond chance."""
    first, last = (payload.get("links", {}) for payload in (payloads[0], payloads[-1]))
    seconds = sum(float(payload.get("interval_s") or 1.0) for payload in payloads[1:])
    neighbours = set()
    for neighbour, row in last.items():
        before = float(first.get(neighbour, {}).get("backlog") or 0.0)
        grown = float(row.get("backlog") or 0.0) - before
        sent = float(row.get("sent_per_s") or 0.0) * seconds
        if grown > max(LEAST_GROWTH, GROWTH_SHARE * sent):
            neighbours.add(neighbour)
    return neighbours
