"""Names as whole numbers, for planners that work on arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.actions import edge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weir.model.transformation import Edge, Transformation


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A problem's brokers in alphabetical order, its links as rows of numbers."""

    names: tuple[str, ...]
    number: dict[str, int]
    initial: np.ndarray
    """(links, 2) int32."""
    goal: np.ndarray
    """(links, 2) int32."""

    def link(self, a: int, b: int) -> Edge:
        """The link between two brokers, by name."""
        return edge(self.names[a], self.names[b])


def indexed(problem: Transformation) -> Indexed:
    """The same order whatever the order of the input, so that a seed means one answer."""
    names = tuple(sorted(problem.initial_brokers | problem.goal_brokers))
    number = {name: at for at, name in enumerate(names)}
    return Indexed(
        names=names,
        number=number,
        initial=_rows(problem.initial, number),
        goal=_rows(problem.goal, number),
    )


def _rows(edges: Iterable[Edge], number: dict[str, int]) -> np.ndarray:
    rows = sorted((number[a], number[b]) for a, b in edges)
    return np.array(rows, dtype=np.int32).reshape(-1, 2)
