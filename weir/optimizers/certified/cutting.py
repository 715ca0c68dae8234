"""The exact minimum of the dual on small problems: cutting planes in a shrinking box.

Every answer of a flow is a cut: whatever the prices, its h_i is at least utility - load . prices of
that answer. The program

    min sum_i v_i + p c   where   v_i >= U_is - L_is p   for all answers s of flow i,   p in a box

is a model of D from below; D is asked at its minimum, which gives new answers. Where no side of
the box holds the model's minimum, it bounds D from below, so the distance is known. The multipliers
of the cuts are weights that mix each flow's answers into rates that fit every capacity: where
D has a kink (linear utilities, classes at the margin) these are the rates the primal needs.

The program is scaled to capacities and to the bound. What it returns never enters a bound: only
D at its prices does.

References:
    J. E. Kelley. The cutting-plane method for solving convex programs. J. SIAM 8(4), 1960.
    doi:10.1137/0108053
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from weir.solvers.row_generation import GrowingProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.allocation.layout import Layout
    from weir.utility import FloatArray

MAX_ENTRIES = 400_000
"""Numbers in the program's matrix: what can be solved again and again."""

FIRST_BOX = 0.05
"""Half the width of the box, relative to a row's price."""


class Model(NamedTuple):
    """Minimum of the model of D."""

    prices: FloatArray
    lower_bound: float
    """Of D; -inf where the box holds the minimum."""
    rates: FloatArray
    """Mixed from the answers that meet at the minimum."""


class CuttingPlanes:
    """Collect answers, and ask for the prices at which their model is least."""

    def __init__(self, layout: Layout, capacity: FloatArray, unit: float) -> None:
        """`unit` is about the bound: what worths are measured in."""
        self._layout, self._capacity = layout, capacity
        self._unit = max(abs(unit), 1e-300)
        self._open = np.flatnonzero(capacity > 0)
        self._shut = np.flatnonzero(capacity <= 0)
        flows = len(layout.rate_min)
        self._class_flow = np.repeat(np.arange(flows), np.diff(layout.class_start))
        self._of_cost = np.repeat(np.arange(flows), np.diff(layout.cost_start))
        self._program = GrowingProgram(np.ones(len(self._open) + flows))
        self._flow: list[np.ndarray] = []
        self._rates: list[FloatArray] = []
        self._known: set[tuple[int, bytes]] = set()
        self.entries = 0
        self.box = FIRST_BOX

    @property
    def is_full(self) -> bool:
        """Return whether the program has become too large to be solved again and again."""
        return self.entries > MAX_ENTRIES

    def add(
        self,
        rates: FloatArray,
        wanted: np.ndarray,
        worth: FloatArray,
        travelled: np.ndarray | None = None,
    ) -> int:
        """Add one answer of every flow, with `worth` per class at these rates; return how many were
        new. `travelled` says which costs of the layout the answers load, all where left out."""
        layout = self._layout
        rows = len(self._capacity)
        flows = len(rates)
        taken = wanted > 0
        messages = layout.population_max * rates[self._class_flow]
        cost = layout.cost if travelled is None else np.where(travelled, layout.cost, 0.0)
        at, to, load = [self._of_cost], [layout.cost_row], [cost * rates[self._of_cost]]
        for k in range(layout.unit_costs.shape[1]):
            at.append(self._class_flow[taken])
            to.append(layout.class_row[taken] + k)
            load.append((layout.unit_costs[:, k] * messages)[taken])
        entries = (np.concatenate(load), (np.concatenate(at), np.concatenate(to)))
        loads = sparse.coo_array(entries, shape=(flows, rows)).tocsr()
        amount = np.where(taken, layout.population_max * worth, 0.0)
        utility = np.bincount(self._class_flow, amount, flows)
        new = np.array(
            [self._is_new(i, rates, wanted, travelled) for i in range(flows)], dtype=bool
        )
        if len(self._shut):  # answers that load a row which can carry nothing are no answers
            new &= np.asarray(loads.tocsc()[:, self._shut].sum(axis=1)).reshape(-1) <= 0
        of = np.flatnonzero(new)
        if not len(of):
            return 0
        relative = loads[of].tocsc()[:, self._open] @ sparse.diags_array(
            1.0 / self._capacity[self._open]
        )
        pick = sparse.csr_array(
            (np.ones(len(of)), (np.arange(len(of)), of)), shape=(len(of), flows)
        )
        self._program.add(
            sparse.csr_array(sparse.hstack([relative, pick])), utility[of] / self._unit
        )
        self._flow.append(of)
        self._rates.append(rates[of])
        self.entries += loads[of].nnz + len(of)
        return len(of)

    def _is_new(
        self, i: int, rates: FloatArray, wanted: np.ndarray, travelled: np.ndarray | None
    ) -> bool:
        first, last = self._layout.class_start[i], self._layout.class_start[i + 1]
        way = b""
        if travelled is not None:
            costs = slice(self._layout.cost_start[i], self._layout.cost_start[i + 1])
            way = travelled[costs].tobytes()
        key = (i, rates[i].tobytes() + wanted[first:last].tobytes() + way)
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def minimum(
        self, prices: FloatArray, scale: FloatArray, *, stop: Callable[[], bool]
    ) -> Model | None:
        """Of the model, around these prices; None where the solver gives up or is told to stop.

        `scale` is a price per row by which a price of 0 may rise at first.
        """
        capacity = self._capacity[self._open]
        centre = prices[self._open] * capacity / self._unit
        width = self.box * np.maximum(centre, scale[self._open] * capacity / self._unit)
        low, high = np.maximum(centre - width, 0.0), centre + width
        least = self._program.minimum(low, high, stop=stop)
        if least is None:
            return None
        found = np.clip(least.at[: len(self._open)], low, high)
        held = (found >= high * (1 - 1e-12)) | ((found <= low) & (low > 0))
        moved = prices.copy()
        moved[self._open] = found * self._unit / capacity
        layout = self._layout
        flow, flows = np.concatenate(self._flow), len(layout.rate_min)
        mixed = np.bincount(flow, least.multipliers * np.concatenate(self._rates), flows)
        total = np.bincount(flow, least.multipliers, flows)
        rates = np.where(total > 0, mixed / np.maximum(total, 1e-300), layout.rate_min)
        return Model(
            prices=moved,
            lower_bound=-np.inf if held.any() else least.value * self._unit,
            rates=np.clip(rates, layout.rate_min, layout.rate_max),
        )
