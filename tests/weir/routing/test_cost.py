"""What a tree costs: against paths counted one by one, and exchanges against whole trees."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.topologies.instances import link_messages, problem, problems
from weir.errors import InvalidProblem
from weir.routing.arrays import pair_arrays, traffic_arrays
from weir.routing.cost import edge_rows, loads, routing
from weir.topologies._descent import Tree

quick = settings(max_examples=40, deadline=None)


@quick
@given(problems())
def test_links_carry_what_the_paths_of_publications_say(p):
    carried, told = loads(p, p.today), link_messages(p, p.today)
    for (a, b), rate in carried.directions.items():
        assert rate == pytest.approx(told.get((a, b), 0.0), abs=1e-9)
    assert routing(p, p.today).link_messages_per_s == pytest.approx(sum(told.values()), abs=1e-9)


@quick
@given(problems())
def test_brokers_take_in_what_their_links_bring(p):
    carried, told = loads(p, p.today), link_messages(p, p.today)
    for name, load in carried.brokers.items():
        into = sum(rate for (_, to), rate in told.items() if to == name)
        wanted = sum(
            rate
            for topic in p.traffic
            if name in topic.interested
            for source, rate in topic.published.items()
            if source != name
        )
        assert load.received == pytest.approx(wanted, abs=1e-9)
        assert load.received + load.relayed == pytest.approx(into, abs=1e-9)
        assert load.published == pytest.approx(sum(t.published.get(name, 0) for t in p.traffic))
        assert load.delivered == pytest.approx(sum(t.interested.get(name, 0) for t in p.traffic))


@quick
@given(problems())
def test_cost_is_links_latency_and_overload_by_their_weights(p):
    carried, told = loads(p, p.today), routing(p, p.today)
    capacity = {site.broker: site.capacity_per_s for site in p.brokers}
    over = sum(
        max(0.0, load.handled - capacity[name])
        for name, load in carried.brokers.items()
        if capacity[name] is not None
    )
    options = {(link.a, link.b): link for link in p.links}
    over += sum(
        max(0.0, rate - options[pair].capacity_per_s)
        for pair, rate in carried.links.items()
        if pair in options and options[pair].capacity_per_s is not None
    )
    assert told.overload_per_s == pytest.approx(over, abs=1e-9)
    expected = told.link_messages_per_s + 20.0 * told.in_flight + 10.0 * over
    assert told.cost_per_s == pytest.approx(expected, abs=1e-9)
    assert set(told.overloaded) == {
        name
        for name, load in carried.brokers.items()
        if capacity[name] is not None and load.handled > capacity[name] * (1 + 1e-9)
    }


@quick
@given(problems(), st.data())
def test_change_of_an_exchange_is_the_difference_of_whole_trees(p, data):
    traffic, pairs = traffic_arrays(p, p.names), pair_arrays(p)
    overload = p.weights.per_overload
    tree = Tree(traffic, pairs, overload, edge_rows(p.today, traffic.number))
    assert tree.cost == pytest.approx(routing(p, p.today).cost_per_s, abs=1e-9)
    v = data.draw(st.integers(1, len(p.names) - 1))
    x, y, change, _ = tree.best_exchange(v)
    if x < 0:
        return
    after = Tree(traffic, pairs, overload, tree.after(v, x, y))
    assert after.cost - tree.cost == pytest.approx(change, abs=1e-6)
    assert after.degree.max() <= max(tree.degree.max(), pairs.most.max())


@settings(max_examples=12, deadline=None)
@given(problems())
def test_best_exchange_is_the_best_of_all(p):
    traffic, pairs = traffic_arrays(p, p.names), pair_arrays(p)
    tree = Tree(traffic, pairs, p.weights.per_overload, edge_rows(p.today, traffic.number))
    n = len(p.names)
    for v in range(1, n):
        changes = []
        free = pairs.most - tree.degree
        free[[v, tree.parent[v]]] += 1
        for x in range(n):
            for y in range(n):
                rows = tree.after(v, x, y)
                if x == y or not pairs.weight[x, y] < float("inf") or min(free[x], free[y]) < 1:
                    continue
                if {x, y} == {v, int(tree.parent[v])} or not spans(rows, n):
                    continue
                changes.append(Tree(traffic, pairs, p.weights.per_overload, rows).cost - tree.cost)
        change = tree.best_exchange(v)[2]
        assert (
            change == pytest.approx(min(changes), abs=1e-6) if changes else change == float("inf")
        )


def spans(rows, n):
    reached = {0}
    for _ in range(n):
        reached |= {int(b) for row in rows for b in row if reached & set(map(int, row))}
    return len(reached) == n


def test_topic_is_carried_once_over_each_link():
    p = problem(brokers=4, topics=0, seed=0)
    star = frozenset({("b000", "b001"), ("b000", "b002"), ("b000", "b003")})
    (topic,) = evaluation_topics({"b001": 10.0}, {"b002": 10.0, "b003": 10.0})
    p = dataclasses.replace(p, traffic=(topic,), today=star)
    carried = loads(p, star)
    assert carried.links == {("b000", "b001"): 10.0, ("b000", "b002"): 10.0, ("b000", "b003"): 10.0}
    assert carried.brokers["b000"].relayed == 10.0
    assert carried.brokers["b000"].handled == 10.0


def evaluation_topics(published, interested):
    from weir.model.evaluation import Traffic

    return (Traffic(topic="t", published=published, interested=interested),)


def test_input_order_never_changes_the_cost():
    p = problem(brokers=12, topics=9, seed=3, capacities=True)
    other = dataclasses.replace(
        p, traffic=p.traffic[::-1], brokers=p.brokers[::-1], links=p.links[::-1]
    )
    assert routing(other, other.today) == routing(p, p.today)


def test_what_is_no_tree_is_refused():
    p = problem(brokers=4, topics=1, seed=0)
    with pytest.raises(InvalidProblem, match="closes a cycle"):
        routing(p, {("b000", "b001"), ("b001", "b002"), ("b000", "b002")})
    with pytest.raises(InvalidProblem, match="no way from"):
        routing(p, {("b000", "b001"), ("b002", "b003")})
