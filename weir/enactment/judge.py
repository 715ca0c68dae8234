"""Enactment with judgement: of what a proposal would change, what is worth changing now.

Consumers who are admitted and released again, and publishers whose rates are moved to and fro,
pay for every recomputation. The LRGP paper (section 2) therefore enacts a decision only where
its values are "sufficiently different from the previous enacted values". Four rules do this here:

- *band*: a value moves only by more than the band; turning around takes the band twice (`holds`);
- *dwell*: a value that has just changed stays for a while;
- *charge*: consumers moved and rates changed cost utility; what gains less is left out (`search`);
- a capacity or a bound of the model that what is in force would break overrules all three.

Guaranteed for any input: what is kept fits wherever the proposal fits; utility less charges is
never below doing nothing, where doing nothing fits; judging what was kept again changes nothing.
Not guaranteed: that no better subset exists (it is a knapsack); `search` says what is.

Why taking before giving stays safe: after the takeaways each value is the smaller of before and
after, so every state on the way loads each place at most as much as before or as after.

Cost: a few passes over the changes, each touching the places of its flow; exchanges on small
problems are quadratic in the number of changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir.enactment.ground import Ground, Place, State, charge
from weir.enactment.holds import held
from weir.enactment.search import DUST, Option, Search, priced
from weir.enactment.terms import (
    POPULATION,
    RATE,
    Change,
    Judgement,
    Kept,
    LeftOut,
    Note,
    Past,
    Reason,
    Values,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.model import Problem

SAME = 1e-9
"""Relative difference below which two rates are the same."""

REPEATS = 100
"""Judgements of the outcome at most; in tests a third one is rare."""

FEW = 24
"""Up to so many changes more beginnings are tried; above it three have to do."""

Pasts = dict[tuple[str, str], Past]
NOTHING = Past()


@dataclass(slots=True)
class _Outcome:
    """Hold the outcome of one judgement."""

    values: Values
    options: list[Option]
    blocked: dict[tuple[str, str], LeftOut]
    search: Search


def judge(
    problem: Problem,
    *,
    in_force: Values,
    proposal: Values,
    policy: Judgement,
    past: Mapping[tuple[str, str], Past] | None = None,
    prices: Mapping[tuple[str, str], float] | None = None,
) -> Verdict:
    """Which changes to enact. Every flow and class needs a value on both sides.

    `past`: by (kind, id); `prices`: utility per unit of capacity by (node, resource) or
    ("", link), those of the proposal. They only guide the search.
    """
    ground = Ground(problem, proposal)
    pasts: Pasts = dict(past or {})
    wanted = _changes(ground, in_force, proposal)
    if policy.idle:
        kept = tuple(Kept(change=change, after=change.wanted) for change in wanted)
        return _verdict(ground, policy, in_force, proposal, kept, ())
    values, notes = in_force, dict[tuple[str, str], Note | None]()
    outcome = _once(ground, values, proposal, policy, pasts, prices or {})
    for _ in range(REPEATS):
        moved = [o for o in outcome.options if o.on]
        if not moved:
            break
        for option in moved:
            key = option.change.kind, option.change.id
            direction = 1 if option.change.wanted > option.change.before else -1
            notes[key] = option.note
            pasts[key] = Past(age_s=0.0, direction=direction)
        values = outcome.values
        outcome = _once(ground, values, proposal, policy, pasts, prices or {})
    kept = tuple(
        Kept(change=change, after=_value(values, change), note=notes.get((change.kind, change.id)))
        for change in wanted
        if _value(values, change) != change.before
    )
    verdict = _verdict(ground, policy, in_force, values, kept, _left_out(outcome))
    if verdict.net_gain < 0 and not _broken(ground, in_force):
        # Only by rounding: each repetition gained, but charges of the whole are not their sum.
        stay = tuple(
            LeftOut(change=change, reason=Reason.CHARGE, charge=charge(policy, change, k.after))
            for k in kept
            for change in (k.change,)
        )
        left = tuple(row for row in verdict.left_out if row.change in wanted)
        return _verdict(ground, policy, in_force, in_force, (), (*stay, *left))
    return verdict


def _verdict(
    ground: Ground,
    policy: Judgement,
    before: Values,
    after: Values,
    kept: tuple[Kept, ...],
    left_out: tuple[LeftOut, ...],
) -> Verdict:
    return Verdict(
        values=after,
        kept=kept,
        left_out=left_out,
        utility_before=ground.utility(before),
        utility_after=ground.utility(after),
        charge=math.fsum(charge(policy, row.change, row.after) for row in kept),
    )


def _value(values: Values, change: Change) -> float:
    table: Mapping[str, float] = values.rates if change.kind == RATE else values.populations
    return table[change.id]


def _changes(ground: Ground, before: Values, wanted: Values) -> list[Change]:
    rates = [
        Change(kind=RATE, id=name, before=before.rates[name], wanted=wanted.rates[name])
        for name in ground.flows
        if not math.isclose(before.rates[name], wanted.rates[name], rel_tol=SAME)
    ]
    return rates + [
        Change(
            kind=POPULATION,
            id=name,
            before=before.populations[name],
            wanted=wanted.populations[name],
        )
        for name in ground.classes
        if before.populations[name] != wanted.populations[name]
    ]


def _must(ground: Ground, change: Change) -> bool:
    """What is in force is outside the bounds that the model sets now."""
    if change.kind == RATE:
        flow = ground.flows[change.id]
        low, high = flow.rate_min * (1 - SAME), flow.rate_max * (1 + SAME)
        return not low <= change.before <= high
    return change.before > ground.classes[change.id].population_max


def _broken(ground: Ground, values: Values) -> bool:
    """Whether staying is no choice: a capacity or a bound is broken."""
    return (
        not ground.fits(values)
        or any(
            not f.rate_min * (1 - SAME) <= values.rates[f.id] <= f.rate_max * (1 + SAME)
            for f in ground.flows.values()
        )
        or any(values.populations[c.id] > c.population_max for c in ground.classes.values())
    )


def _once(
    ground: Ground,
    before: Values,
    proposal: Values,
    policy: Judgement,
    pasts: Pasts,
    prices: Mapping[Place, float],
) -> _Outcome:
    """One judgement; the best of what is found from nothing, everything, what the prices pay."""
    options, blocked = [], {}
    for change in _changes(ground, before, proposal):
        past = pasts.get((change.kind, change.id), NOTHING)
        option = Option(change, past, must=_must(ground, change))
        reason = None if option.must else held(change, past, policy)
        if reason is not None:
            option.held = True
            blocked[change.kind, change.id] = reason
        option.note = Note.FORCED if option.must and held(change, past, policy) else None
        options.append(option)
    eps = DUST * max(1.0, abs(ground.utility(before)), abs(ground.utility(proposal)))

    def fresh() -> tuple[list[Option], Search]:
        own = [replace(option) for option in options]
        return own, Search(ground, policy, own, State(ground, before), eps)

    found: list[tuple[float, int, list[Option], Search]] = []
    musts = {i for i, option in enumerate(options) if option.must}
    free = {i for i, option in enumerate(options) if not option.held}
    beginnings = [musts, free | musts]
    if prices:
        ids = {id(option): i for i, option in enumerate(options)}
        paying = priced(ground, policy, options, before, prices)
        beginnings.append(musts | {ids[id(option)] for option in paying})
    beginnings += _without_one(options, musts, free)
    for rank, on in enumerate(beginnings):
        own, search = fresh()
        search.run([own[i] for i in sorted(on)])
        # A beginning that could not be made to fit is the last choice.
        net = search.net(before) if not search.state.over() else -math.inf
        found.append((net, -rank, own, search))
    _, _, own, search = max(found, key=lambda row: row[:2])
    return _Outcome(search.state.values(), own, blocked, search)


def _without_one(options: list[Option], musts: set[int], free: set[int]) -> list[set[int]]:
    """Everything but one change, and one change alone: more beginnings where they are few."""
    if len(free) > FEW:
        return []
    return [musts | (free - {i}) for i in sorted(free)] + [musts | {i} for i in sorted(free)]


def _left_out(outcome: _Outcome) -> tuple[LeftOut, ...]:
    """Why each change that is off is off, beside what is kept."""
    search, rows = outcome.search, []
    for option in outcome.options:
        change = option.change
        if option.on:
            continue
        reason = outcome.blocked.get((change.kind, change.id))
        if reason is None:
            gain, added = search.state.effect(change, change.wanted)
            cost = charge(search.policy, change, change.wanted)
            if option.gives and search.state.over(added):
                why = Reason.ROOM
            elif gain < 0 or (gain == 0 and not option.gives):
                why = Reason.NO_NEED
            else:
                why = Reason.CHARGE
            reason = LeftOut(change=change, reason=why, gain=gain, charge=cost)
        rows.append(reason)
    return tuple(rows)


__all__ = ["POPULATION", "judge"]
