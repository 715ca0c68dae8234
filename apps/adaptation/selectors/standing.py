"""Read how adaptations stand: what holds them, and what has been decided."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from apps.accounts.domain.roles import Permission
from apps.adaptation.domain import sentences
from apps.adaptation.domain.times import GIVE_UP, is_within, measures_first_s
from apps.adaptation.models import Decision
from apps.adaptation.selectors.history import History, mean, measurements
from apps.adaptation.selectors.orders import Order, changed_at, order_in_force
from apps.catalog.models import Delivery, Topic
from apps.executions.models import ACTIVE_NAMES, Execution, Setting
from apps.executions.services.adapted_parts import FlowParts
from apps.executions.services.restored import restored_text
from apps.policies.domain.windows import WindowState, window_state
from apps.policies.selectors import stop_now, terms_for
from apps.systems.models import System
from apps.telemetry.selectors import agents_of
from weir.actions.set_bucket import KIND as BUCKET
from weir.placement import ledger
from weir.placement.adaptation import Params

SHOWN_DECISIONS = 20
WITHOUT_ORDER_S = 10.0
"""The window of what is shown while no order names one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Hold what concerns every adaptation of a system now."""

    system: System
    now: datetime
    window: WindowState
    """Closed, too, while everything automatic is stopped."""
    execution: Execution | None
    """Under way."""
    restored: str
    """Why no documents are sent; empty when they are."""
    live: frozenset[str]
    """Brokers whose agents hold their lease."""
    topics: Mapping[str, str]
    """Of the flows concerned those that the model still has -> their delivery."""

    @property
    def reliable(self) -> frozenset[str]:
        """Return the topics whose messages stay in the broker until they have passed."""
        kept = Delivery.RELIABLE
        return frozenset(name for name, delivery in self.topics.items() if delivery == kept)


def surroundings_of(system: System, flows: Collection[str]) -> Surroundings:
    """Return what concerns the adaptations of these flows of the system now."""
    now, stop = timezone.now(), stop_now()
    window = window_state(terms_for(system), now)
    if stop is not None:
        window = replace(window, open=False, closes_at=None, next_opens_at=None, text=stop.text)
    live = agents_of(system).filter(lease_until__gt=now)
    topics = Topic.objects.filter(system=system, name__in=list(flows))
    return Surroundings(
        system=system,
        now=now,
        window=window,
        execution=Execution.objects.filter(system=system, state__in=ACTIVE_NAMES).first(),
        restored=restored_text(system),
        live=frozenset(live.values_list("broker__name", flat=True)),
        topics=dict(topics.values_list("name", "delivery")),
    )


def standing_of(topic: Topic, permissions: Collection[Permission]) -> dict[str, Any]:
    """Return everything that a page shows of the adaptation of the topic's parts, and what who has
    these permissions may do."""
    system, flow = topic.system, topic.name
    around, order = surroundings_of(system, [flow]), order_in_force(system, flow)
    rows = Setting.objects.filter(system=system, kind=BUCKET, target__flow=flow).order_by("id")
    parts = FlowParts(flow, rows)
    window_s = order.params.window_s if order else WITHOUT_ORDER_S
    measured = measurements(
        system,
        [flow],
        brokers=parts.enforced.keys(),
        window_s=window_s,
        now=around.now,
        reliable=around.reliable,
    )
    history = measured.of(flow, window_s=window_s, now=around.now)
    decisions = list(Decision.objects.filter(system=system, flow=flow)[:SHOWN_DECISIONS])
    state, because = _state(order, parts, around, history, decisions)
    params: Params | None = order.params if order else None
    stop = order.stop if order else None
    contract = parts.contract if parts.enforced else None
    return {
        "state": state,
        "because": because,
        "window_s": params and params.window_s,
        "period_s": params and params.period_s,
        "least_share": None if params is None else params.least_share,
        "since": order.since if order else None,
        "stopped_at": stop.stopped_at if stop else None,
        "stopped_by": stop.stopped_by_name if stop else "",
        "note": stop.note if stop else "",
        "contract": contract and {"token_rate_per_s": contract.rate_per_s, "bucket": contract.size},
        "parts": _parts(parts, around, history),
        "decisions": [_decision(row) for row in decisions],
        "allowed_commands": (
            {"off": [], "stopped": ["resume"]}.get(state, ["stop"])
            if Permission.EXECUTE_PLAN in permissions
            else []
        ),
    }


def _state(
    order: Order | None,
    parts: FlowParts,
    around: Surroundings,
    history: History,
    decisions: list[Decision],
) -> tuple[str, str]:
    waits = decisions[0].because if decisions and decisions[0].ended_at is None else ""
    if order is None:
        if parts.have_moved and not waits and not around.window.open:
            waits = around.window.text
        return "off", waits
    if order.stop is not None:
        return "stopped", waits
    holds = why_held(order, parts, around, history)
    if holds:
        return "held", holds
    seconds = measures_first_s(
        changed_at(around.system, [parts.flow])[parts.flow], around.now, order.params.window_s
    )
    if seconds:
        return "running", sentences.measures_first_text(seconds)
    brokers = parts.enforced.keys() & order.brokers
    silent = sorted(b for b in brokers if is_silent(b, around, history))
    late = sorted(b for b in brokers if b not in silent and is_late(parts.rows[b], around.now))
    texts = (silent and sentences.silent_text(silent), late and sentences.late_text(late))
    return "running", " ".join(text for text in texts if text)


def why_held(order: Order, parts: FlowParts, around: Surroundings, history: History) -> str:
    """Say why no part moves now although an order is in force; empty where parts may move."""
    if around.restored:
        return around.restored
    if around.execution is not None:
        return sentences.busy_text(str(around.execution))
    if not around.window.open:
        return around.window.text
    brokers = parts.enforced.keys() & order.brokers
    if not brokers:
        return sentences.NO_PARTS
    if len(brokers) == 1:
        return sentences.alone_text(*brokers)
    if not parts.are_settled:
        return sentences.UNSETTLED
    entries = parts.entries
    if not ledger.within((entry.most for entry in entries.values()), parts.contract):
        return sentences.exceeding_text(
            sorted(
                broker
                for broker, entry in entries.items()
                if ledger.larger(entry.most, entry.ordinary) != entry.ordinary
            )
        )
    if all(is_silent(broker, around, history) for broker in brokers):
        return sentences.NOBODY_REPORTS
    return ""


def is_silent(broker: str, around: Surroundings, history: History) -> bool:
    """Return whether the broker's agent holds no lease, or measured too little of the window."""
    return broker not in around.live or broker not in history


