"""The Lagrangian dual: what all flows together make of given prices.

With prices p >= 0 on every node's resources and every link,

    D(p) = sum_i h_i(p) + sum_row p_row c_row

is at least the utility of every feasible allocation, whole populations or not: a feasible
allocation is one of the choices among which each h_i (`flow_answer`) takes the best, and its
loads times the prices come to no more than p c. D is convex; capacity minus the load of the
flows' answers is a subgradient.

`answer(part, blocks, prices)` is a pure function of a part of the layout and the prices. Sums run
over the fixed blocks of `layout.blocks`, in order, whoever computes them: `combined` gives the
same bits for one process, several threads, or partitions of a cluster that hold whole blocks.

The value is raised by what rounding can hide (`UNIT` per summand), so it stays a bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.allocation.layout import Layout
from weir.compiled import compiled
from weir.optimizers.certified.flow_answer import many_shapes, one_shape
from weir.optimizers.certified.shares import in_shares

if TYPE_CHECKING:
    import numpy.typing as npt

    from weir.allocation.layout import Blocks, IntArray
    from weir.utility import FloatArray

UNIT = 2.3e-16
"""Relative rounding of one operation on doubles, upwards."""

OPERATIONS = 16
"""Operations behind one summand: utility, products, their sum."""


class Answer(NamedTuple):
    """What the blocks of a part make of the prices; arrays are in the order of the part."""

    values: FloatArray
    """Per block: sum of h_i."""
    sizes: FloatArray
    """Per block: sum of the sizes of all summands, for the rounding of the bound."""
    loads: FloatArray
    """Blocks x rows: the load of the answers."""
    rates: FloatArray
    """Per flow."""
    wanted: npt.NDArray[np.uint8]
    """Per class: 1 where its whole population is wanted, else 0."""


class Dual(NamedTuple):
    """Hold D and its subgradient at one price vector."""

    bound: float
    loads: FloatArray
    """Per row; the subgradient is capacity - load."""


def empty_answer(part: Layout, blocks: int, rows: int) -> Answer:
    """Allocate an answer, so that iterations need not allocate memory."""
    return Answer(
        values=np.zeros(blocks),
        sizes=np.zeros(blocks),
        loads=np.zeros((blocks, rows)),
        rates=np.zeros(len(part.rate_min)),
        wanted=np.zeros(len(part.scale), dtype=np.uint8),
    )


def answer(part: Layout, starts: IntArray, prices: FloatArray) -> Answer:
    """Compute the answer of a part's flows to the prices; block b is flows starts[b] to
    starts[b+1]."""
    room = empty_answer(part, len(starts) - 1, len(prices))
    answer_into(part, starts, prices, 0, len(starts) - 1, room)
    return room


def combined(
    values: FloatArray,
    sizes: FloatArray,
    loads: FloatArray,
    prices: FloatArray,
    capacity: FloatArray,
    largest_flow: int,
) -> Dual:
    """D from the answers of all blocks, in the order of blocks.

    `largest_flow` is the largest number of classes of one flow: the longest plain sum.
    """
    paid = prices * capacity
    total = math.fsum(values) + math.fsum(paid)
    size = math.fsum(sizes) + math.fsum(paid)
    return Dual(bound=total + (OPERATIONS + largest_flow) * UNIT * size, loads=loads.sum(axis=0))


def largest_flow(part: Layout) -> int:
    """Return the largest number of classes of one flow."""
    return int(np.diff(part.class_start).max(initial=0))


class LocalDual:
    """Compute D in this process, with the blocks distributed over `threads` threads."""

    def __init__(
        self, whole: Layout, blocks: Blocks, capacity: FloatArray, *, threads: int = 1
    ) -> None:
        self.layout = whole
        self.capacity = capacity
        self._starts = blocks.start
        self._threads = threads
        self._largest_flow = largest_flow(whole)
        self._room = empty_answer(whole, blocks.count, len(capacity))

    def __call__(self, prices: FloatArray) -> Dual:
        """Return the dual at these prices; `rates` and `wanted` then hold the flows' answers."""
        room = self._room

        def some(first: int, last: int) -> None:
            answer_into(self.layout, self._starts, prices, first, last, room)

        in_shares(some, len(self._starts) - 1, self._threads)
        return combined(
            room.values, room.sizes, room.loads, prices, self.capacity, self._largest_flow
        )

    @property
    def rates(self) -> FloatArray:
        """Return the rates of the last answer; the next answer overwrites them."""
        return self._room.rates

    @property
    def wanted(self) -> npt.NDArray[np.uint8]:
        """Return the wanted classes of the last answer, in the layout's order; the next answer
        overwrites them."""
        return self._room.wanted


@compiled
def price_classes(at: Layout, i: int, prices: FloatArray, price: FloatArray) -> None:
    """Write to `price` what a message to one consumer costs, per class of flow i."""
    begin = at.class_start[i]
    for j in range(begin, at.class_start[i + 1]):
        row = at.class_row[j]
        per_message = 0.0
        for k in range(at.unit_costs.shape[1]):
            per_message += at.unit_costs[j, k] * prices[row + k]
        price[j - begin] = per_message


@compiled
def load_classes(
    at: Layout, i: int, rate: float, wanted: npt.NDArray[np.uint8], loads: FloatArray
) -> None:
    """Add to `loads` what the wanted classes of flow i cause at this rate."""
    for j in range(at.class_start[i], at.class_start[i + 1]):
        if wanted[j]:
            messages = at.population_max[j] * rate
            for k in range(at.unit_costs.shape[1]):
                loads[at.class_row[j] + k] += at.unit_costs[j, k] * messages


@compiled
def one_more(total: float, lost: float, value: float) -> tuple[float, float]:
    """Add to Neumaier's sum, which keeps what each addition loses: the sum is total + lost."""
    after = total + value
    if abs(total) >= abs(value):
        return after, lost + ((total - after) + value)
    return after, lost + ((value - after) + total)


@compiled
def answer_into(
    at: Layout, starts: IntArray, prices: FloatArray, first: int, last: int, out: Answer
) -> None:
    """Answers of blocks `first` to `last` - 1, written to their places in `out`."""
    longest = 0
    for i in range(starts[first], starts[last]):
        longest = max(longest, at.class_start[i + 1] - at.class_start[i])
    price = np.empty(longest)
    ratio = np.empty(longest)
    order = np.empty(longest, dtype=np.int64)
    for b in range(first, last):
        loads = out.loads[b]
        loads[:] = 0.0
        total, lost, size = 0.0, 0.0, 0.0
        for i in range(starts[b], starts[b + 1]):
            own = 0.0
            for c in range(at.cost_start[i], at.cost_start[i + 1]):
                own += at.cost[c] * prices[at.cost_row[c]]
            price_classes(at, i, prices, price)
            begin, end = at.class_start[i], at.class_start[i + 1]
            if begin == end:
                value, rate = -own * at.rate_min[i], at.rate_min[i]
                weight = own * rate
            elif at.mixed[i]:
                value, rate, weight = many_shapes(at, i, own, price, out.wanted)
            else:
                value, rate, weight = one_shape(at, i, own, price, ratio, order, out.wanted)
            total, lost = one_more(total, lost, value)
            size += weight
            out.rates[i] = rate
            for c in range(at.cost_start[i], at.cost_start[i + 1]):
                loads[at.cost_row[c]] += at.cost[c] * rate
            load_classes(at, i, rate, out.wanted, loads)
        out.values[b] = total + lost
        out.sizes[b] = size
