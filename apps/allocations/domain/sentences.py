"""Write the sentences of a plan: its reasons, its promises and its assumptions."""

from __future__ import annotations

import math
from dataclasses import replace

from apps.allocations.domain.proposal import Proposal, Scarce
from apps.common.formatting import counted, percent
from apps.plans.domain.envelope import offered_bound
from apps.plans.domain.naming import listed
from apps.plans.domain.structure import reasons
from weir.model.plan import Bound, Promise
from weir.reading import LARGEST_NUMBER

FULL = 0.95
"""A resource with a price and at least this share of its capacity in use is called scarce."""

OVERLOAD = 1.0 + 1e-6
"""Above this load what is in force does not fit the model."""

DUST = 1e-9
"""Smaller amounts count as zero in the sentences."""


def why(proposal: Proposal) -> tuple[str, ...]:
    """Return the reasons, most important first."""
    sentences = [
        _gain(proposal),
        *_former_gain(proposal),
        *_overload(proposal),
        _scarcity(proposal),
    ]
    sentences += [*_admission(proposal), *_first_cut(proposal)]
    sentences += [*_moved_rates(proposal), *_moved_limits(proposal)]
    sentences += reasons(proposal.structure)
    if proposal.unenforceable:
        names = listed(proposal.unenforceable)
        one = len(proposal.unenforceable) == 1
        sentences.append(
            f"{names} {'has' if one else 'have'} no ingress broker, so "
            f"{'its rate is' if one else 'their rates are'} not enforced; give "
            f"{'the topic' if one else 'the topics'} a source broker to change that."
        )
    small = sorted(f for f, b in proposal.buckets.items() if b is not None and b < 1)
    if small:
        sentences.append(
            f"The token bucket of {listed(tuple(small))} holds less than one message and would "
            "pass nothing; it is enforced as 1."
        )
    return tuple(sentences)


def _gain(proposal: Proposal) -> str:
    before = proposal.utility_now
    if before is None:
        state = "nothing is enforced yet" if not proposal.in_force else "part has no limit yet"
        after = _utility(proposal.utility)
        return f"{proposal.name} is worth {after} utility; {state}, so there is no figure for now."
    verb = "raises" if proposal.utility >= before else "lowers"
    return f"{proposal.name} {verb} the utility {_way(before, proposal.utility)}."


def _former_gain(proposal: Proposal) -> list[str]:
    """Compare by the utility functions with which the allocation in force was computed."""
    if proposal.former_utilities is None:
        return []
    before, after = proposal.former_utilities
    verb = "rises" if after >= before else "falls"
    return [
        f"Utility functions were edited since {proposal.former_name}, which is in force: by its "
        f"functions the utility {verb} {_way(before, after)}."
    ]


def _way(before: float, after: float) -> str:
    share = f" ({percent((after - before) / before, 1, signed=True)})" if before > 0 else ""
    return f"from {_utility(before)} to {_utility(after)}{share}"


def _utility(amount: float) -> str:
    return f"{amount:,.6g}" if amount < 1000 else f"{amount:,.0f}"


def _overload(proposal: Proposal) -> list[str]:
    """Explain why a lower utility may be right: what is in force no longer fits."""
    share = proposal.highest_share_now
    if share is None or share <= OVERLOAD or not math.isfinite(share):
        return []
    return [
        f"What is in force would load the fullest resource to {percent(share)} of its capacity, "
        "by the model as it is now."
    ]


def _scarcity(proposal: Proposal) -> str:
    scarce = sorted(
        (row for row in proposal.resources if row.price > 0 and row.share >= FULL),
        key=lambda row: (-row.price * row.capacity, row.name),
    )
    if not scarce:
        fullest = max(proposal.resources, key=lambda row: row.share, default=None)
        if fullest is None:
            return "No resource is limited."
        return (
            f"Nothing is scarce: the fullest resource, {fullest.name}, is at {fullness(fullest)}."
        )
    first = scarce[0]
    others = f" Also scarce: {listed(tuple(r.name for r in scarce[1:]))}." if scarce[1:] else ""
    return (
        f"{_capital(first.name)} decides: it is at {fullness(first)} of {number(first.capacity)} "
        f"units/s, and one more unit would be worth {first.price:.4g} utility.{others}"
    )


