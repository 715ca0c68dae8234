"""Compute the figures of a plan: the overlay after each step, and whom its moving links disturb.

Both are left out where they would take longer than a page or the end of a run can wait.
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from weir.actions import edge
from weir.model.evaluation import EvaluationProblem
from weir.model.transformation import Edge, Move, Steps
from weir.routing.cost import Loads, loads, routing_of
from weir.transformation.moves import Neighbours, apply, change, neighbours, slides

MOST_FIGURES = 400_000
"""The product of brokers, topics and steps up to which every step gets its figures."""

MOST_SIDES = 3_000_000
"""The product of brokers and actions up to which disturbed consumers are counted."""

Key = TypeVar("Key", bound=Hashable)

SAME = 1e-9
"""Loads with a smaller relative difference count as equal."""

Subscribers = Mapping[str, Mapping[str, int]]
"""Topic -> broker -> number of consumers there."""


def moments(problem: EvaluationProblem, steps: Steps) -> list[dict[str, Any]]:
    """Return the overlay before the first step and after each; figures are None where there are too
    many.

    Links that a step takes away and makes are those that differ before and after it. Loads of
    links and brokers are given in full before the first step, then where a step changes them.
    """
    tree = neighbours(problem.today, problem.today_brokers)
    work = max(1, len(problem.brokers)) * max(1, len(problem.traffic)) * (len(steps) + 1)
    figures = work <= MOST_FIGURES
    edges = edges_of(tree)
    known = _loads(problem, edges) if figures else None
    rows = [_moment(problem, edges, edges, NO_LOADS, known)]
    for step in steps:
        for move in step:
            apply(tree, move)
        before, edges = edges, edges_of(tree)
        former, known = known, _loads(problem, edges) if figures else None
        rows.append(_moment(problem, before, edges, former or NO_LOADS, known))
    return rows


NO_LOADS = Loads(links={}, directions={}, brokers={})


def _loads(problem: EvaluationProblem, edges: frozenset[Edge]) -> Loads | None:
    return loads(problem, edges) if edges else None


def _moment(
    problem: EvaluationProblem,
    before: frozenset[Edge],
    edges: frozenset[Edge],
    former: Loads,
    now: Loads | None,
) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "removed": [list(pair) for pair in sorted(before - edges)],
        "added": [list(pair) for pair in sorted(edges - before)],
        **dict.fromkeys(("routing_cost_per_s", "traffic_per_s", "in_flight", "busiest_share")),
        "busiest_broker": "",
        "links": [],
        "brokers": [],
    }
    if now is None:
        return plain
    routing = routing_of(problem, edges, now)
    handled = {name: load.handled for name, load in now.brokers.items()}
    was = {name: load.handled for name, load in former.brokers.items()}
    return {
        **plain,
        "links": [
            {"a": a, "b": b, "traffic_per_s": rate}
            for (a, b), rate in _changed(former.links, now.links)
        ],
        "brokers": [
            {"broker": name, "handled_per_s": rate} for name, rate in _changed(was, handled)
        ],
        "routing_cost_per_s": routing.cost_per_s,
        "traffic_per_s": routing.link_messages_per_s,
        "in_flight": routing.in_flight,
        "busiest_broker": routing.highest_broker,
        "busiest_share": routing.highest_load,
    }


def _changed(before: Mapping[Key, float], now: Mapping[Key, float]) -> list[tuple[Key, float]]:
    return [
        (key, rate)
        for key, rate in now.items()
        if key not in before or not math.isclose(rate, before[key], rel_tol=SAME, abs_tol=SAME)
    ]


def edges_of(tree: Neighbours) -> frozenset[Edge]:
    """Return the links of a tree."""
    return frozenset(edge(a, b) for a, others in tree.items() for b in others)


def disturbed(problem: EvaluationProblem, steps: Steps, subscribers: Subscribers) -> int | None:
    """Return the number of consumers of the topics that cross a link while it moves, each counted
    once."""
    every = [move for step in steps for move in step]
    if len(every) * len(problem.brokers) > MOST_SIDES:
        return None
    tree = neighbours(problem.today, problem.today_brokers)
    paused: set[str] = set()
    for move in every:
        moved = change(tree, move).removes
        if moved is not None:
            side = _side(tree, moved)
            paused |= {
                row.topic
                for row in problem.traffic
                if row.topic not in paused and _crosses(row.published, row.interested, side)
            }
        apply(tree, move)
    return sum(count for topic in paused for count in subscribers.get(topic, {}).values())


def _side(tree: Neighbours, link: Edge) -> set[str]:
    """Return the brokers on the first end's side of a link."""
    start, barrier = link
    seen, queue = {start}, [start]
    while queue:
        for other in tree[queue.pop()]:
            if other not in seen and other != barrier:
                seen.add(other)
                queue.append(other)
    return seen


def _crosses(published: Mapping[str, float], interested: Iterable[str], side: set[str]) -> bool:
    """Return whether somebody sends on one side of the link what somebody wants on the other."""
    wants = set(interested)
    sends = {broker for broker, rate in published.items() if rate > 0}
    return bool((sends & side and wants - side) or (sends - side and wants & side))


def expanded(tree: Neighbours, moves: Iterable[Move]) -> list[Move]:
    """Return the same changes as shifts, appends and detaches only; `tree` is changed by them.

    A composite slides the end at `broker` along its side, then the other end along the other
    side: each hop is one shift, so agents can carry it out.
    """
    plain: list[Move] = []
    for move in moves:
        singles = [move]
        if move.op in ("move", "exchange"):
            assert move.source is not None
            assert move.to is not None
            removes, makes = (move.broker, move.source), (move.at or move.broker, move.to)
            singles = slides(tree, removes, makes)
        for single in singles:
            apply(tree, single)
        plain += singles
    return plain
