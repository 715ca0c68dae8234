"""Random systems of a thousand flows: three nodes per flow, links of varied tightness."""

from __future__ import annotations

import random
from typing import Any

from weir.codec import problem_from_dict
from weir.model import Problem


def bent(chance: random.Random, weight: float, rate_max: float) -> list[list[float]]:
    """Knots of a concave curve that reaches its last slope before the highest rate."""
    points, slope = [[0.0, 0.0]], weight / 20
    for _ in range(3):
        step = chance.uniform(0.1, 0.4) * rate_max
        points.append([points[-1][0] + step, points[-1][1] + step * slope])
        slope *= chance.uniform(0.2, 0.8)
    return points


def random_problem(
    *,
    flows: int,
    links: int,
    seed: int,
    kinds: tuple[str, ...] = ("log",),
    resources: int = 1,
    tightness: tuple[float, float] = (0.05, 0.6),
) -> Problem:
    """`tightness`: capacity of a node against what everybody at the highest rate would need."""
    chance = random.Random(seed)
    names = [f"r{k}" for k in range(resources)]
    nodes = max(3, flows // 100)
    demand = [dict.fromkeys(names, 0.0) for _ in range(nodes)]
    link_demand = [0.0] * links
    flow_entries, classes = [], []
    for i in range(flows):
        hosts = chance.sample(range(nodes), 3)
        rate_max = chance.choice([100, 1000, 5000])
        crossed = chance.sample(range(links), min(3, links))
        link_costs = {f"l{at}": chance.choice([0.5, 1, 2]) for at in crossed}
        for at in crossed:
            link_demand[at] += link_costs[f"l{at}"] * rate_max
        flow_entries.append(
            {
                "id": f"f{i}",
                "rate_min": chance.choice([1, 10]),
                "rate_max": rate_max,
                "node_costs": {
                    f"n{host}": {name: chance.choice([1, 3, 5]) for name in names} for host in hosts
                },
                "link_costs": link_costs,
            }
        )
        kind, exponent = chance.choice(kinds), chance.choice([0.25, 0.5, 0.75])
        for part in range(chance.randint(1, 19)):
            utility: dict[str, Any] = {
                "kind": kind,
                "weight": chance.choice([1, 5, 20, 40, 100]) * chance.uniform(0.5, 2),
            }
            if kind == "power":
                utility["exponent"] = exponent
            if kind == "piecewise":
                utility = {"kind": kind, "points": bent(chance, utility["weight"], rate_max)}
            host, population = chance.choice(hosts), chance.choice([40, 400, 800, 1500, 2000])
            costs = {name: chance.choice([5, 19, 30]) for name in names}
            for name, cost in costs.items():
                demand[host][name] += population * cost * rate_max
            classes.append(
                {
                    "id": f"c{i}.{part}",
                    "flow": f"f{i}",
                    "node": f"n{host}",
                    "population_max": population,
                    "costs": costs,
                    "utility": utility,
                }
            )
    minimum = 50 * flows
    return problem_from_dict(
        {
            "resources": names,
            "nodes": [
                {
                    "id": f"n{b}",
                    "capacity": {
                        name: minimum + need * chance.uniform(*tightness)
                        for name, need in demand[b].items()
                    },
                }
                for b in range(nodes)
            ],
            "links": [
                {
                    "id": f"l{at}",
                    "capacity": need * chance.uniform(0.05, 1.2) + minimum / links,
                }
                for at, need in enumerate(link_demand)
            ],
            "flows": flow_entries,
            "classes": classes,
        }
    )
