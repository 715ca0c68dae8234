"""Optimizers: one package per method, found by folder; `solve.py` reads as the algorithm.

A member defines NAME (its folder), TITLE, SUMMARY, Params (a frozen dataclass that checks
itself) and `solve(problem, params, *, stop, seed, on_progress=None, start=None) -> Result`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from weir.errors import UnknownMethod
from weir.plugins import discover

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


@cache
def methods() -> Mapping[str, Optimizer]:
    """Map the name of every optimizer to its module."""
    modules = discover("weir.optimizers").values()
    return {module.NAME: cast("Optimizer", module) for module in modules}


def method(name: str) -> Optimizer:
    """Return the optimizer of this name; raise UnknownMethod, which lists the known ones."""
    try:
        return methods()[name]
    except KeyError:
        known = ", ".join(methods())
        raise UnknownMethod(f'no optimizer "{name}"; known are {known}') from None
