"""Finds a good subset of changes: repair until it fits, then improve while anything does.

The best subset under a charge is a knapsack, so no fast method finds it for sure. What is found
fits, is worth at least as much as doing nothing wherever that fits, and no single change can be
added to it or dropped from it with a gain. On up to EXCHANGED changes no exchange (one change,
with what makes room for it) gains either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.enactment.ground import Ground, Place, State, charge
from weir.enactment.terms import POPULATION, RATE, Change, Judgement, Note, Past, Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DUST = 1e-12
"""Gains below this share of the utility are rounding."""

LEAST_CUT = 1e-3
"""A rate is raised part of the way only by at least this share."""

EXCHANGED = 400
"""Above so many changes exchanges are not tried: each tries all others."""

ROUNDS = 30
"""Passes over all changes at most; each only ever gains, a few are enough."""


@dataclass(slots=True)
class Option:
    """A change that may be on or off."""

    change: Change
    past: Past
    held: bool = False
    """It stays unless a constraint would be broken."""
    must: bool = False
    """The model's bounds ask for it."""
    on: bool = False
    note: Note | None = None

    @property
    def gives(self) -> bool:
        """Takes up room when it goes on."""
        return self.change.wanted > self.change.before


@dataclass(slots=True)
class Search:
    """One attempt, on a state of its own."""

    ground: Ground
    policy: Judgement
    options: list[Option]
    state: State
    eps: float
    by_place: dict[Place, list[Option]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for option in self.options:
            for place in self._touched(option.change):
                self.by_place.setdefault(place, []).append(option)

    def _touched(self, change: Change) -> Iterable[Place]:
        if change.kind == POPULATION:
            return self.ground.class_work[change.id]
        return {
            *self.ground.flow_work[change.id],
            *(p for c in self.ground.of_flow[change.id] for p in self.ground.class_work[c]),
        }

    def run(self, on: Iterable[Option]) -> None:
        """From these changes to a set that fits and that nothing improves."""
        for option in on:
            self._switch(option)
        self.repair()
        for _ in range(ROUNDS):
            if not self._pass():
                break

    def net(self, before: Values) -> float:
        """Utility gained less all charges, summed exactly."""
        gained = self.ground.utility(self.state.values()) - self.ground.utility(before)
        return gained - self.charges()

    def charges(self) -> float:
        """What all changes that are on cost."""
        return math.fsum(
            charge(self.policy, o.change, self.state.value(o.change)) for o in self.options if o.on
        )

    def repair(self) -> None:
        """Take away until everything fits: what loses least per load that it frees.

        Held values stay as long as others can make the room. Ends, because with every rise off
        and every fall on each value is at most the proposal's, whose loads are within the limits.
        """
        while over := self.state.over():
            place = max(over, key=lambda p: (self._excess(p), p))
            freeing = [o for o in self.by_place.get(place, ()) if self._frees(o)]
            best = min(
                ((*self._price(o, place), o.change.kind, o.change.id, o) for o in freeing),
                default=None,
                key=lambda row: row[:4],
            )
            if best is None:
                return
            option: Option = best[4]
            self._switch(option)
            if option.on and option.held:
                option.note = Note.FORCED

    def _excess(self, place: Place) -> float:
        limit = self.ground.limit[place]
        return self.state.loads[place] / limit if limit > 0 else math.inf

    def _frees(self, option: Option) -> bool:
        return (option.on and not option.must) if option.gives else not option.on

    def _price(self, option: Option, place: Place) -> tuple[bool, float]:
        """Whether it is held, and what switching it loses per load freed at the place."""
        gain, added = self._switching(option)
        freed = -added.get(place, 0.0)
        return option.held and not option.on, -gain / freed if freed > 0 else math.inf

    def _switching(self, option: Option) -> tuple[float, dict[Place, float]]:
        """Net gain and loads of switching it."""
        change, now = option.change, self.state.value(option.change)
        value = change.before if option.on else change.wanted
        gain, added = self.state.effect(change, value)
        return gain - charge(self.policy, change, value) + charge(self.policy, change, now), added

    def _switch(self, option: Option, value: float | None = None) -> None:
        change = option.change
        if value is None:
            value = change.before if option.on else change.wanted
        self.state.set(change, value)
        option.on = value != change.before
        if not option.on or option.note is Note.CUT:
            option.note = None

    def _pass(self) -> bool:
        moved = False
        for option in self.options:
            if option.must or (option.held and not option.on):
                continue
            gain, added = self._switching(option)
            if not self.state.over(added):
                if gain > self.eps:
                    self._switch(option)
                    moved = True
            elif len(self.options) <= EXCHANGED and self._exchange(option):
                moved = True
        for option in self.options:
            if option.gives and not (option.on or option.held or option.must):
                moved |= self._cut(option)
        return moved

    def _exchange(self, option: Option) -> bool:
        """Switch it and what makes room for it, if all of that together gains."""
        done: list[tuple[Option, float, Note | None]] = []

        def do(one: Option) -> float:
            gain, _ = self._switching(one)
            done.append((one, self.state.value(one.change), one.note))
            self._switch(one)
            return gain

        total = do(option)
        used = {id(option)}
        while over := self.state.over():
            place = over[0]
            freeing = [
                o
                for o in self.by_place.get(place, ())
                if id(o) not in used and self._frees(o) and not (o.held and not o.on)
            ]
            best = min(
                freeing,
                key=lambda o: (*self._price(o, place), o.change.kind, o.change.id),
                default=None,
            )
            if best is None:
                break
            used.add(id(best))
            total += do(best)
        if total > self.eps and not self.state.over():
            return True
        for one, value, note in reversed(done):
            self.state.set(one.change, value)
            one.on, one.note = value != one.change.before, note
        return False

    def _cut(self, option: Option) -> bool:
        """Raise it as far as there is room, if that is far enough and gains."""
        change = option.change
        if change.kind == RATE:
            value = change.before + self.state.room(self.state.work[change.id])
            least = change.before * (1 + LEAST_CUT)
        else:
            rate = self.state.rates[self.ground.classes[change.id].flow]
            work = {p: w * rate for p, w in self.ground.class_work[change.id].items()}
            room = self.state.room(work)
            value = change.before + (math.floor(room) if math.isfinite(room) else 0)
            least = change.before + 1
        if not least <= value < change.wanted:
            return False
        if held_part(change, value, option.past, self.policy):
            return False
        gain, added = self.state.effect(change, value)
        if gain - charge(self.policy, change, value) <= self.eps or self.state.over(added):
            return False
        self._switch(option, value)
        option.note = Note.CUT
        return True


def held_part(change: Change, value: float, past: Past, policy: Judgement) -> bool:
    """Whether a part of the way is too small a move to make."""
    from weir.enactment.holds import held

    part = Change(kind=change.kind, id=change.id, before=change.before, wanted=value)
    return held(part, past, policy) is not None


def priced(
    ground: Ground,
    policy: Judgement,
    options: Sequence[Option],
    before: Values,
    prices: Mapping[Place, float],
) -> list[Option]:
    """The changes that pay for themselves at the proposal's prices, flow by flow.

    A fall earns what the room that it frees is worth, a rise pays for what it takes. For each
    flow both rates are tried, with the classes that pay at that rate.
    """
    by_flow: dict[str, list[Option]] = {}
    for option in options:
        change = option.change
        flow = change.id if change.kind == RATE else ground.classes[change.id].flow
        by_flow.setdefault(flow, []).append(option)
    chosen: list[Option] = []
    for flow, own in by_flow.items():
        rate = next((o for o in own if o.change.kind == RATE), None)
        classes = {o.change.id: o for o in own if o.change.kind == POPULATION}
        tries = [_at_rate(ground, policy, flow, classes, before, prices, before.rates[flow])]
        if rate is not None and not rate.held:
            value, picked = _at_rate(
                ground, policy, flow, classes, before, prices, rate.change.wanted
            )
            value -= charge(policy, rate.change, rate.change.wanted)
            tries.append((value, [rate, *picked]))
            if rate.must:
                tries = tries[1:]
        chosen += max(tries, key=lambda pair: pair[0])[1]
    return chosen


def _at_rate(
    ground: Ground,
    policy: Judgement,
    flow: str,
    classes: Mapping[str, Option],
    before: Values,
    prices: Mapping[Place, float],
    rate: float,
) -> tuple[float, list[Option]]:
    value = -rate * sum(w * prices.get(p, 0.0) for p, w in ground.flow_work[flow].items())
    picked = []
    for name in ground.of_flow[flow]:
        one = ground.worth(name, rate) - rate * sum(
            w * prices.get(p, 0.0) for p, w in ground.class_work[name].items()
        )
        value += before.populations[name] * one
        option = classes.get(name)
        if option is None or option.held:
            continue
        change = option.change
        gain = (change.wanted - change.before) * one - charge(policy, change, change.wanted)
        if option.must or gain > 0:
            value += gain
            picked.append(option)
    return value, picked
