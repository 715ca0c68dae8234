"""Assign whole publishers to brokers: how many brokers, how much for each, who goes where.

1. As few brokers as have room for the topic's rate, those with most room first; with whole
   publishers of unequal rates one more is tried where they do not fit.
2. The amount for each by water-filling over the room that is left (`_quotas`).
3. Publishers that must or may stay are kept; the others are dealt out, each correlation group in
   proportion (`_cells`), or without regard to groups.

Equal rates are dealt exactly. Of unequal ones each goes to the broker where its group lags most;
where one does not fit then, all are dealt anew, largest first, and few of them by exhaustive
search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled
from weir.model.placement import NOWHERE
from weir.placement._cells import proportional_cells
from weir.placement._quotas import (
    ROUNDING,
    SEARCHED,
    by_room,
    fewest,
    levelled,
    packing,
    whole_levelled,
    whole_room,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.model.placement import PlacementProblem

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a method makes even, and over how many brokers."""

    fewest_brokers: bool
    """As few brokers as have room; else all of them."""
    even_totals: bool
    """Even out total loads; else the topic's own parts (max-min)."""
    by_group: bool
    """Split each correlation group in proportion."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deal:
    """Publishers without a broker, and the brokers over which they are dealt out."""

    loads: Floats
    """Of each publisher."""
    groups: Places | None
    """Of each publisher, where groups are split in proportion; None: without regard to them."""
    brokers: Places
    used: Floats
    """By broker: what the topic's pinned and staying publishers take of it."""
    left: Floats
    """By broker: the room that they leave."""
    base: Floats
    """By broker: what the evened levels count beside the topic's own part."""


def assign(problem: PlacementProblem, rule: Rule, *, seed: int, keep: bool) -> Places:
    """Return the broker of each publisher, NOWHERE for those that have no room.

    `keep`: whoever has a broker that is not drained stays there, as far as it has room.
    """
    loads = problem.loads()
    room = np.array([broker.room_per_s for broker in problem.brokers])
    base = np.zeros(len(room))
    if rule.even_totals:
        base = np.array([broker.allocated_rate_per_s for broker in problem.brokers])
    places = _kept(problem, loads, room, keep=keep)
    fixed = places != NOWHERE
    used = np.bincount(places[fixed], loads[fixed], len(room)).astype(float)
    # A pin that does not fit is not broken: that publisher has no broker.
    free = np.flatnonzero(~fixed & (problem.publishers.pinned == NOWHERE))
    names = [broker.broker for broker in problem.brokers]
    # Brokers that serve the topic already come first: a further one makes the bucket smaller.
    order = sorted(by_room(room, names), key=lambda at: used[at] == 0)
    serving = int(np.count_nonzero(used))
    equal = len(free) > 0 and float(np.ptp(loads[free])) == 0.0
    left = np.maximum(room - used, 0.0)
    fitting = left
    if equal:
        load = float(loads[free[0]])
        fitting = whole_room(left, load, len(free)) * load
    first = max(serving, fewest(order, fitting, float(loads[free].sum())))
    if not rule.fewest_brokers:
        first = len(order)
    best = places
    for count in range(max(first, 1), len(order) + 1):
        chosen = np.array(sorted(order[:count]), dtype=np.int64)
        deal = Deal(
            loads=loads[free],
            groups=problem.publishers.groups[free] if rule.by_group else None,
            brokers=chosen,
            used=used[chosen],
            left=left[chosen],
            base=base[chosen],
        )
        best = places.copy()
        best[free] = _deal_equal(deal, seed) if equal else _deal_unequal(deal, seed)
        if (best[free] != NOWHERE).all():
            break
    return best


def _kept(problem: PlacementProblem, loads: Floats, room: Floats, *, keep: bool) -> Places:
    """Return who stays: pinned ones, then today's of each broker as long as it has room."""
    publishers = problem.publishers
    places = np.full(len(loads), NOWHERE, dtype=np.int64)
    wishes = [publishers.pinned]
    if keep:
        wishes.append(np.where(publishers.pinned == NOWHERE, publishers.today, NOWHERE))
    left, slack = room.copy(), room * ROUNDING
    # The smallest first: so most of them stay.
    order = np.argsort(loads, kind="stable")
    for wish in wishes:
        keep_fitting(order, wish, loads, left, slack, places)
    return places


