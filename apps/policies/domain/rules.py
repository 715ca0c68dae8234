"""Apply a policy to a plan: approvals, automatic approval, expiry, enactment threshold.

Pure: terms and plain values in, numbers and sentences out. `blast_radius` is what
`apps.plans.selectors.blast_radius` counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from apps.common.formatting import percent
from apps.policies.domain.terms import EVERY_KIND, ApprovalRule, Terms
from weir import actions
from weir.actions.adapt_parts import KIND as ORDER
from weir.actions.set_flow_rate import KIND as SET_FLOW_RATE
from weir.actions.set_population import KIND as SET_POPULATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.model.plan import Action, Plan, Value

LEAST_APPROVALS = 1
"""Only automatic approval lets a plan pass without a person."""


def touched_share(blast_radius: Mapping[str, Any]) -> float:
    """Return the brokers touched over all brokers; 1 where the system has none to compare with."""
    brokers, total = int(blast_radius["brokers"]), int(blast_radius["brokers_total"])
    return min(1.0, brokers / total) if total else 1.0


def approvals_needed(terms: Terms, kind: str, blast_radius: Mapping[str, Any]) -> tuple[int, str]:
    """Return how many people must approve, and the sentence that says which rule asks for it."""
    brokers, share = int(blast_radius["brokers"]), touched_share(blast_radius)
    matching = [
        rule
        for rule in terms.approval_rules
        if rule.kind in (EVERY_KIND, kind)
        and max(brokers, 1) >= rule.min_brokers
        and share >= rule.min_share
    ]
    if not matching:
        return LEAST_APPROVALS, "No rule speaks of this plan; one approval is the least."
    # The strictest rule decides; of equals the most general one, whose reason says least.
    rule = max(matching, key=lambda r: (r.approvals, -r.min_share, -r.min_brokers))
    needed = max(LEAST_APPROVALS, rule.approvals)
    return needed, _reason(rule, needed, kind, brokers, int(blast_radius["brokers_total"]))


def _reason(rule: ApprovalRule, needed: int, kind: str, brokers: int, total: int) -> str:
    who = "Every plan" if rule.kind == EVERY_KIND else f"Every {kind} plan"
    need = "needs one approval" if needed == 1 else f"needs {needed} approvals"
    bounds = []
    if rule.min_brokers > 1:
        bounds.append(f"at least {rule.min_brokers} brokers")
    if rule.min_share > 0:
        bounds.append(f"at least {percent(rule.min_share)} of the brokers")
    if not bounds:
        return f"{who} {need}."
    return (
        f"{who} that touches {' and '.join(bounds)} {need}; this one touches {brokers} of {total}."
    )


def auto_approves(terms: Terms, plan: Plan, blast_radius: Mapping[str, Any]) -> str | None:
    """Return why the plan may go without a person, as a sentence; None if a person must look at
    it.

    Only rates and limits that were in force before and stay in force qualify: first limits, lifted
    limits, changes of flows, of classes, of lists of publishers and of the overlay are never small.
    Neither is an order to adapt parts, whatever of it changes: what it moves later nobody approves.
    """
    if terms.auto_approve_max_share <= 0:
        return None
    share = touched_share(blast_radius)
    if share > terms.auto_approve_max_share:
        return None
    largest = max(
        (_change(action) for step in plan.steps for action in step.actions), default=math.inf
    )
    if largest > terms.auto_approve_max_change:
        return None
    return (
        f"The policy approves by itself: it touches {percent(share)} of the brokers "
        f"(at most {percent(terms.auto_approve_max_share)}) and changes no value by more than "
        f"{percent(largest, 1)} (at most {percent(terms.auto_approve_max_change, 1)})."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Whether a plan is within the bounds of what Weir carries out by itself, as a sentence."""

    kept: bool
    because: str


