"""Decide which parts of an allocation the policy considers worth enacting, and why the rest is left
out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from apps.allocations.domain.proposal import LIMIT, RATE, Proposal, Scarce, Setting
from apps.allocations.domain.sentences import consumers, number
from apps.common.formatting import percent
from apps.plans.domain.naming import listed
from apps.policies.domain.terms import Terms
from weir import enactment
from weir.enactment import Judgement, Kept, Note, Past, Reason, Values, Verdict
from weir.model import loads
from weir.model.plan import LeftOut, Value

KINDS = {enactment.RATE: RATE, enactment.POPULATION: LIMIT}
SHORT = {
    Reason.BAND: "smaller than the band",
    Reason.REVERSAL: "turning around within the band",
    Reason.DWELL: "changed too short a time ago",
    Reason.CHARGE: "worth less than moving costs",
    Reason.ROOM: "without room beside these",
    Reason.NO_NEED: "giving up what nobody needs then",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Hold a proposal reduced to what is worth enacting."""

    proposal: Proposal
    left_out: tuple[LeftOut, ...] = ()
    why: tuple[str, ...] = ()
    """Sentences about the judgement; empty where it changed nothing."""


def judgement_of(terms: Terms) -> Judgement:
    """Return the part of a policy that judges changes."""
    return Judgement(
        band=terms.enactment_band,
        dwell_s=terms.enactment_dwell_s,
        charge_per_consumer=terms.churn_per_consumer,
        charge_per_rate_change=terms.churn_per_rate_change,
    )


def judged(proposal: Proposal, terms: Terms) -> Judged:
    """Return the proposal after the policy's judgement.

    First limits and what has to be lifted are never judged: there is nothing to compare with. The
    rest is judged beside them, and makes room for them where it must.
    """
    policy = judgement_of(terms)
    if policy.idle:
        return Judged(proposal=proposal)
    settings = _settings(proposal)
    verdict = enactment.judge(
        proposal.problem,
        in_force=_in_force(proposal, settings),
        proposal=Values(
            rates={f.id: proposal.rates[f.id] for f in proposal.problem.flows},
            populations={c.id: proposal.populations.get(c.id, 0) for c in proposal.problem.classes},
        ),
        policy=policy,
        past={
            key: past
            for key, setting in settings.items()
            if (past := proposal.pasts.get(setting.key)) is not None
        },
        prices=proposal.prices,
    )
    if not verdict.left_out and not any(row.note for row in verdict.kept):
        return Judged(proposal=proposal)
    return Judged(
        proposal=_cut(proposal, verdict, settings),
        left_out=tuple(
            _left_out(row, settings[row.change.kind, row.change.id], proposal)
            for row in verdict.left_out
            if (row.change.kind, row.change.id) in settings
        ),
        why=_sentences(verdict),
    )


def _settings(proposal: Proposal) -> dict[tuple[str, str], Setting]:
    """Return what the proposal would set, by the kernel's (kind, id)."""
    return {
        (enactment.RATE, setting.target["flow"])
        if setting.kind == RATE
        else (enactment.POPULATION, setting.target["class"]): setting
        for setting in proposal.wanted.values()
    }


def _in_force(proposal: Proposal, settings: dict[tuple[str, str], Setting]) -> Values:
    """Return the values in force; a missing one counts with the allocation's own, so it is no
    change.

    That is what no gate can limit, as in `utility_now`, and what is set for the first time.
    """

    def now(kind: str, name: str) -> Value | None:
        setting = settings.get((kind, name))
        return None if setting is None else proposal.in_force.get(setting.key)

    rates, populations = dict(proposal.rates), {}
    for flow in proposal.problem.flows:
        value = now(enactment.RATE, flow.id)
        if value is not None:
            rates[flow.id] = float(value["rate_per_s"])
    for row in proposal.problem.classes:
        value = now(enactment.POPULATION, row.id)
        populations[row.id] = (
            proposal.populations.get(row.id, 0)
            if value is None
            else min(int(value["limit"]), row.population_max)
        )
    return Values(rates=rates, populations=populations)


