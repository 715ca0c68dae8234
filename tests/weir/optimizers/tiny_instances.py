"""Tiny lumpy problems: few consumers, each a large share of a node."""

from __future__ import annotations

import random
from typing import Any

from weir.codec import problem_from_dict
from weir.model import Problem

KINDS = ("log", "power", "piecewise", "linear")


def _utility(chance: random.Random) -> dict[str, Any]:
    kind, weight = chance.choice(KINDS), chance.choice([1, 2, 5, 10, 40])
    if kind == "power":
        return {"kind": kind, "weight": weight, "exponent": chance.choice([0.25, 0.5, 0.75])}
    if kind == "linear":
        return {"kind": kind, "weight": weight / 20}
    if kind == "log":
        return {"kind": kind, "weight": weight}
    points, slope = [[0.0, 0.0]], float(weight)
    for _ in range(3):
        step = chance.uniform(5, 50)
        points.append([points[-1][0] + step, points[-1][1] + step * slope])
        slope *= chance.uniform(0.2, 0.8)
    return {"kind": kind, "points": points}


def tiny_problem(seed: int, *, flows: int = 2, classes: int = 4, population: int = 5) -> Problem:
    """Up to so many flows, classes and consumers; one to three resources, sometimes links."""
    chance = random.Random(seed)
    resources = ["a", "b", "c"][: chance.choice([1, 1, 2, 3])]
    nodes = [f"n{b}" for b in range(chance.choice([1, 2]))]
    links = [f"l{at}" for at in range(chance.choice([0, 0, 2]))]
    names = [f"f{i}" for i in range(chance.randint(1, flows))]
    return problem_from_dict(
        {
            "resources": resources,
            "nodes": [
                {"id": n, "capacity": {k: chance.choice([300, 700, 2000]) for k in resources}}
                for n in nodes
            ],
            "links": [{"id": at, "capacity": chance.choice([40, 100])} for at in links],
            "flows": [
                {
                    "id": name,
                    "rate_min": chance.choice([0, 1, 5]),
                    "rate_max": chance.choice([50, 200, 1000]),
                    "node_costs": {
                        n: {k: chance.choice([0, 1, 3]) for k in resources} for n in nodes
                    },
                    "link_costs": {at: 1 for at in links if chance.random() < 0.7},
                }
                for name in names
            ],
            "classes": [
                {
                    "id": f"c{j}",
                    "flow": chance.choice(names),
                    "node": chance.choice(nodes),
                    "population_max": chance.randint(1, population),
                    "costs": {k: chance.choice([1, 3, 7, 19]) for k in resources},
                    "utility": _utility(chance),
                }
                for j in range(chance.randint(2, classes))
            ],
        }
    )
