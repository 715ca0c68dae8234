"""Find the fewest slides of small overlays with a proof, by the compiled search of `astar`.

For problems where every action is a slide of the same price: the same brokers today and in the
goal, no prices, no goal links that move. Others are for `weir.planners.exact.actions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.model.transformation import Move
from weir.planners.exact.actions import Found
from weir.planners.slides.astar import (
    DONE,
    FULL,
    GOING_ON,
    MOST_BROKERS,
    MOST_LINKS,
    NONE,
    look,
)
from weir.planners.slides.expansion import NO_GOAL, Case, new_expansion
from weir.planners.slides.search_table import (
    FOUND,
    LEVEL,
    LOOKED,
    SearchTable,
    moved_to,
    new_table,
    open_table,
    slides_to,
)
from weir.transformation.indexed import indexed
from weir.transformation.moves import neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Edge, Transformation

CHUNK = 500
"""Trees looked at before `stop` is asked."""
FIRST_ROOM, MORE_ROOM = 1 << 16, 4
"""States a table has room for to begin with, and by how much it grows."""
NO_CAP = 1 << 40


def fits(problem: Transformation) -> bool:
    """Return whether the compiled search can handle the problem."""
    options = problem.options
    if problem.priced or problem.added or problem.removed or options.move_goal_links:
        return False
    if options.frozen_links & problem.initial - problem.goal:
        return False
    few = len(problem.missing) <= MOST_LINKS and len(problem.brokers) <= 4 * MOST_BROKERS
    return few and len(that_matter(problem)) <= MOST_BROKERS


def that_matter(problem: Transformation) -> frozenset[str]:
    """The brokers that a plan of the fewest slides can make use of.

    A leaf at a link that stays, with no link that goes or comes, is none of them: where a plan
    slides an end onto it, the end may as well wait at its neighbour; nor is a broker that such
    leaves leave a leaf. With a maximum degree all matter: the neighbour may have no room.
    """
    matter = set(problem.initial_brokers)
    if problem.options.max_degree is not None:
        return frozenset(matter)
    held = {u for link in problem.initial ^ problem.goal for u in link}
    tree = neighbours(problem.initial, problem.initial_brokers)
    idle = [u for u in sorted(matter) if len(tree[u]) == 1 and u not in held]
    while idle and len(matter) > 1:
        u = idle.pop()
        matter.discard(u)
        for v in tree.pop(u):
            tree[v].discard(u)
            if len(tree[v]) == 1 and v not in held:
                idle.append(v)
    return frozenset(matter)


class FewestSlides:
    """A search that goes on as long as it is asked to.

    It keeps at most `most_states` states (each some 20 bytes and 2 per link that goes, twice that
    with its places in the tables).
    """

    def __init__(self, problem: Transformation, *, below: int, most_states: int) -> None:
        """`below`: plans of fewer slides are what is wanted."""
        self.below, self.most_states = below, most_states
        self.names, self.case, codes = _case(problem)
        self.width = len(codes)
        ways = 2 * self.width * self.case.brokers
        self.room = max(min(FIRST_ROOM, most_states), 4 * ways)
        self.table = new_table(self.room, self.width, below)
        self.expansion = new_expansion(self.case.brokers, self.width)
        self.end = GOING_ON
        open_table(self.table, codes, self.width)

    @property
    def bound(self) -> int:
        """No plan has fewer slides, unless `below` is fewer still."""
        return self.below if self.end == NONE else int(min(self.below, self.table.control[LEVEL]))

    @property
    def looked(self) -> int:
        """Return the number of trees that the search has examined."""
        return int(self.table.control[LOOKED])

    @property
    def is_over(self) -> bool:
        """Return whether the search has ended: a plan, a proof that there is none, or no room."""
        return self.end in (DONE, NONE) or (self.end == FULL and self.room >= self.most_states)

    def look(self, states: int) -> None:
        """Look at up to so many states, unless it is over."""
        if self.is_over:
            return
        if self.end == FULL:
            self.room = min(MORE_ROOM * self.room, self.most_states)
            larger = new_table(self.room, self.width, len(self.table.head) - 1)
            moved_to(self.table, larger, self.width)
            self.table = larger
        self.end = look(self.case, self.table, self.expansion, self.below, states)

    def moves(self) -> tuple[Move, ...] | None:
        """Return the plan of the fewest slides, if one was found."""
        return _moves(self.names, self.table, self.width) if self.end == DONE else None


def fewest_slides(
    problem: Transformation, *, stop: Callable[[float, int], bool], below: int, most_states: int
) -> Found:
    """The plan of the fewest slides, if it has fewer than `below`.

    `stop` is told the bound proven so far and how many trees were looked at since it was last
    asked. The search ends by itself where it would have to keep more than `most_states` states.
    """
    if not problem.missing:
        return Found(moves=() if below > 0 else None, bound=0.0, states=0)
    search = FewestSlides(problem, below=below, most_states=most_states)
    while not search.is_over:
        before = search.looked
        search.look(CHUNK)
        if not search.is_over and stop(search.bound, search.looked - before):
            break
    return Found(moves=search.moves(), bound=float(search.bound), states=search.looked)


def _case(problem: Transformation) -> tuple[list[str], Case, np.ndarray]:
    matter = that_matter(problem)
    names = [name for name in indexed(problem).names if name in matter]
    number = {name: at for at, name in enumerate(names)}
    stays = [link for link in problem.initial & problem.goal if matter.issuperset(link)]
    goes = problem.initial - problem.goal
    others: list[list[int]] = [[] for _ in names]
    for a, b in sorted(stays):
        others[number[a]].append(number[b])
        others[number[b]].append(number[a])
    bit = np.full((len(names), len(names)), NO_GOAL, np.int8)
    marks = np.zeros(len(names), np.uint64)
    for at, (one, other) in enumerate(sorted(problem.missing)):
        i, j = number[one], number[other]
        bit[i, j] = bit[j, i] = at
        marks[[i, j]] ^= np.uint64(1 << at)
    cap = problem.options.max_degree
    frozen = problem.options.frozen_brokers
    case = Case(
        brokers=len(names),
        width=len(goes),
        first=np.cumsum([0, *map(len, others)]).astype(np.int64),
        others=np.array([*(v for row in others for v in row), 0], np.int64),
        marks=marks,
        bit=bit,
        cap=NO_CAP if cap is None else cap,
        staying=np.array(list(map(len, others)), np.int64),
        locked=np.array([name in frozen for name in names], np.int64),
    )
    return names, case, np.sort(np.array([_code(number, link) for link in goes], np.uint16))


def _code(number: dict[str, int], link: Edge) -> int:
    low, high = sorted(number[name] for name in link)
    return low << 6 | high


def _moves(names: list[str], table: SearchTable, width: int) -> tuple[Move, ...]:
    state = int(table.control[FOUND])
    out = np.empty((int(table.cost[state]), 3), np.int64)
    slides_to(table, width, state, out)
    return tuple(
        Move(op="shift", broker=names[i], source=names[j], to=names[k]) for i, j, k in out.tolist()
    )
