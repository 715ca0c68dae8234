"""Count messages that agents took and could not forward: stored for ever, and in the audit
record.

Agents count since they began; what is kept here goes on over their restarts. Whatever an agent lost
after its last report and before it died is not known: all counts are "at least".
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from apps.audit.services import record
from apps.telemetry.models import Agent, Loss

REASONS: Mapping[str, str] = {
    "broker_away": "best-effort, and the broker did not answer",
    "too_large": "too large for the broker with what Weir adds",
    "ingress_full": "best-effort, and too many waited before the gate",
    "link_full": "best-effort, and too many waited at the end of a link",
    "link_away": "best-effort, and the neighbour's agent was not connected",
    "not_read": "waited in the agent when its source went away",
    "unreadable": "not written by Weir",
    "multicast_full": "a mapped flow's, and the kernel had no room for the datagram",
    "multicast_away": "a mapped flow's, and the network did not take the datagram",
    "unheard": "best-effort, sent before a neighbour had said whether it wants it",
}
"""The meaning of the agents' reasons."""

RECORD_EVERY = timedelta(minutes=10)
"""How often a continuing loss is added to the record, with the count since the last entry."""


def losses_keep(*, agent: Agent, telemetry: Mapping[str, Any], now: datetime) -> None:
    """Add what the agent counted since its last report. Call it in the report's transaction: the
    agent's row is locked, so no other process adds for this broker."""
    counted = {
        (flow, reason): int(count)
        for flow, reasons in telemetry.get("lost", {}).items()
        for reason, count in reasons.items()
        if count
    }
    if not counted:
        return
    life = float(telemetry.get("agent", {}).get("began_at", 0.0))
    kept = {(row.flow, row.reason): row for row in Loss.objects.filter(broker=agent.broker_id)}
    for key, count in counted.items():
        row = kept.get(key) or Loss(
            broker=agent.broker, flow=key[0], reason=key[1], life=life, first_at=now, last_at=now
        )
        # For an agent that does not say when it began, a counter that fell has started again.
        anew = life != row.life if life else count < row.seen
        grown = count if anew else count - row.seen
        if grown <= 0:
            continue
        row.count, row.seen, row.life, row.last_at = row.count + grown, count, life, now
        if row.recorded_at is None or now - row.recorded_at >= RECORD_EVERY:
            _record(agent, row)
            row.recorded, row.recorded_at = row.count, now
        row.save()


def losses(system_pk: int) -> QuerySet[Loss]:
    """Return the losses of a system, the latest first."""
    rows = Loss.objects.filter(broker__system=system_pk).select_related("broker")
    return rows.order_by("-last_at", "broker__name", "flow", "reason")


def losses_everywhere() -> QuerySet[Loss]:
    """Return the losses of all systems, by system and broker."""
    rows = Loss.objects.select_related("broker__system")
    return rows.order_by("broker__system__name", "broker__name", "flow", "reason")


def _record(agent: Agent, row: Loss) -> None:
    record(
        actor=None,
        action="lose",
        object_kind="broker",
        object_id=agent.broker.public_id,
        object_name=agent.broker.name,
        system_id=agent.system.public_id,
        before={"messages": row.recorded},
        after={"messages": row.count, "flow": row.flow, "reason": row.reason},
        reason=f"{row.count - row.recorded:,} messages of {row.flow or 'an unknown flow'} lost at "
        f"{agent.broker.name}: {REASONS.get(row.reason, row.reason)}",
    )
