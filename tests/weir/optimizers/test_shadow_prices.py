"""A price is what one more unit is worth: raise the capacity, solve again, compare."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories.runs import golden_problem
from weir.codec import problem_from_dict, start_of
from weir.model import Problem, Result
from weir.optimizers import certified
from weir.scenarios.capacities import NodeCapacity
from weir.stop import never

# Of the base workload; more than a unit, so that whole consumers do not hide the gain.
AMOUNT = 100.0
CLOSE = 2e-3
"""The price is the slope at today's capacity, and utility is concave in capacity."""


QUICK = certified.Params(polish_steps=0)
"""Prices and bound do not wait for the last digits of the allocation."""


def solved(
    problem: Problem,
    before: Result | None = None,
    params: certified.Params = certified.Params(),  # noqa: B008 frozen
) -> Result:
    start = None if before is None else start_of(before)
    return certified.solve(problem, params, stop=never, seed=0, start=start)


def with_more(problem: Problem, node: str, more: float) -> Problem:
    capacity = next(row.capacity["cpu"] for row in problem.nodes if row.id == node)
    return NodeCapacity(nodes=(node,), resource="cpu", set=capacity + more).apply(problem)


@pytest.fixture(scope="module")
def base() -> tuple[Problem, Result]:
    problem = problem_from_dict(golden_problem())
    return problem, solved(problem)


@pytest.mark.parametrize("node", ["S0", "S1", "S2"])
def test_more_capacity_brings_what_its_price_says(base: tuple[Problem, Result], node: str) -> None:
    problem, before = base
    after = solved(with_more(problem, node, AMOUNT), before)
    gain = (after.utility - before.utility) / AMOUNT
    assert gain == pytest.approx(before.node_prices[node]["cpu"], rel=CLOSE)


@settings(max_examples=8, deadline=None)
@given(
    node=st.sampled_from(["S0", "S1", "S2"]),
    share=st.floats(-0.3, 0.5),
    scale=st.sampled_from([0.05, 1.0]),
)
def test_no_change_of_capacity_is_worth_more_than_its_price(
    node: str, share: float, scale: float
) -> None:
    """Weak duality: at fixed prices the bound moves by price times change, so nothing gains more.

    Taken away, capacity costs at least its price; given, it brings at most its price.
    """
    problem = problem_from_dict(golden_problem())
    problem = replace(
        problem,
        nodes=tuple(
            replace(row, capacity={"cpu": row.capacity["cpu"] * scale}) for row in problem.nodes
        ),
    )
    before = solved(problem, params=QUICK)
    assert before.upper_bound is not None
    capacity = next(row.capacity["cpu"] for row in problem.nodes if row.id == node)
    more = share * capacity
    after = solved(with_more(problem, node, more), before, QUICK)
    worth = before.node_prices[node]["cpu"] * more
    # The prices are those of the proven bound to the accuracy to which the dual has settled.
    slack = 1e-6 * before.upper_bound
    assert after.utility <= before.upper_bound + worth + slack
