"""A large neighbourhood as a small mixed-integer program: many populations changed at once.

Around the present rates r and populations n the problem is, but for products of changes,

    max  sum of U_j(r) n_j + sum of w_i      (n_j whole, near the present n_j)
    rows sum of cost_j r n_j + sum of a_i d_i <= capacity - loads of the flows at rest
    w_i <= each tangent of W_i around r_i    (W_i: worth of flow i at the present populations)

with rate changes d_i within a trust share of r_i. Trust 0 is the exact knapsack of every node
at the present rates, in any number of resources. What comes out is a proposal: its rates are
solved exactly afterwards, and it is kept only if it is better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weir.optimizers.certified.polishing.rates import slack_of
from weir.optimizers.certified.polishing.response import marginal, worth
from weir.optimizers.certified.polishing.trial import margins
from weir.solvers import MixedProgram, highs

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.allocation.layout import IntArray
    from weir.optimizers.certified.polishing.state import State
    from weir.utility import FloatArray

TRUST = (0.0, 0.05, 0.3)
"""Shares of its rate by which a flow may change in a proposal."""

TANGENTS = np.linspace(-1.0, 1.0, 5)
REACH = 64.0
"""Consumers by which a population may change in a proposal."""

NODES = 300
"""Nodes of the solver's tree per proposal."""


def proposal(
    state: State, chosen: IntArray, trust: float, stop: Callable[[], bool]
) -> FloatArray | None:
    """Populations that the linearised problem prefers to the present ones, if there are any."""
    grid = state.grid
    gain = np.zeros(len(state.population))
    margins(grid, state.price, state.rate, gain, np.zeros(len(gain)))
    flows = np.unique(grid.class_flow[chosen]) if trust > 0 else np.zeros(0, dtype=np.int64)
    flows = flows[state.rate[flows] > 0]
    slack = np.zeros(len(grid.limit))
    slack_of(grid, state.point.coef, state.rate, slack)
    entries = _entries(state, chosen, flows)
    rows = np.unique([row for row, _, _ in entries]).astype(np.int64)
    place = {int(row): at for at, row in enumerate(rows)}
    now = state.population[chosen]
    lower, upper = np.maximum(now - REACH, 0.0), np.minimum(now + REACH, grid.most[chosen])
    limit = np.maximum(slack[rows], 0.0)
    matrix_entries = [(place[row], column, value) for row, column, value in entries]
    for row, column, value in entries:
        if column < len(chosen):
            limit[place[row]] += value * now[column]
    worth_of_one = gain + _cost(state)
    scale = max(float(np.max(np.abs(worth_of_one[chosen]), initial=0.0)), 1e-300)
    tangent_limit: list[float] = []
    wide = trust * state.rate[flows]
    low = np.maximum(grid.at.rate_min[flows] - state.rate[flows], -wide)
    high = np.minimum(grid.high[flows] - state.rate[flows], wide)
    for at, i in enumerate(flows):
        rest = worth(grid, state.point.weight, int(i), state.rate[i])
        for part in TANGENTS:
            change = max(low[at], min(high[at], part * wide[at]))
            rate = state.rate[i] + change
            slope = marginal(grid, state.point.weight, int(i), rate)
            row = len(rows) + len(tangent_limit)
            matrix_entries.append((row, len(chosen) + len(flows) + at, 1.0))
            matrix_entries.append((row, len(chosen) + at, -slope / scale))
            height = worth(grid, state.point.weight, int(i), rate) - rest - slope * change
            tangent_limit.append(height / scale)
    top = np.array([max(tangent_limit, default=0.0)] * len(flows)) + 1e6
    shape = (len(rows) + len(tangent_limit), len(chosen) + 2 * len(flows))
    program = MixedProgram(
        gain=np.concatenate(
            [worth_of_one[chosen] / scale, np.zeros(len(flows)), np.ones(len(flows))]
        ),
        matrix=_matrix(matrix_entries, shape),
        limit=np.concatenate([limit, tangent_limit]),
        lower=np.concatenate([lower, low, -top]),
        upper=np.concatenate([upper, high, top]),
        is_whole=np.arange(shape[1]) < len(chosen),
    )
    if not all(np.all(np.isfinite(part)) for part in (program.gain, program.limit, wide)):
        return None
    start = np.concatenate([now, np.zeros(2 * len(flows))])
    found = highs.maximise(program, start=start, nodes=NODES, stop=stop)
    if found is None or np.array_equal(found[: len(chosen)], now):
        return None
    wanted = state.population.copy()
    wanted[chosen] = np.clip(found[: len(chosen)], 0.0, grid.most[chosen])
    return wanted


def _cost(state: State) -> FloatArray:
    """What one consumer of each class costs at the present prices and rates."""
    grid = state.grid
    row = np.where(grid.part_entry >= 0, grid.entry_row[grid.part_entry], 0)
    price = np.where(grid.part_entry >= 0, state.price[row], 0.0)
    return np.asarray((grid.part_cost * price).sum(axis=1) * state.rate[grid.class_flow])


def _entries(state: State, chosen: IntArray, flows: IntArray) -> list[tuple[int, int, float]]:
    """Row, column and load of a consumer or of a message more per second."""
    grid = state.grid
    found = [
        (int(grid.entry_row[e]), column, float(grid.part_cost[j, k] * state.rate[i]))
        for column, (j, i) in enumerate(zip(chosen, grid.class_flow[chosen], strict=True))
        for k, e in enumerate(grid.part_entry[j])
        if e >= 0
    ]
    for at, i in enumerate(flows):
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            if state.point.coef[e] > 0:
                found.append((int(grid.entry_row[e]), len(chosen) + at, float(state.point.coef[e])))
    return found


def _matrix(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> sparse.csr_array:
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    return sparse.csr_array((values, (rows, columns)), shape=shape)
