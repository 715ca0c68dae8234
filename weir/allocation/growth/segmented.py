"""Concave curves as few straight segments, within a stated error.

Between r_min and r_max each curve is replaced by chords through points of its own, so the chords
lie below it (concave) and meet it at every knot. The gap between a chord and its curve is
largest where the slopes agree; that is where a segment is split until

    0 <= U(r) - chord(r) <= error x (U(r_max) - U(r_min))   for every r in [r_min, r_max].

Points of a piecewise-linear curve are found exactly, because slopes agree at its corners.

Cost: about 1 / sqrt(8 error) segments for a smooth curve, all curves split together.

References:
    A. Siem, D. den Hertog, A. Hoffmann. A method for approximating univariate convex functions
    using only function value evaluations. INFORMS J. Computing 23(4), 2011 (sandwich methods).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.utility import FloatArray

MAX_SPLITS = 40
"""Rounds of splitting; a power with a small exponent near rate 0 may end here, less exact."""


def term_knots(arrays: Arrays, error: float) -> list[FloatArray]:
    """Return for each term the rates of its knots, rising from r_min to r_max of its flow."""
    curves = arrays.curves
    terms = np.arange(len(arrays.term_flow))
    low = arrays.rate_min[arrays.term_flow]
    high = arrays.rate_max[arrays.term_flow]
    knots: list[list[float]] = [[low[t], high[t]] if high[t] > low[t] else [low[t]] for t in terms]
    allowed = error * (curves.value(high) - curves.value(low))
    segment = np.flatnonzero(high > low)
    a, b = low[segment], high[segment]
    for _ in range(MAX_SPLITS):
        if not len(segment):
            break
        part = curves.take(segment)
        at_a, at_b = part.value(a), part.value(b)
        slope = (at_b - at_a) / (b - a)
        middle = np.clip(part.rate_at(slope), a, b)
        gap = part.value(middle) - (at_a + slope * (middle - a))
        split = (gap > allowed[segment]) & (middle > a) & (middle < b)
        for t, rate in zip(segment[split].tolist(), middle[split].tolist(), strict=True):
            knots[t].append(rate)
        segment = np.concatenate([segment[split], segment[split]])
        a, b = np.concatenate([a[split], middle[split]]), np.concatenate([middle[split], b[split]])
    return [np.unique(rates) for rates in knots]
