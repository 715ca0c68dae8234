"""Read what agents measured at the brokers of a placement that is in force.

An agent measures anew whenever the part of the bucket or the list of publishers of its broker is
set, so that what it reports is of what is in force and of nothing before.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone

from apps.executions.models import Setting
from apps.placements.domain.sentences import not_measured, parts_move
from apps.systems.models import System
from apps.telemetry.selectors import latest_samples
from apps.telemetry.selectors.silence import silences
from weir.actions.set_bucket import KIND as BUCKET
from weir.model.placement import MeasuredDelays, Objectives, Percentile

LEAST_S, LONGEST_S, MOST_PER_S = 1e-3, 1e9, 1e9
"""What can be true: the time and delays in seconds, and the rate of messages. Beyond that an agent
reports nonsense, and nothing is taken of it."""

NEARLY_ALIKE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Hold what agents measure at the brokers of a placement in force."""

    delays: Mapping[str, MeasuredDelays] = field(default_factory=dict)
    """By broker; those are left out that report nothing, or are silent."""
    because: str = ""
    """Why this is too little to place again, in a sentence; empty: it is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartInForce:
    """Hold what a broker enforces of a topic: that is what its profile must be of."""

    rate_per_s: float
    size: float
    publishers: int | None
    """How many its list names; None: it has none."""


def profile_of(
    system: System, flow: str, parts: Mapping[str, PartInForce], objectives: Objectives
) -> Profile:
    """Return what is measured of the flow at the brokers that serve it, each with its part."""
    silent = {row.broker for row in silences(system, timezone.now()) if row.seconds > 0}
    samples = {
        row.broker.name: row.payload["flows"].get(flow, {})
        for row in latest_samples(system)
        # What contradicts itself says nothing of delays either.
        if row.broker.name not in silent and "suspect" not in row.payload
    }
    read = {
        name: _delays(samples[name], part)
        for name, part in sorted(parts.items())
        if name in samples
    }
    delays = {name: row for name, row in read.items() if row is not None}
    if any(row.is_enough(objectives) for row in delays.values()):
        return Profile(delays=delays)
    moved = Setting.objects.filter(
        system=system, kind=BUCKET, target__flow=flow, controlled__isnull=False
    )
    if moved.exists():
        return Profile(delays=delays, because=parts_move(flow))
    most = max(delays, key=lambda name: delays[name].messages, default=None)
    because = not_measured(
        flow,
        silent=[name for name in sorted(parts) if name not in samples],
        unmeasured=[name for name, row in read.items() if row is None],
        most=None if most is None else (most, delays[most].messages, delays[most].seconds),
    )
    return Profile(delays=delays, because=because)


def _delays(row: Mapping[str, Any], part: PartInForce) -> MeasuredDelays | None:
    """Return what one sample says of the flow; None where nothing was measured yet, or the sample
    is of a part that was in force before."""
    delay = _percentile(row, "profile_p99")
    processing = _percentile(row, "profile_own_p99")
    messages, seconds = int(row.get("profile_messages", 0)), float(row.get("profile_s", 0.0))
    if delay is None or processing is None or not _is_of(row, part):
        return None
    if not (1 <= messages <= MOST_PER_S * seconds and LEAST_S <= seconds <= LONGEST_S):
        return None
    measured = MeasuredDelays(
        messages=messages, seconds=seconds, delay=delay, processing=processing
    )
    mean_s, mean_low_s = row.get("profile_mean_s"), row.get("profile_mean_low_s")
    if mean_s is None or mean_low_s is None or not mean_low_s <= mean_s <= LONGEST_S:
        return measured  # of an agent that knows no interval of it
    mean_high_s = row.get("profile_mean_high_s")
    is_bounded = mean_high_s is not None and mean_s <= mean_high_s <= LONGEST_S
    return replace(
        measured,
        mean_s=mean_s,
        mean_low_s=mean_low_s,
        mean_high_s=mean_high_s if is_bounded else None,
    )


def _is_of(row: Mapping[str, Any], part: PartInForce) -> bool:
    """Return whether the sample is of this part and a list of that length. Agents say so because
    what they report may be older than what they have just shown to be in force."""
    return (
        math.isclose(row.get("profile_rate_per_s", 0.0), part.rate_per_s, rel_tol=NEARLY_ALIKE)
        and math.isclose(row.get("profile_size", -1.0), part.size, rel_tol=NEARLY_ALIKE)
        and row.get("profile_publishers") == part.publishers
    )


def _percentile(row: Mapping[str, Any], name: str) -> Percentile | None:
    value_s, low_s = row.get(f"{name}_s"), row.get(f"{name}_low_s")
    if value_s is None or low_s is None or not low_s <= value_s <= LONGEST_S:
        return None
    high_s = row.get(f"{name}_high_s")
    is_bounded = high_s is not None and value_s <= high_s <= LONGEST_S
    return Percentile(value_s=value_s, low_s=low_s, high_s=high_s if is_bounded else None)
