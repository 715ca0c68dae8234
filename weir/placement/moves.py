"""Price the moves of a placement: what each one does to the delays of the topic, wait for tokens
and processing together (`weir.queueing.broker_delay`).

The price of a move is read off two predictions: that with all moves done, and that in which the
publisher stays where it is today and all others move. Publishers that send alike share a price:
their kind is given by both brokers, their load, and how many of their group are at each with what
load, so that a topic of a million publishers has a handful of prices. Where loads make more than
MOST_KINDS kinds, those within an eighth of a power of two share the price of the largest among
them, whatever their groups' loads. Where these still make more than MOST_PRICES, so do those within
a power of two, in groups of about the same size or of any, then all with the same two brokers, and
at last all that leave the same one.

A move cannot be left out where the broker of today is drained, a pin names another, or those that
are placed there leave no room: such a move has no price, it must be.

Cost: a few sorts of the publishers that move; a kind costs the tails of two brokers and a
percentile over those of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE
from weir.placement._prediction import (
    NEARLY_ONE,
    PERCENTILE,
    burstiness_of,
    coarse_enough,
    part_of,
)
from weir.placement._quotas import ROUNDING
from weir.queueing.broker_delay import BrokerDelay, mixed_quantile_s, processing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from weir.model.placement import Placement, PlacementProblem
    from weir.queueing.broker_delay import Tail

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

MOST_KINDS = 500
"""Prices beyond which publishers of nearly the same load share one."""

MOST_PRICES = 200
"""Prices that are computed at most, except one for each broker that is left."""

STEPS_PER_DOUBLING = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovePrice:
    """The price of one move, which publishers of a kind have in common."""

    today: int
    """Index of the broker that they leave."""
    to: int
    """Index of the broker that they get, NOWHERE where none had room."""
    publishers: Places
    load_per_s: float
    """Of the one that was left out for the price: the largest of them."""
    must_move: bool
    """They cannot stay; then there is no delay without the move."""
    p99_without_s: float | None
    """Over all messages, where one of them stays and all others move; None: no bound."""
    largest_p99_without_s: float | None
    """The same of the slowest broker."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovePrices:
    """The delays with all moves done, and the price of each."""

    p99_s: float | None
    """Over all messages; None: no bound."""
    largest_p99_s: float | None
    """Of the slowest broker."""
    moves: tuple[MovePrice, ...]


def moved(problem: PlacementProblem, placement: Placement) -> Places:
    """Return the indices of publishers that change their broker."""
    today = problem.publishers.today
    return np.flatnonzero((today != NOWHERE) & (today != placement.broker_of))


def price_of_moves(problem: PlacementProblem, placement: Placement) -> MovePrices:
    """Return the price of every move, by kinds of publishers in the order of brokers and loads."""
    loads, publishers = problem.loads(), problem.publishers
    senders = _Senders(problem, placement.broker_of, loads)
    who = moved(problem, placement)
    today, to = publishers.today[who], placement.broker_of[who]
    must_move = _must_move(problem, senders.carried, who, loads)
    columns: list[NDArray[np.generic]] = [must_move, today, to]
    free = ~must_move
    here, here_load = senders.of_group(who, today)
    there, there_load = senders.of_group(who, to)
    # Whoever must move has no price that these could change.
    counts = [np.where(free, each, 0) for each in (here, there)]
    exact = [np.where(free, each, 0.0) for each in (loads[who], here_load, there_load)]
    kinds = _kinds([*columns, *counts, *exact])
    if len(who) and int(kinds.max()) >= MOST_KINDS:
        size = np.where(free, np.log2(loads[who]), 0.0)
        few = [np.round(np.log2(np.maximum(each, 1))) + (each > 0) for each in counts]
        kinds = _few_enough(
            [
                [*columns, *counts, np.round(STEPS_PER_DOUBLING * size)],
                [*columns, *few, np.round(size)],
                [*columns, np.round(size)],
                columns,
                columns[:2],
            ]
        )
    # Of each kind together, the largest first.
    order = np.lexsort((who, -loads[who], kinds))
    starts = np.flatnonzero(np.diff(kinds[order], prepend=-1))
    prices = []
    for same in np.split(order, starts[1:]) if len(who) else []:
        at = int(same[0])
        load = float(loads[who[at]])
        price: tuple[float | None, float | None] = (None, None)
        if free[at]:
            price = senders.delays_where_one_stays(
                load,
                today=(int(today[at]), int(here[at]), float(here_load[at])),
                to=(int(to[at]), int(there[at]), float(there_load[at])),
            )
        prices.append(
            MovePrice(
                today=int(today[at]),
                to=int(to[at]),
                publishers=np.sort(who[same]),
                load_per_s=load,
                must_move=bool(must_move[at]),
                p99_without_s=price[0],
                largest_p99_without_s=price[1],
            )
        )
    p99_s, largest_p99_s = _delays(senders.parts)
    return MovePrices(p99_s=p99_s, largest_p99_s=largest_p99_s, moves=tuple(prices))


