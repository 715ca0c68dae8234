"""What every LRGP answer must satisfy, on random problems with odd corners."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import warnings

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.suites import effort
from tests.weir.answers import assert_feasible, minimum_fits
from tests.weir.kernel_strategies import extreme_problem_dicts, problem_dicts, problems, shuffled
from weir.codec import problem_from_dict, result_from_dict, result_to_json, result_to_record
from weir.model import Problem, Result
from weir.optimizers import lrgp
from weir.stop import never

quick = settings(
    max_examples=effort(25, 200), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
PARAMS = lrgp.Params(max_iterations=25)


def solve(problem: Problem) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return lrgp.solve(problem, PARAMS, stop=never, seed=1)


@quick
@given(problems(least=0.0))
def test_every_answer_is_feasible(problem: Problem) -> None:
    result = solve(problem)
    assert result.status in ("solved", "not_converged")
    assert_feasible(problem, result)


@quick
@given(problems())
def test_infeasible_exactly_when_minimum_rates_do_not_fit(problem: Problem) -> None:
    result = solve(problem)
    assert (result.status == "infeasible") == (not minimum_fits(problem))
    if result.status == "infeasible":
        assert "cannot carry the minimum rates" in result.reason
    else:
        assert_feasible(problem, result)


@quick
@given(problems(least=0.0))
def test_utility_is_that_of_rates_and_populations(problem: Problem) -> None:
    result = solve(problem)
    terms = [
        result.populations[c.id] * float(c.utility.value(result.rates[c.flow]))
        for c in problem.classes
    ]
    assert math.isclose(result.utility, math.fsum(terms), rel_tol=1e-9, abs_tol=1e-6)
    assert result.utility >= max(result.trace)
    assert result.iterations == len(result.trace)


@quick
@given(problems())
def test_every_number_is_finite_and_survives_json(problem: Problem) -> None:
    result = solve(problem)
    published = json.loads(result_to_json(result))  # refuses NaN when written
    again = result_from_dict(published)
    assert again.rates == result.rates
    assert again.populations == result.populations
    assert result_from_dict(result_to_record(result)) == result
    assert all(price >= 0 for prices in result.node_prices.values() for price in prices.values())
    assert all(price >= 0 for price in result.link_prices.values())


@quick
@given(extreme_problem_dicts())
def test_extreme_numbers_stay_finite_and_feasible(entries: dict) -> None:
    problem = problem_from_dict(entries)
    result = solve(problem)
    assert_feasible(problem, result)
    result_to_json(result)


@quick
@given(problem_dicts(), st.integers(0, 2**32))
def test_input_order_changes_no_bit(entries: dict, seed: int) -> None:
    result = solve(problem_from_dict(entries))
    other = solve(problem_from_dict(shuffled(entries, random.Random(seed))))
    assert result_to_json(result) == result_to_json(other)
    assert result.problem_hash == other.problem_hash


@quick
@given(problems())
def test_same_input_gives_same_bits(problem: Problem) -> None:
    assert solve(problem) == solve(problem)


@quick
@given(problems(least=0.0))
def test_result_names_every_entry(problem: Problem) -> None:
    result = solve(problem)
    assert set(result.rates) == {flow.id for flow in problem.flows}
    assert set(result.populations) == {consumers.id for consumers in problem.classes}
    assert set(result.link_prices) == {link.id for link in problem.links}
    assert {node: set(prices) for node, prices in result.node_prices.items()} == {
        node.id: set(problem.resources) for node in problem.nodes
    }
    assert dataclasses.is_dataclass(result)
