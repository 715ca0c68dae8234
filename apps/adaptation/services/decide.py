"""Decide where parts of a flow's bucket should move, of what brokers may hold and what they
measured. Nothing is written here."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from apps.adaptation.domain import sentences
from apps.adaptation.domain.times import measured_since, measures_first_s
from apps.adaptation.models import DecisionCause
from apps.adaptation.selectors.history import History, mean
from apps.adaptation.selectors.orders import Order
from apps.adaptation.selectors.standing import Surroundings, is_late, is_silent
from apps.executions.services.adapted_parts import FlowParts
from weir.placement import ledger
from weir.placement.adaptation import Adapted, Cause, adapted
from weir.placement.handover import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Hold how parts should move, and why."""

    cause: DecisionCause
    sentence: str
    moves: Mapping[str, tuple[Part, Part]]
    """Broker -> what is asked of it now, and then."""
    measured: Mapping[str, Mapping[str, float | None]]
    drains: bool


def proposal(
    parts: FlowParts,
    order: Order,
    history: History,
    around: Surroundings,
    *,
    changed_at: datetime,
    drains: bool,
    now: datetime,
) -> Proposal | None:
    """Return how the parts should move now; None: they stay.

    `changed_at`: when a plan last changed something of the flow; `drains`: whether the rates are
    what a backlog needed.
    """
    if not parts.are_settled or measures_first_s(changed_at, now, order.params.window_s):
        return None
    entries, contract = parts.entries, parts.contract
    if not ledger.within((entry.most for entry in entries.values()), contract):
        # An execution that failed has left more with a broker than is in force there.
        return None
    brokers = sorted(parts.enforced.keys() & order.brokers)
    # A broker that is silent, or does not confirm what is asked, keeps the most that it may hold.
    moving = [
        broker
        for broker in brokers
        if not is_silent(broker, around, history) and not is_late(parts.rows[broker], now)
    ]
    frozen = ledger.total(e.most for b, e in entries.items() if b not in moving)
    rest = Part(
        rate_per_s=contract.rate_per_s - frozen.rate_per_s, size=contract.size - frozen.size
    )
    asked = {broker: entries[broker].asked for broker in moving}
    is_whole = ledger.within([rest], ledger.total(asked.values()))
    if not moving or (is_whole and not around.window.open):
        return None
    whole = ledger.made_whole(asked, rest)
    if around.window.open:
        since = measured_since(changed_at, now)
        looks = {
            broker: [look.interval for look in history[broker] if look.at > since]
            for broker in moving
        }
        result = adapted(whole, looks, params=order.params, drains=drains)
    else:
        # What was shrunk for a decision that was given up is enlarged again.
        result = Adapted(parts=whole, cause=Cause.STEADY)
    after = ledger.made_whole(result.parts, rest)
    if not all(0 < part.rate_per_s < math.inf > part.size > 0 for part in after.values()):
        raise ValueError(f"parts of {parts.flow} that let nothing in, or everything: {after}")
    moves = {
        broker: (asked[broker], after[broker])
        for broker in moving
        if after[broker] != asked[broker]
    }
    if not moves:
        return None
    if result.cause is Cause.STEADY:
        cause = DecisionCause.SHIFT
        sentence = sentences.shared_anew_text([b for b in brokers if b not in moving])
    else:
        cause = DecisionCause(result.cause.value)
        sentence = sentences.moved_text(
            cause, result.brokers, asked, after, drained=drains and not result.drains
        )
    return Proposal(
        cause=cause,
        sentence=sentence,
        moves=moves,
        measured={broker: _measured(history, broker) for broker in moving},
        drains=result.drains,
    )


def _measured(history: History, broker: str) -> dict[str, float | None]:
    looks = history[broker]
    return {
        "offered_per_s": mean(looks, "offered_per_s"),
        "waiting": looks[-1].waiting if looks else None,
        "work_peak": max((look.work_peak for look in looks), default=None),
    }