def _must_move(
    problem: PlacementProblem, carried: Floats, who: Places, loads: Floats
) -> NDArray[np.bool_]:
    """Return which of these publishers could not stay while all others move."""
    today, pinned = problem.publishers.today[who], problem.publishers.pinned[who]
    room = np.array([broker.room_per_s for broker in problem.brokers])
    drained = np.array([broker.drained for broker in problem.brokers], dtype=bool)
    full = carried[today] + loads[who] > room[today] * (1.0 + ROUNDING)
    return np.asarray(drained[today] | full | ((pinned != NOWHERE) & (pinned != today)))


def _few_enough(choices: Sequence[Sequence[NDArray[np.generic]]]) -> Places:
    """Return the kinds by the first of these columns that make at most MOST_PRICES, or by the
    last."""
    for columns in choices:
        kinds = _kinds(columns)
        if int(kinds.max()) < MOST_PRICES:
            break
    return kinds


def _kinds(columns: Sequence[NDArray[np.generic]]) -> Places:
    """Return the number of each row among the different rows, in their order."""
    kinds = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if not len(column) or (column == column[0]).all():
            continue
        values, at = np.unique(column, return_inverse=True)
        _, kinds = np.unique(kinds * len(values) + at, return_inverse=True)
    return kinds


def _delays(parts: Mapping[int, _Part]) -> tuple[float | None, float | None]:
    """Return the 99th percentile over all messages and that of the slowest broker."""
    tails = [part.tail for part in parts.values() if part.tail is not None]
    if not parts or len(tails) < len(parts):
        return None, None
    rates = [part.messages_per_s for part in parts.values()]
    each = [part.p99_s or 0.0 for part in parts.values()]
    return mixed_quantile_s(tails, rates, PERCENTILE), max(each)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """What one broker serves of the topic."""

    messages_per_s: float
    tail: Tail | None
    """Of its delays; None: they have no bound."""
    p99_s: float | None


