"""Enactment with judgement on random problems: what holds whatever the input."""

from __future__ import annotations

import itertools
import math
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.weir.kernel_strategies import problem_dicts
from weir.codec import problem_from_dict
from weir.enactment import (
    POPULATION,
    RATE,
    Change,
    Judgement,
    Past,
    Reason,
    Values,
    Verdict,
    judge,
)
from weir.model import Problem, loads

bands = st.sampled_from([0.0, 0.02, 0.05, 0.5])
dwells = st.sampled_from([0.0, 60.0, 3600.0])
charges = st.sampled_from([0.0, 0.1, 3.0, 1e4])
policies = st.builds(
    Judgement,
    band=bands,
    dwell_s=dwells,
    charge_per_consumer=charges,
    charge_per_rate_change=charges,
)


def fits(problem: Problem, values: Values, slack: float = 1e-9) -> bool:
    nodes, links = loads(problem, values.rates, values.populations)
    return all(
        load <= node.capacity.get(resource, math.inf) * (1 + slack)
        for node in problem.nodes
        for resource, load in nodes[node.id].items()
    ) and all(links[link.id] <= link.capacity * (1 + slack) for link in problem.links)


@st.composite
def some_values(draw: st.DrawFn, problem: Problem) -> Values:
    """Anything within the bounds, whether it fits or not."""
    return Values(
        rates={
            f.id: f.rate_min
            + draw(st.sampled_from([0, 0.2, 0.21, 0.5, 1])) * (f.rate_max - f.rate_min)
            for f in problem.flows
        },
        populations={
            c.id: int(draw(st.sampled_from([0, 0.1, 0.5, 0.53, 1])) * min(c.population_max, 1000))
            for c in problem.classes
        },
    )


