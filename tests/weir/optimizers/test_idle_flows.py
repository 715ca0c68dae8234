"""A flow that nobody receives runs at its minimum, whatever the method."""

from __future__ import annotations

from typing import Any

import pytest

from weir.codec import problem_from_dict
from weir.optimizers import methods
from weir.stop import never

PROBLEM: dict[str, Any] = {
    "resources": ["cpu"],
    "nodes": [{"id": "n", "capacity": {"cpu": 900_000}}],
    "links": [],
    "flows": [
        {
            "id": name,
            "rate_min": 1,
            "rate_max": 1000,
            "node_costs": {"n": {"cpu": 3}},
            "link_costs": {},
        }
        for name in ("heard", "unheard")
    ],
    "classes": [
        {
            "id": name,
            "flow": name,
            "node": "n",
            "population_max": 254,
            "costs": {"cpu": cost},
            "utility": {"kind": "log", "weight": 5},
        }
        for name, cost in (("heard", 19.0), ("unheard", 1e12))
    ],
}


@pytest.mark.parametrize("name", sorted(methods()))
def test_a_flow_that_nobody_receives_runs_at_its_minimum(name: str) -> None:
    module = methods()[name]
    quick = {"steps": 2000} if name == "annealing" else {}
    result = module.solve(problem_from_dict(PROBLEM), module.Params(**quick), stop=never, seed=0)
    assert result.populations["unheard"] == 0
    assert result.rates["unheard"] == 1.0
    assert result.rates["heard"] > 1.0