def execution_bounds(terms: Terms, plan: Plan, blast_radius: Mapping[str, Any]) -> Bounds:
    """Return whether a plan is so small that Weir may carry it out without a person.

    Only rates and limits of consumers qualify that were in force before and stay in force. How many
    have begun lately, and whether enough plans have gone well, others count.
    """
    changes = {SET_FLOW_RATE: 0.0, SET_POPULATION: 0.0}
    for action in (action for step in plan.steps for action in step.actions):
        if action.kind not in changes:
            return Bounds(kept=False, because="It changes more than rates and limits of consumers.")
        change = _share_changed(action)
        if change is None:
            return Bounds(kept=False, because="It sets a first limit, or lifts one.")
        changes[action.kind] = max(changes[action.kind], change)
    parts = [
        ("touches {} of the brokers", touched_share(blast_radius), terms.auto_execute_max_share),
        (
            "changes a rate or bucket by {}",
            changes[SET_FLOW_RATE],
            terms.auto_execute_max_rate_change,
        ),
        (
            "changes a limit of consumers by {}",
            changes[SET_POPULATION],
            terms.auto_execute_max_consumers_change,
        ),
    ]
    # Within a part in 1e9: a change of exactly the bound is within it, however it was worked out.
    over = [part for part in parts if part[1] > part[2] * (1 + 1e-9)]
    shown = [
        f"{words.format(percent(value, 1))} (at most {percent(most, 1)})"
        for words, value, most in over or parts
        if over or value > 0
    ]
    *first, last = shown or ["changes nothing"]
    words = f"{', '.join(first)} and {last}" if first else last
    return Bounds(kept=not over, because=f"It {words}.")


def _share_changed(action: Action) -> float | None:
    """Return by how much a value changes, as a share of the larger of before and after; None where
    there is none before or after. So 0 may become anything where all of a value may change."""
    before, after = action.before, action.after
    if before is None or after is None or set(before) != set(after):
        return None
    shares = [0.0]
    for name in before:
        old, new = before[name], after[name]
        if isinstance(old, int | float) and isinstance(new, int | float):
            share = abs(new - old) / (max(abs(old), abs(new)) or 1.0)
            if not math.isfinite(share):
                return None
            shares.append(share)
        elif old != new:
            return None
    return max(shares)


def _change(action: Action) -> float:
    """Return the largest relative change of a value; inf where there is nothing to compare with."""
    if actions.protocol(action) != "setting" or action.kind == ORDER:
        return math.inf
    before, after = action.before, action.after
    if before is None or after is None or set(before) != set(after):
        return math.inf
    return max((_relative(before, after, name) for name in before), default=math.inf)


def _relative(before: Value, after: Value, name: str) -> float:
    if before[name] == after[name]:
        return 0.0
    if not isinstance(before[name], int | float) or not isinstance(after[name], int | float):
        return math.inf
    return abs(after[name] - before[name]) / abs(before[name]) if before[name] else math.inf


def below_enactment_threshold(
    terms: Terms, *, utility_before: float, utility_after: float
) -> str | None:
    """Return a sentence that says by how much the gain misses the threshold; None if it is worth
    it.

    A threshold of 0 judges nothing: people who set it want a plan of whatever they ask for, also
    of an allocation that is worth a little less than what is in force.
    """
    if terms.enactment_threshold == 0:
        return None
    gain = utility_after - utility_before
    if utility_before <= 0:
        return None if gain > 0 else "The utility would not rise."
    relative = gain / utility_before
    if relative >= terms.enactment_threshold:
        return None
    change = "rise" if gain >= 0 else "fall"
    return (
        f"The utility would {change} by {percent(abs(relative), 2)}, from {utility_before:,.6g} to "
        f"{utility_after:,.6g}; the policy enacts a gain of at least "
        f"{percent(terms.enactment_threshold, 2)}."
    )


def approval_expires_at(terms: Terms, at: datetime) -> datetime:
    """Return when an approval given at this time lapses."""
    return at + timedelta(seconds=terms.approval_ttl_s)