def shrunk(problem: Problem, values: Values) -> Values | None:
    """The same, made to fit; None where not even the minimum rates do."""
    for _ in range(60):
        if fits(problem, values, 0.0):
            return values
        values = Values(
            rates={f.id: f.rate_min + (values.rates[f.id] - f.rate_min) / 2 for f in problem.flows},
            populations={name: n // 2 for name, n in values.populations.items()},
        )
    values = Values(
        rates={f.id: f.rate_min for f in problem.flows},
        populations=dict.fromkeys(values.populations, 0),
    )
    return values if fits(problem, values, 0.0) else None


@st.composite
def situations(draw: st.DrawFn) -> tuple[Problem, Values, Values, Any, Judgement]:
    problem = problem_from_dict(draw(problem_dicts(draw(st.sampled_from([0.0, None])))))
    in_force = draw(some_values(problem))
    if draw(st.booleans()):
        in_force = shrunk(problem, in_force) or in_force
    proposal = shrunk(problem, draw(some_values(problem)))
    assume(proposal is not None)
    assert proposal is not None
    keys = [(RATE, f.id) for f in problem.flows] + [(POPULATION, c.id) for c in problem.classes]
    past = {
        key: Past(
            age_s=draw(st.sampled_from([None, 0.0, 100.0])), direction=draw(st.integers(-1, 1))
        )
        for key in keys
        if draw(st.booleans())
    }
    return problem, in_force, proposal, past, draw(policies)


def later(past: Any, verdict: Verdict) -> dict[tuple[str, str], Past]:
    """What the past is right after the verdict was enacted."""
    moved = {
        (row.change.kind, row.change.id): Past(
            age_s=0.0, direction=1 if row.after > row.change.before else -1
        )
        for row in verdict.kept
    }
    return {**past, **moved}


def prices_of(problem: Problem, draw_from: float) -> dict[tuple[str, str], float]:
    prices = {(n.id, r): draw_from for n in problem.nodes for r in n.capacity}
    return {**prices, **{("", link.id): draw_from for link in problem.links}}


@settings(max_examples=300, deadline=None)
@given(situations())
def test_what_is_kept_fits_and_is_worth_it(situation):
    problem, in_force, proposal, past, policy = situation
    verdict = judge(problem, in_force=in_force, proposal=proposal, policy=policy, past=past)
    assert fits(problem, verdict.values)
    if fits(problem, in_force, 0.0):
        assert verdict.net_gain >= -1e-9 * max(1.0, abs(verdict.utility_before)) or policy.idle


@settings(max_examples=200, deadline=None)
@given(situations(), st.sampled_from([0.0, 1e-3, 1.0]))
def test_judging_again_changes_nothing(situation, price):
    problem, in_force, proposal, past, policy = situation
    prices = prices_of(problem, price)
    ask: Any = {"proposal": proposal, "policy": policy, "prices": prices}
    first = judge(problem, in_force=in_force, past=past, **ask)
    again = judge(problem, in_force=first.values, past=later(past, first), **ask)
    assert again.kept == ()
    assert again.values == first.values


@settings(max_examples=150, deadline=None)
@given(situations())
def test_every_change_is_kept_or_left_out_and_each_value_lies_between(situation):
    problem, in_force, proposal, past, policy = situation
    verdict = judge(problem, in_force=in_force, proposal=proposal, policy=policy, past=past)
    for kind, before, wanted, after in (
        (RATE, in_force.rates, proposal.rates, verdict.values.rates),
        (POPULATION, in_force.populations, proposal.populations, verdict.values.populations),
    ):
        for name in before:
            low, high = sorted((before[name], wanted[name]))
            assert low <= after[name] <= high
            kept = [k for k in verdict.kept if (k.change.kind, k.change.id) == (kind, name)]
            left = [r for r in verdict.left_out if (r.change.kind, r.change.id) == (kind, name)]
            assert len(kept) == (after[name] != before[name])
            assert len(left) == (after[name] != wanted[name])


@settings(max_examples=150, deadline=None)
@given(situations())
def test_no_single_change_left_out_would_gain(situation):
    problem, in_force, proposal, past, policy = situation
    assume(not policy.idle)
    verdict = judge(problem, in_force=in_force, proposal=proposal, policy=policy, past=past)
    for row in verdict.left_out:
        if row.reason in (Reason.CHARGE, Reason.NO_NEED):
            assert row.gain - row.charge <= 1e-9 * max(1.0, abs(verdict.utility_after))


@settings(max_examples=150, deadline=None)
@given(situations(), st.sampled_from([0.02, 0.05, 0.5]), st.data())
def test_alternating_proposals_within_the_band_move_a_value_once_at_most(situation, band, data):
    """However often two proposals less than two bands apart take turns: no oscillation."""
    problem, _, one, _, policy = situation
    other = Values(
        rates={
            f.id: min(
                f.rate_max,
                max(f.rate_min, one.rates[f.id] * (1 + band) ** data.draw(st.floats(-1.9, 1.9))),
            )
            for f in problem.flows
        },
        populations={
            name: int(n * (1 + band) ** data.draw(st.floats(-1.9, 0)))
            for name, n in one.populations.items()
        },
    )
    assume(fits(problem, other, 0.0))
    policy = Judgement(band=band, charge_per_consumer=policy.charge_per_consumer)
    # Small whole numbers jump by more than any band: what turns around there is a real change.
    steady = {
        name
        for name, n in one.populations.items()
        if other.populations[name] and n / other.populations[name] < (1 + band) ** 2
    }
    values, past, moves = one, {}, dict[tuple[str, str], list[int]]()
    for proposal in itertools.islice(itertools.cycle([other, one]), 8):
        verdict = judge(problem, in_force=values, proposal=proposal, policy=policy, past=past)
        for row in verdict.kept:
            key = row.change.kind, row.change.id
            moves.setdefault(key, []).append(1 if row.after > row.change.before else -1)
        values, past = verdict.values, later(past, verdict)
    for (kind, name), signs in moves.items():
        if kind == RATE or name in steady:
            assert all(a == b for a, b in itertools.pairwise(signs)), (kind, name, signs)


@settings(max_examples=60, deadline=None)
@given(situations())
def test_worth_at_least_any_single_change_all_of_them_or_none(situation):
    """What is kept gains at least what nothing, everything, or any one change alone would."""
    problem, in_force, proposal, _, policy = situation
    assume(fits(problem, in_force, 0.0))
    policy = Judgement(
        charge_per_consumer=policy.charge_per_consumer or 0.1,
        charge_per_rate_change=policy.charge_per_rate_change,
    )
    verdict = judge(problem, in_force=in_force, proposal=proposal, policy=policy)
    everything = judge(problem, in_force=in_force, proposal=proposal, policy=Judgement())
    changes = [row.change for row in everything.kept]
    tolerance = 1e-9 * max(1.0, abs(everything.utility_before), abs(everything.utility_after))
    subsets = [(), changes, *((change,) for change in changes)]
    best = max(
        (
            net
            for subset in subsets
            if (net := net_of(problem, in_force, subset, policy)) is not None
        ),
        default=0.0,
    )
    assert verdict.net_gain >= best - tolerance


def net_of(problem: Problem, in_force: Values, subset: Any, policy: Judgement) -> float | None:
    rates, populations, cost = dict(in_force.rates), dict(in_force.populations), 0.0
    for change in subset:
        assert isinstance(change, Change)
        if change.kind == RATE:
            rates[change.id] = change.wanted
            cost += policy.charge_per_rate_change * (
                abs(change.wanted - change.before) / max(change.wanted, change.before)
            )
        else:
            populations[change.id] = int(change.wanted)
            cost += policy.charge_per_consumer * abs(change.wanted - change.before)
    values = Values(rates=rates, populations=populations)
    if not fits(problem, values, 0.0):
        return None
    worth = [
        math.fsum(
            v.populations[c.id] * float(c.utility.value(v.rates[c.flow])) for c in problem.classes
        )
        for v in (in_force, values)
    ]
    return worth[1] - worth[0] - cost
