"""Read what agents measured of flows in the window that decides."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Func, JSONField, Value

from apps.adaptation.domain.times import ENOUGH_S
from apps.systems.models import System
from apps.telemetry.models import Sample
from weir.placement.adaptation import Interval

AHEAD = timedelta(seconds=60)
"""What clocks of web hosts, which say when samples came, may be ahead of this one. Samples of later
were written before a clock was set back."""


GAP_S = 3.0
"""Seconds without a sample after which those before it count no more, nor the first that follows:
an agent that was away, or stood still, then reads all that has gathered."""


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
"""Broker -> its looks, oldest first; those whose agents sent none, or too few since they sent none,
are not there."""


class Measurements:
    """Hold what agents measured in a window, read once for all flows that are looked at."""

    def __init__(self, rows: Iterable[tuple[Any, ...]], reliable: Collection[str]) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        for broker, *row in rows:
            self._rows.setdefault(broker, []).append(tuple(row))
        self._reliable = reliable

    def of(self, flow: str, *, window_s: float, now: datetime) -> History:
        """Return what was measured of the flow in its window, at most as long as was read."""
        since = now - timedelta(seconds=window_s)
        history: History = {}
        reliable = flow in self._reliable
        for broker, rows in self._rows.items():
            looks: list[Look] = []
            seconds, later, has_gap = 0.0, None, False
            # By arrival, the newest first: what was measured before a clock was set back would
            # else seem to be the newest.
            for at, flows, interval_s, suspect in rows:
                if at < since or seconds >= window_s:
                    continue
                history.setdefault(broker, looks)
                if later is not None and (later - at).total_seconds() > GAP_S:
                    # What had gathered meanwhile came all at once.
                    has_gap, looks = True, looks[:-1]
                    break
                later = at
                if float(interval_s or 1.0) > GAP_S:
                    has_gap = True
                    break
                # An entry that is missing had rate 0; one without the rate was not measured.
                entry = (flows or {}).get(flow) or {"offered_per_s": 0.0}
                if suspect is None and entry.get("offered_per_s") is not None:
                    look = _look(at, entry, float(interval_s or 1.0), reliable=reliable)
                    seconds += look.seconds
                    looks.append(look)
            looks.reverse()
            if broker in history:
                history[broker] = looks
            if has_gap and sum(look.seconds for look in looks) < min(ENOUGH_S, window_s):
                del history[broker]
        return history


def measurements(
    system: System,
    flows: Collection[str],
    *,
    brokers: Collection[str],
    window_s: float,
    now: datetime,
    reliable: Collection[str],
) -> Measurements:
    """Return what these brokers measured of the flows in the window; one query."""
    # Of one flow alone the others are not read.
    entries = (
        Func(
            *(part for flow in flows for part in (Value(flow), _member("flows", flow))),
            function="jsonb_build_object",
            output_field=JSONField(),
        )
        if len(flows) == 1
        else _member("flows")
    )
    rows = (
        Sample.objects.filter(
            broker__system=system,
            broker__name__in=list(brokers),
            at__gte=now - timedelta(seconds=window_s),
            at__lte=now + AHEAD,
        )
        .annotate(entries=entries, seconds=_member("interval_s"), suspect=_member("suspect"))
        .order_by("-id")
    )
    columns = ("broker__name", "at", "entries", "seconds", "suspect")
    return Measurements(rows.values_list(*columns).iterator(), reliable)


def _look(at: datetime, entry: dict[str, Any], seconds: float, *, reliable: bool) -> Look:
    peak = entry.get("work_peak")
    waiting = entry.get("work_waiting")
    if waiting is None:
        # Agents of before only say what is in the broker; of a reliable flow that holds messages
        # that have passed and are not purged yet.
        waiting = 0 if reliable and peak is None else entry.get("backlog")
    waiting = float(waiting or 0)
    return Look(
        at=at,
        seconds=seconds,
        offered_per_s=float(entry["offered_per_s"]),
        passed_per_s=float(entry.get("passed_per_s") or 0.0),
        waiting=waiting,
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
