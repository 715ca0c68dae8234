"""The certified optimizer against other solvers: HiGHS on knapsacks, SCIP on whole problems."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from benchmarks import scip
from tests.weir.answers import assert_feasible
from tests.weir.optimizers.tiny_instances import tiny_problem
from weir.allocation.arrays import to_arrays
from weir.allocation.feasibility import why_infeasible
from weir.codec import problem_from_dict
from weir.model import Problem
from weir.optimizers import certified
from weir.stop import never

FITTING = [
    seed
    for seed in range(20)
    if not why_infeasible(to_arrays(tiny_problem(seed, flows=3, population=6)))
]


def solve(problem: Problem) -> Any:
    return certified.solve(problem, certified.Params(), stop=never, seed=0)


def knapsacks(seed: int, classes: int = 9) -> Problem:
    """Rates held at one value: every node is a knapsack in two or three resources."""
    chance = random.Random(seed)
    resources = ["a", "b", "c"][: chance.choice([2, 3])]
    return problem_from_dict(
        {
            "resources": resources,
            "nodes": [
                {
                    "id": f"n{b}",
                    "capacity": {k: chance.randint(60, 100) * classes for k in resources},
                }
                for b in range(2)
            ],
            "links": [],
            "flows": [
                {
                    "id": f"f{i}",
                    "rate_min": 2 + i,
                    "rate_max": 2 + i,
                    "node_costs": {"n0": {"a": 3}},
                    "link_costs": {},
                }
                for i in range(3)
            ],
            "classes": [
                {
                    "id": f"c{j}",
                    "flow": f"f{chance.randrange(3)}",
                    "node": f"n{chance.randrange(2)}",
                    "population_max": chance.randint(1, 12),
                    "costs": {k: chance.randint(7, 60) for k in resources},
                    "utility": {"kind": "log", "weight": chance.randint(3, 30)},
                }
                for j in range(classes)
            ],
        }
    )


def by_highs(problem: Problem) -> float:
    """The mixed-integer program over populations alone, solved by HiGHS through scipy."""
    arrays = to_arrays(problem)
    rates = arrays.rate_min
    work = arrays.class_costs * rates[arrays.class_flow][:, None]
    nodes, kinds = arrays.node_capacity.shape
    matrix = np.zeros((nodes * kinds, len(work)))
    for j in range(len(work)):
        for k in range(kinds):
            matrix[arrays.class_node[j] * kinds + k, j] = work[j, k]
    room = (arrays.node_capacity - arrays.flow_loads(rates)).reshape(-1)
    optimum = optimize.milp(
        -arrays.worth(rates),
        constraints=optimize.LinearConstraint(matrix, ub=room),
        integrality=np.ones(len(work)),
        bounds=optimize.Bounds(0, arrays.population_max),
        options={"mip_rel_gap": 0.0},
    )
    assert optimum.success
    return -float(optimum.fun)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("classes", [9, 40])
def test_as_good_as_highs_where_rates_are_held(seed: int, classes: int) -> None:
    problem = knapsacks(seed, classes)
    result = solve(problem)
    assert_feasible(problem, result)
    assert result.utility == pytest.approx(by_highs(problem), rel=1e-7)


@pytest.mark.parametrize("seed", FITTING)
def test_as_good_as_scip_where_scip_proves_its_answer(seed: int) -> None:
    problem = tiny_problem(seed, flows=3, population=6)
    answer = scip.solve(problem, seconds=60, gap=1e-6)
    assert answer.status in ("optimal", "gaplimit")
    result = solve(problem)
    assert_feasible(problem, result)
    # SCIP may overstep a capacity by 1e-6 of it, and stops within 1e-6 of its bound
    assert result.utility == pytest.approx(answer.upper_bound, rel=3e-6)
