"""Read what agents measured at the brokers of a placement that is in force.

An agent measures anew whenever the part of the bucket or the list of publishers of its broker is
set, so that what it reports is of what is in force and of nothing before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone

from apps.placements.domain.sentences import not_measured
from apps.systems.models import System
from apps.telemetry.selectors import latest_samples
from apps.telemetry.selectors.silence import silences
from weir.model.placement import MeasuredDelays, Objectives, Percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Hold what agents measure at the brokers of a placement in force."""

    delays: Mapping[str, MeasuredDelays] = field(default_factory=dict)
    """By broker; those are left out that report nothing, or are silent."""
    because: str = ""
    """Why this is too little to place again, in a sentence; empty: it is enough."""


def profile_of(
    system: System, flow: str, brokers: Iterable[str], objectives: Objectives
) -> Profile:
    """Return what is measured of the flow at these brokers, which serve it."""
    silent = {row.broker for row in silences(system, timezone.now()) if row.seconds > 0}
    samples = {
        row.broker.name: row.payload["flows"].get(flow, {})
        for row in latest_samples(system)
        # What contradicts itself says nothing of delays either.
        if row.broker.name not in silent and "suspect" not in row.payload
    }
    read = {name: _delays(samples[name]) for name in sorted(brokers) if name in samples}
    delays = {name: row for name, row in read.items() if row is not None}
    if any(row.is_enough(objectives) for row in delays.values()):
        return Profile(delays=delays)
    most = max(delays, key=lambda name: delays[name].messages, default=None)
    because = not_measured(
        flow,
        silent=[name for name in sorted(brokers) if name not in samples],
        unmeasured=[name for name, row in read.items() if row is None],
        most=None if most is None else (most, delays[most].messages, delays[most].seconds),
    )
    return Profile(delays=delays, because=because)


def _delays(row: Mapping[str, Any]) -> MeasuredDelays | None:
    """Return what one sample says of the flow; None where nothing was measured yet."""
    delay = _percentile(row, "profile_p99")
    processing = _percentile(row, "profile_own_p99")
    messages, seconds = int(row.get("profile_messages", 0)), float(row.get("profile_s", 0.0))
    if delay is None or processing is None or messages < 1 or seconds <= 0:
        return None
    measured = MeasuredDelays(
        messages=messages, seconds=seconds, delay=delay, processing=processing
    )
    mean_s, mean_low_s = row.get("profile_mean_s"), row.get("profile_mean_low_s")
    if mean_s is None or mean_low_s is None:
        return measured  # of an agent that knows no interval of it
    return replace(
        measured,
        mean_s=mean_s,
        mean_low_s=mean_low_s,
        mean_high_s=row.get("profile_mean_high_s"),
    )


def _percentile(row: Mapping[str, Any], name: str) -> Percentile | None:
    value_s, low_s = row.get(f"{name}_s"), row.get(f"{name}_low_s")
    if value_s is None or low_s is None:
        return None
    return Percentile(value_s=value_s, low_s=low_s, high_s=row.get(f"{name}_high_s"))
