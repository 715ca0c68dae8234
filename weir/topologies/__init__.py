"""Goal topologies: one file per method, found by folder.

A member defines NAME (its file name), TITLE, SUMMARY, SEEDED (whether another seed may give another
tree), Params (a frozen dataclass that checks itself) and `design(problem, params, *, stop, seed)`.
Files of this folder without a NAME are what the methods share: `cost`, `benefit`, `portfolio`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from weir.errors import UnknownMethod, WeirError
from weir.plugins import discover

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


@cache
def designers() -> Mapping[str, Designer]:
    """Map the name of every method to its module."""
    modules = discover("weir.topologies").values()
    members = [module for module in modules if hasattr(module, "NAME")]
    return {module.NAME: cast("Designer", module) for module in members}


def designer(name: str) -> Designer:
    """Return the method of this name; raise UnknownMethod, which lists the known ones."""
    try:
        return designers()[name]
    except KeyError:
        known = ", ".join(designers())
        raise UnknownMethod(f'no method "{name}" for goal topologies; known are {known}') from None
