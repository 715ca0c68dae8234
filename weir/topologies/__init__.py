"""Goal topologies: one file per method, found by folder.

A member defines NAME (its file name), TITLE, SUMMARY, SEEDED (whether another seed may give another
tree), Params (a frozen dataclass that checks itself) and `design(problem, params, *, stop, seed)`.
Files whose names begin with an underscore are what the methods share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from weir.errors import WeirError
from weir.plugins import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge


class NoTree(WeirError):
    """Signal that the method found no tree of allowed links within the degree limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignProgress:
    """Report how far a design has come."""

    round: int
    cost_per_s: float | None
    """Of the best tree so far; None: no tree yet."""


class Designer(Protocol):
    """Describe what a module of this folder offers."""

    NAME: str
    TITLE: str
    SUMMARY: str
    SEEDED: bool
    Params: type[Any]

    def design(
        self,
        problem: EvaluationProblem,
        params: Any,
        *,
        stop: Callable[[DesignProgress], bool],
        seed: int,
    ) -> frozenset[Edge]:
        """A tree over the problem's brokers; the best so far once `stop` says enough.

        Raises NoTree where links and degree limits leave none that the method finds.
        """
        ...


_REGISTRY: Registry[Designer] = Registry("weir.topologies", 'no method "{}" for goal topologies')
designers = _REGISTRY.members
designer = _REGISTRY.find
