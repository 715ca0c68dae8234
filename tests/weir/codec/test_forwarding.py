"""What a problem says about forwarding: read, written, and followed where loads are added up."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from weir.codec import problem_from_dict
from weir.codec.canonical import content_hash, problem_to_dict
from weir.errors import InvalidProblem
from weir.model import Forwarding, Problem, loads

# src -l1-> a -l2-> b, src -l3-> c; nothing is said about d.
CHAIN: dict[str, Any] = {
    "forwarding": "wanted",
    "resources": ["cpu"],
    "nodes": [{"id": name, "capacity": {"cpu": 1e6}} for name in ("src", "a", "b", "c", "d")],
    "links": [{"id": name, "capacity": 1e6} for name in ("l1", "l2", "l3", "l4")],
    "flows": [
        {
            "id": "f",
            "rate_min": 1,
            "rate_max": 10,
            "node_costs": {
                "src": {"cpu": 1},
                "a": {"cpu": 2},
                "b": {"cpu": 4},
                "c": {"cpu": 8},
                "d": {"cpu": 16},
            },
            "link_costs": {"l1": 1, "l2": 2, "l3": 4, "l4": 8},
            "source": "src",
            "route": {
                "a": {"from": "src", "link": "l1"},
                "b": {"from": "a", "link": "l2"},
                "c": {"from": "src", "link": "l3"},
            },
        }
    ],
    "classes": [
        {
            "id": f"c{node}",
            "flow": "f",
            "node": node,
            "population_max": 5,
            "costs": {},
            "utility": {"kind": "log", "weight": 1},
        }
        for node in ("src", "a", "b", "c", "d")
    ],
}


def chain(**flow: Any) -> Problem:
    entries = copy.deepcopy(CHAIN)
    entries["flows"][0] |= flow
    return problem_from_dict(entries)


@pytest.mark.parametrize(
    ("admitted", "nodes", "links"),
    [
        ([], set(), set()),
        (["csrc"], {"src"}, {"l4"}),
        (["ca"], {"src", "a"}, {"l1", "l4"}),
        (["cb"], {"src", "a", "b"}, {"l1", "l2", "l4"}),
        (["cc"], {"src", "c"}, {"l3", "l4"}),
        (["cd"], {"src", "d"}, {"l4"}),
        (["cb", "cc"], {"src", "a", "b", "c"}, {"l1", "l2", "l3", "l4"}),
    ],
)
def test_a_flow_loads_only_the_way_to_whoever_is_admitted(
    admitted: list[str], nodes: set[str], links: set[str]
) -> None:
    problem = chain()
    at_nodes, on_links = loads(problem, {"f": 3.0}, dict.fromkeys(admitted, 1))
    costs = CHAIN["flows"][0]
    assert {node: load["cpu"] for node, load in at_nodes.items()} == {
        node: 3.0 * cost["cpu"] if node in nodes else 0.0
        for node, cost in costs["node_costs"].items()
    }
    assert on_links == {
        link: 3.0 * cost if link in links else 0.0 for link, cost in costs["link_costs"].items()
    }


def test_always_loads_the_whole_route_whoever_is_admitted() -> None:
    problem = problem_from_dict(CHAIN | {"forwarding": "always"})
    at_nodes, on_links = loads(problem, {"f": 1.0}, {})
    assert sum(load["cpu"] for load in at_nodes.values()) == 31.0
    assert sum(on_links.values()) == 15.0


def test_a_file_that_says_nothing_means_always_and_keeps_its_hash() -> None:
    silent = {key: value for key, value in CHAIN.items() if key != "forwarding"}
    problem = problem_from_dict(silent)
    assert problem.forwarding is Forwarding.ALWAYS
    assert "forwarding" not in problem_to_dict(problem)
    said = problem_from_dict(silent | {"forwarding": "always"})
    assert content_hash(said) == content_hash(problem)
    assert content_hash(chain()) != content_hash(problem)


def test_forwarding_source_and_route_survive_writing() -> None:
    problem = chain(route={"a": {"from": "src"}, "b": {"from": "a", "link": "l2"}})
    again = problem_from_dict(problem_to_dict(problem))
    assert (again.forwarding, again.flows) == (problem.forwarding, problem.flows)


@pytest.mark.parametrize(
    ("route", "path", "words"),
    [
        ({"src": {"from": "a"}}, "flows[0].route.src", "the source cannot lie behind"),
        ({"a": {"from": "b"}, "b": {"from": "a"}}, "flows[0].route.a", "lies behind itself"),
        (
            {"a": {"from": "src", "link": "l1"}, "b": {"from": "a", "link": "l1"}},
            "flows[0].route.b.link",
            'link "l1" already leads to "a"',
        ),
        ({"a": {"from": "src", "over": "l1"}}, "flows[0].route.a", 'unknown key "over"'),
    ],
)
def test_refuses_a_route_that_is_no_tree(route: Any, path: str, words: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        chain(route=route)
    assert caught.value.path == path
    assert words in caught.value.message
