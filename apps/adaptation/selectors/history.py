"""Read what agents measured of one flow in the window that decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Func, JSONField, Value

from apps.systems.models import System
from apps.telemetry.models import Sample
from weir.placement.adaptation import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Hold what one sample says of the flow at its broker."""

    at: datetime
    seconds: float
    offered_per_s: float
    passed_per_s: float
    waiting: float
    work_peak: float

    @property
    def interval(self) -> Interval:
        """Return it as the kernel reads it."""
        return Interval(
            seconds=self.seconds,
            arrived=self.offered_per_s * self.seconds,
            waiting=self.waiting,
            work_peak=self.work_peak,
        )


History = dict[str, list[Look]]
"""Broker -> its looks, oldest first; those whose agents sent none are not there."""


def history_of(system: System, flow: str, *, window_s: float, now: datetime) -> History:
    """Return what was measured in the window; one query, which reads no other flow."""
    rows = (
        Sample.objects.filter(
            broker__system=system, at__gte=now - timedelta(seconds=window_s), at__lte=now
        )
        .annotate(
            entry=_member("flows", flow), seconds=_member("interval_s"), suspect=_member("suspect")
        )
        .order_by("at", "id")
    )
    history: History = {}
    for broker, at, entry, seconds, suspect in rows.values_list(
        "broker__name", "at", "entry", "seconds", "suspect"
    ):
        looks = history.setdefault(broker, [])
        # An entry that is missing had rate 0; one without the rate was not measured.
        found = {"offered_per_s": 0.0} if entry is None else entry
        if suspect is None and found.get("offered_per_s") is not None:
            looks.append(_look(at, found, float(seconds or 1.0)))
    return history


def _look(at: datetime, entry: dict[str, Any], seconds: float) -> Look:
    # A backlog may hold messages that have passed and are not purged yet.
    waiting = float(entry.get("work_waiting", entry.get("backlog")) or 0)
    peak = entry.get("work_peak")
    return Look(
        at=at,
        seconds=seconds,
        offered_per_s=float(entry["offered_per_s"]),
        passed_per_s=float(entry.get("passed_per_s") or 0.0),
        waiting=waiting,
        # Agents of before only say what waits.
        work_peak=waiting if peak is None else float(peak),
    )


def _member(*path: str) -> Func:
    # A path of texts: a key transform would take a flow named 7 for the place in a list.
    return Func(
        F("payload"),
        *(Value(name) for name in path),
        function="jsonb_extract_path",
        output_field=JSONField(),
    )


def mean(looks: Sequence[Look], name: str) -> float | None:
    """Return the mean of a rate, weighted by how long each look measured; None without any."""
    seconds = sum(look.seconds for look in looks)
    if not seconds:
        return None
    total: float = sum(getattr(look, name) * look.seconds for look in looks)
    return total / seconds
