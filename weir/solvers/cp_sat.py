"""CP-SAT of OR-Tools: one worker, a fixed seed, no limit but the caller's.

References:
    L. Perron, F. Didier, S. Gay. The CP-SAT-LP Solver. CP 2023.
    doi:10.4230/LIPIcs.CP.2023.3
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from ortools.sat.python import cp_model

from weir.solvers import BinaryAnswer
from weir.solvers.waiting import run_aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.solvers import BinaryProgram
    from weir.utility import FloatArray

MOST_DECIMALS = 6
"""Costs are whole numbers to CP-SAT; finer ones are rounded to so many decimals."""

NEARLY_WHOLE = 1e-6


def minimise(
    program: BinaryProgram,
    *,
    start: np.ndarray | None,
    seed: int,
    stop: Callable[[], bool],
) -> BinaryAnswer:
    """Solve with CP-SAT, as `weir.solvers.BinarySolver` describes."""
    scale, rounding = _scale(program.cost)
    model = _model(program, scale, start)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed % 2**31
    outcome: list[Any] = []
    run_aside(lambda: outcome.append(solver.solve(model)), end=solver.stop_search, stop=stop)
    if outcome[0] == cp_model.INFEASIBLE:
        return BinaryAnswer(values=None, bound=math.inf, is_closed=True)
    if outcome[0] not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return BinaryAnswer(values=None, bound=-math.inf, is_closed=False)
    return BinaryAnswer(
        values=np.array(list(solver.response_proto.solution), dtype=bool),
        bound=solver.best_objective_bound / scale - rounding,
        is_closed=bool(outcome[0] == cp_model.OPTIMAL),
    )


def _scale(cost: FloatArray) -> tuple[float, float]:
    """Units of cost per 1, and how much rounding to them can take off any point's cost."""
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        off = np.abs(cost * scale - np.round(cost * scale))
        if np.all(off < NEARLY_WHOLE):
            return scale, 0.0
    return scale, float(off.sum()) / scale


def _model(program: BinaryProgram, scale: float, start: np.ndarray | None) -> Any:
    model = cp_model.CpModel()
    columns = [model.new_bool_var("") for _ in range(len(program.cost))]
    starts, indices = program.matrix.indptr.tolist(), program.matrix.indices.tolist()
    factors = np.round(program.matrix.data).astype(np.int64).tolist()
    low = np.where(np.isinf(program.least), float(cp_model.INT32_MIN), program.least)
    high = np.where(np.isinf(program.most), float(cp_model.INT32_MAX), program.most)
    limits = list(zip(low.astype(np.int64).tolist(), high.astype(np.int64).tolist(), strict=True))
    for row, (least, most) in enumerate(limits):
        begin, end = starts[row], starts[row + 1]
        linear = model.proto.constraints.add().linear
        linear.vars.extend(indices[begin:end])
        linear.coeffs.extend(factors[begin:end])
        linear.domain.extend([least, most])
    cost = np.round(program.cost * scale).astype(np.int64)
    paid = np.flatnonzero(cost).tolist()
    model.minimize(
        cp_model.LinearExpr.weighted_sum([columns[at] for at in paid], cost[paid].tolist())
    )
    if start is not None:
        model.proto.solution_hint.vars.extend(range(len(columns)))
        model.proto.solution_hint.values.extend(start.astype(int).tolist())
    return model
