"""A problem cut up for many processes: flows for the dual, nodes for admission.

The dual separates by flow and admission separates by node, so each has a partition of its own and
no class ever moves. What goes between them is as long as the flows: prices out, rates back;
rates out, sums back.

* `flow_parts` cuts the layout at its fixed blocks. `dual.answer` on every part and `dual.combined`
  over all blocks give the bits of one process, however many parts there are.
* `node_parts` cuts the classes by node, in the order in which `admission.admit` reads them:
  each node admits the consumers that it admits in one process.
* `Pairs` are what is left of the classes for whoever coordinates: all classes of one flow at one
  node with one shape. Loads, growth and utility ask for no more than sum_j n_j G_j and
  sum_j n_j w_j of each pair (`Sums`).

Cost: O(C log C) once; an answer or admission costs what it costs in one process, shared out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.allocation.layout import Layout, part
from weir.allocation.shapes import value_at
from weir.compiled import compiled
from weir.optimizers.certified.admission import Hosted, Offer, admit
from weir.optimizers.certified.dual import Answer, answer
from weir.utility import FloatArray

if TYPE_CHECKING:
    from weir.allocation.arrays import Arrays
    from weir.allocation.layout import Blocks, IntArray


class Pairs(NamedTuple):
    """Hold every pair, ordered by flow, node, term; `of_class` is in the layout's order."""

    flow: IntArray
    node: IntArray
    term: IntArray
    of_class: IntArray


class Sums(NamedTuple):
    """Hold sums over consumers, one entry per pair."""

    scale: FloatArray
    """Sum of population x scale."""
    work: FloatArray
    """Pairs x K: sum of population x work per message."""


class FlowPart(NamedTuple):
    """Hold a part of the flows, made of whole blocks."""

    layout: Layout
    starts: IntArray
    """Where each block begins among the flows of the part, and where the last one ends."""
    class_pair: IntArray
    """Place of each class among the part's pairs, which follow each other in `Pairs`."""
    pairs: int


class NodePart(NamedTuple):
    """Hold neighbouring nodes with all their classes."""

    layout: Layout
    """Classes in the order of their nodes; no flow and no cost of a flow."""
    class_flow: IntArray
    class_pair: IntArray
    class_at: IntArray
    """Place of each class in the whole layout."""
    node_start: IntArray
    pair_at: IntArray
    """Place of each of the part's pairs in `Pairs`."""


def even_cuts(sizes: IntArray, parts: int) -> IntArray:
    """Where to cut a row of items of given sizes into at most so many runs of similar size."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    cuts = np.searchsorted(ends, np.linspace(0, ends[-1], parts + 1), side="left")
    cuts[0], cuts[-1] = 0, len(sizes)
    return np.unique(cuts).astype(np.int64)


def pairs_of(arrays: Arrays, order: IntArray) -> Pairs:
    """Return the pairs of a problem; `order` is that of the layout's classes."""
    key = np.stack(
        [arrays.class_flow[order], arrays.class_node[order], arrays.class_term[order]], axis=1
    )
    table, of_class = np.unique(key, axis=0, return_inverse=True)
    return Pairs(table[:, 0], table[:, 1], table[:, 2], of_class.reshape(-1))


def flow_parts(whole: Layout, blocks: Blocks, pairs: Pairs, parts: int) -> list[FlowPart]:
    """Cut the flows into at most so many parts of whole blocks with similar numbers of classes."""
    classes = np.diff(whole.class_start[blocks.start])
    cuts = even_cuts(classes + 1, min(parts, blocks.count))
    first_pair = np.searchsorted(pairs.flow, np.arange(len(whole.rate_min) + 1))
    found = []
    for first, last in pairwise(cuts):
        flow, end = int(blocks.start[first]), int(blocks.start[last])
        own = pairs.of_class[whole.class_start[flow] : whole.class_start[end]]
        found.append(
            FlowPart(
                layout=part(whole, flow, end),
                starts=blocks.start[first : last + 1] - flow,
                class_pair=own - first_pair[flow],
                pairs=int(first_pair[end] - first_pair[flow]),
            )
        )
    return found


def node_parts(
    arrays: Arrays, whole: Layout, order: IntArray, pairs: Pairs, parts: int
) -> list[NodePart]:
    """Cut the nodes into at most so many parts of neighbours with similar numbers of classes."""
    class_node, class_flow = arrays.class_node[order], arrays.class_flow[order]
    by_node = np.argsort(class_node, kind="stable")
    counts = np.bincount(class_node, minlength=len(arrays.node_ids))
    start = np.concatenate([[0], np.cumsum(counts)])
    cuts = even_cuts(counts + 1, parts)
    no_flow = part(whole, 0, 0)
    found = []
    for first, last in pairwise(cuts):
        at = by_node[start[first] : start[last]]
        pair_at, class_pair = np.unique(pairs.of_class[at], return_inverse=True)
        found.append(
            NodePart(
                layout=no_flow._replace(
                    class_row=whole.class_row[at],
                    population_max=whole.population_max[at],
                    scale=whole.scale[at],
                    unit_costs=np.ascontiguousarray(whole.unit_costs[at]),
                    shape=whole.shape[at],
                ),
                class_flow=class_flow[at],
                class_pair=class_pair.reshape(-1),
                class_at=at,
                node_start=start[first : last + 1] - start[first],
                pair_at=pair_at,
            )
        )
    return found


def sums(at: Layout, class_pair: IntArray, pairs: int, populations: FloatArray) -> Sums:
    """Add up scale and work of the consumers of each class per pair."""
    kinds = at.unit_costs.shape[1]
    work = np.empty((pairs, kinds))
    for k in range(kinds):
        work[:, k] = np.bincount(class_pair, populations * at.unit_costs[:, k], pairs)
    scale = np.bincount(class_pair, populations * at.scale, pairs)
    return Sums(scale.astype(np.float64), work)


def answer_part(at: FlowPart, prices: FloatArray) -> tuple[Answer, Sums]:
    """Return the answer of a part's flows to the prices, and the consumers they want."""
    found = answer(at.layout, at.starts, prices)
    wanted = np.where(found.wanted, at.layout.population_max, 0.0)
    return found, sums(at.layout, at.class_pair, at.pairs, wanted)


def admit_part(
    at: NodePart, rates: FloatArray, weight: FloatArray, capacity: FloatArray, loads: FloatArray
) -> FloatArray:
    """Whole consumers per class of the part; all arguments are of the whole problem.

    `rates` per flow; `weight`, `capacity` and `loads` (of the flows alone) per row.
    """
    count = len(at.class_flow)
    worth = np.empty(count)
    class_worths(at.layout, at.class_flow, rates, worth)
    populations = np.zeros(count)
    hosted = Hosted(at.class_flow, at.node_start, np.arange(count))
    offer = Offer(rates, worth, weight, capacity)
    nodes = len(at.node_start) - 1
    admit(at.layout, hosted, offer, loads.copy(), populations, 0, nodes)
    return populations


@compiled
def class_worths(at: Layout, class_flow: np.ndarray, rates: FloatArray, worth: FloatArray) -> None:
    """What one consumer of each class gains, classes in any order."""
    for j in range(len(class_flow)):
        worth[j] = at.scale[j] * value_at(at, at.shape[j], rates[class_flow[j]])
