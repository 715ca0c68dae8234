"""What is wrong with LRGP as printed, shown on the printed equations; and that Weir's is not."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.plain_lrgp import lrgp as plain_lrgp
from tests.weir.answers import assert_feasible
from weir.allocation.arrays import to_arrays
from weir.codec import problem_from_dict, problem_from_json
from weir.codec.start import start_of
from weir.model import Problem, Result, loads
from weir.optimizers import lrgp
from weir.optimizers.lrgp.iteration import Synchronous
from weir.optimizers.lrgp.rate_step import RateStep
from weir.stop import after_iterations, never

BASE = Path(__file__).parents[2] / "golden" / "lrgp" / "log-6-flows-3-nodes.json"


def solve(problem: Problem, **params: Any) -> Result:
    return lrgp.solve(problem, lrgp.Params(**params), stop=never, seed=0)


def flows_fill_the_node() -> Problem:
    """Two flows that cost more than their five consumers each."""
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "n", "capacity": {"cpu": 1000}}],
            "links": [],
            "flows": [
                {
                    "id": f"f{index}",
                    "rate_min": 1,
                    "rate_max": 1000,
                    "node_costs": {"n": {"cpu": 3}},
                    "link_costs": {},
                }
                for index in range(2)
            ],
            "classes": [
                {
                    "id": f"c{index}",
                    "flow": f"f{index}",
                    "node": "n",
                    "population_max": 5,
                    "costs": {"cpu": 1},
                    "utility": {"kind": "log", "weight": weight},
                }
                for index, weight in enumerate((10, 20))
            ],
        }
    )


def test_printed_algorithm_proposes_six_times_what_a_node_can_carry() -> None:
    problem = flows_fill_the_node()
    _, rates, populations = plain_lrgp(problem, 2)
    node_loads, _ = loads(problem, rates, populations)
    assert node_loads["n"]["cpu"] == pytest.approx(6 * 1000)


def test_ours_never_does_and_finds_the_optimum_there() -> None:
    problem = flows_fill_the_node()
    for iterations in (1, 2, 3, 10, 40):
        stop = after_iterations(iterations)
        assert_feasible(problem, lrgp.solve(problem, lrgp.Params(), stop=stop, seed=0))
    # everybody admitted: 50 ln(1 + a) + 100 ln(1 + b) where 8 a + 8 b = 1000
    best = 50 * math.log(127 / 3) + 100 * math.log(254 / 3)
    assert solve(problem).utility == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize(
    "utility",
    [
        {"kind": "linear", "weight": 2.0},
        {"kind": "piecewise", "points": [[0, 0], [100, 200], [1000, 300]]},
    ],
)
def test_a_hair_of_price_makes_rates_of_linear_shapes_jump(utility: dict[str, Any]) -> None:
    problem = problem_from_dict(
        {
            "resources": [],
            "nodes": [{"id": "n", "capacity": {}}],
            "links": [],
            "flows": [
                {"id": "f", "rate_min": 1, "rate_max": 1000, "node_costs": {}, "link_costs": {}}
            ],
            "classes": [
                {
                    "id": "c",
                    "flow": "f",
                    "node": "n",
                    "population_max": 1,
                    "costs": {},
                    "utility": utility,
                }
            ],
        }
    )
    step = RateStep(to_arrays(problem))
    weights = step.weights(np.ones(1))
    (below,), (above,) = (step(weights, np.array([2.0 * (1 + e)])) for e in (-1e-12, 1e-12))
    assert above == 1
    assert below >= 100  # no price asks for anything between


def linear_network(seed: int) -> Problem:
    """Twelve flows over six links; every consumer fits, only links are scarce."""
    chance = random.Random(seed)
    flows, classes = [], []
    for index in range(12):
        path = chance.sample(range(6), chance.choice([1, 2, 3]))
        costs = {f"l{at}": chance.choice([0.5, 1, 2]) for at in path}
        flow = {"id": f"f{index:02}", "rate_min": 1, "rate_max": 1000, "node_costs": {}}
        flows.append(flow | {"link_costs": costs})
        weight = chance.choice([1, 5, 20, 100])
        classes.append(
            {
                "id": f"c{index:02}",
                "flow": f"f{index:02}",
                "node": "n",
                "population_max": chance.choice([1, 10, 50]),
                "costs": {},
                "utility": {"kind": "linear", "weight": weight},
            }
        )
    capacities = [chance.choice([200, 1000, 3000]) for _ in range(6)]
    return problem_from_dict(
        {
            "resources": [],
            "nodes": [{"id": "n", "capacity": {}}],
            "links": [{"id": f"l{at}", "capacity": value} for at, value in enumerate(capacities)],
            "flows": flows,
            "classes": classes,
        }
    )


def linear_optimum(problem: Problem) -> float:
    costs = [[f.link_costs.get(link.id, 0.0) for f in problem.flows] for link in problem.links]
    worth = [c.population_max * c.utility.scale for c in problem.classes]
    optimum = linprog(
        -np.array(worth),
        A_ub=np.array(costs),
        b_ub=[link.capacity for link in problem.links],
        bounds=(1, 1000),
    )
    return float(-optimum.fun)


def test_linear_utilities_defeat_the_rate_step_and_averaging_helps() -> None:
    problems = [linear_network(seed) for seed in range(4)]
    best = [linear_optimum(problem) for problem in problems]
    # Of the iterations alone: the answer begins with a greedy pass and fills what is left.
    plain = [max(solve(p).trace) / o for p, o in zip(problems, best, strict=True)]
    averaged = [max(solve(p, average=3).trace) / o for p, o in zip(problems, best, strict=True)]
    assert min(plain) < 0.9
    assert sum(plain) < 4 * 0.95
    assert all(with_mean >= alone for with_mean, alone in zip(averaged, plain, strict=True))
    assert sum(averaged) > sum(plain) + 0.1


def rate_by_equation_13(*, projected: bool) -> float:
    """One flow, 100 ln(1 + r), over a link of 10 and a link of 1000; the rate it ends with."""
    full, idle, rate = 0.0, 0.0, 1.0
    for _ in range(100_000):
        price = full + idle
        rate = min(max(100.0 / price - 1.0, 1.0), 1000.0) if price > 0 else 1000.0
        full += 1e-4 * (rate - 10.0)
        idle += 1e-4 * (rate - 1000.0)
        if projected:
            full, idle = max(full, 0.0), max(idle, 0.0)
    return rate


def test_equation_13_without_projection_overloads_a_link_fifty_times() -> None:
    # The idle link's price falls below 0 and pays for what the full link charges: the flow
    # settles where the two excesses cancel, at (10 + 1000) / 2.
    assert rate_by_equation_13(projected=False) == pytest.approx(505, rel=1e-3)
    assert rate_by_equation_13(projected=True) == pytest.approx(10, rel=1e-3)


def recovery(problem: Problem, changed: Problem, *, reset: bool) -> int:
    """Iterations from which on the utility stays within 1 % of where it ends up."""
    before = Synchronous(to_arrays(problem), lrgp.Params())
    for _ in range(100):
        before.advance()
    state = Synchronous(
        to_arrays(changed),
        lrgp.Params(),
        start_of(lrgp.solve(problem, lrgp.Params(), stop=after_iterations(100), seed=0)),
    )
    state.nodes.values = before.nodes.values.copy()
    if not reset:
        state.nodes.steps = before.nodes.steps.copy()
    goal = solve(changed).utility
    trace = []
    for _ in range(250):
        state.advance()
        trace.append(state.arrays.utility(*state.enactable()))
    away = [at for at, utility in enumerate(trace, start=1) if abs(utility - goal) > 0.01 * goal]
    return away[-1] + 1 if away else 1


def without_flow_5(problem: Problem) -> Problem:
    return replace(
        problem,
        flows=tuple(flow for flow in problem.flows if flow.id != "f5"),
        classes=tuple(entry for entry in problem.classes if entry.flow != "f5"),
    )


def half_the_capacity(problem: Problem) -> Problem:
    return replace(
        problem,
        nodes=tuple(replace(node, capacity={"cpu": 450_000}) for node in problem.nodes),
    )


def half_the_consumers(problem: Problem) -> Problem:
    return replace(
        problem,
        classes=tuple(
            replace(entry, population_max=entry.population_max // 2) for entry in problem.classes
        ),
    )


@pytest.mark.parametrize(
    ("change", "factor"),
    [(without_flow_5, 1.5), (half_the_consumers, 2.0), (half_the_capacity, 2.0)],
)
def test_without_reset_of_the_step_recovery_takes_about_twice_as_long(
    change: Any, factor: float
) -> None:
    problem = problem_from_json(BASE.read_bytes())
    with_reset = recovery(problem, change(problem), reset=True)
    without = recovery(problem, change(problem), reset=False)
    assert without >= factor * with_reset


def test_a_warm_start_resets_the_steps() -> None:
    problem = problem_from_json(BASE.read_bytes())
    start = start_of(solve(problem))
    state = Synchronous(to_arrays(problem), lrgp.Params(), start)
    assert np.all(state.nodes.steps == lrgp.Params().gamma_start)
    prices = [start.node_prices[name]["cpu"] for name in state.arrays.node_ids]
    assert state.nodes.values.ravel().tolist() == prices


def test_after_a_small_change_a_warm_start_is_close_at_once() -> None:
    problem = problem_from_json(BASE.read_bytes())
    former = solve(problem)
    changed = replace(
        problem,
        classes=tuple(
            replace(entry, population_max=round(entry.population_max * 1.01))
            for entry in problem.classes
        ),
    )
    goal = solve(changed).utility

    def after(iterations: int, start: Any) -> float:
        stop = after_iterations(iterations)
        return max(lrgp.solve(changed, lrgp.Params(), stop=stop, seed=0, start=start).trace)

    assert after(5, start_of(former)) > 0.998 * goal
    assert after(5, None) < 0.98 * goal
