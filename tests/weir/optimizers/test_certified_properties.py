"""What every certified answer must satisfy, on random problems with odd corners."""

from __future__ import annotations

import json
import math
import random
import warnings
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.weir.kernel_strategies import extreme_problem_dicts, problem_dicts, problems, shuffled
from weir.codec import problem_from_dict, result_from_dict, result_to_json, result_to_record
from weir.model import Problem, Result, Start, loads
from weir.optimizers import certified
from weir.stop import never

TOLERANCE = 1e-9
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PARAMS = certified.Params(max_iterations=12, exact_rounds=4, polish_steps=2)


def solve(problem: Problem, start: Start | None = None) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return certified.solve(problem, PARAMS, stop=never, seed=1, start=start)


def assert_feasible(problem: Problem, result: Result) -> None:
    for flow in problem.flows:
        assert flow.rate_min <= result.rates[flow.id] <= flow.rate_max
    for consumers in problem.classes:
        assert 0 <= result.populations[consumers.id] <= consumers.population_max
        assert isinstance(result.populations[consumers.id], int)
    node_loads, link_loads = loads(problem, result.rates, result.populations)
    for node in problem.nodes:
        for resource in problem.resources:
            capacity = node.capacity[resource]
            assert node_loads[node.id][resource] <= capacity * (1 + TOLERANCE)
    for link in problem.links:
        assert link_loads[link.id] <= link.capacity * (1 + TOLERANCE)


@quick
@given(problems(least=0.0))
def test_every_answer_is_feasible_and_below_its_bound(problem: Problem) -> None:
    result = solve(problem)
    assert result.status in ("optimal", "solved", "time_limit")
    assert_feasible(problem, result)
    assert result.upper_bound is not None
    assert result.utility <= result.upper_bound


@quick
@given(problems())
def test_infeasible_exactly_when_minimum_rates_do_not_fit(problem: Problem) -> None:
    result = solve(problem)
    node_loads, link_loads = loads(problem, {f.id: f.rate_min for f in problem.flows}, {})
    fits = all(
        load <= node.capacity[resource] * (1 + TOLERANCE)
        for node in problem.nodes
        for resource, load in node_loads[node.id].items()
    ) and all(link_loads[link.id] <= link.capacity * (1 + TOLERANCE) for link in problem.links)
    assert (result.status == "infeasible") == (not fits)
    if fits:
        assert_feasible(problem, result)
    else:
        assert result.infeasibility is not None


@quick
@given(problems(least=0.0))
def test_utility_is_that_of_rates_and_populations(problem: Problem) -> None:
    result = solve(problem)
    terms = [
        result.populations[c.id] * float(c.utility.value(result.rates[c.flow]))
        for c in problem.classes
    ]
    assert math.isclose(result.utility, math.fsum(terms), rel_tol=1e-9, abs_tol=1e-6)
    assert result.iterations == len(result.trace) == len(result.bounds)
    assert result.utility >= max(result.trace)
    assert list(result.trace) == sorted(result.trace)
    assert list(result.bounds) == sorted(result.bounds, reverse=True)


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
    assert result.bounds == other.bounds


@quick
@given(problems())
def test_every_number_is_finite_and_survives_json(problem: Problem) -> None:
    result = solve(problem)
    published = json.loads(result_to_json(result))  # refuses NaN when written
    assert result_from_dict(published).rates == result.rates
    assert result_from_dict(result_to_record(result)) == result
    assert all(price >= 0 for prices in result.node_prices.values() for price in prices.values())
    assert all(price >= 0 for price in result.link_prices.values())


def greatest_utility(problem: Problem) -> float:
    """Every whole population of tiny problems against a fine grid of rates: from below."""
    classes, flows = problem.classes, problem.flows
    best = 0.0
    grids = [
        [f.rate_min + (f.rate_max - f.rate_min) * step / 12 for step in range(13)] for f in flows
    ]

    def try_rates(rates: dict[str, float], rest: list[list[float]]) -> None:
        if rest:
            for rate in rest[0]:
                try_rates({**rates, flows[len(flows) - len(rest)].id: rate}, rest[1:])
            return
        try_populations(rates, {}, 0)

    def try_populations(rates: dict[str, float], chosen: dict[str, int], at: int) -> None:
        nonlocal best
        node_loads, link_loads = loads(problem, rates, chosen)
        for node in problem.nodes:
            if any(node_loads[node.id][k] > node.capacity[k] for k in problem.resources):
                return
        if any(link_loads[link.id] > link.capacity for link in problem.links):
            return
        if at == len(classes):
            worth = [chosen[c.id] * float(c.utility.value(rates[c.flow])) for c in classes]
            best = max(best, math.fsum(worth))
            return
        for count in range(classes[at].population_max + 1):
            try_populations(rates, {**chosen, classes[at].id: count}, at + 1)

    try_rates({}, grids)
    return best


@st.composite
def tiny_problems(draw: st.DrawFn) -> Problem:
    entries = draw(problem_dicts(least=0.0))
    entries["flows"] = entries["flows"][:2]
    known = {flow["id"] for flow in entries["flows"]}
    entries["classes"] = [c for c in entries["classes"] if c["flow"] in known][:3]
    for consumers in entries["classes"]:
        consumers["population_max"] = draw(st.integers(0, 3))
    return problem_from_dict(entries)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tiny_problems())
def test_no_allocation_found_by_brute_force_exceeds_the_bound(problem: Problem) -> None:
    result = solve(problem)
    assert result.upper_bound is not None
    assert greatest_utility(problem) <= result.upper_bound * (1 + 1e-12) + 1e-300


@quick
@given(problems(least=0.0), st.floats(0, 1e6), st.integers(0, 50))
def test_a_start_changes_neither_feasibility_nor_the_bound_s_truth(
    problem: Problem, price: float, population: int
) -> None:
    start = Start(
        node_prices={node.id: dict.fromkeys(problem.resources, price) for node in problem.nodes},
        link_prices={link.id: price for link in problem.links} | {"unknown": 1.0},
        populations={c.id: population for c in problem.classes},
    )
    cold, warm = solve(problem), solve(problem, start)
    assert_feasible(problem, warm)
    assert warm.upper_bound is not None
    assert warm.upper_bound >= cold.utility * (1 - 1e-8)


@pytest.mark.parametrize("threads", [2, 5])
def test_number_of_threads_changes_no_bit(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.weir.optimizers.certified_instances import random_problem

    # The package's own `solve` is the function.
    method = import_module("weir.optimizers.certified.solve")
    monkeypatch.setattr(method, "LARGE_CLASSES", 1)
    problem = random_problem(flows=1000, links=10, seed=5)
    one, more = (
        certified.solve(
            problem,
            certified.Params(max_iterations=4, polish_steps=0, threads=count),
            stop=never,
            seed=0,
        )
        for count in (1, threads)
    )
    assert one == more
