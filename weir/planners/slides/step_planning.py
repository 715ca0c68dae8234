"""Few steps: plans whose steps are filled for all goal links at once.

A plan for few actions, packed into steps, is the start; a beam search over steps replaces it by
shorter ones, and with disjoint brokers so does annealing, which plans parts of it anew around its
busiest brokers. It may take more actions: the objective is the number of steps, among equals the
number of actions.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from itertools import count, cycle
from typing import TYPE_CHECKING, Any

from weir.errors import InvalidProblem
from weir.model.transformation import Move
from weir.planners import PlanProgress
from weir.planners.slides.stepping.annealing import Annealing
from weir.planners.slides.stepping.arrays import ways as ways_of
from weir.planners.slides.stepping.search import Taste, search
from weir.transformation.bounds import lower_bounds
from weir.transformation.moves import apply, inverse, neighbours
from weir.transformation.reduction import reduced
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from weir.model.transformation import Steps, Transformation
    from weir.planners.slides.stepping.arrays import Ways
    from weir.planners.slides.stepping.search import Triples

ROUNDS = 60
"""Rounds without a better plan after which the search ends by itself."""
WIDTHS = (8, 32, 128)
"""States that a round keeps after each step: twice each, then over again."""
RESUME_AFTER = 2
"""Rounds without a better plan after which rounds may keep a part of the best one..."""
RESUMED = 0.25
"""... and the share of those that do: they begin inside it, where less is left to decide."""
ANNEALED = 8
"""With disjoint brokers, work spent annealing per work spent in beams, counted in questions, once
annealing has shortened a plan; as much as in beams before."""


def improve_steps(
    problem: Transformation,
    moves: Iterable[Move],
    *,
    stop: Callable[[PlanProgress], bool],
    seed: int,
    on_progress: Callable[[PlanProgress], None] | None = None,
) -> Steps:
    """The steps of the best plan found before `stop`; never more than those of `moves`, packed.

    `moves` is a valid plan of the problem, in order. The same seed and as many questions to `stop`
    give the same answer.
    """
    best = pack(problem, moves)
    bounds = lower_bounds(problem)
    if len(best) <= bounds.steps:
        return best
    parts = reduced(problem)
    disjoint = problem.options.parallel == "broker-disjoint"
    starts = (ways_of(parts.problem), ways_of(_backwards(parts.problem), undone=True))
    if not parts.problem.missing:  # only appends and detaches: packed as tightly as they can be
        return best
    resumable = not parts.appends and not parts.detaches
    rng = random.Random(seed)
    tastes = _tastes(rng, disjoint)
    annealing = Annealing(parts, seed=seed) if disjoint else None
    asked = _Asked(stop)
    fruitless = beams = 0
    for number in count():
        progress = PlanProgress(
            round=number,
            actions=sum(map(len, best)),
            steps=len(best),
            lower_bound_actions=bounds.actions,
            lower_bound_steps=bounds.steps,
        )
        if on_progress is not None:
            on_progress(progress)
        if len(best) <= bounds.steps or fruitless >= ROUNDS or stop(progress):
            break
        core = None
        if (
            annealing is not None
            and asked.annealing <= (ANNEALED if annealing.gained else 1) * asked.beams
            and (len(best) >= annealing.steps > 0 or annealing.begin(best))
        ):
            core = annealing.round(partial(asked.while_annealing, progress))
        else:
            backwards = beams % 2 == 1
            beams += 1
            kept, start = 0, starts[backwards]
            taste = next(tastes)
            if fruitless >= RESUME_AFTER and resumable and len(best) > 2 and rng.random() < RESUMED:
                kept = rng.randint(1, len(best) // 2)
                start = _resumed(problem, best, kept, backwards=backwards)
            found = search(
                start,
                taste,
                disjoint=disjoint,
                most_steps=len(best) - kept - 1,
                seed=rng.getrandbits(32),
                stop=partial(asked.in_beam, progress),
            )
            if found is not None:
                core = _moves(found, start.names, backwards=backwards)
                if kept and backwards:
                    core += [move for step in best[-kept:] for move in step]
                elif kept:
                    core = [move for step in best[:kept] for move in step] + core
        fruitless += 1
        if core is not None:
            steps = _packed(problem, [*parts.appends, *core, *parts.detaches])
            if steps is not None and _rank(steps) < _rank(best):
                best, fruitless = steps, 0
    return best


class _Asked:
    """How often each kind of round asked whether to stop: what it has computed, without a clock."""

    def __init__(self, stop: Callable[[PlanProgress], bool]) -> None:
        self.stop = stop
        self.beams = self.annealing = 0

    def in_beam(self, progress: PlanProgress) -> bool:
        self.beams += 1
        return self.stop(progress)

    def while_annealing(self, progress: PlanProgress) -> bool:
        self.annealing += 1
        return self.stop(progress)


def _rank(steps: Steps) -> tuple[int, int]:
    return len(steps), sum(map(len, steps))


def _backwards(problem: Transformation) -> Transformation:
    """From the goal to today's tree: its slides undone in reverse order are a plan, too."""
    return replace(problem, initial=problem.goal, goal=problem.initial)


