"""Why nothing fits and the smallest changes that help: sufficient, and none of them too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.weir.answers import TOLERANCE, minimum_fits
from tests.weir.kernel_strategies import problem_dicts, problems
from weir.allocation.arrays import to_arrays
from weir.allocation.infeasibility import explained
from weir.allocation.infeasibility_words import rounded
from weir.allocation.refusal import infeasible_result
from weir.codec import problem_from_dict, result_from_dict, result_to_record
from weir.model import Change, Infeasibility, Problem, Relaxation

quick = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
WORTH_TELLING = 1e-4
"""Shares of a change below this drown in the tolerance of loads."""


@st.composite
def short_problems(draw: st.DrawFn) -> Problem:
    """Problems whose minimum rates do not fit."""
    entries: dict[str, Any] = draw(problem_dicts())
    for flow in entries["flows"]:
        flow["rate_min"] = draw(st.sampled_from([1.0, 3.0, 10.0, 200.0]))
        flow["rate_max"] = flow["rate_min"]
    problem = problem_from_dict(entries)
    assume(not minimum_fits(problem))
    return problem


def why(problem: Problem) -> Infeasibility:
    reasons = explained(to_arrays(problem))
    assert reasons is not None
    return reasons


def relaxation(problem: Problem, kind: str) -> Relaxation:
    return next(one for one in why(problem).relaxations if one.kind == kind)


def changed(problem: Problem, changes: tuple[Change, ...], share: float = 1.0) -> Problem:
    """The problem with this share of each change carried out."""
    to = {
        (change.kind, change.id, change.resource): change.before
        + share * (change.after - change.before)
        for change in changes
    }
    return replace(
        problem,
        nodes=tuple(
            replace(
                node,
                capacity={
                    kind: to.get(("node", node.id, kind), old)
                    for kind, old in node.capacity.items()
                },
            )
            for node in problem.nodes
        ),
        links=tuple(
            replace(link, capacity=to.get(("link", link.id, None), link.capacity))
            for link in problem.links
        ),
        flows=tuple(
            replace(flow, rate_min=to.get(("flow", flow.id, None), flow.rate_min))
            for flow in problem.flows
        ),
    )


@quick
@given(problems())
def test_explained_exactly_when_the_minimum_does_not_fit(problem: Problem) -> None:
    assert (explained(to_arrays(problem)) is None) == minimum_fits(problem)


@quick
@given(short_problems())
def test_every_relaxation_makes_the_problem_feasible(problem: Problem) -> None:
    relaxations = why(problem).relaxations
    assert [one.kind for one in relaxations] == ["capacities", "all_rates", "few_rates"]
    for one in relaxations:
        relaxed = changed(problem, one.changes)
        assert minimum_fits(relaxed)
        assert infeasible_result(to_arrays(relaxed), "lrgp", "", 0) is None


@quick
@given(short_problems())
def test_a_thousandth_less_of_any_raised_capacity_is_not_enough(problem: Problem) -> None:
    changes = relaxation(problem, "capacities").changes
    for change in changes:
        less = replace(change, after=change.after - 1e-3 * (change.after - change.before))
        if change.after - change.before > WORTH_TELLING * change.after:
            others = tuple(less if one is change else one for one in changes)
            assert not minimum_fits(changed(problem, others))


@pytest.mark.parametrize("kind", ["all_rates", "few_rates"])
@quick
@given(problem=short_problems())
def test_a_thousandth_less_of_the_cuts_is_not_enough(kind: str, problem: Problem) -> None:
    changes = relaxation(problem, kind).changes
    assume(max(1 - change.after / change.before for change in changes) > WORTH_TELLING)
    assert not minimum_fits(changed(problem, changes, share=0.999))


@quick
@given(short_problems())
def test_one_factor_serves_every_rate(problem: Problem) -> None:
    changes = relaxation(problem, "all_rates").changes
    assert {change.id for change in changes} == {f.id for f in problem.flows if f.rate_min > 0}
    factors = [change.after / change.before for change in changes]
    assert max(factors) == pytest.approx(min(factors), rel=1e-12)


@quick
@given(short_problems())
def test_no_choice_of_rates_cuts_less(problem: Problem) -> None:
    """Against the same question asked in absolute rates and answered by an interior point."""
    rows, limits = [], []
    for node in problem.nodes:
        for kind, capacity in node.capacity.items():
            rows.append([f.node_costs.get(node.id, {}).get(kind, 0.0) for f in problem.flows])
            limits.append(capacity)
    for link in problem.links:
        rows.append([flow.link_costs.get(link.id, 0.0) for flow in problem.flows])
        limits.append(link.capacity)
    least = np.array([flow.rate_min for flow in problem.flows])
    largest = np.maximum(np.array(rows) @ least, 1.0)
    optimum = linprog(
        -1.0 / least,
        A_ub=np.array(rows) / largest[:, None],
        b_ub=np.array(limits) / largest,
        bounds=[(0.0, rate) for rate in least],
        method="highs-ipm",
    )
    assert optimum.status == 0
    changes = relaxation(problem, "few_rates").changes
    total = sum(1 - change.after / change.before for change in changes)
    assert total == pytest.approx(len(least) + optimum.fun, abs=1e-6)


@quick
@given(
    st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=1, max_size=8),
    st.just(0.0) | st.floats(0.01, 0.99),
)
def test_at_one_place_those_who_load_it_most_are_cut_first(
    flows: list[tuple[float, float]], share: float
) -> None:
    loads = sorted((rate * cost for rate, cost in flows), reverse=True)
    capacity = share * sum(loads)
    missing, total = sum(loads) - capacity, 0.0
    for load in loads:
        cut = min(1.0, missing / load)
        total, missing = total + cut, missing - cut * load
    problem = one_node(capacity, flows)
    changes = relaxation(problem, "few_rates").changes
    assert sum(1 - one.after / one.before for one in changes) == pytest.approx(total, abs=1e-7)


def one_node(capacity: float, flows: list[tuple[float, float]]) -> Problem:
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "n", "capacity": {"cpu": capacity}}],
            "links": [],
            "flows": [
                {
                    "id": f"f{index}",
                    "rate_min": rate,
                    "rate_max": rate,
                    "node_costs": {"n": {"cpu": cost}},
                    "link_costs": {},
                }
                for index, (rate, cost) in enumerate(flows)
            ],
            "classes": [],
        }
    )


def test_says_what_is_short_who_loads_it_and_what_would_help() -> None:
    problem = one_node(1000, [(10, 20), (10, 40), (10, 60), (10, 80)])
    reasons = why(problem)
    (shortage,) = reasons.shortages
    assert (shortage.kind, shortage.id, shortage.resource) == ("node", "n", "cpu")
    assert (shortage.load, shortage.capacity) == (2000, 1000)
    assert shortage.flows == (("f3", 800), ("f2", 600), ("f1", 400), ("f0", 200))
    assert [one.sentence for one in reasons.relaxations] == [
        "Raise the capacity of n (cpu) from 1,000 to 2,000 (units of work per second).",
        "Lower every minimum rate to 50 % of what it is.",
        "Lower the minimum rates of f3 from 10 to 0 and f2 from 10 to 6.666 (messages per second). "
        "The cuts add up to 133.4 %; no smaller sum helps.",
    ]


def test_worst_place_comes_first_and_no_capacity_at_all_is_worst() -> None:
    problem = problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [
                {"id": "a", "capacity": {"cpu": 9}},
                {"id": "b", "capacity": {"cpu": 0}},
                {"id": "c", "capacity": {"cpu": 5}},
            ],
            "links": [{"id": "l", "capacity": 1}],
            "flows": [
                {
                    "id": "f",
                    "rate_min": 1,
                    "rate_max": 1,
                    "node_costs": {"a": {"cpu": 10}, "b": {"cpu": 1}, "c": {"cpu": 10}},
                    "link_costs": {"l": 4},
                }
            ],
            "classes": [],
        }
    )
    assert [shortage.id for shortage in why(problem).shortages] == ["b", "l", "c", "a"]
    sentence = relaxation(problem, "all_rates").sentence
    assert sentence == "Lower every minimum rate to 0: something in use has no capacity at all."


@quick
@given(short_problems())
def test_record_keeps_every_word(problem: Problem) -> None:
    result = infeasible_result(to_arrays(problem), "lrgp", "", 0)
    assert result is not None
    assert result.infeasibility == why(problem)
    assert result_from_dict(result_to_record(result)) == result


@given(st.floats(1e-30, 1e30), st.booleans())
def test_numbers_in_sentences_are_rounded_to_the_safe_side(value: float, up: bool) -> None:
    said = float(rounded(value, up=up).replace(",", ""))
    assert said == pytest.approx(value, rel=1.1e-3)
    slack = value * TOLERANCE
    if 1e-6 < value < 1e15:
        assert said >= value - slack if up else said <= value + slack