def _cut(
    proposal: Proposal, verdict: Verdict, settings: dict[tuple[str, str], Setting]
) -> Proposal:
    nodes, links = loads(proposal.problem, verdict.values.rates, verdict.values.populations)
    load = {f"{r} of {node}": amount for node, of in nodes.items() for r, amount in of.items()}
    load.update({f"link {link}": amount for link, amount in links.items()})
    moved = {row.change.id for row in verdict.kept if row.change.kind == enactment.RATE}
    stays = {row.change.id for row in verdict.left_out if row.change.kind == enactment.RATE}
    return replace(
        proposal,
        held={
            flow: proposal.in_force[settings[enactment.RATE, flow].key]
            for flow in stays - moved
            # A token bucket of the topic is an edit of the model, which is not judged.
            if (enactment.RATE, flow) in settings and proposal.buckets.get(flow) is None
        },
        rates=verdict.values.rates,
        populations=verdict.values.populations,
        utility=verdict.utility_after,
        resources=tuple(
            Scarce(
                name=row.name,
                load=load.get(row.name, row.load),
                capacity=row.capacity,
                price=row.price,
            )
            for row in proposal.resources
        ),
    )


def _left_out(row: enactment.LeftOut, setting: Setting, proposal: Proposal) -> LeftOut:
    return LeftOut(
        kind=setting.kind,
        target=setting.target,
        before=_value(setting, row.change.before, proposal),
        wanted=_value(setting, row.change.wanted, proposal),
        reason=row.reason.value,
        because=because(row),
    )


def _value(setting: Setting, amount: float, proposal: Proposal) -> Value:
    if setting.kind == LIMIT:
        return {"limit": int(amount)}
    return proposal.gate(setting.target["flow"], amount)


def because(row: enactment.LeftOut) -> str:
    """Return the reason as a sentence with numbers and units."""
    change = row.change
    unit = "msg/s" if change.kind == enactment.RATE else "consumers"
    way = f"from {number(change.before)} to {number(change.wanted)} {unit}"
    match row.reason:
        case Reason.BAND:
            return f"It would move by {percent(row.moved, 1)}, {way}; the band is {_band(row)}."
        case Reason.REVERSAL:
            last, now = ("fell", "rise") if change.wanted > change.before else ("rose", "fall")
            return (
                f"It {last} last and would {now} by {percent(row.moved, 1)}, {way}; "
                f"turning around takes more than {_band(row)}, the band twice over."
            )
        case Reason.DWELL:
            return (
                f"It changed {number(round(row.age_s))} s ago and stays for "
                f"{number(row.needed)} s; wanted is {number(change.wanted)} {unit}."
            )
        case Reason.CHARGE:
            return (
                f"Moving {way} gains {row.gain:,.4g} utility and costs {row.charge:,.4g} by the "
                "policy."
            )
        case Reason.ROOM:
            return f"Moving {way} does not fit without changes that are left out."
        case Reason.NO_NEED:
            return (
                f"Moving {way} would give up {-row.gain:,.4g} utility; no change that is made "
                "needs the room."
            )


def _band(row: enactment.LeftOut) -> str:
    return percent(row.needed, 1)


def _sentences(verdict: Verdict) -> tuple[str, ...]:
    sentences = []
    if verdict.left_out:
        reasons = Counter(row.reason for row in verdict.left_out)
        parts = ", ".join(f"{count} {SHORT[reason]}" for reason, count in reasons.most_common())
        count = len(verdict.left_out)
        noun, verb = ("change", "is") if count == 1 else ("changes", "are")
        sentences.append(f"{count:,} proposed {noun} {verb} left out by the policy: {parts}.")
    if verdict.charge > 0:
        moved = sum(
            abs(row.after - row.change.before)
            for row in verdict.kept
            if row.change.kind == enactment.POPULATION
        )
        sentences.append(
            f"Moving {consumers(int(moved))} and changing rates costs {verdict.charge:,.4g} "
            f"utility by the policy; {verdict.net_gain:,.4g} remain of the gain."
        )
    for note, text in (
        (Note.FORCED, "would have stayed, but a capacity or bound of the model would be broken"),
        (Note.CUT, "as far as there is room beside what is left out"),
    ):
        names = _named(verdict.kept, note)
        if names:
            verb = "changes" if len(names) == 1 else "change"
            verb = verb if note is Note.FORCED else ("rises" if len(names) == 1 else "rise")
            link = " although it " if len(names) == 1 else " although they "
            sentences.append(f"{listed(names)} {verb}{link if note is Note.FORCED else ' '}{text}.")
    return tuple(sentences)


def _named(kept: tuple[Kept, ...], note: Note) -> tuple[str, ...]:
    return tuple(row.change.id for row in kept if row.note is note)


def past_of(kind: str, in_force: Any, previous: Any, age_s: float | None) -> Past:
    """Return how long a setting has been in force and in which direction it last moved."""
    name = "rate_per_s" if kind == RATE else "limit"
    if previous is None or in_force is None:
        return Past(age_s=age_s)
    moved = float(in_force[name]) - float(previous[name])
    return Past(age_s=age_s, direction=(moved > 0) - (moved < 0))
