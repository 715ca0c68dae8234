"""Draw a utility function: sampled points, kinks, round trips, and its errors.

An editor asks on every key stroke, so a faulty function is part of the answer, not an error.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from apps.common.errors import FieldError
from weir.errors import InvalidProblem
from weir.utility import FloatArray, Knots, evaluate, slope_at, utility_from_dict
from weir.utility.latency import Latency
from weir.utility.piecewise import SLOPE_TOLERANCE, Piecewise, point_faults, point_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Hold one rate of the drawing. `marginal_utility` is None where the slope is infinite."""

    rate_per_s: float
    utility: float
    marginal_utility: float | None
    latency_s: float | None
    """The mean round trip, for targets on it; None for other kinds and at rate 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knot:
    """Hold a rate where the slope changes abruptly."""

    rate_per_s: float
    utility: float
    latency_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRange:
    """Hold the rates between which a request-response flow moves; outside no rate gains
    anything."""

    rate_min_per_s: float
    rate_max_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCurve:
    """Hold what the utility editor shows of a function; `points` is empty if nothing can be
    drawn."""

    points: tuple[CurvePoint, ...]
    knots: tuple[Knot, ...]
    concave: bool
    problems: tuple[FieldError, ...]
    derived: RateRange | None


def field_of(error: InvalidProblem) -> str:
    """Return the field of a utility function that the kernel refuses."""
    where = error.path.lstrip(".")
    return "kind" if where == "kind" else f"parameters.{where}" if where else "parameters"


def _field_error(error: InvalidProblem) -> FieldError:
    return FieldError(field=field_of(error), message=error.message)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rates(rate_min: float, rate_max: float, samples: int, knots: Knots) -> FloatArray:
    even = np.linspace(rate_min, rate_max, samples)
    inside = [rate for rate, _ in knots if rate_min <= rate <= rate_max]
    return np.unique(np.append(even, inside))


def _drawn(
    rates: FloatArray,
    values: FloatArray,
    slopes: FloatArray,
    waits: FloatArray | None,
) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(
            rate_per_s=float(rate),
            utility=float(values[i]),
            marginal_utility=_finite(float(slopes[i])),
            latency_s=None if waits is None else _finite(float(waits[i])),
        )
        for i, rate in enumerate(rates)
    )


def _of_faulty_points(
    parameters: dict[str, Any], window: tuple[float, float, int], problem: InvalidProblem
) -> DrawnCurve:
    """Draw a line through points even where it is not concave or falls."""
    nothing = DrawnCurve(
        points=(), knots=(), concave=False, problems=(_field_error(problem),), derived=None
    )
    try:
        knots = point_numbers(parameters.get("points"))
    except InvalidProblem:
        return nothing
    faults = tuple(_field_error(fault) for fault in point_faults(knots))
    rates_increase = all(a[0] < b[0] for a, b in pairwise(knots))
    if not faults or not rates_increase or knots[0][0] < 0:
        return DrawnCurve(
            points=(), knots=(), concave=False, problems=faults or nothing.problems, derived=None
        )
    rates = _rates(*window, knots)
    slopes = slope_at(knots, [rate for rate, _ in knots[:-1]])
    return DrawnCurve(
        points=_drawn(rates, evaluate(knots, rates), slope_at(knots, rates), None),
        knots=tuple(Knot(rate_per_s=r, utility=u, latency_s=None) for r, u in knots),
        concave=bool(np.all(np.diff(slopes) <= SLOPE_TOLERANCE * np.abs(slopes[:-1]))),
        problems=faults,
        derived=None,
    )


def _knots_of(utility: object) -> Knots:
    if isinstance(utility, Latency):
        return utility.knots
    return utility.points if isinstance(utility, Piecewise) else ()


def _latency(utility: object) -> Latency | None:
    return utility if isinstance(utility, Latency) else None


def rate_range(utility: object) -> RateRange | None:
    """Return the rates between which a latency target leaves a choice; None for other kinds."""
    if not isinstance(utility, Latency):
        return None
    return RateRange(rate_min_per_s=utility.rate_min_per_s, rate_max_per_s=utility.rate_max_per_s)


def curve_drawn(
    *,
    kind: str,
    parameters: dict[str, Any],
    rate_min: float,
    rate_max: float | None,
    samples: int,
) -> DrawnCurve:
    """Draw the function at `samples` even rates and at its kinks. Never raises for bad
    parameters.

    Without `rate_max` the drawing ends a little above the last kink, or at 1,000 msg/s.
    """
    try:
        utility = utility_from_dict({"kind": kind, **parameters}, "")
    except InvalidProblem as error:
        if kind == Piecewise.KIND:
            return _of_faulty_points(parameters, (rate_min, rate_max or 1000.0, samples), error)
        return DrawnCurve(
            points=(), knots=(), concave=False, problems=(_field_error(error),), derived=None
        )
    knots = _knots_of(utility)
    if rate_max is None:
        rate_max = max(rate_min + 1.0, 1.1 * knots[-1][0] if knots else 1000.0)
    rates = _rates(rate_min, rate_max, samples, knots)
    latency = _latency(utility)
    waits = None if latency is None else latency.response_s(rates)
    return DrawnCurve(
        points=_drawn(rates, utility.value(rates), utility.derivative(rates), waits),
        knots=tuple(
            Knot(
                rate_per_s=rate,
                utility=worth,
                latency_s=None if latency is None else float(latency.response_s(rate)),
            )
            for rate, worth in knots
        ),
        concave=True,  # the kernel's kinds guarantee it, and tests check them
        problems=(),
        derived=rate_range(utility),
    )
