"""Actions in a row -> steps of actions that may run together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from weir.transformation.moves import apply, gaining, losing, neighbours

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weir.model.transformation import Edge, Move, Steps, Transformation


def pack(problem: Transformation, moves: Iterable[Move]) -> Steps:
    """Each action in the earliest step that keeps the order of those it depends on.

    Disjoint brokers: an action waits for every earlier one that shares a broker. `paper`: it waits
    for the one that made a link it needs, and for those that needed the link it removes. With a
    maximum degree, arrivals wait for departures at a full broker. O(actions) without, O(actions x
    arrivals at a broker) with one. Raises InvalidProblem for an action that does not apply.
    """
    tree = neighbours(problem.initial, problem.initial_brokers)
    disjoint = problem.options.parallel == "broker-disjoint"
    limit = problem.options.max_degree
    steps: list[list[Move]] = []
    after_broker: dict[str, int] = defaultdict(int)  # first step in which the broker is free
    there_from: dict[Edge, int] = defaultdict(int)  # first step in which the link may be used
    used_until: dict[Edge, int] = defaultdict(int)  # first step after the last that needed it
    balance: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    start_degree = {broker: len(others) for broker, others in tree.items()}
    for move in moves:
        done = apply(tree, move)
        at = 0
        for needed in done.needs:
            at = max(at, there_from[needed])
        if done.removes is not None:
            at = max(at, there_from[done.removes], used_until[done.removes])
        # A broker that comes or goes is alone with that: nobody meets a broker half there.
        if disjoint or move.op in ("append", "detach"):
            at = max([at, *(after_broker[broker] for broker in done.participants)])
        else:
            at = max([at, *(there_from[(b, b)] for b in done.participants)])
        if limit is not None and not disjoint:
            for broker in gaining(done):
                degree = start_degree.get(broker, 0)
                at = max(at, _room(balance[broker], degree, limit, at))
        while len(steps) <= at:
            steps.append([])
        steps[at].append(move)
        for broker in done.participants:
            after_broker[broker] = max(after_broker[broker], at + 1)
        for needed in done.needs:
            used_until[needed] = max(used_until[needed], at + 1)
        for broker in losing(done):
            balance[broker][at][1] += 1
        for broker in gaining(done):
            balance[broker][at][0] += 1
        if done.makes is not None:
            there_from[done.makes] = at + 1
            used_until[done.makes] = 0
        if move.op == "append":
            there_from[(move.broker, move.broker)] = at + 1
    return tuple(tuple(step) for step in steps)


def _room(balance: dict[int, list[int]], degree: int, limit: int, at: int) -> int:
    """First step from `at` on in and after which one more link fits, whatever runs first."""
    for step in sorted(balance):
        came, left = balance[step]
        if step >= at and degree + came + 1 > limit:  # the most that it may have in this step
            at = step + 1
        degree += came - left
    # Between the steps that change it the degree stands; it is checked once more at `at`.
    return at if _degree_at(balance, degree, at) + 1 <= limit else max(balance, default=-1) + 1


def _degree_at(balance: dict[int, list[int]], last: int, at: int) -> int:
    """The degree when step `at` begins, from what it is in the end."""
    return last - sum(came - left for step, (came, left) in balance.items() if step >= at)
