"""Any concave worth, drawn as a line through points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from weir.errors import InvalidProblem
from weir.plugins import about, check_fields
from weir.reading import number, shown
from weir.utility._curves import Curves, Knots, evaluate, slope_at
from weir.utility._form import Family, Form

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from weir.utility._arrays import FloatArray

SLOPE_TOLERANCE = 1e-9
"""Relative rise of a slope that still counts as concave: decimal points are rounded."""

ROUNDING = 1e-12
"""Rounding of a utility, relative to it, that does not count as a rise of the slope."""

MAX_POINTS = 10_000


def point_numbers(points: object) -> Knots:
    """The points as pairs of numbers. Raises InvalidProblem where they are something else."""
    if not isinstance(points, list | tuple):
        raise InvalidProblem("points", f"must be a list of [rate, utility], not {shown(points)}")
    if not points:
        raise InvalidProblem("points", "is empty; give at least one [rate, utility]")
    if len(points) > MAX_POINTS:
        raise InvalidProblem("points", f"at most {MAX_POINTS:,} points; thin them out")
    knots: list[tuple[float, float]] = []
    for index, point in enumerate(points):
        path = f"points[{index}]"
        if not isinstance(point, list | tuple) or len(point) != 2:
            raise InvalidProblem(path, f"must be [rate, utility], not {shown(point)}")
        knots.append((number(point[0], f"{path}[0]"), number(point[1], f"{path}[1]")))
    return tuple(knots)


def point_faults(knots: Knots) -> Iterator[InvalidProblem]:
    """Everything that keeps the points from being an increasing concave curve, in order.

    A fault of a rate ends at that rate (`points[2][0]`); without one the line can be drawn.
    """
    steepness = math.inf
    for index, (rate, utility) in enumerate(knots):
        path = f"points[{index}]"
        if rate < 0:
            yield InvalidProblem(f"{path}[0]", "a rate must be at least 0")
        if not index:
            continue
        before_rate, before_utility = knots[index - 1]
        if rate <= before_rate:
            yield InvalidProblem(
                f"{path}[0]", f"rates must increase, but {rate:g} follows {before_rate:g}"
            )
            continue  # there is no slope to judge
        if utility < before_utility:
            yield InvalidProblem(
                f"{path}[1]",
                f"utility must not decrease, but {utility:g} follows {before_utility:g}",
            )
        slope = (utility - before_utility) / (rate - before_rate)
        noise = ROUNDING * max(abs(utility), abs(before_utility)) / (rate - before_rate)
        if slope > steepness * (1 + SLOPE_TOLERANCE) + noise:
            yield InvalidProblem(
                path,
                f"the curve must be concave, but slope {slope:g} follows {steepness:g}; "
                "remove the point before or lower this one",
            )
            steepness = slope
        steepness = min(slope, steepness)


def _checked_points(points: object) -> Knots:
    knots = point_numbers(points)
    for fault in point_faults(knots):
        raise fault
    return knots


@dataclass(frozen=True, slots=True, kw_only=True)
class Piecewise:
    """Linear between points, flat after the last, along the first segment before the first."""

    KIND: ClassVar[str] = "piecewise"
    TITLE: ClassVar[str] = "Piecewise linear"
    SUMMARY: ClassVar[str] = "A concave line through points, flat after the last one."

    points: Knots = field(
        metadata=about(
            help="[rate, utility] pairs: rates increase, utility never falls, slopes never rise",
            unit="[1/s, utility]",
            type="points",
        )
    )

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "points", _checked_points(self.points))

    def value(self, rate: npt.ArrayLike) -> FloatArray:
        return evaluate(self.points, rate)

    def derivative(self, rate: npt.ArrayLike) -> FloatArray:
        return slope_at(self.points, rate)

    @property
    def scale(self) -> float:
        return 1.0

    @property
    def shape(self) -> Piecewise:
        return self

    @property
    def form(self) -> Form:
        return Form(family=Family.KNOTS, knots=self.points)

    @classmethod
    def batch(cls, members: Sequence[Piecewise]) -> Curves:
        return Curves([member.points for member in members])
