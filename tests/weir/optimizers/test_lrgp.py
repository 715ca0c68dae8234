"""LRGP beyond the paper's workloads: links, several resources, limits, parameters."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from weir.allocation.arrays import to_arrays
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem
from weir.model import Problem, loads
from weir.optimizers import greedy, lrgp
from weir.optimizers.lrgp.ending import Answer, raised
from weir.optimizers.lrgp.rate_step import RateStep
from weir.stop import Progress, after_iterations, never


def network(
    *,
    resources: dict[str, float] | None = None,
    links: dict[str, float] | None = None,
    flows: list[dict[str, Any]],
    classes: list[dict[str, Any]],
) -> Problem:
    """One node `n`; what an entry leaves out is free."""
    return problem_from_dict(
        {
            "resources": list(resources or {}),
            "nodes": [{"id": "n", "capacity": resources or {}}],
            "links": [{"id": key, "capacity": value} for key, value in (links or {}).items()],
            "flows": [
                {"rate_min": 1, "rate_max": 1000, "node_costs": {}, "link_costs": {}} | flow
                for flow in flows
            ],
            "classes": [
                {"node": "n", "population_max": 1, "costs": {}} | entry for entry in classes
            ],
        }
    )


def solve(problem: Problem, **params: Any) -> Any:
    return lrgp.solve(problem, lrgp.Params(**params), stop=never, seed=0)


def random_links(seed: int, exponent: float | None, unit: float) -> Problem:
    chance = random.Random(seed)
    flows, classes = [], []
    for index in range(12):
        path = chance.sample(range(6), chance.choice([1, 2, 3]))
        link_costs = {f"l{at}": unit * chance.choice([0.5, 1, 2]) for at in path}
        flows.append({"id": f"f{index:02}", "link_costs": link_costs})
        weight = chance.choice([1, 5, 20, 100])
        utility: dict[str, Any] = {"kind": "log", "weight": weight}
        if exponent:
            utility = {"kind": "power", "weight": weight, "exponent": exponent}
        population = chance.choice([1, 10, 50])
        classes.append(
            {
                "id": f"c{index:02}",
                "flow": f"f{index:02}",
                "population_max": population,
                "utility": utility,
            }
        )
    links = {f"l{at}": unit * chance.choice([200, 1000, 3000]) for at in range(6)}
    return network(links=links, flows=flows, classes=classes)


def convex_optimum(problem: Problem) -> float:
    """With everybody admitted and only links scarce the problem is convex: ask scipy."""
    capacity = {link.id: link.capacity for link in problem.links}
    matrix = np.array(
        [
            [flow.link_costs.get(link, 0.0) / capacity[link] for flow in problem.flows]
            for link in capacity
        ]
    )
    classes = problem.classes
    scale = sum(c.population_max * float(c.utility.value(100.0)) for c in classes)

    def loss(rates: Any) -> float:
        return (
            -sum(
                c.population_max * float(c.utility.value(max(r, 1.0)))
                for c, r in zip(classes, rates, strict=True)
            )
            / scale
        )

    def slope(rates: Any) -> Any:
        return (
            -np.array(
                [
                    c.population_max * float(c.utility.derivative(max(r, 1.0)))
                    for c, r in zip(classes, rates, strict=True)
                ]
            )
            / scale
        )

    optimum = minimize(
        loss,
        np.full(len(classes), 10.0),
        jac=slope,
        bounds=[(1, 1000)] * len(classes),
        constraints=LinearConstraint(matrix, ub=1.0),
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert (matrix @ optimum.x).max() <= 1 + 1e-6
    return float(-optimum.fun * scale)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("exponent", [None, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_link_prices_find_the_convex_optimum(
    seed: int, exponent: float | None, unit: float
) -> None:
    problem = random_links(seed, exponent, unit)
    result = solve(problem)
    optimum = convex_optimum(problem)
    assert result.status == "solved"
    assert optimum * (1 - 2e-3) <= result.utility <= optimum * (1 + 1e-4)


def test_one_link_shared_in_proportion_to_weight() -> None:
    problem = network(
        links={"l": 300},
        flows=[{"id": f, "link_costs": {"l": 1}, "rate_min": 0} for f in "ab"],
        classes=[
            {"id": f, "flow": f, "utility": {"kind": "log", "weight": w}}
            for f, w in (("a", 1), ("b", 2))
        ],
    )
    result = solve(problem, max_iterations=1000, patience=1000)
    # (1 + r_a) / (1 + r_b) = 1 / 2 and r_a + r_b = 300; the price is w / (1 + r)
    assert result.rates == pytest.approx({"a": 302 / 3 - 1, "b": 604 / 3 - 1}, rel=1e-3)
    assert result.link_prices["l"] == pytest.approx(3 / 302, rel=1e-3)


def test_single_node_against_every_whole_population() -> None:
    problem = network(
        resources={"cpu": 5000},
        flows=[{"id": f, "node_costs": {"n": {"cpu": 1}}, "rate_max": 200} for f in "ab"],
        classes=[
            {
                "id": f,
                "flow": f,
                "population_max": 6,
                "costs": {"cpu": 10},
                "utility": {"kind": "log", "weight": w},
            }
            for f, w in (("a", 3), ("b", 5))
        ],
    )
    best = 0.0
    rates = np.linspace(1, 200, 1000)
    for n_a, n_b in itertools.product(range(7), repeat=2):
        room = 5000 - rates * (1 + 10 * n_a)  # for b, whose rate takes all that is left
        rate_b = np.clip(room / (1 + 10 * n_b), 0, 200)
        fits = rate_b >= 1
        utility = 3 * n_a * np.log1p(rates) + 5 * n_b * np.log1p(rate_b)
        best = max(best, float(utility[fits].max(initial=0.0)))
    result = solve(problem)
    assert 0.98 * best <= result.utility <= best * (1 + 1e-3)


def test_scarce_second_resource_gets_the_price() -> None:
    problem = network(
        resources={"cpu": 1e9, "io": 1000},
        flows=[{"id": "a", "rate_min": 10}],
        classes=[
            {
                "id": "c",
                "flow": "a",
                "population_max": 100,
                "costs": {"cpu": 1, "io": 1},
                "utility": {"kind": "log", "weight": 1},
            }
        ],
    )
    result = solve(problem)
    node_loads, _ = loads(problem, result.rates, result.populations)
    assert node_loads["n"]["io"] == pytest.approx(1000, rel=0.05)
    assert result.node_prices["n"]["io"] > 0
    assert result.node_prices["n"]["cpu"] == 0


def test_a_blocked_class_does_not_shut_out_those_that_need_another_resource() -> None:
    problem = network(
        resources={"cpu": 100, "io": 100},
        flows=[{"id": "a", "rate_min": 10, "rate_max": 10}],
        classes=[
            {
                "id": key,
                "flow": "a",
                "population_max": 10,
                "costs": {key: 10},
                "utility": {"kind": "log", "weight": weight},
            }
            for key, weight in (("cpu", 9), ("io", 1))
        ],
    )
    assert solve(problem).populations == {"cpu": 1, "io": 1}


def test_one_resource_among_several_reduces_to_the_paper() -> None:
    entries: dict[str, Any] = {
        "flows": [{"id": "a", "node_costs": {"n": {"cpu": 3}}}],
        "classes": [
            {
                "id": f"c{weight}",
                "flow": "a",
                "population_max": 100,
                "costs": {"cpu": 19},
                "utility": {"kind": "log", "weight": weight},
            }
            for weight in (1, 20)
        ],
    }
    alone = solve(network(resources={"cpu": 5e4}, **entries))
    beside = solve(network(resources={"cpu": 5e4, "io": 5.0}, **entries))
    assert beside.rates == alone.rates
    assert beside.utility == alone.utility


def test_says_which_node_is_short_and_by_how_much() -> None:
    problem = network(
        resources={"cpu": 1000},
        flows=[{"id": "a", "rate_min": 10, "node_costs": {"n": {"cpu": 1340}}}],
        classes=[],
    )
    result = solve(problem)
    assert result.status == "infeasible"
    assert result.reason == "n cannot carry the minimum rates: 12,400 cpu short"
    assert (result.rates, result.populations, result.utility) == ({}, {}, 0.0)


def test_names_the_worst_shortages_first() -> None:
    problem = network(
        links={f"l{index}": 1.0 for index in range(7)},
        flows=[
            {"id": "a", "rate_min": 1, "link_costs": {f"l{index}": 2 + index for index in range(7)}}
        ],
        classes=[],
    )
    reason = solve(problem).reason
    assert reason.startswith("l6 cannot carry the minimum rates: 7 short; l5 ")
    assert reason.endswith("; and 2 more")


def test_exactly_filled_capacity_is_feasible() -> None:
    problem = network(
        resources={"cpu": 0.3},
        flows=[{"id": "a", "rate_min": 1, "rate_max": 1}],
        classes=[
            {
                "id": "c",
                "flow": "a",
                "population_max": 9,
                "costs": {"cpu": 0.1},
                "utility": {"kind": "log", "weight": 1},
            }
        ],
    )
    assert solve(problem).populations == {"c": 3}  # 0.3 / 0.1 is 2.999... in binary


def test_stop_is_asked_after_every_iteration_and_progress_told() -> None:
    told: list[Progress] = []
    problem = random_links(0, None, 1.0)
    result = lrgp.solve(
        problem, lrgp.Params(), stop=after_iterations(7), seed=3, on_progress=told.append
    )
    assert [progress.iteration for progress in told] == list(range(1, 8))
    assert [progress.utility for progress in told] == list(result.trace)
    assert told[-1].best_utility >= max(result.trace)
    assert (result.iterations, result.status, result.seed) == (7, "time_limit", 3)


def test_an_iteration_limit_before_settling_is_no_time_limit() -> None:
    assert solve(random_links(0, None, 1.0), max_iterations=3).status == "not_converged"


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("rate_min", [0.0, 33.33, 33.33333333333333, 33.333333333333336, 50.0])
def test_a_request_response_class_is_served_on_an_idle_server(
    rate_min: float, asynchronous: bool
) -> None:
    """Twenty senders that think 0.1 s and wait 0.5 s are worth nothing below 33.3 messages/s."""
    problem = network(
        resources={"cpu": 70},
        flows=[
            {
                "id": "q",
                "rate_min": rate_min,
                "rate_max": 203.7,
                "node_costs": {"n": {"cpu": 0.1347943}},
            }
        ],
        classes=[
            {
                "id": "q.s",
                "flow": "q",
                "utility": {
                    "kind": "latency",
                    "max_utility": 6000,
                    "threshold_s": 0.5,
                    "senders": 20,
                    "think_s": 0.1,
                    "exec_s": 0.008,
                },
            }
        ],
    )
    result = solve(problem, asynchronous=asynchronous)
    assert result.status == "solved"
    assert result.utility == pytest.approx(5903.97, rel=1e-5)
    assert max(result.trace) == pytest.approx(5903.97, rel=1e-5)  # without the first answer


def one_flow() -> Problem:
    return network(
        resources={"cpu": 10930},
        flows=[{"id": "f", "node_costs": {"n": {"cpu": 1}}}],
        classes=[
            {
                "id": "c",
                "flow": "f",
                "population_max": 254,
                "costs": {"cpu": 19},
                "utility": {"kind": "log", "weight": 5},
            }
        ],
    )


def test_one_flow_with_one_class_takes_what_is_left() -> None:
    """All 254 at the rate that fills the server: 254 x 5 ln(1 + 10930 / 4827)."""
    result = solve(one_flow())
    assert result.utility == pytest.approx(254 * 5 * math.log(1 + 10930 / 4827), rel=1e-6)


@pytest.mark.parametrize("utility", ["log", "linear", "piecewise"])
def test_rates_rise_into_what_the_iterations_left(utility: str) -> None:
    """At prices four times too high, beside a flow that is stuck on a full link."""
    shapes: dict[str, dict[str, Any]] = {
        "log": {"kind": "log", "weight": 5},
        "linear": {"kind": "linear", "weight": 5},
        "piecewise": {"kind": "piecewise", "points": [[0, 0], [100, 80], [500, 160]]},
    }
    problem = network(
        resources={"cpu": 3000},
        links={"l": 1},
        flows=[
            {"id": "free", "node_costs": {"n": {"cpu": 1}}},
            {"id": "stuck", "link_costs": {"l": 1}},
        ],
        classes=[
            {
                "id": flow,
                "flow": flow,
                "population_max": 2,
                "costs": {"cpu": 4},
                "utility": shapes[utility],
            }
            for flow in ("free", "stuck")
        ],
    )
    arrays = to_arrays(problem)
    rates, populations = np.ones(2), np.full(2, 2.0)
    low = Answer(utility=arrays.utility(rates, populations), rates=rates, populations=populations)
    high = raised(arrays, RateStep(arrays), low, np.full((1, 1), 1.0), np.full(1, 1.0))
    assert high.rates == pytest.approx([(3000 - 8) / 9, 1.0], rel=1e-6)


def test_never_answers_less_than_greedy_however_short_the_time() -> None:
    for problem in (random_links(1, 0.5, 1.0), one_flow()):
        greedily = greedy.solve(problem, greedy.Params(), stop=never, seed=0)
        at_once = lrgp.solve(problem, lrgp.Params(), stop=lambda progress: True, seed=0)
        assert at_once.status == "time_limit"
        assert at_once.utility >= greedily.trace[0]
        assert solve(problem, max_iterations=1).utility >= greedily.utility


def test_problem_without_anything_is_solved() -> None:
    nothing = {key: [] for key in ("resources", "nodes", "links", "flows", "classes")}
    result = solve(problem_from_dict(nothing))
    assert (result.status, result.utility, result.rates) == ("solved", 0.0, {})


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"gamma_min": 0.5}, "gamma_min"),
        ({"link_gamma_min": 0.9}, "link_gamma_min"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"max_iterations": 1.5}, "max_iterations"),
        ({"patience": True}, "patience"),
        ({"gamma_start": float("nan")}, "gamma_start"),
        ({"settle_tolerance": 2}, "settle_tolerance"),
    ],
)
def test_parameters_check_themselves(wrong: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        lrgp.Params(**wrong)
    assert caught.value.path == path
