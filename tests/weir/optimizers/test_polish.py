"""Polishing: never worse, always feasible, exact on tiny problems."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.suites import effort
from tests.weir.kernel_strategies import extreme_problem_dicts, problems
from tests.weir.optimizers.exhaustive import brute_force
from tests.weir.optimizers.tiny_instances import tiny_problem
from weir.allocation.arrays import Arrays, to_arrays
from weir.allocation.feasibility import why_infeasible
from weir.codec import problem_from_dict
from weir.model import Problem
from weir.optimizers import certified, lrgp
from weir.optimizers.certified.polish import Polished, is_feasible, polished
from weir.stop import never

quick = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The search among numbers that differ by forty orders of magnitude takes a second each.
slow = settings(quick, max_examples=effort(10, 100))
EXACT = 2e-9
"""What branch and bound leaves open (1e-9), and as much for the rounding of the oracle."""

TINY = [seed for seed in range(60) if not why_infeasible(to_arrays(tiny_problem(seed)))]


def after(questions: int) -> Callable[[], bool]:
    count = itertools.count(1)
    return lambda: next(count) > questions


def from_nothing(arrays: Arrays, *, questions: int, seed: int = 0) -> Polished:
    """Polish the allocation that admits nobody, without any prices."""
    return polished(
        arrays,
        arrays.rate_min,
        np.zeros(len(arrays.class_ids)),
        node_prices=np.zeros_like(arrays.node_capacity),
        link_prices=np.zeros_like(arrays.link_capacity),
        upper_bound=None,
        stop=after(questions),
        seed=seed,
    )


def from_lrgp(problem: Problem, *, questions: int) -> tuple[Arrays, float, Polished]:
    """Polish what LRGP finds in 25 iterations; its utility and ours."""
    arrays = to_arrays(problem)
    solution = lrgp.solve(problem, lrgp.Params(max_iterations=25), stop=never, seed=0)
    rates = np.array([solution.rates[name] for name in arrays.flow_ids])
    populations = np.array([float(solution.populations[name]) for name in arrays.class_ids])
    prices = [[solution.node_prices[b][k] for k in arrays.resources] for b in arrays.node_ids]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = polished(
            arrays,
            rates,
            populations,
            node_prices=np.array(prices).reshape(arrays.node_capacity.shape),
            link_prices=np.array([solution.link_prices[name] for name in arrays.link_ids]),
            upper_bound=None,
            stop=after(questions),
            seed=0,
        )
    return arrays, arrays.utility(rates, populations), better


def check(arrays: Arrays, before: float, better: Polished) -> None:
    assert better.utility >= before
    assert is_feasible(arrays, better.rates, better.populations)
    assert np.array_equal(better.populations, np.floor(better.populations))
    again = arrays.utility(better.rates, better.populations)
    assert math.isclose(better.utility, again, rel_tol=1e-12, abs_tol=1e-12)
    if better.upper_bound is not None:
        assert better.upper_bound >= better.utility * (1 - 1e-12)


@quick
@given(problems(least=0.0))
def test_never_worse_and_always_feasible(problem: Problem) -> None:
    check(*from_lrgp(problem, questions=30))


@slow
@given(extreme_problem_dicts())
def test_extreme_numbers_stay_feasible(entries: dict) -> None:
    check(*from_lrgp(problem_from_dict(entries), questions=20))


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6, 1e12])
def test_the_unit_of_work_changes_nothing(unit: float) -> None:
    entries = {
        "resources": ["cpu", "io"],
        "nodes": [{"id": "n", "capacity": {"cpu": 900 * unit, "io": 700 / unit}}],
        "links": [{"id": "l", "capacity": 60 * unit}],
        "flows": [
            {
                "id": f"f{i}",
                "rate_min": 1,
                "rate_max": 500,
                "node_costs": {"n": {"cpu": 3 * unit}},
                "link_costs": {"l": unit},
            }
            for i in range(2)
        ],
        "classes": [
            {
                "id": f"c{i}",
                "flow": f"f{i}",
                "node": "n",
                "population_max": 5,
                "costs": {"cpu": 7 * unit, "io": 2 / unit},
                "utility": {"kind": "log", "weight": 1 + i},
            }
            for i in range(2)
        ],
    }
    problem = problem_from_dict(entries)
    better = from_nothing(to_arrays(problem), questions=400)
    assert better.utility == pytest.approx(brute_force(problem), rel=EXACT)


@pytest.mark.parametrize("seed", TINY)
def test_tiny_lumpy_problems_are_solved_exactly_from_nothing(seed: int) -> None:
    problem = tiny_problem(seed)
    best = brute_force(problem)
    better = from_nothing(to_arrays(problem), questions=2000)
    assert better.utility <= best * (1 + EXACT)
    assert better.utility >= best * (1 - EXACT)
    assert better.upper_bound is not None
    assert best <= better.upper_bound * (1 + EXACT)


@pytest.mark.parametrize("seed", TINY[:25])
def test_certified_is_exact_on_tiny_lumpy_problems(seed: int) -> None:
    problem = tiny_problem(seed)
    best = brute_force(problem)
    result = certified.solve(problem, certified.Params(), stop=never, seed=0)
    assert result.utility == pytest.approx(best, rel=EXACT)
    assert result.upper_bound is not None
    assert result.upper_bound >= best * (1 - EXACT)
    assert result.status == "optimal"


def test_nothing_is_touched_when_told_to_stop_at_once() -> None:
    arrays = to_arrays(tiny_problem(1))
    better = from_nothing(arrays, questions=0)
    assert np.array_equal(better.rates, arrays.rate_min)
    assert not better.populations.any()
    assert better.rounds == 0


@pytest.mark.parametrize("questions", [1, 2, 5, 20])
def test_every_interruption_leaves_a_feasible_answer(questions: int) -> None:
    arrays = to_arrays(tiny_problem(3, flows=4, classes=30, population=50))
    better = from_nothing(arrays, questions=questions)
    check(arrays, 0.0, better)


def test_same_seed_gives_the_same_bits() -> None:
    arrays = to_arrays(tiny_problem(3, flows=4, classes=30, population=50))
    one, two = (from_nothing(arrays, questions=150, seed=5) for _ in range(2))
    assert np.array_equal(one.rates, two.rates)
    assert np.array_equal(one.populations, two.populations)
    assert (one.utility, one.rounds) == (two.utility, two.rounds)


def test_rates_held_at_one_value_leave_a_knapsack() -> None:
    """One node of 100: consumers of 30, 20 and 10 units worth 3.2, 2 and 0.9 a piece."""
    problem = problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "n", "capacity": {"cpu": 100}}],
            "links": [],
            "flows": [
                {"id": "f", "rate_min": 1, "rate_max": 1, "node_costs": {}, "link_costs": {}}
            ],
            "classes": [
                {
                    "id": name,
                    "flow": "f",
                    "node": "n",
                    "population_max": most,
                    "costs": {"cpu": cost},
                    "utility": {"kind": "linear", "weight": weight},
                }
                for name, cost, weight, most in (
                    ("large", 30, 3.2, 9),
                    ("middle", 20, 2.0, 2),
                    ("small", 10, 0.9, 2),
                )
            ],
        }
    )
    better = from_nothing(to_arrays(problem), questions=100)
    assert dict(zip(to_arrays(problem).class_ids, better.populations, strict=True)) == {
        "large": 3,
        "middle": 0,
        "small": 1,
    }
    assert better.utility == pytest.approx(10.5)
