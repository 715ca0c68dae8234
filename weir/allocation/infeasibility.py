"""Why the minimum rates do not fit, and the smallest changes that would make them fit.

A problem is infeasible exactly when the minimum rates alone load some node or link above its
capacity: admitting nobody is always allowed. Three relaxations, each the smallest of its kind:

* `capacities`: each short capacity rises to the load of the minimum rates. Less leaves that
  place short.
* `all_rates`: one factor on every minimum rate above 0, the smallest capacity / load. More
  leaves the place that set it short.
* `few_rates`: the least sum of relative cuts x_i, a linear program

      min sum x_i   where   sum_i share_ki x_i >= 1 - c_k / load_k   at every short place k,
                            0 <= x_i <= 1,

  share_ki being flow i's part of the load of k. Its vertices cut few flows. It is told only
  where the solver proved it optimal.

Smallest means up to TOLERANCE, the share by which a load may exceed a capacity anywhere in Weir.

Cost: one pass over the costs; the program has a column per flow at a short place and a row per
short place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from weir.allocation.feasibility import TOLERANCE, relative
from weir.allocation.infeasibility_words import (
    all_rates_sentence,
    capacities_sentence,
    few_rates_sentence,
)
from weir.model import Change, Infeasibility, Relaxation, Shortage

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays, IntArray
    from weir.utility import FloatArray

MAX_FLOWS = 5
"""Flows named per shortage."""

SOLVER_TOLERANCE = 1e-10
"""The least that HiGHS takes; `_repaired` closes the rest."""

MAX_PIVOTS = 200_000
"""Iterations of the linear program; a limit that depends on no clock."""

NO_CUT = 1e-9
"""Relative cuts below this are the solver's rounding."""


class _Short:
    """The places that the minimum rates overload, the worst first, nodes before links."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._nodes = arrays.node_capacity.size
        costs = sparse.vstack([arrays.node_costs, arrays.link_costs], format="csr")
        capacity = np.concatenate([arrays.node_capacity.reshape(-1), arrays.link_capacity])
        load = np.asarray(costs @ arrays.rate_min)
        over = np.flatnonzero(load - capacity > TOLERANCE * capacity)
        worst = [-relative(load[at] - capacity[at], capacity[at]) for at in over]
        over = over[np.argsort(worst, kind="stable")]
        self.places: IntArray = over
        self.capacity: FloatArray = capacity[over]
        self.load: FloatArray = load[over]
        self.loads: sparse.csr_array = sparse.csr_array(
            costs[over] @ sparse.diags_array(arrays.rate_min)
        )
        """Short places x flows: what each flow's minimum rate loads there."""
        self.loads.eliminate_zeros()

    def named(self, place: int) -> tuple[str, str, str | None]:
        """Kind, id and resource of a place."""
        arrays = self.arrays
        if place < self._nodes:
            b, k = divmod(place, len(arrays.resources))
            return "node", arrays.node_ids[b], arrays.resources[k]
        return "link", arrays.link_ids[place - self._nodes], None

    def shortages(self) -> tuple[Shortage, ...]:
        """What is short and who loads it."""
        found = []
        for row, place in enumerate(self.places):
            kind, name, resource = self.named(int(place))
            span = slice(self.loads.indptr[row], self.loads.indptr[row + 1])
            flows, amounts = self.loads.indices[span], self.loads.data[span]
            largest = np.lexsort((flows, -amounts))[:MAX_FLOWS]
            found.append(
                Shortage(
                    kind=kind,
                    id=name,
                    resource=resource,
                    load=float(self.load[row]),
                    capacity=float(self.capacity[row]),
                    flows=tuple(
                        (self.arrays.flow_ids[flows[at]], float(amounts[at])) for at in largest
                    ),
                )
            )
        return tuple(found)


def explained(arrays: Arrays) -> Infeasibility | None:
    """Shortages and relaxations; None if the minimum rates fit."""
    short = _Short(arrays)
    if not len(short.places):
        return None
    relaxations = [_capacities(short), _all_rates(short)]
    few = _few_rates(short)
    if few is not None:
        relaxations.append(few)
    return Infeasibility(shortages=short.shortages(), relaxations=tuple(relaxations))


