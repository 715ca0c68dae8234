"""What a plan of T steps can use at all: a relaxed planning graph from both ends.

Forwards, a link may exist after step t if some slide of links that may exist before t makes it.
Backwards, a link may exist before step t if it may exist after, or if a slide turns it into one
that may; at the end that is the goal alone. Both only ever allow too much, so that what neither
allows is in no plan of T steps, and leaving it out loses none. Besides:

- rem(i, j) of the paper needs no proposition of its own: a link may be removed if it exists and
  the goal does not have it,
- conn and rem are undirected: one proposition per pair of brokers,
- links that never move are constants, and two brokers joined by a way of such links never get a
  link of their own, which would close a cycle.

Source: Salehi et al. section III.C; relaxed planning graphs: Hoffmann, Nebel: The FF planning
system, JAIR 14, 2001. doi:10.1613/jair.855
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from weir.planners.ipitt.actions import Slides
from weir.transformation.token_bound import never_move

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Transformation
    from weir.transformation.indexed import Indexed


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What does not depend on the number of steps. A link a-b, a < b, is the number a n + b."""

    brokers: int
    slides: Slides
    removes: np.ndarray
    """Per slide the link i-j that it removes, then the pivot j-k, then the link i-k it makes."""
    needs: np.ndarray
    makes: np.ndarray
    initial: np.ndarray
    """Per link number: whether today's tree has it, the goal has it, it never moves."""
    goal: np.ndarray
    fixed: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """Hold what plans of T steps can use."""

    links: tuple[np.ndarray, ...]
    """Per point of time 0..T a mask over link numbers."""
    slides: tuple[np.ndarray, ...]
    """Per step the places of the slides in `Ground.slides`."""


def ground(
    problem: Transformation, names: Indexed, slides: Slides, *, ask: Callable[[], None]
) -> Ground:
    """Find the slides that some plan may contain. `ask` is called now and then and may raise."""
    n = len(names.names)
    initial, goal, fixed = (np.zeros(n * n, dtype=bool) for _ in range(3))
    initial[_number(names.initial[:, 0], names.initial[:, 1], n)] = True
    goal[_number(names.goal[:, 0], names.goal[:, 1], n)] = True
    held = [(names.number[a], names.number[b]) for a, b in sorted(never_move(problem))]
    part = np.arange(n)
    for a, b in held:
        fixed[_number(np.array(a), np.array(b), n)] = True
        part[part == part[a]] = part[b]
    frozen = np.isin(names.names, sorted(problem.options.frozen_brokers))
    stays = {names.number[a] * n + names.number[b] for a, b in problem.options.frozen_links}
    keeps = fixed.copy()
    keeps[sorted(stays)] = True
    if not problem.options.move_goal_links:
        keeps |= goal
    ask()
    removes = _number(slides.i, slides.j, n)
    ask()
    can = ~keeps[removes] & (part[slides.i] != part[slides.j]) & (part[slides.i] != part[slides.k])
    ask()
    slides, removes = slides.only(can), removes[can]
    ask()
    needs = _number(slides.j, slides.k, n)
    can = fixed[needs] | (part[slides.j] != part[slides.k])
    can &= ~(frozen[slides.i] | frozen[slides.j] | frozen[slides.k])
    ask()
    slides, removes, needs = slides.only(can), removes[can], needs[can]
    ask()
    return Ground(
        brokers=n,
        slides=slides,
        removes=removes,
        needs=needs,
        makes=_number(slides.i, slides.k, n),
        initial=initial,
        goal=goal,
        fixed=fixed,
    )


def horizon(of: Ground, steps: int, *, ask: Callable[[], None]) -> Horizon | None:
    """Return what plans of so many steps can use, or None where the relaxation shows that there is
    none."""
    before = [of.initial]
    for _ in range(steps):
        before.append(before[-1] | _reached(of.makes, before[-1], of.removes, of.needs))
        ask()
    after = [of.goal]
    for _ in range(steps):
        after.append(after[-1] | _reached(of.removes, after[-1], of.makes, of.needs))
        ask()
    links = tuple(a & b for a, b in zip(before, reversed(after), strict=True))
    if np.any(of.initial & ~links[0]) or np.any(of.goal & ~links[-1]):
        return None
    usable = []
    for was, then in pairwise(links):
        can = was[of.removes] & was[of.needs]
        can &= then[of.makes] & then[of.needs]
        usable.append(np.flatnonzero(can))
        ask()
    return Horizon(links=links, slides=tuple(usable))


def is_reachable(of: Ground, *, ask: Callable[[], None]) -> bool:
    """Return whether, by the relaxation, some number of steps may reach the goal."""
    links = of.initial
    while True:
        grown = links | _reached(of.makes, links, of.removes, of.needs)
        ask()
        if np.array_equal(grown, links):
            return not np.any(of.goal & ~links)
        links = grown


def _reached(
    result: np.ndarray, links: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    reached = np.zeros_like(links)
    reached[result[links[first] & links[second]]] = True
    return reached


def _number(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    low, high = np.minimum(a, b).astype(np.int32), np.maximum(a, b).astype(np.int32)
    number: np.ndarray = low * np.int32(n) + high
    return number
