"""Optimizers: one package per method, found by folder; `solve.py` reads as the algorithm.

A member defines NAME (its folder), TITLE, SUMMARY, Params (a frozen dataclass that checks
itself) and `solve(problem, params, *, stop, seed, on_progress=None, start=None) -> Result`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from weir.plugins import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Result, Start
    from weir.stop import Progress


class Optimizer(Protocol):
    """Describe what a module of this folder offers."""

    NAME: str
    TITLE: str
    SUMMARY: str
    Params: type[Any]

    def solve(
        self,
        problem: Problem,
        params: Any,
        *,
        stop: Callable[[Progress], bool],
        seed: int,
        on_progress: Callable[[Progress], None] | None = None,
        start: Start | None = None,
    ) -> Result:
        """The best allocation that the method finds before `stop` says enough.

        `start` is where a former answer left off; it saves iterations and changes nothing else.
        """
        ...


_REGISTRY: Registry[Optimizer] = Registry("weir.optimizers", 'no optimizer "{}"')
methods = _REGISTRY.members
method = _REGISTRY.find
