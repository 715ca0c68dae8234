"""HiGHS, through highspy: one thread, a fixed seed and a limit on nodes instead of time.

References:
    Q. Huangfu, J. A. J. Hall. Parallelizing the dual revised simplex method. Mathematical
    Programming Computation 10, 2018. doi:10.1007/s12532-017-0130-5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.solvers import MixedProgram
    from weir.utility import FloatArray

TOLERANCE = 1e-9
"""How far a row may exceed its limit, and a whole number be off."""

OPTIONS: dict[str, bool | int | float] = {
    "output_flag": False,
    "threads": 1,
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
    "primal_feasibility_tolerance": TOLERANCE,
    "mip_feasibility_tolerance": TOLERANCE,
}


def maximise(
    program: MixedProgram, *, start: FloatArray, nodes: int, stop: Callable[[], bool]
) -> FloatArray | None:
    """Solve with HiGHS, as `weir.solvers.Solver` describes."""
    solver: Any = highspy.Highs()
    for name, setting in OPTIONS.items():
        solver.setOptionValue(name, setting)
    solver.setOptionValue("mip_max_nodes", nodes)
    solver.passModel(_model(program))
    known = highspy.HighsSolution()
    known.col_value = start.tolist()
    solver.setSolution(known)

    def ask(event: Any) -> None:
        if stop():
            event.interrupt()

    solver.cbMipInterrupt.subscribe(ask)
    solver.cbSimplexInterrupt.subscribe(ask)
    solver.run()
    solution = solver.getSolution()
    if not solution.value_valid:
        return None
    found = np.array(solution.col_value, dtype=np.float64)
    return np.where(program.is_whole, np.round(found), found)


def _model(program: MixedProgram) -> Any:
    rows, columns = program.matrix.shape
    model: Any = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = program.gain
    model.col_lower_, model.col_upper_ = program.lower, program.upper
    model.row_lower_ = np.full(rows, -highspy.kHighsInf)
    model.row_upper_ = program.limit
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.matrix.indptr
    model.a_matrix_.index_ = program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    model.integrality_ = [
        highspy.HighsVarType.kInteger if whole else highspy.HighsVarType.kContinuous
        for whole in program.is_whole
    ]
    return model
