"""Hold a problem over one set of brokers as the arrays that the kernels work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.planners.slides.local import is_link
from weir.planners.slides.state import State, new_state
from weir.planners.slides.window import Ground
from weir.transformation.indexed import Indexed, indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.model.transformation import Transformation

    Ints = NDArray[np.int64]

NO_CAP = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """Hold both trees, rooted at broker 0, with what may move and what it costs."""

    names: Indexed
    before: Ints
    """Parent of each broker today."""
    after: Ints
    degree_before: Ints
    degree_after: Ints
    movable_before: Ints
    """Per broker: whether today's link to its parent may move."""
    movable_after: Ints
    """The same of the goal's links, for planning backwards."""
    locked: Ints
    """Brokers that take part in nothing."""
    ground: Ground

    def state(self, backwards: bool) -> State:
        """Return the tree that a first plan starts from."""
        if backwards:
            return new_state(
                self.after, self.before, self.movable_after, self.locked, self.degree_after
            )
        return new_state(
            self.before, self.after, self.movable_before, self.locked, self.degree_before
        )


def arrays_of(problem: Transformation) -> Arrays:
    """The arrays. `problem` has the same brokers today and in the goal."""
    names = indexed(problem)
    brokers = len(names.names)
    options, costs = problem.options, problem.options.action_costs
    before, after = _rooted(brokers, names.initial), _rooted(brokers, names.goal)
    degree_before = np.bincount(names.initial.ravel(), minlength=brokers).astype(np.int64)
    degree_after = np.bincount(names.goal.ravel(), minlength=brokers).astype(np.int64)
    frozen = {
        (names.number[a], names.number[b])
        for a, b in options.frozen_links
        if a in names.number and b in names.number
    }
    inside = np.arange(brokers)
    common_before = (after == before) | (_at(after, before) == inside)
    common_after = (after == before) | (_at(before, after) == inside)
    stays = np.ones(brokers, np.int64)
    if options.move_goal_links:
        stays[:] = 0
        for a, b in frozen:
            if is_link(after, a, b):
                stays[a if after[a] == b else b] = 1
    cap = NO_CAP if options.max_degree is None else options.max_degree
    locked = np.array([name in options.frozen_brokers for name in names.names], np.int64)
    if cap != NO_CAP and not options.move_goal_links:
        locked |= _full_for_good(brokers, before, common_before, degree_before, cap)
    broker_price = np.array([costs.brokers.get(name, 0.0) for name in names.names], np.float64)
    keys = {
        names.number[a] * brokers + names.number[b]: price
        for a, b, price in ((*sorted(link), price) for link, price in costs.links.items())
        if a in names.number and b in names.number and price
    }
    order = sorted(keys)
    cheapest = costs.shift
    if brokers >= 3:
        cheapest += float(np.sort(broker_price)[:3].sum())
    return Arrays(
        names=names,
        before=before,
        after=after,
        degree_before=degree_before,
        degree_after=degree_after,
        movable_before=_flags(~common_before, before, frozen),
        movable_after=_flags(~common_after, after, frozen),
        locked=locked,
        ground=Ground(
            goal=after,
            stays=stays,
            cap=cap,
            by_broker=cap != NO_CAP,
            price=costs.shift,
            broker_price=broker_price,
            link_keys=np.array(order, np.int64),
            link_prices=np.array([keys[key] for key in order], np.float64),
            cheapest=max(cheapest, 1e-6),
            reversible=not order,
            plain=not order and not broker_price.any(),
        ),
    )


def _at(array: Ints, index: Ints) -> Ints:
    """Return array[index], -1 where the index is -1."""
    return np.where(index >= 0, array[index], -1)


def _flags(movable: NDArray[np.bool_], parent: Ints, frozen: set[tuple[int, int]]) -> Ints:
    flags = (movable & (parent >= 0)).astype(np.int64)
    for a, b in frozen:
        if parent[a] == b:
            flags[a] = 0
        elif parent[b] == a:
            flags[b] = 0
    return flags


def _full_for_good(
    brokers: int, parent: Ints, common: NDArray[np.bool_], degree: Ints, cap: int
) -> Ints:
    """Brokers with as many links as they may have, all of which stay: no end ever passes them."""
    staying = np.zeros(brokers, np.int64)
    kept = np.flatnonzero(common & (parent >= 0))
    np.add.at(staying, kept, 1)
    np.add.at(staying, parent[kept], 1)
    return ((degree >= cap) & (staying == degree)).astype(np.int64)


def _rooted(brokers: int, links: NDArray[np.int32]) -> Ints:
    """Return the parents of the tree rooted at broker 0."""
    around: list[list[int]] = [[] for _ in range(brokers)]
    for a, b in links.tolist():
        around[a].append(b)
        around[b].append(a)
    parent = [-1] * brokers
    waiting = [0]
    while waiting:
        v = waiting.pop()
        up = parent[v]
        for other in around[v]:
            if other != up:
                parent[other] = v
                waiting.append(other)
    return np.array(parent, np.int64)
