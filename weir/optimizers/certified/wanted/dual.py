"""The Lagrangian dual where a way costs only while somebody behind it is admitted.

As `weir.optimizers.certified.dual`, with `tree_answer` for the answer of a flow. A feasible
allocation is still one of the choices among which each flow takes the best, with the ways that it
loads, so D(p) is at least its utility.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.allocation.layout import IntArray, Layout
from weir.compiled import compiled
from weir.optimizers.certified.dual import (
    Answer,
    Dual,
    LocalDual,
    combined,
    largest_flow,
    load_classes,
    one_more,
    price_classes,
)
from weir.optimizers.certified.shares import in_shares
from weir.optimizers.certified.wanted.flow_answer import Asked, Served, shared_price, tree_answer
from weir.optimizers.certified.wanted.tree import Mask, Tree
from weir.utility import FloatArray

if TYPE_CHECKING:
    from weir.allocation.layout import Blocks


class WantedDual(LocalDual):
    """Compute D in this process, with the blocks distributed over `threads` threads."""

    def __init__(
        self,
        whole: Layout,
        tree: Tree,
        blocks: Blocks,
        capacity: FloatArray,
        *,
        threads: int = 1,
    ) -> None:
        super().__init__(whole, blocks, capacity, threads=threads)
        self._tree = tree
        self.served: Mask = np.zeros(len(tree.parent), dtype=np.uint8)
        """Per vertex: whether the last answer passes it; the next answer overwrites it."""
        vertices = int(np.diff(tree.start).max(initial=1))
        self._longest = largest_flow(whole) + vertices

    def __call__(self, prices: FloatArray) -> Dual:
        room = self._room

        def some(first: int, last: int) -> None:
            wanted_answer_into(
                self.layout, self._tree, self._starts, prices, first, last, room, self.served
            )

        in_shares(some, len(self._starts) - 1, self._threads)
        return combined(room.values, room.sizes, room.loads, prices, self.capacity, self._longest)

    @property
    def travelled(self) -> Mask:
        """Return per cost of the layout whether the last answer's flow goes there."""
        return self.served[self._tree.cost_vertex]


@compiled
def wanted_answer_into(
    at: Layout,
    tree: Tree,
    starts: IntArray,
    prices: FloatArray,
    first: int,
    last: int,
    out: Answer,
    served: Mask,
) -> None:
    """Answers of blocks `first` to `last` - 1, written to their places in `out` and `served`."""
    longest, widest = 0, 1
    for i in range(starts[first], starts[last]):
        longest = max(longest, at.class_start[i + 1] - at.class_start[i])
        widest = max(widest, tree.start[i + 1] - tree.start[i])
    price, own = np.empty(longest), np.empty(widest)
    asked, answer = Asked(own, price), Served(np.empty(widest), out.wanted, served)
    for b in range(first, last):
        loads = out.loads[b]
        loads[:] = 0.0
        total, lost, size = 0.0, 0.0, 0.0
        for i in range(starts[b], starts[b + 1]):
            shared_price(at, tree, i, prices, own)
            price_classes(at, i, prices, price)
            value, rate, weight = tree_answer(at, tree, i, asked, answer)
            total, lost = one_more(total, lost, value)
            size += weight
            out.rates[i] = rate
            for c in range(at.cost_start[i], at.cost_start[i + 1]):
                if served[tree.cost_vertex[c]]:
                    loads[at.cost_row[c]] += at.cost[c] * rate
            load_classes(at, i, rate, out.wanted, loads)
        out.values[b] = total + lost
        out.sizes[b] = size
