"""The contract of `weir.topologies`: whatever the method, its trees hold what was asked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import weir.topologies
from tests.weir.topologies.instances import all_trees, problem, problems
from weir.codec.evaluation import evaluation_from_dict, evaluation_to_dict
from weir.errors import UnknownMethod
from weir.plugins import describe
from weir.routing.cost import routing
from weir.stop import never
from weir.topologies import NoTree, designer, designers, minimum_cost

METHODS = sorted(designers())
OTHERS = [name for name in METHODS if name != "keep_today"]
each = pytest.mark.parametrize("name", METHODS)


def made(name, p, *, stop=never, seed=1, **params):
    method = designer(name)
    return method.design(p, method.Params(**params), stop=stop, seed=seed)


def test_four_methods_are_registered_under_their_file_names():
    folder = Path(weir.topologies.__file__).parent
    assert METHODS == ["keep_today", "local_improvement", "minimum_cost", "topic_connected"]
    assert all((folder / f"{name}.py").exists() for name in METHODS)
    with pytest.raises(UnknownMethod, match=r'no method "best" .* known are keep_today'):
        designer("best")


@each
def test_method_says_what_it_is(name):
    method = designer(name)
    assert method.TITLE
    assert method.SUMMARY.endswith(".")
    assert all(row["help"] for row in describe(method.Params))


def assert_kept(p, edges):
    """A tree over the brokers, of allowed links, within the degrees, frozen parts kept."""
    tree = nx.Graph(list(edges))
    tree.add_nodes_from(p.names)
    assert nx.is_tree(tree)
    assert set(tree) == set(p.names)
    options = {(link.a, link.b) for link in p.links}
    if p.missing_links is None:
        assert edges <= options | p.today
    most = {site.broker: site.degree_max for site in p.brokers}
    for broker, degree in tree.degree:
        assert degree <= (most[broker] or len(most))
        assert degree <= (p.options.max_degree or len(most))


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=25, deadline=None)
@given(p=problems())
def test_tree_keeps_links_and_degrees(name, p):
    try:
        edges = made(name, p)
    except NoTree:
        return
    assert_kept(p, edges)


@each
def test_same_seed_gives_the_same_tree_whatever_the_order_of_the_input(name):
    p = problem(brokers=14, topics=9, seed=5)
    plain = evaluation_to_dict(p)
    for key in ("brokers", "links", "traffic", "today"):
        plain[key] = plain[key][::-1]
    assert made(name, p) == made(name, evaluation_from_dict(plain))


@each
def test_stopped_at_once_there_is_a_tree_all_the_same(name):
    p = problem(brokers=14, topics=9, seed=5)
    assert_kept(p, made(name, p, stop=lambda progress: True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("capacities", [False, True])
def test_minimum_cost_is_the_optimum_of_all_trees_of_six_brokers(seed, capacities):
    p = problem(brokers=6, topics=5, seed=seed, capacities=capacities, degrees=True)
    best = float("inf")
    most = {site.broker: site.degree_max or 5 for site in p.brokers}
    for edges in all_trees(p.names):
        degrees = Counter(broker for pair in edges for broker in pair)
        if all(degree <= most[broker] for broker, degree in degrees.items()):
            best = min(best, routing(p, edges).cost_per_s)
    cost = routing(p, made("minimum_cost", p)).cost_per_s
    assert cost == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_cheaper_than_minimum_cost(seed):
    p = problem(brokers=30, topics=25, seed=seed)
    costs = {name: routing(p, made(name, p)).cost_per_s for name in METHODS}
    assert min(costs, key=costs.__getitem__) == "minimum_cost"
    assert costs["local_improvement"] < costs["keep_today"]


def test_cut_tree_has_the_minimum_cut_of_every_pair_on_its_path():
    rng = np.random.default_rng(4)
    between = np.triu(rng.integers(0, 2, (9, 9)) * rng.integers(1, 50, (9, 9)), 1).astype(float)
    between += between.T
    graph = nx.Graph()
    graph.add_nodes_from(range(9))
    for a, b in zip(*np.nonzero(between), strict=True):
        graph.add_edge(int(a), int(b), capacity=between[a, b])
    tree = nx.Graph([tuple(map(int, row)) for row in minimum_cost.cut_tree(between)])
    assert nx.is_tree(tree)
    for a, b in list(tree.edges):
        tree.remove_edge(a, b)
        side = nx.node_connected_component(tree, a)
        crossing = sum(between[i, j] for i in side for j in set(range(9)) - side)
        assert crossing == pytest.approx(nx.minimum_cut_value(graph, a, b), rel=1e-6)
        tree.add_edge(a, b)


def test_topic_connected_relays_nothing_where_topics_do_not_overlap():
    plain = {
        "brokers": [{"id": name} for name in "abcdef"],
        "missing_links": {},
        "traffic": [
            {"topic": "1", "published": {"a": 9}, "interested": {"c": 9, "e": 9}},
            {"topic": "2", "published": {"b": 9}, "interested": {"d": 9, "f": 9}},
        ],
        "today": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"]],
    }
    p = evaluation_from_dict(plain)
    edges = made("topic_connected", p)
    assert routing(p, edges).link_messages_per_s == 36.0
    assert routing(p, p.today).link_messages_per_s == 72.0


def test_topic_connected_keeps_the_degree_low():
    p = problem(brokers=40, topics=40, seed=1)
    edges = made("topic_connected", p, degree=4)
    assert routing(p, edges).degree <= 4
    assert routing(p, made("minimum_cost", p, rounds=0)).degree > 4


def test_local_improvement_goes_as_far_as_the_horizon_pays():
    changed = []
    for horizon_s in (1e-6, 0.1, 3600.0):
        p = problem(brokers=25, topics=20, seed=2, horizon_s=horizon_s)
        changed.append(len(made("local_improvement", p) - p.today))
    assert changed[0] == 0
    assert 0 < changed[1] < changed[2]


def test_frozen_parts_stay():
    p = problem(brokers=12, topics=9, seed=1)
    link = sorted(p.today)[3]
    plain = evaluation_to_dict(p)
    plain["options"] = {"frozen": ["b000", list(link)], "max_degree": 8}
    p = evaluation_from_dict(plain)
    around = {pair for pair in p.today if "b000" in pair}
    for name in METHODS:
        edges = made(name, p)
        assert link in edges
        assert {pair for pair in edges if "b000" in pair} == around


def test_brokers_that_come_and_go():
    p = problem(brokers=10, topics=6, seed=1)
    plain = evaluation_to_dict(p)
    gone = "b003"
    plain["brokers"] = [row for row in plain["brokers"] if row["id"] != gone] + [{"id": "new"}]
    p = evaluation_from_dict(plain)
    for name in METHODS:
        assert_kept(p, made(name, p))


def test_no_tree_says_where():
    plain = {
        "brokers": [{"id": name} for name in ("a", "b", "new")],
        "links": [],
        "today": [["a", "b"]],
    }
    with pytest.raises(NoTree, match="no allowed link joins the part of a with that of new"):
        made("minimum_cost", evaluation_from_dict(plain))
    plain = {
        "brokers": [{"id": name, "degree_max": 1} for name in "abc"],
        "missing_links": {},
        "today": [["a", "b"], ["b", "c"]],
    }
    with pytest.raises(NoTree, match="broker b keeps 2 links, more than 1"):
        made("minimum_cost", evaluation_from_dict(plain))


LEFT_TO_COMPILE = """
from numba.core.dispatcher import Dispatcher
from tests.weir.topologies.instances import problem
from weir.stop import never
from weir.topologies import designers
from weir.routing import kernels as _kernels
from weir.warm_up import warm_up_topologies

def compiled():
    kernels = {name: x for name, x in vars(_kernels).items() if isinstance(x, Dispatcher)}
    return {(name, str(s)) for name, x in kernels.items() for s in x.signatures}, set(kernels)

warm_up_topologies()
before, kernels = compiled()
# What only other kernels call is compiled into them.
missed = kernels - {name for name, _ in before}
inside = {"excess", "_beyond", "far_gains", "hops", "best_pair"}
assert missed <= inside, f"not reached: {missed}"
p = problem(brokers=12, topics=6, seed=0, capacities=True, degrees=True, every_link=False)
for method in designers().values():
    method.design(p, method.Params(), stop=never, seed=0)
print(len(kernels), sorted(compiled()[0] - before))
"""


def test_nothing_is_left_to_compile_after_the_warm_up():
    """In a process of its own, for in this one other tests have compiled things."""
    root = Path(weir.topologies.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", LEFT_TO_COMPILE], capture_output=True, text=True, cwd=root
    )
    assert done.returncode == 0, done.stderr
    number, left = done.stdout.split(" ", 1)
    assert int(number) >= 10
    assert json.loads(left.replace("'", '"')) == []
