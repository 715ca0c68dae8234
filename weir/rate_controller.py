r"""Rates between two allocations: up by marginal worth, down by congested coefficients.

One step, about once a second, with populations held:

    no resource on the way of flow i is congested:  r_i += s_i a   sum_j n_j U_j'(r_i)
    some are:                                       r_i -= s_i a   sum_k congested  K_k A_ik

then r_i is clamped to its bounds and to a band around the approved rate. `approved` is where a
new allocation begins ("snapping").

| paper (Bhola 2006, section IV.C) | here |
|---|---|
| r_alloc(i), n_alloc(j) | `rates`, `populations` |
| congestion indicator of a resource | membership in `congested` |
| partial derivative of the objective | sum n_j U_j'(r_i) |
| coefficient of r_alloc(i) in a constraint | A_ik: (flow cost + consumer costs) / capacity |

What the paper leaves open, and what is done here:

* Units. Coefficients of CPU, memory and links are summed, though their units differ. Each row is
  divided by its capacity first, so that A_ik is the share of resource k that one msg/s takes.
* Sizes of the steps. K_k is `decrease / increase` times the mean worth per share of resource k
  at the approved rates, s_i the approved rate over its marginal worth. At the approved
  rates, then, an uncongested step raises every flow by the share a = `increase` of its rate, and
  a congested one lowers the flows of a typical resource by `decrease`. Both have no unit: a
  problem in other units of cost, utility or messages takes the same steps. What balances two flows
  is only the ratio of their steps up and down, which does not hold s_i.
* Optimality. On average the steps cancel where g_i P(no k of i congested) = sum_k A_ik K_k
  P(k congested), the conditions of the optimum with prices K_k P(k congested), if the first
  probability is near 1. The paper's "similar to the proof in [7]" needs steps down that are large
  against steps up, which it does not say. With several scarce resources on the way of a
  flow the rates are therefore biased against it, by a few percent at the defaults.
* Flows that send less than they may. The paper raises their rate too; after a minute of silence
  such a flow could come back with whatever the band allows. A rate that is not used
  (`idle`) stays as it is: neither step would change the load.
* A resource of capacity 0 counts as full as soon as anything crosses it.

Assumptions: populations and approved rates belong to the problem. Cost: O(classes + entries of A)
per step. Fails for nothing a checked problem can hold; utilities of infinite slope at rate 0 move
by at most MOST_MOVE of the band at once.

References:
    S. Bhola, M. Astley, R. Saccone, M. Ward. Utility-aware resource allocation in an event
    processing system. ICAC 2006. doi:10.1109/ICAC.2006.1662382
    [7] K. Kar, S. Sarkar, L. Tassiulas. A simple rate control algorithm for maximizing total
    user utility. INFOCOM 2001. doi:10.1109/INFCOM.2001.916639
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from weir.allocation.arrays import to_arrays
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from weir.allocation.arrays import Arrays
    from weir.model import Problem
    from weir.utility import FloatArray

MOST_MOVE = 0.25
"""Of the band, in one step."""

STEEPEST = 1e300
"""Stands for an infinite slope."""


class Place(NamedTuple):
    """A resource of a node, or a link (its `resource` is empty)."""

    kind: str
    name: str
    resource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How fast and how far rates move."""

    increase: float = field(
        default=0.01,
        metadata=about(
            help="Share of the approved rate added per uncongested step", min=0, exclusive=True
        ),
    )
    decrease: float = field(
        default=0.04,
        metadata=about(
            help="Share taken away per congested step; several times `increase`",
            min=0,
            max=1,
            exclusive=True,
        ),
    )
    band: float = field(
        default=0.2, metadata=about(help="How far a rate may leave the approved one", min=0)
    )
    full: float = field(
        default=1.0,
        metadata=about(
            help="Share of capacity from which on a resource is congested", min=0, exclusive=True
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)


class RateController:
    """Prepared once per allocation; `step` is pure."""

    def __init__(
        self,
        problem: Problem,
        *,
        rates: Mapping[str, float],
        populations: Mapping[str, int],
        params: Params | None = None,
    ) -> None:
        """`rates` and `populations` are the approved ones; a class left out has nobody."""
        self._params = params or Params()
        self._arrays = arrays = to_arrays(problem)
        self._admitted = np.array([populations.get(c, 0) for c in arrays.class_ids], dtype=float)
        self._approved = np.array(
            [rates.get(f, low) for f, low in zip(arrays.flow_ids, arrays.rate_min, strict=True)]
        )
        band = self._params.band
        self._low = np.maximum(arrays.rate_min, self._approved * (1 - band))
        self._high = np.minimum(arrays.rate_max, self._approved * (1 + band))
        # An approved rate outside the bounds of an edited model stays where it was approved.
        self._low = np.minimum(self._low, self._approved)
        self._high = np.maximum(self._high, self._approved)
        self._places = _places(arrays)
        self._index = {place: row for row, place in enumerate(self._places)}
        self._share = _shares(arrays, self._admitted)
        self._uses = (self._share > 0).astype(float)
        self._row_weight, self._flow_step = self._sizes()

    @property
    def approved(self) -> dict[str, float]:
        """The optimizer's rates: where control begins, and returns to at a new allocation."""
        return self._named(self._approved)

    @property
    def places(self) -> tuple[Place, ...]:
        """Every resource that has a congestion bit."""
        return self._places

    def bounds(self, flow: str) -> tuple[float, float]:
        """Between which rates control keeps a flow."""
        at = self._arrays.flow_ids.index(flow)
        return float(self._low[at]), float(self._high[at])

    def utilisation(
        self, rates: Mapping[str, float], populations: Mapping[str, int] | None = None
    ) -> dict[Place, float]:
        """Share of each capacity that these rates load, by the model's costs.

        Measured rates and populations give the load that is really there; a flow left out is not
        sent, a class left out (or all, by default) has the consumers that were approved.
        """
        share = self._share
        if populations:
            classes = zip(self._arrays.class_ids, self._admitted, strict=True)
            present = np.array([populations.get(c, n) for c, n in classes], dtype=float)
            share = _shares(self._arrays, present)
        loads = share @ self._vector(rates, 0.0)
        return {place: float(load) for place, load in zip(self._places, loads, strict=True)}

    def congested(
        self, rates: Mapping[str, float], populations: Mapping[str, int] | None = None
    ) -> frozenset[Place]:
        """The resources that these rates (measured ones, say) fill."""
        loads = self.utilisation(rates, populations)
        return frozenset(place for place, load in loads.items() if load > self._params.full)

    def step(
        self,
        rates: Mapping[str, float],
        *,
        congested: Collection[Place],
        idle: Collection[str] = (),
    ) -> dict[str, float]:
        """The rates of the next second. Flows in `idle` send less than they may: they stay."""
        now = self._vector(rates)
        bits = np.zeros(len(self._places))
        for place in congested:
            if place in self._index:
                bits[self._index[place]] = 1.0
        crossed = (self._uses.T @ bits) > 0
        scale = self._params.increase * self._flow_step
        up = scale * np.minimum(self._worth(now), STEEPEST)
        down = scale * (self._share.T @ (bits * self._row_weight))
        most = MOST_MOVE * (self._high - self._low)
        move = np.where(crossed, -np.minimum(down, most), np.minimum(up, most))
        still = np.isin(self._arrays.flow_ids, list(idle)) if idle else np.zeros(len(now), bool)
        moved = np.clip(now + np.where(still, 0.0, move), self._low, self._high)
        return self._named(moved)

    def _worth(self, rates: FloatArray) -> FloatArray:
        """Marginal worth of each flow: sum over its classes of n U'(r)."""
        arrays = self._arrays
        weights = np.bincount(
            arrays.class_term,
            weights=self._admitted * arrays.class_scale,
            minlength=len(arrays.term_flow),
        )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slopes = np.minimum(arrays.curves.derivative(rates[arrays.term_flow]), STEEPEST)
        worth = np.bincount(
            arrays.term_flow, weights=weights * slopes, minlength=len(arrays.flow_ids)
        )
        return np.asarray(np.minimum(worth, STEEPEST))

    def _sizes(self) -> tuple[FloatArray, FloatArray]:
        """K_k per row and s_i per flow; see the module's text."""
        # A flow approved at 0 has no rate to take shares of; its bound stands in.
        typical = np.where(self._approved > 0, self._approved, 0.01 * self._high)
        worth = self._worth(np.maximum(typical, np.finfo(float).tiny))
        load = self._share @ typical
        with np.errstate(over="ignore"):
            total = np.minimum(self._uses @ (worth * typical), STEEPEST)
        mean = np.divide(total, load, out=np.zeros_like(load), where=load > 0)
        row_weight = self._params.decrease / self._params.increase * mean
        # A flow that is worth nothing has only steps down; they are as large as anybody's.
        cost = self._share.T @ mean
        measure = np.where(worth > 0, worth, cost)
        step = np.divide(typical, measure, out=np.zeros_like(typical), where=measure > 0)
        return np.minimum(row_weight, STEEPEST), step

    def _vector(self, rates: Mapping[str, float], other: float | None = None) -> FloatArray:
        approved = self._approved if other is None else np.full_like(self._approved, other)
        flows = self._arrays.flow_ids
        return np.array([rates.get(f, a) for f, a in zip(flows, approved, strict=True)])

    def _named(self, rates: FloatArray) -> dict[str, float]:
        flows = self._arrays.flow_ids
        return {flow: float(rate) for flow, rate in zip(flows, rates, strict=True)}


def _places(arrays: Arrays) -> tuple[Place, ...]:
    nodes = [Place("node", n, r) for n in arrays.node_ids for r in arrays.resources]
    return (*nodes, *(Place("link", link) for link in arrays.link_ids))


def _shares(arrays: Arrays, admitted: FloatArray) -> sparse.csr_array:
    """A: rows are places, columns flows; share of the capacity that one msg/s takes."""
    kinds, flows = len(arrays.resources), len(arrays.flow_ids)
    rows = arrays.class_node[:, None] * kinds + np.arange(kinds)[None, :]
    consumers = sparse.csr_array(
        (
            (arrays.class_costs * admitted[:, None]).ravel(),
            (rows.ravel(), np.repeat(arrays.class_flow, kinds)),
        ),
        shape=(len(arrays.node_ids) * kinds, flows),
    )
    work = sparse.vstack([arrays.node_costs + consumers, arrays.link_costs]).tocsr()
    capacity = np.concatenate([arrays.node_capacity.ravel(), arrays.link_capacity])
    # Any use of what has no capacity fills it many times over.
    divisor = np.where(capacity > 0, capacity, 1e-30)
    return sparse.csr_array(sparse.diags_array(1.0 / divisor) @ work)
