"""Programs of yes and no by HiGHS: one thread, a fixed seed, no limit but the caller's.

References:
    Q. Huangfu, J. A. J. Hall. Parallelizing the dual revised simplex method. Mathematical
    Programming Computation 10, 2018. doi:10.1007/s12532-017-0130-5
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from weir.solvers import BinaryAnswer
from weir.solvers.waiting import run_aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.solvers import BinaryProgram

OPTIONS: dict[str, bool | int | float] = {
    "output_flag": False,
    "threads": 1,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-6,
    # Heuristics that solve a smaller program on the way hear nothing until that is done.
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}


def minimise(
    program: BinaryProgram,
    *,
    start: np.ndarray | None,
    seed: int,
    stop: Callable[[], bool],
) -> BinaryAnswer:
    """Solve with HiGHS, as `weir.solvers.BinarySolver` describes."""
    solver: Any = highspy.Highs()
    for name, setting in {**OPTIONS, "random_seed": seed % 2**31}.items():
        solver.setOptionValue(name, setting)
    solver.passModel(_model(program))
    if start is not None:
        known = highspy.HighsSolution()
        known.col_value = start.astype(float).tolist()
        solver.setSolution(known)
    is_ending = False

    def end() -> None:
        nonlocal is_ending
        is_ending = True
        # Presolve looks at this option now and then, and at no callback.
        solver.setOptionValue("time_limit", 0.0)

    def ask(event: Any) -> None:
        if is_ending:
            event.interrupt()

    solver.cbMipInterrupt.subscribe(ask)
    solver.cbSimplexInterrupt.subscribe(ask)
    run_aside(solver.run, end=end, stop=stop)
    if solver.getModelStatus() == highspy.HighsModelStatus.kSolveError and not is_ending:
        # Its presolve may leave nothing of a small program, and a solution that breaks a row: HiGHS
        # sees that and gives up (seen in 1.14.0). Solved as it is, it is not lost.
        solver.clearSolver()
        solver.setOptionValue("presolve", "off")
        run_aside(solver.run, end=end, stop=stop)
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return BinaryAnswer(values=None, bound=math.inf, is_closed=True)
    info, solution = solver.getInfo(), solver.getSolution()
    is_found = solution.value_valid and math.isfinite(info.objective_function_value)
    is_closed = status == highspy.HighsModelStatus.kOptimal
    return BinaryAnswer(
        values=np.array(solution.col_value) > 0.5 if is_found else None,
        bound=float(info.objective_function_value if is_closed else info.mip_dual_bound),
        is_closed=is_closed,
    )


def _model(program: BinaryProgram) -> Any:
    rows, columns = program.matrix.shape
    model: Any = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = program.cost
    model.col_lower_, model.col_upper_ = np.zeros(columns), np.ones(columns)
    model.row_lower_, model.row_upper_ = program.least, program.most
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.matrix.indptr
    model.a_matrix_.index_ = program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    model.integrality_ = [highspy.HighsVarType.kInteger] * columns
    return model
