"""The one room that imports a solver: mixed-integer programs, and linear ones that grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from scipy import sparse

    from weir.utility import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedProgram:
    """Maximise gain x subject to matrix x <= limit and lower <= x <= upper, some of x whole."""

    gain: FloatArray
    matrix: sparse.csr_array
    limit: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_whole: np.ndarray


class Solver(Protocol):
    """What a module of this folder offers."""

    def maximise(
        self, program: MixedProgram, *, start: FloatArray, nodes: int, stop: Callable[[], bool]
    ) -> FloatArray | None:
        """The best point found within so many nodes of the search tree; None if there is none.

        `start` is a feasible point to begin with; once `stop` says so the best point so far is
        the answer. Same program, same point: no clock is asked.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryProgram:
    """Minimise cost x subject to least <= matrix x <= most, every x 0 or 1; whole coefficients."""

    cost: FloatArray
    matrix: sparse.csr_array
    least: FloatArray
    """-inf where a row has no lower limit, equal to `most` in an equality."""
    most: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryAnswer:
    """What is known about a binary program when the solver returns."""

    values: np.ndarray | None
    """The best point found, bool; None if there is none yet."""
    bound: float
    """No point costs less; -inf where nothing is proven, inf where there is proof of no point."""
    is_closed: bool
    """Whether nothing is left to search: the best point is optimal, or there is none."""


class BinarySolver(Protocol):
    """What a module of this folder offers for programs of yes and no."""

    def minimise(
        self,
        program: BinaryProgram,
        *,
        start: np.ndarray | None,
        seed: int,
        stop: Callable[[], bool],
    ) -> BinaryAnswer:
        """The best point until `stop`, which is asked every 20 ms or so, says enough.

        `start` is a point to begin with, feasible or nearly so. Unless `stop` says so, the same
        program and seed give the same answer: one thread, no clock.
        """
        ...
