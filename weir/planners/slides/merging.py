"""Runs of slides of one link become one composite action where that is cheaper.

A link that slides several times in a row, with nothing between that depends on it, may as well go
to its last place at once: `move` if one of its ends stays, else `exchange`. A composite has all
brokers of its way take part, so prices of brokers decide, too. Which parts of a run are merged is
the cheapest of all ways to cut it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.actions import edge
from weir.errors import InvalidProblem
from weir.model.transformation import Move
from weir.transformation.moves import apply, change, inverse, neighbours, price

if TYPE_CHECKING:
    from weir.model.transformation import Edge, Transformation
    from weir.transformation.moves import Neighbours

LOOK_BACK = 60
"""Runs between a slide and the run that it continues, at most."""
LONGEST = 40
"""Slides that one composite replaces, at most."""
EPS = 1e-9


@dataclass(slots=True)
class _Run:
    """Actions that follow one another, all but single ones slides of one link."""

    moves: list[Move]
    link: Edge | None
    writes: set[Edge]
    reads: set[Edge]
    brokers: set[str]


def merged(problem: Transformation, moves: list[Move]) -> list[Move]:
    """The same way with composites, if the problem prices any."""
    costs = problem.options.action_costs
    if costs.move is None and costs.exchange is None:
        return moves
    tree = neighbours(problem.initial, problem.initial_brokers)
    result: list[Move] = []
    for run in _runs(problem, moves):
        result += _cheapest(problem, tree, run.moves)
    return result


def _runs(problem: Transformation, moves: list[Move]) -> list[_Run]:
    by_broker = problem.options.max_degree is not None
    runs: list[_Run] = []
    ends_with: dict[Edge, int] = {}
    for move in moves:
        if move.op != "shift" or move.source is None or move.to is None:
            brokers = {b for b in (move.broker, move.source, move.to) if b is not None}
            runs.append(_Run([move], None, set(), set(), brokers))
            continue
        gone, made = edge(move.broker, move.source), edge(move.broker, move.to)
        over = edge(move.source, move.to)
        brokers = {move.broker, move.source, move.to}
        at = ends_with.pop(gone, None)
        if at is not None and _may_continue(runs, at, gone, made, over, brokers, by_broker):
            run = runs[at]
            run.moves.append(move)
        else:
            at = len(runs)
            run = _Run([move], None, {gone}, set(), set())
            runs.append(run)
        run.writes.add(made)
        run.reads.add(over)
        run.brokers |= brokers
        run.link = made
        ends_with[made] = at
    return runs


def _may_continue(
    runs: list[_Run],
    at: int,
    gone: Edge,
    made: Edge,
    over: Edge,
    brokers: set[str],
    by_broker: bool,
) -> bool:
    if len(runs) - at > LOOK_BACK or len(runs[at].moves) >= LONGEST:
        return False
    for run in runs[at + 1 :]:
        if run.link is None or by_broker:
            if run.brokers & brokers:
                return False
        elif {gone, made} & (run.writes | run.reads) or over in run.writes:
            return False
    return True


def _cheapest(problem: Transformation, tree: Neighbours, slides: list[Move]) -> list[Move]:
    """The cheapest cut of a run into slides and composites; carried out on `tree`."""
    if len(slides) == 1:
        apply(tree, slides[0])
        return slides
    costs = problem.options.action_costs
    best: list[tuple[float, list[Move]]] = [(0.0, [])]
    best += [(float("inf"), [])] * len(slides)
    for start, slide in enumerate(slides):
        for end in range(start + 1, len(slides) + 1):
            one = slide if end == start + 1 else _at_once(slides[start:end])
            if one is None or (one.op != "shift" and getattr(costs, one.op) is None):
                continue
            try:
                done = change(tree, one)
            except InvalidProblem:
                continue
            if any(broker in problem.options.frozen_brokers for broker in done.participants):
                continue
            total = best[start][0] + price(one, done, costs)
            if total < best[end][0] - EPS:
                best[end] = (total, [*best[start][1], one])
        apply(tree, slide)
    for slide in reversed(slides):
        apply(tree, inverse(slide))
    chosen = best[-1][1]
    for move in chosen:
        apply(tree, move)
    return chosen


def _at_once(slides: list[Move]) -> Move | None:
    """One composite for all of the slides of a link; None where it comes back or only slides."""
    first = slides[0]
    assert first.source is not None
    start = [first.broker, first.source]
    ends = list(start)
    for slide in slides:
        assert slide.source is not None
        assert slide.to is not None
        moving = 0 if ends[0] == slide.source and ends[1] == slide.broker else 1
        ends[moving] = slide.to
    for fixed in (0, 1):
        if ends[fixed] == start[fixed]:
            source, to = start[1 - fixed], ends[1 - fixed]
            if source == to:
                return None
            return Move(op="move", broker=start[fixed], source=source, to=to)
    return Move(op="exchange", broker=start[0], source=start[1], at=ends[0], to=ends[1])