def is_late(row: Setting, now: datetime) -> bool:
    """Return whether the broker should have confirmed what is asked long ago."""
    return row.may_hold is not None and not is_within(row.updated_at, now, GIVE_UP)


def _parts(parts: FlowParts, around: Surroundings, history: History) -> list[dict[str, Any]]:
    entries = parts.entries
    shown = []
    for broker, part in sorted(parts.enforced.items()):
        looks = history.get(broker, [])
        shown.append(
            {
                "broker": broker,
                "in_force_rate_per_s": part.rate_per_s,
                "in_force_size": part.size,
                "rate_per_s": entries[broker].asked.rate_per_s,
                "size": entries[broker].asked.size,
                "is_confirmed": broker not in parts.unconfirmed,
                "is_silent": is_silent(broker, around, history),
                "offered_per_s": mean(looks, "offered_per_s"),
                "passed_per_s": mean(looks, "passed_per_s"),
                "waiting": looks[-1].waiting if looks else None,
                "work_peak": max((look.work_peak for look in looks), default=None),
            }
        )
    return shown


def _decision(row: Decision) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in ("id", "at", "cause", "sentence", "state")},
        **{name: getattr(row, name) for name in ("shrunk_at", "ended_at", "because")},
        "moves": [
            {
                "broker": plain["target"]["broker"],
                "before": _sizes(plain["before"]),
                "after": _sizes(plain["after"]),
            }
            for plain in row.actions
        ],
    }


def _sizes(value: Mapping[str, Any]) -> dict[str, float]:
    return {"rate_per_s": value["rate_per_s"], "size": value["size"]}
