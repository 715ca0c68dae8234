"""Read connections, what waits for them, and the changes of plans."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from apps.integrations.models import Change, ConnectedSystem, Connection, Message
from apps.integrations.selectors.gate import asks, change_of, connection_of, refusal
from apps.plans.models import Plan
from weir.lifecycle.changes import ChangeState
from weir.lifecycle.plans import PlanState

TROUBLED_SHOWN = 20
"""Changes of one connection that cannot be read, with the reasons."""


def connection_rows() -> QuerySet[Connection]:
    """Return the connections with their systems, and how many messages wait."""
    troubled = (
        Change.objects.exclude(problem="")
        .exclude(state=ChangeState.CLOSED)
        .select_related("plan", "plan__system")
        .defer("plan__document")
        .order_by("id")
    )
    return Connection.objects.prefetch_related(
        "systems", Prefetch("changes", troubled[:TROUBLED_SHOWN], to_attr="troubled")
    ).annotate(
        waiting=Count("changes__messages", filter=Q(changes__messages__sent_at=None)),
        used=Exists(Change.objects.filter(connection=OuterRef("pk"))),
    )


def waiting_rows() -> QuerySet[Message]:
    """Return what waits to be sent, in the order in which it will be."""
    return Message.objects.filter(sent_at=None).select_related(
        "change__plan__system", "change__connection"
    )


def change_refusals(plans: Sequence[Plan], now: datetime) -> dict[int, str]:
    """Return by the plan's key why its change keeps it from being executed; the number of queries
    does not depend on how many plans there are, but for changes that are not opened yet."""
    connected = ConnectedSystem.objects.filter(
        system__in={plan.system_id for plan in plans}, connection__enabled=True
    ).select_related("connection")
    connections = {row.system_id: row.connection for row in connected}
    asking = [plan for plan in plans if asks(connections.get(plan.system_id))]
    latest = (
        Change.objects.filter(plan__in=asking)
        .select_related("connection")
        .order_by("plan_id", "-id")
        .distinct("plan_id")
    )
    changes = {change.plan_id: change for change in latest}
    refusals: dict[int, str] = {}
    for plan in asking:
        change = changes.get(plan.pk)
        if change is not None:
            change.plan = plan
        code, because = refusal(plan, connections[plan.system_id], change, now)
        if code:
            refusals[plan.pk] = because
    return refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """A plan's change, as far as there is, and whether executing waits for it."""

    connection: Connection | None
    """Where plans of the system open their changes now."""
    change: Change | None
    allows: bool
    because: str
    waiting: list[Message]


def plan_change(plan: Plan, now: datetime) -> PlanChange:
    """Return how the plan's change stands, and why the plan may not be executed yet."""
    connection, change = connection_of(plan), change_of(plan)
    code, because = "", ""
    waits = plan.state in (PlanState.PENDING_REVIEW, PlanState.APPROVED)
    if connection is not None and waits and asks(connection):
        code, because = refusal(plan, connection, change, now)
    waiting: list[Message] = []
    if change is not None and change.state != ChangeState.CLOSED:
        waiting = list(change.messages.filter(sent_at=None).order_by("id"))
    return PlanChange(
        connection=connection,
        change=change,
        allows=not code,
        because=because if code else "",
        waiting=waiting,
    )