def _capacities(short: _Short) -> Relaxation:
    changes = []
    for row, place in enumerate(short.places):
        kind, name, resource = short.named(int(place))
        changes.append(
            Change(
                kind=kind,
                id=name,
                resource=resource,
                before=float(short.capacity[row]),
                after=float(short.load[row]),
            )
        )
    return Relaxation(
        kind="capacities", sentence=capacities_sentence(changes), changes=tuple(changes)
    )


def _all_rates(short: _Short) -> Relaxation:
    factor = float(np.min(short.capacity / short.load))
    rates = short.arrays.rate_min
    changes = _rate_changes(short.arrays, np.where(rates > 0, rates * factor, rates))
    return Relaxation(kind="all_rates", sentence=all_rates_sentence(factor), changes=changes)


def _few_rates(short: _Short) -> Relaxation | None:
    cut = _least_cut(short)
    if cut is None:
        return None
    rates = short.arrays.rate_min
    changes = _rate_changes(short.arrays, np.where(cut > 0, rates * (1.0 - cut), rates))
    return Relaxation(kind="few_rates", sentence=few_rates_sentence(changes), changes=changes)


def _rate_changes(arrays: Arrays, after: FloatArray) -> tuple[Change, ...]:
    return tuple(
        Change(
            kind="flow",
            id=arrays.flow_ids[i],
            resource=None,
            before=float(arrays.rate_min[i]),
            after=float(after[i]),
        )
        for i in np.flatnonzero(after != arrays.rate_min)
    )


def _least_cut(short: _Short) -> FloatArray | None:
    """The relative cut of each flow's minimum rate; None if no optimum was proven."""
    share = sparse.csr_array(sparse.diags_array(1.0 / short.load) @ short.loads)
    wanted = 1.0 - short.capacity / short.load
    cut = np.zeros(share.shape[1])
    # Where there is no capacity at all everything is cut whole: no solver tolerance enters.
    none = short.capacity == 0
    cut[share[np.flatnonzero(none)].indices] = 1.0
    rest = np.flatnonzero(~none & (share @ cut < wanted))
    if len(rest):
        needed = share[rest]
        free = np.unique(needed.indices)
        free = free[cut[free] == 0]
        found = linprog(
            np.ones(len(free)),
            A_ub=cast("Any", -needed[:, free]),  # the stubs know dense tables only
            b_ub=(share @ cut - wanted)[rest],
            bounds=(0.0, 1.0),
            method="highs-ds",
            options={
                "maxiter": MAX_PIVOTS,
                "primal_feasibility_tolerance": SOLVER_TOLERANCE,
                "dual_feasibility_tolerance": SOLVER_TOLERANCE,
            },
        )
        if found.status != 0 or found.x is None:
            return None
        cut[free] = np.where(found.x > NO_CUT, np.minimum(found.x, 1.0), 0.0)
    return _repaired(short, cut)


def _repaired(short: _Short, cut: FloatArray) -> FloatArray:
    """Deepen the cuts by what the solver's tolerance and rounding left short."""
    for row in range(len(short.places)):
        span = slice(short.loads.indptr[row], short.loads.indptr[row + 1])
        flows, amounts = short.loads.indices[span], short.loads.data[span]
        left = amounts * (1.0 - cut[flows])
        over = float(left.sum()) - float(short.capacity[row])
        if over <= 0:
            continue
        # First from those that are cut already, so that nobody new is named for a rounding.
        for chosen in (cut[flows] > 0, cut[flows] == 0):
            room = float(left[chosen].sum())
            if over <= 0 or room <= 0:
                continue
            keep = max(0.0, 1.0 - over / room)
            cut[flows[chosen]] = 1.0 - (1.0 - cut[flows[chosen]]) * keep
            over -= room * (1.0 - keep)
    return cut
