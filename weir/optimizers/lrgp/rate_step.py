"""The rate of each flow at given populations and prices (Algorithm 1, equation 7).

max over r of sum_j n_j U_j(r) - r P: where one shape of utility serves all classes of a flow
the answer is a closed form, else the root of the falling marginal worth is bisected.
A linear utility has no inner optimum: its rate jumps between the bounds as the price passes
the weight; a piecewise one jumps between its points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.segments import summed

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.utility import FloatArray

RATE_TOLERANCE = 1e-14
MAX_BISECTIONS = 200
SMALLEST_RATE = 1e-100
"""Smaller ones are 0: their products with costs would lose all digits."""

STEEPEST = 1e300
"""Stands for an infinite slope, so that 0 consumers times it is 0."""


class RateStep:
    """Prepared once per problem; called once per iteration."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        flows = len(arrays.flow_ids)
        terms_of_flow = np.bincount(arrays.term_flow, minlength=flows)
        self._single = np.flatnonzero(terms_of_flow[arrays.term_flow] == 1)
        self._single_curves = arrays.curves.take(self._single)
        mixed_terms = np.flatnonzero(terms_of_flow[arrays.term_flow] > 1)
        self._mixed_terms = mixed_terms
        self._mixed_curves = arrays.curves.take(mixed_terms)
        self._mixed_flows, self._mixed_at = np.unique(
            arrays.term_flow[mixed_terms], return_inverse=True
        )

    def weights(self, populations: FloatArray) -> FloatArray:
        """Return the admitted consumers times scale, per term."""
        arrays = self._arrays
        return summed(arrays.class_term, populations * arrays.class_scale, len(arrays.term_flow))

    def __call__(self, weights: FloatArray, price: FloatArray) -> FloatArray:
        """Return the rates at these term weights and this price per message of each flow."""
        arrays = self._arrays
        rates = arrays.rate_min.copy()
        flows = arrays.term_flow[self._single]
        weight = weights[self._single]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            marginal = np.where(weight > 0, price[flows] / weight, np.inf)
        found = self._single_curves.rate_at(marginal)
        rates[flows] = np.where(weight > 0, found, rates[flows])
        if len(self._mixed_flows):
            rates[self._mixed_flows] = self._bisect(weights[self._mixed_terms], price)
        rates = np.clip(rates, arrays.rate_min, arrays.rate_max)
        return np.where(rates < SMALLEST_RATE, arrays.rate_min, rates)

    def _bisect(self, weights: FloatArray, price: FloatArray) -> FloatArray:
        """Return the smallest rate beyond which a message gains no more than its price."""
        flows = self._mixed_flows
        low, high = self._arrays.rate_min[flows], self._arrays.rate_max[flows]
        cost = price[flows]
        at_low = self._gain(low, weights) > cost
        at_high = self._gain(high, weights) > cost
        low = np.where(at_high, high, low)
        high = np.where(at_low, high, low)
        for _ in range(MAX_BISECTIONS):
            if np.all(high - low <= RATE_TOLERANCE * high):
                break
            middle = 0.5 * (low + high)
            rising = self._gain(middle, weights) > cost
            low = np.where(rising, middle, low)
            high = np.where(rising, high, middle)
        return high

    def _gain(self, rates: FloatArray, weights: FloatArray) -> FloatArray:
        slopes = np.minimum(self._mixed_curves.derivative(rates[self._mixed_at]), STEEPEST)
        with np.errstate(over="ignore"):
            return summed(self._mixed_at, weights * slopes, len(self._mixed_flows))