def _resumed(problem: Transformation, best: Steps, kept: int, *, backwards: bool) -> Ways:
    """Where the best plan stands after its first (backwards: before its last) `kept` steps."""
    tree = neighbours(problem.initial, problem.initial_brokers)
    for step in best[: len(best) - kept] if backwards else best[:kept]:
        for move in step:
            apply(tree, move)
    there = frozenset((a, b) for a, others in tree.items() for b in others if a < b)
    goal = problem.initial if backwards else problem.goal
    return ways_of(replace(problem, initial=there, goal=goal), undone=backwards)


def _packed(problem: Transformation, moves: list[Move]) -> Steps | None:
    """The moves in steps; None where one of them removes a goal link.

    That happens only to plans found backwards, which keep today's links instead.
    """
    steps = pack(problem, moves)
    try:
        check(problem, steps)
    except InvalidProblem:
        return None
    return steps


def _moves(found: Triples, names: tuple[str, ...], *, backwards: bool) -> list[Move]:
    moves = [
        Move(op="shift", broker=names[i], source=names[j], to=names[k])
        for step in found
        for i, j, k in step
    ]
    return [inverse(move) for move in reversed(moves)] if backwards else moves


def _tastes(rng: random.Random, disjoint: bool) -> Iterator[Taste]:
    """One quick round, then narrow and wide ones of random taste in turn."""
    plain = Taste(
        width=1,
        children=1,
        way_power=1.5,
        way_share=1.0,
        bundle_power=0.8,
        link_share=0.0,
        load_power=2.0,
        load_share=1.0 if disjoint else 0.0,
        rest_power=2.0,
        rest_share=1.0 if disjoint else 0.0,
        noise=0.0,
        skip=0.0,
        least=0.0,
        hitch=disjoint,
    )
    yield plain
    yield plain
    for width in cycle(WIDTHS):
        taste = replace(
            plain,
            width=width,
            children=8,
            noise=rng.choice((0.3, 0.6, 1.0)),
            skip=rng.choice((0.0, 0.1, 0.3)),
            **(_disjoint_taste(rng) if disjoint else _paper_taste(rng)),
        )
        yield taste
        yield taste


def _disjoint_taste(rng: random.Random) -> dict[str, Any]:
    return {
        "way_share": rng.choice((0.1, 1.0)),
        "bundle_power": rng.choice((0.6, 0.7, 0.8)),
        "load_power": rng.choice((2.0, 2.0, 2.5)),
        "rest_power": rng.choice((2.0, 2.0, 3.0)),
        "least": rng.choice((0.0, 0.0, -1.0)),
        "hitch": rng.random() < 0.5,
    }


def _paper_taste(rng: random.Random) -> dict[str, Any]:
    return {
        "way_power": rng.choice((1.2, 1.5, 2.0, 3.0)),
        "bundle_power": rng.choice((0.5, 0.7, 0.9)),
        "link_share": rng.choice((0.0, 0.3, 0.5, 1.0)),
        "least": rng.choice((0.0, 0.0, -2.0, -5.0)),
        "hitch": rng.random() < 0.5,
    }
