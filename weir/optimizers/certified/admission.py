"""Whole consumers at each node, the best worth per weighed work first (compiled).

The order is total: by falling ratio, then by place. With one resource it is the order of the
fractional knapsack. Classes of which nobody fits are passed over, so no room is left lying that a
whole consumer could use.

Cost: O(n log n) for the n classes at a node; most of the time goes to reading them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from weir.allocation.feasibility import SLACK
from weir.allocation.layout import IntArray, Layout
from weir.compiled import compiled
from weir.utility import FloatArray


class Hosted(NamedTuple):
    """Which classes are at which node. N nodes, C classes."""

    class_flow: IntArray
    """C: the flow of each class."""
    node_start: IntArray
    """N + 1: where the classes of each node begin in the next array."""
    node_class: IntArray
    """C: classes, node by node."""


class Offer(NamedTuple):
    """What consumers bring and what they need. F flows, C classes, R rows."""

    rates: FloatArray
    """F: messages per second."""
    worth: FloatArray
    """C: utility of one consumer at these rates."""
    weight: FloatArray
    """R: by how much work on the row counts where works are compared."""
    capacity: FloatArray
    """R."""


@compiled
def admit(
    at: Layout, hosted: Hosted, offer: Offer, loads: FloatArray, populations: FloatArray,
    first: int, last: int,
) -> None:  # fmt: skip
    """Populations at nodes `first` to `last` - 1.

    `loads` holds the load of the flows and then that of flows and consumers.
    """
    node_start, node_class, class_flow = hosted.node_start, hosted.node_class, hosted.class_flow
    rates, worth, weight = offer.rates, offer.worth, offer.weight
    kinds = at.unit_costs.shape[1]
    longest = 0
    for node in range(first, last):
        longest = max(longest, node_start[node + 1] - node_start[node])
    waiting = np.empty(longest, dtype=np.int64)
    key = np.empty(longest)
    for node in range(first, last):
        count = 0
        for place in range(node_start[node], node_start[node + 1]):
            j = node_class[place]
            rate = rates[class_flow[j]]
            work, is_free = 0.0, True
            for k in range(kinds):
                unit = at.unit_costs[j, k] * rate
                work += unit * weight[at.class_row[j] + k]
                is_free = is_free and unit <= 0.0
            populations[j] = 0.0
            if is_free:
                populations[j] = at.population_max[j] if worth[j] >= 0.0 else 0.0
            elif worth[j] > 0.0 and at.population_max[j] > 0.0:
                waiting[count] = j
                key[count] = -worth[j] / work if work > 0.0 else -math.inf
                count += 1
        for place in np.argsort(key[:count], kind="mergesort"):
            j = waiting[place]
            rate = rates[class_flow[j]]
            fits = at.population_max[j]
            for k in range(kinds):
                unit = at.unit_costs[j, k] * rate
                if unit > 0.0:
                    row = at.class_row[j] + k
                    room = offer.capacity[row] * (1.0 + SLACK) - loads[row]
                    fits = min(fits, math.floor(room / unit)) if room > 0.0 else 0.0
            if fits >= 1.0:
                populations[j] = fits
                for k in range(kinds):
                    loads[at.class_row[j] + k] += at.unit_costs[j, k] * rate * fits
