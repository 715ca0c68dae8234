"""A problem in the order in which compiled kernels read it: flow by flow.

All numbers of a flow and of its classes lie behind each other, so that a range of flows is a
slice of every array. `part` cuts such a range out: a partition of a cluster holds a part and
needs nothing else. Rows are everything that has a price: resource k of node b is row b K + k,
link l is row N K + l.

Cost: O(C log C) once per problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weir.utility import FloatArray

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays

IntArray = npt.NDArray[np.int64]

BLOCK_FLOWS = 256
"""Flows that are summed up together. A constant: sums must not depend on who computes them."""

MAX_BLOCKS = 64


class Layout(NamedTuple):
    """Sizes: F flows, C classes, S shapes, N nodes, K resources, R = N K + L rows.

    A named tuple because compiled code reads it as it is.
    """

    rate_min: FloatArray
    rate_max: FloatArray
    cost_start: IntArray
    """F + 1: where the costs of each flow begin in the two arrays below."""
    cost_row: IntArray
    cost: FloatArray
    class_start: IntArray
    """F + 1: where the classes of each flow begin in the arrays below."""
    class_row: IntArray
    """C: the first row of the class's node."""
    population_max: FloatArray
    scale: FloatArray
    unit_costs: FloatArray
    """C x K: work per message and consumer."""
    shape: IntArray
    """C: index into the arrays of shapes."""
    mixed: npt.NDArray[np.bool_]
    """F: whether the classes of the flow have several shapes."""
    family: IntArray
    exponent: FloatArray
    knot_first: IntArray
    knot_last: IntArray
    knot_x: FloatArray
    knot_y: FloatArray
    knot_slope: FloatArray
    """Slope right of each knot; 0 after the last one of a shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Which flows are summed up together: block b holds flows start[b] to start[b + 1] - 1."""

    start: IntArray

    @property
    def count(self) -> int:
        """Return the number of blocks."""
        return len(self.start) - 1


def blocks(flows: int) -> Blocks:
    """The blocks of a problem of so many flows: a function of the size alone."""
    count = max(1, min(MAX_BLOCKS, -(-flows // BLOCK_FLOWS)))
    return Blocks(start=np.linspace(0, flows, count + 1).astype(np.int64))


def class_order(arrays: Arrays) -> IntArray:
    """The place in `arrays` of each class of the layout: by flow, then by id."""
    return np.argsort(arrays.class_flow, kind="stable")


def capacities(arrays: Arrays) -> FloatArray:
    """Return the capacity of every row: node resources first, then links."""
    return np.concatenate([arrays.node_capacity.reshape(-1), arrays.link_capacity])


def carried(arrays: Arrays) -> FloatArray:
    """What a bound must let every row carry: capacity, or what the minimum rates load.

    That may exceed the capacity by `feasibility.TOLERANCE`. Without it a price could rise for ever
    and the dual would fall below the utility of answers that count as feasible.
    """
    least = [arrays.node_costs @ arrays.rate_min, arrays.link_costs @ arrays.rate_min]
    return np.asarray(np.maximum(capacities(arrays), np.concatenate(least)))


def layout(arrays: Arrays, order: IntArray | None = None) -> Layout:
    """The whole problem, flow by flow."""
    order = class_order(arrays) if order is None else order
    costs = sparse.vstack([arrays.node_costs, arrays.link_costs]).tocsc()
    costs.sort_indices()
    starts = np.zeros(len(arrays.flow_ids) + 1, dtype=np.int64)
    np.cumsum(np.bincount(arrays.class_flow, minlength=len(arrays.flow_ids)), out=starts[1:])
    shape_of_term, forms = arrays.curves.forms()
    terms = np.bincount(arrays.term_flow, minlength=len(arrays.flow_ids))
    sizes = np.array([max(1, len(form.knots)) for form in forms], dtype=np.int64)
    ends = np.cumsum(sizes)
    knots = np.array(
        [knot for form in forms for knot in (form.knots or ((0.0, 0.0),))], dtype=np.float64
    ).reshape(-1, 2)
    slope = np.zeros(len(knots))
    inner = np.ones(len(knots), dtype=bool)
    inner[ends - 1] = False
    at = np.flatnonzero(inner)
    slope[at] = (knots[at + 1, 1] - knots[at, 1]) / (knots[at + 1, 0] - knots[at, 0])
    return Layout(
        rate_min=arrays.rate_min.copy(),
        rate_max=arrays.rate_max.copy(),
        cost_start=costs.indptr.astype(np.int64),
        cost_row=costs.indices.astype(np.int64),
        cost=np.asarray(costs.data, dtype=np.float64),
        class_start=starts,
        class_row=arrays.class_node[order] * len(arrays.resources),
        population_max=arrays.population_max[order],
        scale=arrays.class_scale[order],
        unit_costs=np.ascontiguousarray(arrays.class_costs[order]),
        shape=shape_of_term[arrays.class_term[order]],
        mixed=terms > 1,
        family=np.array([int(form.family) for form in forms], dtype=np.int64),
        exponent=np.array([form.exponent for form in forms], dtype=np.float64),
        knot_first=ends - sizes,
        knot_last=ends - 1,
        knot_x=np.ascontiguousarray(knots[:, 0]),
        knot_y=np.ascontiguousarray(knots[:, 1]),
        knot_slope=slope,
    )


def part(whole: Layout, first: int, last: int) -> Layout:
    """Flows `first` to `last` - 1 as a layout of their own; shapes are shared by all."""
    costs = slice(whole.cost_start[first], whole.cost_start[last])
    classes = slice(whole.class_start[first], whole.class_start[last])
    return whole._replace(
        rate_min=whole.rate_min[first:last],
        rate_max=whole.rate_max[first:last],
        cost_start=whole.cost_start[first : last + 1] - whole.cost_start[first],
        cost_row=whole.cost_row[costs],
        cost=whole.cost[costs],
        class_start=whole.class_start[first : last + 1] - whole.class_start[first],
        class_row=whole.class_row[classes],
        population_max=whole.population_max[classes],
        scale=whole.scale[classes],
        unit_costs=whole.unit_costs[classes],
        shape=whole.shape[classes],
        mixed=whole.mixed[first:last],
    )
