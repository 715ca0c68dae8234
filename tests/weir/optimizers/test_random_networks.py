"""Random networks of every utility kind, resource and link mix: all methods against the bound."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from tests.suites import effort
from weir.codec import problem_from_dict
from weir.optimizers import methods
from weir.stop import after_iterations, never

if TYPE_CHECKING:
    from weir.model import Problem, Result

KINDS = ("log", "power", "linear", "piecewise", "latency")
MIXES = (*((kind,) for kind in KINDS), KINDS, KINDS, ("latency", "linear"))

EXCESS = Fraction(1, 10**9)
"""A load may exceed its capacity by this share of it (docs/formats.md)."""

ROUNDING = 1e-11

LEAST = 0.9
"""Of the bound: what LRGP reaches where it says that it has converged."""


def utility(chance: random.Random, kind: str) -> dict[str, Any]:
    weight = chance.choice([1, 5, 20, 100])
    shapes: dict[str, dict[str, Any]] = {
        "log": {"weight": weight},
        "power": {"weight": weight, "exponent": chance.choice([0.25, 0.5, 0.75])},
        "linear": {"weight": weight},
        "piecewise": {"points": [[0, 0], [50, 50 * weight], [300, 100 * weight]]},
        "latency": {
            "max_utility": weight * 100,
            "threshold_s": 0.5,
            "senders": chance.choice([5, 20]),
            "think_s": 0.1,
            "exec_s": 0.008,
        },
    }
    return {"kind": kind} | shapes[kind]


def network(seed: int) -> dict[str, Any]:
    """One to six flows over one to three nodes and up to three links."""
    chance = random.Random(seed)
    kinds = MIXES[seed % len(MIXES)]
    flows, nodes = chance.choice([1, 2, 3, 6]), chance.choice([1, 2, 3])
    links, resources = chance.choice([0, 1, 3]), chance.choice([["cpu"], ["cpu", "io"]])
    most = chance.choice([3, 50, 2000])
    problem: dict[str, Any] = {
        "resources": resources,
        "nodes": [
            {"id": f"n{b}", "capacity": {r: chance.uniform(2e3, 9e4) for r in resources}}
            for b in range(nodes)
        ],
        "links": [{"id": f"l{at}", "capacity": chance.uniform(200, 2000)} for at in range(links)],
        "flows": [],
        "classes": [],
    }
    for i in range(flows):
        hosts = chance.sample(range(nodes), chance.randint(1, nodes))
        used = chance.sample(range(links), chance.randint(0, links))
        problem["flows"].append(
            {
                "id": f"f{i}",
                "rate_min": chance.choice([0, 1, 10]),
                "rate_max": 1000,
                "node_costs": {
                    f"n{b}": {r: chance.choice([0, 1, 3]) for r in resources} for b in hosts
                },
                "link_costs": {f"l{at}": chance.choice([0.5, 1, 2]) for at in used},
            }
        )
        problem["classes"] += [
            {
                "id": f"c{i}.{j}",
                "flow": f"f{i}",
                "node": f"n{chance.choice(hosts)}",
                "population_max": chance.randint(0, most),
                "costs": {r: chance.choice([1, 5, 19]) for r in resources},
                "utility": utility(chance, chance.choice(kinds)),
            }
            for j in range(chance.choice([1, 2, 3]))
        ]
    return problem


def assert_feasible_exactly(entries: dict[str, Any], result: Result) -> None:
    """Bounds and capacities in fractions, so that no rounding of ours hides an excess."""
    rates = {flow: Fraction(rate) for flow, rate in result.rates.items()}
    load: dict[tuple[str, str], Fraction] = {}

    def add(place: str, what: str, amount: Fraction) -> None:
        load[place, what] = load.get((place, what), Fraction(0)) + amount

    for flow in entries["flows"]:
        rate = rates[flow["id"]]
        assert Fraction(flow["rate_min"]) <= rate <= Fraction(flow["rate_max"])
        for node, costs in flow["node_costs"].items():
            for resource, cost in costs.items():
                add(node, resource, Fraction(cost) * rate)
        for link, cost in flow["link_costs"].items():
            add("link", link, Fraction(cost) * rate)
    for consumers in entries["classes"]:
        count = result.populations[consumers["id"]]
        assert isinstance(count, int)
        assert 0 <= count <= consumers["population_max"]
        for resource, cost in consumers["costs"].items():
            add(consumers["node"], resource, Fraction(cost) * count * rates[consumers["flow"]])
    for node in entries["nodes"]:
        for resource, capacity in node["capacity"].items():
            assert load.get((node["id"], resource), 0) <= Fraction(capacity) * (1 + EXCESS)
    for link in entries["links"]:
        assert load.get(("link", link["id"]), 0) <= Fraction(link["capacity"]) * (1 + EXCESS)


def answers(problem: Problem) -> dict[str, Result]:
    by_method = {}
    for name, module in methods().items():
        quick = {"steps": 20_000} if name == "annealing" else {}
        stop = after_iterations(60) if name == "certified" else never
        by_method[name] = module.solve(problem, module.Params(**quick), stop=stop, seed=0)
    return by_method


@pytest.mark.parametrize("seed", range(effort(24, 200)))
def test_every_method_against_the_bound(seed: int) -> None:
    entries = network(seed)
    by_method = answers(problem_from_dict(entries))
    if by_method["certified"].status == "infeasible":
        assert {result.status for result in by_method.values()} == {"infeasible"}
        return
    for result in by_method.values():
        assert_feasible_exactly(entries, result)
    bound = by_method["certified"].upper_bound
    assert bound is not None
    assert max(result.utility for result in by_method.values()) <= bound * (1 + ROUNDING)
    lrgp = by_method["lrgp"]
    assert lrgp.utility >= by_method["greedy"].utility * (1 - ROUNDING)
    assert lrgp.status == "not_converged" or lrgp.utility >= LEAST * bound
