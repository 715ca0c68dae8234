"""Annealing by blocks, for loads past one process: mini-batch moves with one writer per group.

The cost is a sum over groups and their streams. So whoever owns some groups, with all their streams
and items, may move within them alone: what is gained there is gained in the whole map, and nobody
else can write to it. Each round draws other blocks, so that items can reach any group. Rounds cool
one after another as the search over the whole map does.

What a block becomes is a function of the map before the round, the seed and the numbers of round
and block: it does not depend on where blocks are worked on, nor in which order.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from weir.clustering._improve import COLD, Watch, cool
from weir.clustering._search import STREAM_MOVES
from weir.clustering._state import load, state_of
from weir.model.mapping import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from weir.clustering._state import State

    Ints = NDArray[np.int64]

__all__ = ["Improved", "InRounds", "Round", "Shared", "Watch", "Workers", "improved", "in_turn"]


class Shared(NamedTuple):
    """What blocks are cut from and no round changes."""

    rates: NDArray[np.float64]
    starts: Ints
    users: NDArray[np.int32]
    """Of item i those at `users[starts[i]:starts[i + 1]]`, rising."""
    user_count: int
    fixed: NDArray[np.bool_]
    """Items that stay in their stream."""
    pinned_group: Ints
    """By stream; NOWHERE where it may lie in any."""
    groups: int
    """How many there are."""
    weights: tuple[float, float]
    """Of a stream's rate times its audience, and of a group's."""


class Round(NamedTuple):
    """A map, and how far its blocks are cooled in this round."""

    stream_of: Ints
    """By item."""
    group_of: Ints
    """By stream; of an empty one it means nothing."""
    seed: int
    number: int
    blocks: int
    trials: int
    """Of all blocks together."""
    hot: float
    cold: float
    """The part of `hot` where it ends."""
    stream_moves: float
    """Of the moves that are tried, those of a whole stream."""


class Improved(NamedTuple):
    """What a round made of a block: its items and streams, and where they are."""

    items: Ints
    stream_of: Ints
    streams: Ints
    group_of: Ints
    complete: bool
    """Whether it was not stopped."""


class Workers(Protocol):
    """Whoever improves the blocks of a round."""

    def __call__(self, shared: Shared, round_: Round, watch: Watch) -> Sequence[Improved]:
        """Return what `improved` makes of each block; blocks may be left out where stopped."""
        ...


def in_turn(shared: Shared, round_: Round, watch: Watch) -> Sequence[Improved]:
    """Improve the blocks of a round here, one after another."""
    done: list[Improved] = []
    for number in range(round_.blocks):
        if watch.stop():
            break
        part = watch.part(number / round_.blocks, (number + 1) / round_.blocks)
        done.append(improved(shared, round_, number, part))
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class InRounds:
    """The annealing of a whole map by rounds of blocks."""

    rounds: int
    parts: int
    """Blocks of a round at most: no more than there are groups in use."""
    workers: Workers = in_turn

    def __call__(
        self,
        state: State,
        free: Ints,
        watch: Watch,
        *,
        trials: int,
        hot: float,
        seed: int,
        stream_moves: float = STREAM_MOVES,
    ) -> bool:
        """Anneal from `hot` to its cold part; return False where stopped."""
        if not len(free) or hot <= 0.0:
            return True
        shared = Shared(
            rates=state.rates,
            starts=state.starts,
            users=state.users,
            user_count=len(state.stream_wants),
            fixed=state.fixed,
            pinned_group=state.pinned_group,
            groups=len(state.group_rates),
            weights=(float(state.weights[0]), float(state.weights[1])),
        )
        stream_of, group_of = state.stream_of.copy(), state.group_of.copy()
        share, complete = trials // self.rounds, True
        for number in range(self.rounds):
            if watch.stop():
                complete = False
                break
            round_ = Round(
                stream_of=stream_of,
                group_of=group_of,
                seed=seed,
                number=number,
                blocks=min(self.parts, len(np.unique(group_of[stream_of]))),
                trials=share,
                hot=hot * COLD ** (number / self.rounds),
                cold=COLD ** (1 / self.rounds),
                stream_moves=stream_moves,
            )
            part = watch.part(number / self.rounds, (number + 1) / self.rounds)
            blocks = self.workers(shared, round_, part)
            for block in blocks:
                stream_of[block.items] = block.stream_of
                group_of[block.streams] = block.group_of
            if len(blocks) < round_.blocks or not all(block.complete for block in blocks):
                complete = False
                break
        load(state, stream_of, group_of)
        return complete


def drawn(shared: Shared, round_: Round) -> tuple[Ints, Ints]:
    """Return the block of each stream and the block of each group in a round.

    Groups are dealt out at random, each to the block with the fewest interests so far. Their
    streams go with them. Empty groups, and empty streams without a pin, are shared out evenly.
    """
    rng = np.random.default_rng([round_.seed, round_.number])
    stream_of, group_of = round_.stream_of, round_.group_of
    interests = np.bincount(
        group_of[stream_of], weights=np.diff(shared.starts), minlength=shared.groups
    ).astype(np.int64)
    shuffled = rng.permutation(shared.groups)
    of_group = np.empty(shared.groups, dtype=np.int64)
    lightest = [(0, block) for block in range(round_.blocks)]
    heapify(lightest)
    for group in shuffled[interests[shuffled] > 0].tolist():
        held, block = lightest[0]
        of_group[group] = block
        heapreplace(lightest, (held + int(interests[group]), block))
    empty = shuffled[interests[shuffled] == 0]
    of_group[empty] = np.arange(len(empty)) % round_.blocks
    filled = np.zeros(len(group_of), dtype=np.bool_)
    filled[stream_of] = True
    home = np.where(filled, group_of, shared.pinned_group)
    of_stream = np.where(home == NOWHERE, NOWHERE, of_group[home])
    loose = rng.permutation(np.flatnonzero(home == NOWHERE))
    of_stream[loose] = np.arange(len(loose)) % round_.blocks
    return of_stream, of_group


def improved(shared: Shared, round_: Round, number: int, watch: Watch) -> Improved:
    """Cool one block of a round, with its share of trials, and return what became of it."""
    of_stream, of_group = drawn(shared, round_)
    streams, groups = np.flatnonzero(of_stream == number), np.flatnonzero(of_group == number)
    items = np.flatnonzero(of_stream[round_.stream_of] == number)
    part = _part(shared, items, streams, groups)
    state = state_of(
        part,
        streams=len(streams),
        groups=len(groups),
        weights=(*shared.weights, 0.0),
        fixed=part.fixed,
        pinned_group=part.pinned_group,
    )
    load(
        state,
        np.searchsorted(streams, round_.stream_of[items]),
        _index(round_.group_of[streams], groups, shared.groups),
    )
    free = np.flatnonzero(~part.fixed)
    complete = cool(
        state,
        free,
        watch,
        trials=round_.trials * len(free) // max(int(np.count_nonzero(~shared.fixed)), 1),
        hot=round_.hot,
        cold=round_.cold,
        seed=int(np.random.SeedSequence([round_.seed, round_.number, number]).generate_state(1)[0]),
        stream_moves=round_.stream_moves,
    )
    in_group = state.group_of
    return Improved(
        items=items,
        stream_of=streams[state.stream_of],
        streams=streams,
        group_of=np.where(in_group == NOWHERE, NOWHERE, groups[in_group]),
        complete=complete,
    )


def _part(shared: Shared, items: Ints, streams: Ints, groups: Ints) -> Shared:
    """Return what a block holds, with indices of its own; its users are those who want an item."""
    sizes = np.diff(shared.starts)[items]
    ends = np.cumsum(sizes)
    starts = np.append(0, ends).astype(np.int64)
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    users = shared.users[np.repeat(shared.starts[items], sizes) + within]
    here = np.zeros(shared.user_count, dtype=np.bool_)
    here[users] = True
    index = (np.cumsum(here) - 1).astype(np.int32)
    return Shared(
        rates=shared.rates[items],
        starts=starts,
        users=index[users],
        user_count=int(np.count_nonzero(here)),
        fixed=shared.fixed[items],
        pinned_group=_index(shared.pinned_group[streams], groups, shared.groups),
        groups=len(groups),
        weights=shared.weights,
    )


def _index(numbers: Ints, among: Ints, count: int) -> Ints:
    """Return where each number below `count` stands among some; NOWHERE for the others."""
    index = np.full(count + 1, NOWHERE, dtype=np.int64)
    index[among] = np.arange(len(among))
    return index[numbers]  # NOWHERE is the last entry
