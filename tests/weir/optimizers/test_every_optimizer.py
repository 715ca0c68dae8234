"""The contract of `weir.optimizers`: whatever the method, every answer holds and is explained."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.suites import effort
from tests.weir.answers import TOLERANCE, assert_feasible, minimum_fits
from tests.weir.kernel_strategies import (
    extreme_problem_dicts,
    problem_dicts,
    problems,
    shuffled,
    tight_problem_dicts,
)
from weir.codec import problem_from_dict, result_from_dict, result_to_json, result_to_record
from weir.codec.start import start_of
from weir.model import Problem, Result, Start
from weir.optimizers import certified, methods
from weir.stop import after_iterations

METHODS = sorted(methods())
QUICK: dict[str, dict[str, Any]] = {"annealing": {"steps": 2000}}
"""What makes a method quick that stopping after a few iterations does not."""

quick = settings(
    max_examples=effort(15, 100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
each = pytest.mark.parametrize("name", METHODS)


def solve(name: str, problem: Problem, *, seed: int = 1, start: Start | None = None) -> Result:
    module = methods()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return module.solve(
            problem,
            module.Params(**QUICK.get(name, {})),
            stop=after_iterations(12),
            seed=seed,
            start=start,
        )


@each
@quick
@given(problem=problems(least=0.0))
def test_every_answer_is_feasible_and_worth_what_it_says(name: str, problem: Problem) -> None:
    result = solve(name, problem)
    assert result.status in ("optimal", "solved", "not_converged", "time_limit")
    assert_feasible(problem, result)
    terms = [
        result.populations[c.id] * float(c.utility.value(result.rates[c.flow]))
        for c in problem.classes
    ]
    assert math.isclose(result.utility, math.fsum(terms), rel_tol=1e-9, abs_tol=1e-6)
    assert len(result.trace) == result.iterations
    if result.upper_bound is not None:
        assert result.utility <= result.upper_bound * (1 + TOLERANCE) + 1e-9
    assert all(price >= 0 for prices in result.node_prices.values() for price in prices.values())
    assert all(price >= 0 for price in result.link_prices.values())
    assert result_from_dict(result_to_record(result)) == result


@each
@quick
@given(problem=problems())
def test_infeasible_exactly_when_minimum_rates_do_not_fit(name: str, problem: Problem) -> None:
    result = solve(name, problem)
    assert (result.status == "infeasible") == (not minimum_fits(problem))
    if result.status == "infeasible":
        assert "cannot carry the minimum rates" in result.reason
        assert result.infeasibility is not None
        assert result.infeasibility.shortages
        assert {one.kind for one in result.infeasibility.relaxations} >= {"capacities", "all_rates"}
    else:
        assert result.infeasibility is None
        assert_feasible(problem, result)


@each
@quick
@given(entries=extreme_problem_dicts())
def test_extreme_numbers_stay_finite_and_feasible(name: str, entries: dict[str, Any]) -> None:
    problem = problem_from_dict(entries)
    result = solve(name, problem)
    assert_feasible(problem, result)
    result_to_json(result)  # refuses what is not finite


@each
@quick
@given(entries=tight_problem_dicts())
def test_exactly_tight_capacities_in_any_unit_are_met(name: str, entries: dict[str, Any]) -> None:
    problem = problem_from_dict(entries)
    result = solve(name, problem)
    assert result.status != "infeasible"
    assert_feasible(problem, result)
    best = certified.solve(problem, certified.Params(), stop=after_iterations(40), seed=0)
    assert best.upper_bound is not None
    assert result.utility <= best.upper_bound * (1 + TOLERANCE) + 1e-9


@each
@quick
@given(entries=problem_dicts(), order=st.integers(0, 2**32), seed=st.integers(0, 2**31))
def test_neither_repetition_nor_order_of_input_changes_a_bit(
    name: str, entries: dict[str, Any], order: int, seed: int
) -> None:
    result = solve(name, problem_from_dict(entries), seed=seed)
    other = problem_from_dict(shuffled(entries, random.Random(order)))
    assert result_to_json(solve(name, other, seed=seed)) == result_to_json(result)


starts = st.builds(
    Start,
    node_prices=st.dictionaries(
        st.sampled_from(["n0", "n1", "gone"]),
        st.dictionaries(st.sampled_from(["cpu", "io", "gone"]), st.floats(0, 1e30)),
    ),
    link_prices=st.dictionaries(st.sampled_from(["l0", "l1", "gone"]), st.floats(0, 1e30)),
    rates=st.dictionaries(st.sampled_from(["f0", "f1", "gone"]), st.floats(0, 1e30)),
    populations=st.dictionaries(st.sampled_from(["c0", "c1", "gone"]), st.integers(0, 2**53)),
)


@each
@quick
@given(problem=problems(least=0.0), start=starts)
def test_any_start_is_taken_and_no_start_breaks_an_answer(
    name: str, problem: Problem, start: Start
) -> None:
    assert_feasible(problem, solve(name, problem, start=start))
    again = solve(name, problem, start=start_of(solve(name, problem)))
    assert_feasible(problem, again)