def _admission(proposal: Proposal) -> list[str]:
    wanted = sum(row.population_max for row in proposal.problem.classes)
    if not wanted:
        return []
    admitted = sum(proposal.populations.values())
    verbs = "consumer that wants in is", "consumers that want in are"
    return [f"{admitted:,} of {counted(wanted, *verbs)} admitted."]


def _first_cut(proposal: Proposal) -> list[str]:
    """Return the name, among the flows that get their first limit, the one that loses most of what
    it offers."""
    cuts = {
        flow: offered - proposal.rates[flow]
        for flow, offered in proposal.offered.items()
        if proposal.sources.get(flow) and flow in proposal.rates and flow not in proposal.rates_now
    }
    flow = max(sorted(cuts), key=lambda name: cuts[name], default=None)
    if flow is None or cuts[flow] <= 0:
        return []
    return [
        f"{flow} is cut most: {number(proposal.offered[flow])} msg/s are offered, "
        f"{number(proposal.rates[flow])} allowed."
    ]


def _moved_rates(proposal: Proposal) -> list[str]:
    moves = {
        flow: (before, proposal.rates[flow])
        for flow, before in proposal.rates_now.items()
        if flow in proposal.rates and proposal.sources.get(flow)
    }
    return _extremes(moves, "msg/s")


def _moved_limits(proposal: Proposal) -> list[str]:
    moves = {
        name: (float(before), float(proposal.populations.get(name, 0)))
        for name, before in proposal.limits_now.items()
    }
    return _extremes(moves, "consumers admitted")


def _extremes(moves: dict[str, tuple[float, float]], unit: str) -> list[str]:
    """Return the name the largest winner and the largest loser."""
    sentences = []
    for sign, verb in ((1.0, "gains"), (-1.0, "gives up")):
        name = max(sorted(moves), key=lambda n: sign * (moves[n][1] - moves[n][0]), default=None)
        if name is None:
            continue
        before, after = moves[name]
        if sign * (after - before) <= 1e-6 * max(before, after):
            continue
        share = f" ({percent((after - before) / before, signed=True)})" if before > 0 else ""
        sentences.append(f"{name} {verb} most: {number(before)} to {number(after)} {unit}{share}.")
    return sentences


def promise(proposal: Proposal) -> tuple[Promise, ...]:
    """Return utility, consumers and the highest load, before and after."""
    admitted = proposal.admitted_now
    return (
        Promise(
            name="utility",
            unit="",
            before=_finite(proposal.utility_now),
            after=_finite(proposal.utility),
        ),
        Promise(
            name="consumers admitted",
            unit="consumers",
            before=None if admitted is None else float(admitted),
            after=float(sum(proposal.populations.values())),
        ),
        Promise(
            name="highest load",
            unit="share",
            before=_finite(proposal.highest_share_now),
            after=_finite(proposal.highest_share),
        ),
    )


def envelope(proposal: Proposal) -> tuple[Bound, ...]:
    """Return the offered rates between which the promise holds; a bound's name is the flow's."""
    bounds = []
    for flow in sorted(proposal.problem.flows, key=lambda row: row.id):
        if not proposal.sources.get(flow.id):
            continue
        offered = _finite(proposal.offered.get(flow.id))
        bound = offered_bound(flow.id, measured=offered, assumed=flow.rate_max)
        low, high = _finite(bound.low) or 0.0, _finite(bound.high) or 0.0
        bounds.append(replace(bound, low=low, high=high))
    return tuple(bounds)


def _finite(amount: float | None) -> float | None:
    """Return a number that a plan can hold: tiny ones become 0, infinite ones None."""
    if amount is None or not abs(amount) <= LARGEST_NUMBER:
        return None
    return amount if abs(amount) >= DUST else 0.0


def number(amount: float) -> str:
    """Return a rate or amount for a sentence: at most two decimals, thousands apart."""
    if amount >= 1000 or amount == int(amount):
        return f"{amount:,.0f}"
    if amount >= 100:
        return f"{amount:,.1f}".rstrip("0").rstrip(".")
    return f"{amount:.2f}".rstrip("0").rstrip(".") if amount >= 0.01 else f"{amount:.2g}"


def fullness(resource: Scarce) -> str:
    """Return a load in percent of capacity."""
    return percent(resource.share, 1) if math.isfinite(resource.share) else "no capacity"


def consumers(count: int) -> str:
    """Return a text such as `40 consumers`."""
    return counted(count, "consumer")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
