"""The problem as the polishing kernels walk through it: flow by flow, entry by entry.

Rows are the resources of all nodes, then the links, as in `weir.allocation.layout`; here each
is measured in shares of its capacity, and a row's price is the worth of all of its capacity.
An *entry* is one flow on one row: at populations n it loads `entry_base + sum of part_cost x n`
of the capacity per message. Classes are in the order of the layout: by flow, then by id.

| paper | here |
|---|---|
| F_bi / c_b, L_li / c_l | `entry_base` |
| G_bj / c_b | `part_cost` of class j, at `part_entry` |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.allocation.feasibility import SLACK
from weir.allocation.layout import Layout, capacities, class_order, layout
from weir.utility import Family

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.allocation.layout import IntArray
    from weir.utility import FloatArray


class Grid(NamedTuple):
    """Hold the problem as arrays. Sizes: F flows, M rows, E entries, C classes, K resources, T
    terms."""

    at: Layout
    high: FloatArray
    """F: largest rate; the smallest one where a row on the way has no capacity."""
    limit: FloatArray
    """M: largest load that counts as feasible, in shares of capacity."""
    entry_start: IntArray
    """F + 1: the entries of flow i are entry_start[i] to entry_start[i + 1] - 1."""
    entry_row: IntArray
    entry_base: FloatArray
    part_entry: IntArray
    """C x K: entry that the class loads, -1 where it costs nothing."""
    part_cost: FloatArray
    """C x K: share of capacity per message and consumer."""
    class_flow: IntArray
    class_node: IntArray
    class_term: IntArray
    most: FloatArray
    """C: largest population."""
    is_fixed: np.ndarray
    """C: whether the population must stay as it is (it loads a row without capacity)."""
    term_start: IntArray
    """F + 1: the terms of flow i are term_start[i] to term_start[i + 1] - 1."""
    term_shape: IntArray
    is_kinky: np.ndarray
    """F: whether the worth has straight pieces, so that the best rate jumps with the price."""
    visits: float
    """Terms and entries looked at when every flow is asked once for its best rate."""


class Point(NamedTuple):
    """An allocation with its prices, which kernels improve in place. Sizes as in `Grid`."""

    population: FloatArray
    """C: consumers of each class."""
    coef: FloatArray
    """E: share of capacity that each entry loads per message at these populations."""
    weight: FloatArray
    """T: consumers times scale, per term."""
    price: FloatArray
    """M: worth of all of each row's capacity."""
    rate: FloatArray
    """F: messages per second."""


SEARCH = 30.0
"""Looks at each term that a best rate takes where no closed form gives it."""


def to_grid(arrays: Arrays) -> tuple[Grid, IntArray]:
    """Return the grid and the place in `arrays` of each of its classes; O(C log C)."""
    order = class_order(arrays)
    capacity = capacities(arrays)
    rows, flows, kinds = max(1, len(capacity)), len(arrays.flow_ids), len(arrays.resources)
    at = layout(arrays, order)
    with np.errstate(divide="ignore", over="ignore"):
        share = np.where(capacity > 0, 1.0 / capacity, 0.0)
    usable = (share > 0) & np.isfinite(share)
    share = np.where(usable, share, 0.0)

    flow_at = np.repeat(np.arange(flows), np.diff(at.cost_start))
    class_flow, class_node = arrays.class_flow[order], arrays.class_node[order]
    part_row = class_node[:, None] * kinds + np.arange(kinds)[None, :]
    is_part = at.unit_costs > 0
    keys = np.concatenate(
        [flow_at * rows + at.cost_row, (class_flow[:, None] * rows + part_row)[is_part]]
    )
    entries, where = np.unique(keys, return_inverse=True)
    where = where.reshape(-1)
    base = np.bincount(where[: len(flow_at)], at.cost * share[at.cost_row], len(entries)).astype(
        np.float64
    )
    part_entry = np.full(is_part.shape, -1, dtype=np.int64)
    part_entry[is_part] = where[len(flow_at) :]

    high = at.rate_max.copy()
    blocked = flow_at[(at.cost > 0) & ~usable[at.cost_row]]
    high[blocked] = at.rate_min[blocked]
    entry_row = entries % rows
    least = np.bincount(entry_row, base * at.rate_min[entries // rows], rows)[: len(capacity)]
    shape_of_term, _ = arrays.curves.forms()
    straight = at.family == int(Family.KNOTS)
    straight |= (at.family == int(Family.POWER)) & (at.exponent == 1.0)
    is_kinky = np.zeros(flows, dtype=bool)
    is_kinky[arrays.term_flow[straight[shape_of_term]]] = True
    terms = np.bincount(arrays.term_flow, minlength=flows)
    searched = float(terms[is_kinky | (terms > 1)].sum())
    grid = Grid(
        at=at,
        high=high,
        limit=np.maximum(1.0 + SLACK, least),
        entry_start=np.searchsorted(entries, np.arange(flows + 1) * rows).astype(np.int64),
        entry_row=entry_row.astype(np.int64),
        entry_base=base,
        part_entry=part_entry,
        part_cost=np.ascontiguousarray(at.unit_costs * share[part_row]),
        class_flow=class_flow.astype(np.int64),
        class_node=class_node.astype(np.int64),
        class_term=arrays.class_term[order].astype(np.int64),
        most=at.population_max.astype(np.float64),
        is_fixed=(is_part & ~usable[part_row]).any(axis=1),
        term_start=np.searchsorted(arrays.term_flow, np.arange(flows + 1)).astype(np.int64),
        term_shape=shape_of_term.astype(np.int64),
        is_kinky=is_kinky,
        visits=SEARCH * searched + flows + len(entries),
    )
    return grid, order


def worth_of_rows(arrays: Arrays, node_prices: FloatArray, link_prices: FloatArray) -> FloatArray:
    """Convert prices per unit of capacity into the worth of each row's whole capacity."""
    prices = np.concatenate([node_prices.reshape(-1), link_prices])
    with np.errstate(over="ignore", invalid="ignore"):
        worth = np.maximum(prices, 0.0) * capacities(arrays)
    return np.where(np.isfinite(worth), worth, 0.0)
