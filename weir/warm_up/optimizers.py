"""Compiles the kernels of optimizers.

Small problems of each kind
walk through all branches that numba compiles apart; what they do not reach is called by itself.
Takes a minute or two of one core, then a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weir.allocation.arrays import to_arrays
from weir.codec import problem_from_dict
from weir.optimizers import annealing, certified
from weir.stop import never

if TYPE_CHECKING:
    from weir.model import Problem

UTILITIES: tuple[dict[str, Any], ...] = (
    {"kind": "log", "weight": 20},
    {"kind": "power", "weight": 5, "exponent": 0.5},
    {"kind": "piecewise", "points": [[0, 0], [50, 40], [100, 60]]},
)


FEW, MANY = 3, 12
"""Classes of a flow: what branch and bound can close, and what it leaves alone."""


def sample(classes: int) -> dict[str, Any]:
    """Two flows over one node and one link; one flow with several shapes of utility."""
    return {
        "resources": ["cpu"],
        "nodes": [{"id": "n", "capacity": {"cpu": 9000}}],
        "links": [{"id": "l", "capacity": 300}],
        "flows": [
            {
                "id": name,
                "rate_min": 1,
                "rate_max": 1000,
                "node_costs": {"n": {"cpu": 3}},
                "link_costs": {"l": 1},
            }
            for name in ("one", "many")
        ],
        "classes": [
            {
                "id": f"{flow}{at}",
                "flow": flow,
                "node": "n",
                "population_max": 10 + at,
                "costs": {"cpu": 19},
                "utility": UTILITIES[at % len(UTILITIES) if flow == "many" else 0],
            }
            for flow in ("one", "many")
            for at in range(classes)
        ],
    }


def wanted_sample(classes: int) -> dict[str, Any]:
    """The same where a flow goes over the link only while somebody behind it is admitted."""
    plain = sample(classes)
    route = {"n": {"from": "s", "link": "l"}}
    flows = [{**flow, "source": "s", "route": route} for flow in plain["flows"]]
    nodes = [{"id": "s", "capacity": {"cpu": 9000}}, *plain["nodes"]]
    return {**plain, "forwarding": "wanted", "nodes": nodes, "flows": flows}


def _reach_parts(problem: Problem) -> None:
    """The kernel that only problems cut into parts call."""
    from weir.allocation.layout import class_order, layout
    from weir.optimizers.certified.partition import class_worths

    arrays = to_arrays(problem)
    order = class_order(arrays)
    rates, worth = np.ones(len(arrays.flow_ids)), np.zeros(len(order))
    class_worths(layout(arrays, order), arrays.class_flow[order], rates, worth)


def warm_up() -> float:
    """Solve the samples; their utility, which only says that everything ran."""
    small, large = (problem_from_dict(sample(classes)) for classes in (FEW, MANY))
    _reach_parts(small)
    annealing.solve(small, annealing.Params(steps=1000), stop=never, seed=0)
    params = certified.Params(max_iterations=8, exact_rounds=2, polish_steps=200)
    wanted = problem_from_dict(wanted_sample(FEW))
    return sum(
        certified.solve(each, params, stop=never, seed=0).utility for each in (small, large, wanted)
    )
