"""Is it worth the way? Replayed loads against whole trees, what is held, and the signs."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.topologies.instances import problem
from weir.codec.evaluation import evaluation_from_dict
from weir.errors import InvalidProblem
from weir.model.evaluation import PlanRow
from weir.model.transformation import Move
from weir.routing.benefit import (
    Replay,
    held_messages,
    net_benefit,
    sentences,
    transformation_cost,
)
from weir.routing.cost import loads, routing
from weir.transformation.moves import apply, neighbours, slides


def random_moves(edges, rng, count):
    tree = neighbours(edges)
    for _ in range(count):
        i = rng.choice(sorted(tree))
        j = rng.choice(sorted(tree[i]))
        others = sorted(tree[j] - {i})
        if others:
            move = Move(op="shift", broker=i, source=j, to=rng.choice(others))
            apply(tree, move)
            yield move


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 8), st.integers(0, 10**6))
def test_replayed_loads_are_those_of_the_tree(brokers, topics, seed):
    p = problem(brokers=brokers, topics=topics, seed=seed)
    replay = Replay(p)
    for move in random_moves(p.today, random.Random(seed), 20):
        before = loads(p, replay.edges)
        held = replay.held(move)
        assert held == pytest.approx(paused(p, before, move) * p.disruption.pause_s, abs=1e-6)
        after = loads(p, replay.edges)
        for (a, b), load in after.links.items():
            assert link_load(replay, a, b) == pytest.approx(load, abs=1e-6)


def paused(p, before, move):
    """What three brokers publish and what comes to them from outside, counted by direction."""
    inside = {move.broker, move.source, move.to} - {None}
    rate = sum(before.brokers[name].published for name in inside)
    return rate + sum(
        r for (a, b), r in before.directions.items() if b in inside and a not in inside
    )


def test_append_holds_nothing_and_detach_its_two_brokers():
    p = problem(brokers=8, topics=6, seed=2)
    leaf, stays = leaf_of(p.today)
    before = loads(p, p.today)
    detach = Move(op="detach", broker=leaf, source=stays)
    replay = Replay(p)
    assert replay.held(detach) == pytest.approx(paused(p, before, detach) * p.disruption.pause_s)
    assert replay.held(Move(op="append", broker=leaf, to=stays)) == 0.0
    assert replay.edges == p.today
    a, b = sorted(p.today)[2]
    assert link_load(replay, a, b) == pytest.approx(before.links[a, b])


def link_load(replay, a, b):
    """Messages per second over a link, as the replay has it after its moves."""
    i, j = replay._traffic.number[a], replay._traffic.number[b]
    child = i if replay._parent[i] == j else j
    return replay._up[child] + replay._down[child]


def leaf_of(edges):
    tree = neighbours(edges)
    leaf = next(name for name in sorted(tree, reverse=True) if len(tree[name]) == 1)
    return leaf, next(iter(tree[leaf]))


def test_composite_actions_are_replayed_too():
    p = problem(brokers=8, topics=6, seed=2)
    leaf, stays = leaf_of(p.today)
    far = next(
        n
        for n in p.names
        if n not in (leaf, stays) and (min(n, stays), max(n, stays)) not in p.today
    )
    replay = Replay(p)
    assert replay.held(Move(op="move", broker=leaf, source=stays, to=far)) > 0
    for (a, b), load in loads(p, replay.edges).links.items():
        assert link_load(replay, a, b) == pytest.approx(load, abs=1e-9)


def test_action_that_does_not_apply_is_refused():
    p = problem(brokers=8, topics=6, seed=2)
    with pytest.raises(InvalidProblem, match="no link"):
        held_messages(p, ((Move(op="shift", broker="b001", source="nobody", to="b000"),),))


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 10**6))
def test_exchange_as_slides_ends_with_the_link_wanted(brokers, seed):
    p = problem(brokers=brokers, topics=0, seed=seed)
    rng = random.Random(seed)
    a, b = removed = rng.choice(sorted(p.today))
    tree = neighbours(p.today - {removed}, set(p.names))
    sides = [side_of(tree, a), side_of(tree, b)]
    made = tuple(rng.choice(sorted(side)) for side in sides)
    standing = neighbours(p.today)
    for move in slides(neighbours(p.today), removed, made):
        apply(standing, move)
    edges = {(x, y) for x, others in standing.items() for y in others if x < y}
    assert edges == (p.today - {removed}) | {(min(made), max(made))}


def side_of(tree, start):
    reached, grown = {start}, True
    while grown:
        side = reached | {other for name in reached for other in tree[name]}
        grown, reached = side != reached, side
    return reached


def far_talk(**more):
    """Both ends of a path of four talk with each other, 10 msg/s one way."""
    return evaluation_from_dict(
        {
            "brokers": [{"id": name, "capacity_per_s": 25} for name in "abcd"],
            "missing_links": {},
            "traffic": [{"topic": "t", "published": {"a": 10}, "interested": {"d": 10}}],
            "today": [["a", "b"], ["b", "c"], ["c", "d"]],
            **more,
        }
    )


def test_benefit_has_the_sign_of_what_the_horizon_pays():
    p = far_talk(disruption={"pause_s": 0.1, "per_held_message": 2, "per_action": 5})
    step = Move(op="shift", broker="d", source="c", to="b")
    # b and c are reached from a over a-b; b-c and c-d are links of the action.
    held = held_messages(p, ((step,),))
    assert held == pytest.approx(0.1 * 10)
    cost = transformation_cost(p, price=1.0, held=held)
    assert cost == pytest.approx(5 + 2 * 1)
    saved = routing(p, p.today).cost_per_s - routing(p, after(p, step)).cost_per_s
    assert saved == pytest.approx(10)
    for horizon_s, sign in ((0.5, -1), (0.7, 0), (1.0, 1)):
        q = dataclasses.replace(p, horizon_s=horizon_s)
        benefit = net_benefit(q, saved_per_s=saved, cost=cost)
        assert benefit == pytest.approx(sign * abs(10 * horizon_s - 7), abs=1e-9)


def after(p, *moves):
    tree = neighbours(p.today)
    for move in moves:
        apply(tree, move)
    return frozenset((a, b) for a, others in tree.items() for b in others if a < b)


def test_sentences_hold_the_numbers():
    p = far_talk(horizon_s=100.0)
    goal = after(p, Move(op="shift", broker="d", source="c", to="b"))
    row = PlanRow(
        candidate="x",
        planner="slides",
        objective="actions",
        actions=1,
        steps=1,
        transformation_cost=101.0,
        held_messages=1.0,
        net_benefit=899.0,
    )
    told = " ".join(sentences(p, routing(p, p.today), routing(p, goal), row))
    for words in (
        "Routing costs 20.0 link messages per second instead of 30.0 (\N{MINUS SIGN}33.3 %)",
        "Over 100 s that saves 1,000 link messages; the way there costs 101: 1 action in 1 step",
        "Net benefit 899 link messages.",
        "about 1 message waits",
        "The busiest broker is d at 80 %.",
    ):
        assert words in told
