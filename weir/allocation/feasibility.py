"""Whether the minimum rates fit, and how to make any rates fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.segments import summed

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.utility import FloatArray

TOLERANCE = 1e-9
"""A constraint holds if the load exceeds capacity by no more than this share of it."""

MARGIN = 1e-12
"""Kept below capacity when rates are shrunk, against the rounding of sums."""

SLACK = 1e-11
"""Load that may exceed capacity, relative to it: decimal costs are rounded in binary."""

MAX_NAMED = 5


def why_infeasible(arrays: Arrays) -> str:
    """Empty if the minimum rates fit, else who cannot carry them and by how much."""
    complaints: list[tuple[float, str]] = []
    node_load = arrays.flow_loads(arrays.rate_min)
    node_short = node_load - arrays.node_capacity
    for b, k in np.argwhere(node_short > TOLERANCE * arrays.node_capacity):
        what = f"{arrays.node_ids[b]} cannot carry the minimum rates: "
        what += f"{amount(node_short[b, k])} {arrays.resources[k]} short"
        complaints.append((relative(node_short[b, k], arrays.node_capacity[b, k]), what))
    link_short = arrays.link_costs @ arrays.rate_min - arrays.link_capacity
    for at in np.flatnonzero(link_short > TOLERANCE * arrays.link_capacity):
        what = f"{arrays.link_ids[at]} cannot carry the minimum rates: "
        what += f"{amount(link_short[at])} short"
        complaints.append((relative(link_short[at], arrays.link_capacity[at]), what))
    complaints.sort(key=lambda complaint: -complaint[0])  # stable: ties stay in order of id
    named = "; ".join(what for _, what in complaints[:MAX_NAMED])
    more = len(complaints) - MAX_NAMED
    return f"{named}; and {more:,} more" if more > 0 else named


def relative(short: float, capacity: float) -> float:
    """Shortage against capacity; inf where there is none."""
    return float(short / capacity) if capacity > 0 else np.inf


def amount(value: float) -> str:
    """A quantity as a person writes it: 12,400 or 0.0125."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.4g}"


def overload(load: FloatArray, capacity: FloatArray) -> float:
    """The largest load above capacity, relative to it; 0 if everything fits."""
    over = load > capacity
    if not over.any():
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.max(load[over] / capacity[over]) - 1.0)


def idle_at_minimum(arrays: Arrays, rates: FloatArray, populations: FloatArray) -> FloatArray:
    """The rates, at the minimum wherever nobody of the flow is admitted.

    Such a rate is worth nothing to anybody, and lowering it only makes room.
    """
    admitted = summed(arrays.class_flow, populations, len(rates))
    return np.where(admitted > 0, rates, arrays.rate_min)


def fitted(arrays: Arrays, rates: FloatArray) -> FloatArray:
    """The rates, each drawn towards its minimum as far as its tightest node or link asks.

    Every constraint keeps the share s of the rates above the minimum that fits it, and a flow
    keeps the smallest share on its way: one pass makes all flow loads fit.
    """
    keep = np.ones(len(rates))
    extra = rates - arrays.rate_min
    for costs, capacity in (
        (arrays.link_costs, arrays.link_capacity),
        (arrays.node_costs, arrays.node_capacity.reshape(-1)),
    ):
        load = costs @ rates
        over = np.flatnonzero(load > capacity)
        if not len(over):
            continue
        least = costs @ arrays.rate_min
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (capacity * (1 - MARGIN) - least)[over] / (costs @ extra)[over]
        share = np.clip(np.nan_to_num(share, nan=0.0), 0.0, 1.0)
        for row, part in zip(over, share, strict=True):
            flows = costs.indices[costs.indptr[row] : costs.indptr[row + 1]]
            keep[flows] = np.minimum(keep[flows], part)
    if np.all(keep == 1.0):
        return rates
    return np.minimum(arrays.rate_min + keep * extra, rates)  # rounding may exceed the rate
