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
    """max gain x subject to matrix x <= limit and lower <= x <= upper, some of x whole."""

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
