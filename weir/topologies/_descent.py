"""Local search over trees: the best exchange of one link at a time, until none pays.

All exchanges of a link are judged exactly, overloads included, in O(brokers x groups + pairs)
(`weir.routing.kernels`), and the best is made. A tree without a paying exchange is a
local optimum of the whole one-exchange neighbourhood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.routing import kernels
from weir.routing.arrays import PairArrays, TrafficArrays
from weir.topologies import DesignProgress

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_GAIN = 1e-9
"""Relative to the cost of the tree; less is rounding."""


class Tree:
    """A tree of numbered brokers with its loads, and what its exchanges would bring."""

    def __init__(
        self, traffic: TrafficArrays, pairs: PairArrays, overload: float, rows: np.ndarray
    ) -> None:
        self._traffic = traffic
        self._pairs = pairs
        self._overload = overload
        self._own = traffic.own
        self.reset(rows)

    def reset(self, rows: np.ndarray) -> None:
        """Another tree over the same brokers; rows of two numbers each."""
        traffic, pairs = self._traffic, self._pairs
        n = len(traffic.names)
        self.parent, self.order = kernels.rooted(n, rows)
        self._tree = kernels.Rooted(self.parent, *kernels.child_lists(self.parent, self.order))
        sums, count = kernels.below(self.parent, self.order, traffic.sent, traffic.wants)
        up, down = kernels.link_loads(self.order, sums, count)
        self._into = kernels.arrivals(self.parent, self.order, up, down)
        self._carried = kernels.Carried(sums, count, up, down, self._own + self._into)
        below = self.order[1:]
        self.degree = np.bincount(rows.ravel(), minlength=n).astype(np.int64)
        weight, limit = np.zeros(n), np.full(n, np.inf)
        weight[below] = pairs.weight[below, self.parent[below]]
        limit[below] = pairs.limit[below, self.parent[below]]
        self._costs = kernels.Costs(weight, limit, traffic.room, self._overload)
        self._choice = kernels.Pairs(pairs.weight, pairs.limit, pairs.most - self.degree)
        load = up + down
        over = np.maximum(0.0, load - limit).sum()
        over += np.maximum(0.0, self._carried.handled - traffic.room).sum()
        self.cost = float(load @ weight + self._overload * over)

    @property
    def rows(self) -> np.ndarray:
        """Return the links in order, smaller number first."""
        below = self.order[1:]
        ends = np.stack([below, self.parent[below]], axis=1)
        ends = np.sort(ends, axis=1)
        return np.asarray(ends[np.lexsort((ends[:, 1], ends[:, 0]))])

    def handled(self) -> np.ndarray:
        """Return the messages per second that every broker takes in, from publishers and links."""
        return np.asarray(self._traffic.published + self._into)

    def may_go(self, v: int) -> bool:
        """Return whether the link from this broker to its parent may be removed."""
        p = int(self.parent[v])
        return p >= 0 and (min(v, p), max(v, p)) not in self._pairs.fixed

    def best_exchange(self, v: int, per_hop: float = 0.0) -> tuple[int, int, float, float]:
        """The best new link instead of that from `v` to its parent.

        Its end on the parent's side and on that of `v`, the change of the cost per second, and
        that plus `per_hop` for every slide that the exchange takes; -1, -1 where there is none.
        """
        x, y, gain, value = kernels.best_exchange(
            v, self._tree, self._carried, self._costs, self._choice, per_hop
        )
        return int(x), int(y), float(gain), float(value)

    def random_exchange(self, v: int, rng: np.random.Generator) -> tuple[int, int] | None:
        """Ends of any allowed link that could take the place of that from `v` to its parent."""
        inside = np.zeros(len(self.parent), dtype=bool)
        inside[v] = True
        for w in self.order:
            inside[w] |= self.parent[w] >= 0 and inside[self.parent[w]]
        p = int(self.parent[v])
        free = self._pairs.most - self.degree
        free[p] += 1
        free[v] += 1
        near, far = np.flatnonzero(~inside & (free > 0)), np.flatnonzero(inside & (free > 0))
        open_pairs = np.argwhere(np.isfinite(self._pairs.weight[np.ix_(near, far)]))
        drawn = rng.choice(len(open_pairs), size=min(2, len(open_pairs)), replace=False)
        ends = [(int(near[a]), int(far[b])) for a, b in open_pairs[drawn]]
        return next((pair for pair in ends if pair != (p, v)), None)

    def exchange(self, v: int, x: int, y: int) -> None:
        """Remove the link from `v` to its parent and add x-y."""
        self.reset(self.after(v, x, y))

    def after(self, v: int, x: int, y: int) -> np.ndarray:
        """Return the links with that exchange made."""
        rows = np.concatenate([self.order[1:, None], self.parent[self.order[1:], None]], axis=1)
        rows[rows[:, 0] == v] = (x, y)
        return rows


def descend(
    tree: Tree,
    rng: np.random.Generator,
    stop: Callable[[DesignProgress], bool],
    *,
    round: int = 0,
    best: float | None = None,
) -> bool:
    """Exchange links until none pays; False: `stop` ended it before.

    Links are looked at in random order, each exchanged for the best there is. `best` is what
    progress tells where an earlier tree was cheaper.
    """
    n = len(tree.parent)
    quiet = 0  # links looked at since the last exchange
    while quiet < n:
        for v in rng.permutation(n):
            told = tree.cost if best is None else min(best, tree.cost)
            if stop(DesignProgress(round=round, cost_per_s=told)):
                return False
            quiet += 1
            if tree.may_go(int(v)):
                x, y, change, _ = tree.best_exchange(int(v))
                if x >= 0 and change < -LEAST_GAIN * max(1.0, abs(tree.cost)):
                    tree.exchange(int(v), x, y)
                    quiet = 0
            if quiet >= n:
                break
    return True