@compiled
def keep_fitting(order: Any, wish: Any, loads: Any, left: Any, slack: Any, places: Any) -> None:
    """Keep each publisher, in this order, where it wishes to be, if there is room."""
    for publisher in order:
        at = wish[publisher]
        if at >= 0 and places[publisher] < 0 and loads[publisher] <= left[at] + slack[at]:
            places[publisher] = at
            left[at] -= loads[publisher]


def _deal_equal(deal: Deal, seed: int) -> Places:
    """Deal publishers of one rate: whole numbers, exact in rows and columns."""
    load, publishers = float(deal.loads[0]), len(deal.loads)
    most = whole_room(deal.left, load, publishers)
    count = min(publishers, int(most.sum()))
    least = np.zeros(len(most), dtype=np.int64)
    columns = whole_levelled(count, least, most, (deal.used + deal.base) / load)
    out = np.full(publishers, NOWHERE, dtype=np.int64)
    who = np.random.default_rng(seed).permutation(publishers)[:count]
    if deal.groups is None:
        out[who] = np.repeat(deal.brokers, columns)
        return out
    # Publishers on their own are a group, too: they are split like one.
    # Where not all fit, whoever is left over was drawn at random, whatever the group.
    who = np.sort(who)
    ordered = who[np.argsort(deal.groups[who], kind="stable")]
    _, rows = np.unique(deal.groups[ordered], return_counts=True)
    cells = proportional_cells(rows.astype(np.int64), columns)
    out[ordered] = np.repeat(np.tile(deal.brokers, len(rows)), cells.ravel())
    return out


def _deal_unequal(deal: Deal, seed: int) -> Places:
    """Deal publishers of several rates: where each one's group, then the whole, lags most."""
    loads, used = deal.loads, deal.used
    alike = np.zeros(len(loads), np.int64)
    groups = alike if deal.groups is None else deal.groups
    quota = levelled(float(loads.sum() + used.sum()), used, used + deal.left, deal.base) - used
    whole = float(quota.sum())
    shares = quota / whole if whole > 0 else quota
    shuffled = np.random.default_rng(seed).permutation(len(loads))
    out = np.full(len(loads), NOWHERE, dtype=np.int64)
    # Of the whole room: what is left of it carries the rounding of all that was taken.
    slack = (used + deal.left) * ROUNDING
    # Group by group, in each the largest first; equal ones in the order of the seed.
    order = shuffled[np.lexsort((-loads[shuffled], groups[shuffled]))]
    deal_by_lag(order, groups, loads, shares, deal.left.copy(), slack, out)
    if (out == NOWHERE).any():
        out[:] = NOWHERE
        order = shuffled[np.argsort(-loads[shuffled], kind="stable")]
        deal_by_lag(order, alike, loads, shares, deal.left.copy(), slack, out)
    if (out == NOWHERE).any() and len(loads) <= SEARCHED:
        packed = packing(loads, deal.left)
        if packed is not None:
            out[:] = packed
    return np.where(out == NOWHERE, NOWHERE, deal.brokers[np.maximum(out, 0)])


@compiled
def deal_by_lag(
    order: Any, groups: Any, amount: Any, shares: Any, left: Any, slack: Any, out: Any
) -> None:
    """Give each publisher, in this order, to the broker with room where its group lags most behind
    its share; of equal ones to where the whole does."""
    lag = np.zeros(len(shares))
    group_lag = np.zeros(len(shares))
    group = -2
    for publisher in order:
        if groups[publisher] != group:
            group = groups[publisher]
            group_lag[:] = 0.0
        for b in range(len(shares)):
            lag[b] += amount[publisher] * shares[b]
            group_lag[b] += amount[publisher] * shares[b]
        best = -1
        for b in range(len(shares)):
            if amount[publisher] > left[b] + slack[b]:
                continue
            if (
                best < 0
                or group_lag[b] > group_lag[best] + 1e-9 * amount[publisher]
                or (
                    group_lag[b] > group_lag[best] - 1e-9 * amount[publisher] and lag[b] > lag[best]
                )
            ):
                best = b
        if best < 0:
            continue
        out[publisher] = best
        left[best] -= amount[publisher]
        lag[best] -= amount[publisher]
        group_lag[best] -= amount[publisher]
