"""Proportional error correction: measured over predicted load, clamped and smoothed.

The paper scales all coefficients of a server by one ratio. So does `weir`: the factor of a broker
and resource multiplies the costs there, in snapshots for the optimizer and so for the rate
controller, which works on the same snapshot. (To scale the utilisation target instead is the same:
cost f A against capacity c, or A against c / f.)

Beyond the paper: the ratio is an exponential mean, clamped to [low, high]; a factor changes only
when the mean has moved by `step` since, so that each change is worth an entry in the audit; below
`least` of the capacity nothing is learned, as idle load and rounding are all that is seen there.

Cost: O(1). Reference: Bhola 2006, sections III.A and V.D. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from weir.errors import InvalidProblem
from weir.plugins import about, check_fields


class Clamped(StrEnum):
    """At which end the newest ratio was cut."""

    NO = ""
    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionParams:
    """How far and how fast factors move."""

    low: float = field(
        default=0.5,
        metadata=about(help="Smallest factor", min=0, max=1, exclusive=False),
    )
    high: float = field(default=2.0, metadata=about(help="Largest factor", min=1))
    smoothing: float = field(
        default=0.2,
        metadata=about(help="Weight of the newest ratio in the mean, up to 1", min=0, max=1),
    )
    step: float = field(
        default=0.02, metadata=about(help="Move of the mean that changes the factor", min=0)
    )
    least: float = field(
        default=0.05,
        metadata=about(help="Share of capacity below which nothing is learned", min=0, max=1),
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.low <= 0:
            raise InvalidProblem("low", "must be above 0: a factor of 0 would make work free")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Of one broker and resource. `factor` is what snapshots use."""

    ratio: float = 1.0
    """Smoothed measured / predicted, clamped."""
    factor: float = 1.0
    clamped: Clamped = Clamped.NO


def correct(
    now: Correction, *, measured: float, predicted: float, capacity: float, params: CorrectionParams
) -> Correction:
    """One step. `predicted` is the load by the model's own coefficients, without a factor."""
    if min(measured, predicted) < params.least * capacity or predicted <= 0 or capacity <= 0:
        return now
    seen = measured / predicted
    newest = min(max(seen, params.low), params.high)
    ratio = now.ratio + params.smoothing * (newest - now.ratio)
    ratio = min(max(ratio, params.low), params.high)  # the limits may have been moved inwards
    clamped = (
        Clamped.LOW if seen < params.low else Clamped.HIGH if seen > params.high else Clamped.NO
    )
    outside = not params.low <= now.factor <= params.high
    moved = outside or abs(ratio - now.factor) >= params.step * now.factor
    return Correction(ratio=ratio, factor=ratio if moved else now.factor, clamped=clamped)
