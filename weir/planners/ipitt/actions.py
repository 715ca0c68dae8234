"""Choose the slides of the integer program: all, or those near the paths of the goal links.

Source: Salehi et al. section IV.B, algorithms 2 and 3. Set N holds every slide, so its optimum is
one; A and E hold fewer and promise nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Literal

import numpy as np

from weir.transformation.moves import neighbours, path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from weir.model.transformation import Transformation
    from weir.transformation.indexed import Indexed

ActionSet = Literal["N", "A", "E"]

BROKERS_OF_A_SLIDE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Slides:
    """Hold each shift(i, j, k) by broker number, one per place of the three arrays, ascending."""

    i: np.ndarray
    j: np.ndarray
    k: np.ndarray

    def __len__(self) -> int:
        return len(self.i)

    def only(self, which: np.ndarray) -> Slides:
        """Return those slides that a mask or an array of places selects."""
        return Slides(i=self.i[which], j=self.j[which], k=self.k[which])


def goal_paths(problem: Transformation, names: Indexed) -> list[list[int]]:
    """Return, for each missing goal link, the brokers on the path between its ends in today's tree,
    ends included."""
    tree = neighbours(problem.initial, problem.initial_brokers)
    ways = [path(tree, a, b) for a, b in sorted(problem.missing)]
    return [[names.number[broker] for broker in way] for way in ways]


def count(brokers: int) -> int:
    """Return the number of slides among so many brokers, P(n, 3)."""
    return brokers * (brokers - 1) * (brokers - 2)


def groups(problem: Transformation, names: Indexed, which: ActionSet) -> list[list[int]]:
    """Slides of the set are those among the brokers of one of these groups."""
    if which == "N":
        return [list(range(len(names.names)))]
    ways = goal_paths(problem, names)
    if which == "A":
        return [sorted({broker for way in ways for broker in way})]
    return ways


def slides(members: Sequence[Sequence[int]]) -> Slides:
    """Return all slides within each of the groups, each slide once."""
    if len(members) == 1:
        return _among(np.array(members[0], dtype=np.int32))
    found = {triple for group in members for triple in permutations(group, BROKERS_OF_A_SLIDE)}
    return _columns(sorted(found))


def _among(brokers: np.ndarray) -> Slides:
    n = len(brokers)
    i, j, k = (axis.ravel() for axis in np.meshgrid(*[np.arange(n)] * 3, indexing="ij"))
    differ = (i != j) & (i != k) & (j != k)
    return Slides(i=brokers[i[differ]], j=brokers[j[differ]], k=brokers[k[differ]])


def _columns(triples: Iterable[tuple[int, ...]]) -> Slides:
    table = np.array(list(triples), dtype=np.int32).reshape(-1, BROKERS_OF_A_SLIDE)
    return Slides(i=table[:, 0], j=table[:, 1], k=table[:, 2])
