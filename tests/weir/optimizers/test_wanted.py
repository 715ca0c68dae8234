"""Problems in which flows go only where they are wanted, against every choice of where they go."""

from __future__ import annotations

import copy
import itertools
import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.suites import effort
from tests.weir.answers import assert_feasible
from tests.weir.optimizers.test_random_networks import network
from weir.allocation.serving import fitting, waiting
from weir.codec import content_hash, problem_from_dict
from weir.model import loads
from weir.model.forwarding import served
from weir.optimizers import certified, methods
from weir.stop import after_iterations, never

if TYPE_CHECKING:
    from weir.model import Problem, Result

NAMES = sorted(methods())
ROUNDING = 1e-9
MOST_CHOICES = 16

# The instance of tests/weir/allocation/test_pruning.py: w.far is worth next to nothing, but the
# way to it takes a tenth of what d.far could use.
PRUNE: dict[str, Any] = {
    "forwarding": "wanted",
    "resources": ["cpu"],
    "nodes": [{"id": name, "capacity": {"cpu": 10_000.0}} for name in ("between", "far", "near")],
    "links": [{"id": "l", "capacity": 1000.0}],
    "flows": [
        {
            "id": "dear",
            "rate_min": 10.0,
            "rate_max": 10.0,
            "node_costs": {"far": {"cpu": 1.0}},
            "link_costs": {},
        },
        {
            "id": "wide",
            "rate_min": 20.0,
            "rate_max": 100.0,
            "node_costs": {"far": {"cpu": 40.0}, "near": {"cpu": 40.0}},
            "link_costs": {"l": 1.0},
        },
    ],
    "classes": [
        {
            "id": name,
            "flow": flow,
            "node": node,
            "population_max": 100,
            "costs": {"cpu": 10.0},
            "utility": {"kind": "log", "weight": weight},
        }
        for name, flow, node, weight in (
            ("d.far", "dear", "far", 1000.0),
            ("w.far", "wide", "far", 0.001),
            ("w.near", "wide", "near", 5.0),
        )
    ],
}


def solve(name: str, problem: Problem) -> Result:
    module = methods()[name]
    quick = {"steps": 20_000} if name == "annealing" else {}
    return module.solve(problem, module.Params(**quick), stop=never, seed=0)


def routed(seed: int) -> dict[str, Any]:
    """A random network whose flows take random trees, dear enough to matter."""
    chance = random.Random(seed)
    entries = network(seed) | {"forwarding": "wanted"}
    for flow in entries["flows"]:
        nodes = [node["id"] for node in entries["nodes"]]
        links = [link["id"] for link in entries["links"]]
        chance.shuffle(nodes)
        chance.shuffle(links)
        if chance.random() < 0.5:
            flow["source"] = nodes[0]
        flow["route"] = {}
        for place in range(1, len(nodes)):
            if chance.random() < 0.8:
                hop = {"from": nodes[chance.randrange(place)]}
                if links and chance.random() < 0.7:
                    hop["link"] = links.pop()
                flow["route"][nodes[place]] = hop
        flow["node_costs"] = {
            node: {r: chance.choice([0, 1, 3, 40, 200]) for r in entries["resources"]}
            for node in nodes
        }
    return entries


def best_of_every_choice(problem: Problem) -> float | None:
    """The best utility over all nodes that each flow may serve; None where there are too many."""
    hosts = waiting(problem)
    if math.prod(2 ** len(nodes) for nodes in hosts.values()) > MOST_CHOICES:
        return None
    subsets = [
        [one for size in range(len(nodes) + 1) for one in itertools.combinations(nodes, size)]
        for nodes in hosts.values()
    ]
    best = 0.0
    for choice in itertools.product(*subsets):
        fixed = served(problem, dict(zip(hosts, choice, strict=True)))
        best = max(best, solve("certified", fixed).utility)
    return best


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_nobody_uses_costs_nothing(name: str) -> None:
    result = solve(name, problem_from_dict(PRUNE))
    assert result.utility == pytest.approx(238_091.87, abs=0.01)
    assert result.populations == {"d.far": 99, "w.far": 0, "w.near": 46}
    assert result.problem_hash == content_hash(problem_from_dict(PRUNE))
    assert not result.pruned  # the problem itself says what falls away


def test_the_answer_for_a_path_nobody_uses_is_proven() -> None:
    result = solve("certified", problem_from_dict(PRUNE))
    assert result.status == "optimal"
    always = solve("certified", problem_from_dict(PRUNE | {"forwarding": "always"}))
    assert always.upper_bound == pytest.approx(218_908.71, abs=0.01)


@pytest.mark.parametrize("seed", range(effort(13, 100)))
def test_no_method_beats_the_bound_nor_the_bound_any_choice(seed: int) -> None:
    problem = problem_from_dict(routed(seed))
    by_method = {name: solve(name, problem) for name in NAMES}
    for result in by_method.values():
        assert result.status != "infeasible"
        assert_feasible(problem, result)
        assert len(result.trace) == result.iterations
    bound = by_method["certified"].upper_bound
    assert bound is not None
    assert max(result.utility for result in by_method.values()) <= bound * (1 + ROUNDING)
    best = best_of_every_choice(problem)
    if best is not None:
        assert best <= bound * (1 + ROUNDING)
        assert by_method["certified"].utility >= best * (1 - 1e-6)


def test_a_bound_holds_without_the_enumeration_of_choices() -> None:
    for seed in range(30, 42):
        problem = problem_from_dict(routed(seed))
        best = best_of_every_choice(problem)
        early = certified.solve(problem, certified.Params(), stop=after_iterations(30), seed=0)
        assert early.upper_bound is not None
        if best is not None:
            assert best <= early.upper_bound * (1 + ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_minimum_rates_that_do_not_fit_leave_flows_out_instead_of_refusing(name: str) -> None:
    entries = copy.deepcopy(PRUNE)
    entries["flows"][1]["rate_min"] = 90.0  # 3,600 for each node
    entries["nodes"][2]["capacity"]["cpu"] = 3000.0
    problem = problem_from_dict(entries)
    result = solve(name, problem)
    assert result.status != "infeasible"
    assert result.populations["w.near"] == 0
    assert result.populations["d.far"] == 99
    assert_feasible(problem, result)


def test_what_is_left_out_for_the_minimum_rates_is_worth_least() -> None:
    entries = copy.deepcopy(PRUNE)
    entries["nodes"][1]["capacity"]["cpu"] = 805.0  # 800 for `wide`, 10 for `dear`
    kept = fitting(problem_from_dict(entries), waiting(problem_from_dict(entries)))
    assert kept == {"dear": {"far"}, "wide": {"near"}}
    fixed = served(problem_from_dict(entries), kept)
    at_nodes, _ = loads(fixed, {flow.id: flow.rate_min for flow in fixed.flows}, {})
    assert at_nodes["far"]["cpu"] == 10.0


def test_with_every_way_free_both_readings_agree() -> None:
    entries = network(7) | {"forwarding": "wanted"}
    for flow in entries["flows"]:
        flow["node_costs"], flow["link_costs"], flow["rate_min"] = {}, {}, 0
    wanted = solve("certified", problem_from_dict(entries))
    always = solve("certified", problem_from_dict(entries | {"forwarding": "always"}))
    assert wanted.utility == pytest.approx(always.utility, rel=1e-6)