class _Senders:
    """What sends at each broker: how many senders of each size, and their messages.

    A group at a broker is one sender, as many publishers as it has there; any other publisher is a
    sender of its own.
    """

    def __init__(self, problem: PlacementProblem, places: Places, loads: Floats) -> None:
        self._contract, self._groups = problem.contract, problem.publishers.groups
        self._burstiness = burstiness_of(problem)
        self._rooms = problem.brokers
        self._brokers = len(problem.brokers)
        served = places != NOWHERE
        self.carried = np.bincount(places[served], loads[served], self._brokers).astype(float)
        self._loads = loads
        alone = served & (self._groups == NOWHERE)
        together = np.flatnonzero(served & (self._groups != NOWHERE))
        pairs = self._groups[together] * self._brokers + places[together]
        self._pairs, at, self._members = np.unique(pairs, return_inverse=True, return_counts=True)
        self._pair_loads = np.bincount(at, loads[together], len(self._pairs))
        self._by_size: list[dict[int, tuple[int, float]]] = []
        for broker in range(self._brokers):
            here = self._pairs % self._brokers == broker
            count = np.bincount(self._members[here])
            rate = np.bincount(self._members[here], self._pair_loads[here])
            sizes = {
                size: (int(count[size]), float(rate[size]))
                for size in np.flatnonzero(count).tolist()
            }
            own = alone & (places == broker)
            if own.any():
                before = sizes.get(1, (0, 0.0))
                more = (int(np.count_nonzero(own)), float(loads[own].sum()))
                sizes[1] = (before[0] + more[0], before[1] + more[1])
            self._by_size.append(sizes)
        whole = float(self.carried.sum())
        self.parts = {
            broker: self._part(broker, float(self.carried[broker]), whole, sizes)
            for broker, sizes in enumerate(self._by_size)
            if sizes and self._bounded(whole)
        }

    def of_group(self, who: Places, brokers: Places) -> tuple[Places, Floats]:
        """Return how many publishers send together with each of these at its broker, and their
        load; of one without a group itself where it is, and nobody elsewhere."""
        groups = self._groups[who]
        pair = np.where((groups != NOWHERE) & (brokers != NOWHERE), groups, 0) * self._brokers
        pair = pair + brokers
        at = np.minimum(np.searchsorted(self._pairs, pair), max(len(self._pairs) - 1, 0))
        members = np.zeros(len(who), dtype=np.int64)
        rates = np.zeros(len(who))
        if len(self._pairs):
            known = (groups != NOWHERE) & (brokers != NOWHERE) & (self._pairs[at] == pair)
            members[known], rates[known] = self._members[at[known]], self._pair_loads[at[known]]
        return members, rates

    def delays_where_one_stays(
        self, load: float, *, today: tuple[int, int, float], to: tuple[int, int, float]
    ) -> tuple[float | None, float | None]:
        """Return `_delays` where a publisher of this load stays.

        `today`, `to`: the broker, and of its group there how many and with what load, once all
        moves are done; (0, 0) for a publisher without a group.
        """
        whole = float(self.carried.sum()) + (load if to[0] == NOWHERE else 0.0)
        if not self._bounded(whole):
            return None, None
        # A larger sum makes every part busier.
        parts = dict(self.parts)
        if to[0] == NOWHERE:
            parts = {
                at: self._part(at, float(self.carried[at]), whole, self._by_size[at])
                for at in self.parts
            }
        at, members, rate = today
        sizes = dict(self._by_size[at])
        if members:
            _take(sizes, members, rate)
        _add(sizes, members + 1, rate + load)
        parts[at] = self._part(at, float(self.carried[at]) + load, whole, sizes)
        at, members, rate = to
        if at != NOWHERE:
            sizes = dict(self._by_size[at])
            _take(sizes, max(members, 1), rate if members else load)
            if members > 1:
                _add(sizes, members - 1, rate - load)
            if sizes:
                parts[at] = self._part(at, float(self.carried[at]) - load, whole, sizes)
            else:
                del parts[at]
        return _delays(parts)

    def _bounded(self, whole: float) -> bool:
        return 0.0 < whole / self._contract.token_rate_per_s < 1 - NEARLY_ONE

    def _part(
        self, broker: int, rate: float, whole: float, sizes: dict[int, tuple[int, float]]
    ) -> _Part:
        room, batch = self._rooms[broker], self._contract.batch
        if rate + room.allocated_rate_per_s >= room.processes_per_s * (1 - NEARLY_ONE):
            return _Part(messages_per_s=rate, tail=None, p99_s=None)
        batches = coarse_enough(
            {members * batch: each / (members * batch) for members, (_, each) in sizes.items()}
        )
        tail = BrokerDelay(
            bucket=part_of(self._contract, rate, whole, batches, self._burstiness),
            processing=processing(
                max_rate_per_s=room.processes_per_s,
                others_per_s=room.allocated_rate_per_s,
                batches_per_s=batches,
            ),
        ).late(PERCENTILE)
        return _Part(messages_per_s=rate, tail=tail, p99_s=tail.quantile_s(PERCENTILE))


def _take(sizes: dict[int, tuple[int, float]], members: int, rate: float) -> None:
    """Take away one sender; of none that is left no rounding stays behind."""
    count, carried = sizes.pop(members)
    if count > 1:
        sizes[members] = (count - 1, carried - rate)


def _add(sizes: dict[int, tuple[int, float]], members: int, rate: float) -> None:
    count, carried = sizes.get(members, (0, 0.0))
    sizes[members] = (count + 1, carried + rate)
