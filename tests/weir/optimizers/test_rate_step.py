"""The rate step against scipy: it must find the best rate at given prices and populations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from tests.weir.kernel_strategies import problems, utilities
from weir.allocation.arrays import to_arrays
from weir.codec import problem_from_dict
from weir.model import Problem
from weir.optimizers.lrgp.rate_step import RateStep

quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def profit(problem: Problem, flow: str, populations: list[int], price: float, rate: float) -> float:
    earned = sum(
        n * float(c.utility.value(rate))
        for n, c in zip(populations, sorted(problem.classes, key=lambda c: c.id), strict=True)
        if c.flow == flow
    )
    return earned - price * rate


@quick
@given(problems(least=1.0), st.data())
def test_no_other_rate_earns_more(problem: Problem, data: st.DataObject) -> None:
    arrays = to_arrays(problem)
    step = RateStep(arrays)
    populations = data.draw(
        st.lists(st.integers(0, 50), min_size=len(problem.classes), max_size=len(problem.classes))
    )
    prices = np.array([data.draw(st.floats(0, 1e3)) for _ in arrays.flow_ids])
    rates = step(step.weights(np.array(populations, dtype=float)), prices)
    for index, flow_id in enumerate(arrays.flow_ids):
        low, high = arrays.rate_min[index], arrays.rate_max[index]
        assert low <= rates[index] <= high
        ours = profit(problem, flow_id, populations, prices[index], rates[index])
        others = [low, high, *np.linspace(low, high, 7)]
        if high > low:
            optimum = minimize_scalar(
                lambda rate: -profit(problem, flow_id, populations, prices[index], rate),  # noqa: B023
                bounds=(low, high),
                method="bounded",
            )
            others.append(optimum.x)
        for rate in others:
            theirs = profit(problem, flow_id, populations, prices[index], rate)
            assert ours >= theirs - 1e-9 * (abs(theirs) + prices[index] * high + 1)


@quick
@given(st.lists(utilities, min_size=1, max_size=4), st.floats(0.01, 100), st.integers(1, 30))
def test_closed_form_agrees_with_bisection(
    shapes: list[dict], price: float, population: int
) -> None:
    """A second class that nobody is admitted to sends the same flow through the bisection."""
    for utility in shapes:
        rates = []
        for others in ([], [{"kind": "log", "weight": 1.0}, {"kind": "linear", "weight": 1.0}]):
            entries = {
                "resources": [],
                "nodes": [{"id": "n", "capacity": {}}],
                "links": [],
                "flows": [
                    {"id": "f", "rate_min": 1, "rate_max": 500, "node_costs": {}, "link_costs": {}}
                ],
                "classes": [
                    {
                        "id": f"c{index}",
                        "flow": "f",
                        "node": "n",
                        "population_max": population,
                        "costs": {},
                        "utility": entry,
                    }
                    for index, entry in enumerate([utility, *others])
                ],
            }
            step = RateStep(to_arrays(problem_from_dict(entries)))
            populations = np.array([population] + [0] * len(others), dtype=float)
            rates.append(float(step(step.weights(populations), np.array([price]))[0]))
        assert rates[0] == pytest.approx(rates[1], rel=1e-9)
