"""Read the standing orders in force, and who stopped what they ask for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT

from apps.adaptation.models import UNDER_WAY_NAMES, Adaptation, Decision
from apps.executions.models import Setting
from apps.systems.models import System
from weir.actions.adapt_parts import KIND
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.set_bucket import KIND as BUCKET
from weir.placement.adaptation import Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Hold one standing order."""

    params: Params
    brokers: frozenset[str]
    since: datetime | None
    """When it came into force."""
    stop: Adaptation | None = None
    """By whom it was stopped, if it is."""


def order_of(
    value: Mapping[str, Any], since: datetime | None, stop: Adaptation | None = None
) -> Order:
    """Return the order that a setting holds."""
    return Order(
        params=Params(
            window_s=float(value["window_s"]),
            period_s=float(value["period_s"]),
            least_share=float(value["least_share"]),
        ),
        brokers=frozenset(value["brokers"]),
        since=since,
        stop=stop,
    )


def order_in_force(system: System, flow: str) -> Order | None:
    """Return the order for the parts of this flow; None: they do not move."""
    row = _orders().filter(system=system, target__flow=flow).first()
    if row is None:
        return None
    stop = Adaptation.objects.filter(pk=row.stop).first() if row.stop else None
    return order_of(row.in_force, row.changed_at, stop)


def _orders() -> QuerySet[Any]:
    stops = Adaptation.objects.filter(
        system=OuterRef("system"), flow=OuterRef("flow"), stopped_at__isnull=False
    )
    rows = Setting.objects.filter(kind=KIND, in_force__isnull=False)
    return rows.annotate(flow=KT("target__flow")).annotate(stop=Subquery(stops.values("pk")[:1]))


@dataclass(slots=True, kw_only=True)
class Concern:
    """Hold why the parts of a flow may have to be looked at, as one look at all flows shows it."""

    value: Mapping[str, Any] | None = None
    """Of the order in force; None where there is none."""
    since: datetime | None = None
    is_stopped: bool = False
    last_at: datetime | None = None
    """When the last decision was made."""
    drains: bool = False
    """Whether that one drains a backlog."""
    is_open: bool = False
    """Whether a decision is under way."""
    has_moved: bool = False
    """Whether a broker is asked for another part, or has not confirmed what is asked."""


def concerns() -> dict[int, dict[str, Concern]]:
    """Return every flow whose parts move, or have moved, by system; three queries."""
    by_system: dict[int, dict[str, Concern]] = {}

    def of(system: int, flow: str) -> Concern:
        return by_system.setdefault(system, {}).setdefault(flow, Concern())

    newest = Decision.objects.filter(system=OuterRef("system"), flow=OuterRef("flow"))
    orders = _orders().annotate(
        last_at=Subquery(newest.order_by("-id").values("at")[:1]),
        drains=Subquery(newest.order_by("-id").values("drains")[:1]),
    )
    columns = ("system", "flow", "in_force", "changed_at", "stop", "last_at", "drains")
    for system, flow, value, since, stop, last_at, drains in orders.values_list(*columns):
        concern = of(system, flow)
        concern.value, concern.since, concern.is_stopped = value, since, stop is not None
        concern.last_at, concern.drains = last_at, bool(drains)
    moved = Q(controlled__isnull=False) | Q(may_hold__isnull=False)
    rows = Setting.objects.filter(moved, kind=BUCKET).annotate(flow=KT("target__flow"))
    for system, flow in rows.order_by().values_list("system", "flow").distinct():
        of(system, flow).has_moved = True
    under_way = Decision.objects.filter(state__in=UNDER_WAY_NAMES)
    for system, flow in under_way.values_list("system", "flow"):
        of(system, flow).is_open = True
    return by_system


def changed_at(system: System, flows: Collection[str]) -> dict[str, datetime]:
    """Return when a plan last changed the order, a part or who publishes where, by flow."""
    rows = Setting.objects.filter(
        system=system, kind__in=(KIND, BUCKET, PUBLISHERS), target__flow__in=list(flows)
    ).annotate(flow=KT("target__flow"))
    latest = rows.order_by().values_list("flow").annotate(latest=Max("changed_at"))
    known = {flow: at for flow, at in latest if at is not None}
    return {flow: known.get(flow, datetime.min.replace(tzinfo=UTC)) for flow in flows}
