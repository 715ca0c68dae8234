"""A linear program that gains rows over time, solved by HiGHS from its last basis each time.

A new row and a moved bound leave the last basis dual feasible, so the dual simplex method needs a
few pivots where a fresh start would need thousands. One thread, a limit on pivots instead of time:
the same calls give the same answers.

References:
    Q. Huangfu, J. A. J. Hall. Parallelizing the dual revised simplex method. Mathematical
    Programming Computation 10, 2018. doi:10.1007/s12532-017-0130-5
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy import sparse

    from weir.utility import FloatArray

TOLERANCE = 1e-10
"""The smallest that HiGHS takes, for rows and for reduced costs."""

MAX_PIVOTS = 20_000
"""Per solution."""

OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "solver": "simplex",
    "threads": 1,
    "random_seed": 0,
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": TOLERANCE,
    "simplex_iteration_limit": MAX_PIVOTS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum:
    """Hold the minimum of a program, where it lies, and the multipliers of its rows."""

    value: float
    at: FloatArray
    multipliers: FloatArray
    """Of the rows, in the order in which they were added; 0 or more."""


class GrowingProgram:
    """Minimise cost x subject to lower <= x <= upper and to every row added, matrix x >= least."""

    def __init__(self, cost: FloatArray) -> None:
        columns = len(cost)
        self._solver: Any = highspy.Highs()
        for name, setting in OPTIONS.items():
            self._solver.setOptionValue(name, setting)
        self._is_refused = False
        none = np.zeros(0, dtype=np.int32)
        free = np.full(columns, highspy.kHighsInf)
        self._solver.addCols(columns, cost, -free, free, 0, none, none, np.zeros(0))

    def add(self, matrix: sparse.csr_array, least: FloatArray) -> None:
        """Rows that hold from now on."""
        status = self._solver.addRows(
            len(least),
            least,
            np.full(len(least), highspy.kHighsInf),
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
        )
        self._is_refused |= status == highspy.HighsStatus.kError  # a number beyond its range

    def minimum(
        self, lower: FloatArray, upper: FloatArray, *, stop: Callable[[], bool]
    ) -> Minimum | None:
        """Within bounds on the first columns; None where the solver gave up or `stop` said so."""
        if self._is_refused:
            return None
        columns = np.arange(len(lower), dtype=np.int32)
        self._solver.changeColsBounds(len(lower), columns, lower, upper)

        def ask(event: Any) -> None:
            if stop():
                event.interrupt()

        self._solver.cbSimplexInterrupt.subscribe(ask)
        self._solver.run()
        self._solver.cbSimplexInterrupt.unsubscribe(ask)
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._solver.getSolution()
        return Minimum(
            value=float(self._solver.getInfo().objective_function_value),
            at=np.array(solution.col_value, dtype=np.float64),
            multipliers=np.maximum(np.array(solution.row_dual, dtype=np.float64), 0.0),
        )
