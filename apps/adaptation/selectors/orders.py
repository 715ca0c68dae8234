"""Read the standing orders in force, and who stopped what they ask for."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Max

from apps.adaptation.models import Adaptation
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


def order_in_force(system: System, flow: str) -> Order | None:
    """Return the order for the parts of this flow; None: they do not move."""
    row = Setting.objects.filter(
        system=system, kind=KIND, target__flow=flow, in_force__isnull=False
    ).first()
    if row is None:
        return None
    value = row.in_force
    return Order(
        params=Params(
            window_s=float(value["window_s"]),
            period_s=float(value["period_s"]),
            least_share=float(value["least_share"]),
        ),
        brokers=frozenset(value["brokers"]),
        since=row.changed_at,
        stop=_stop(system, flow, row.changed_at),
    )


def changed_at(system: System, flow: str) -> datetime:
    """Return when a plan last changed the order, a part or who publishes where."""
    rows = Setting.objects.filter(
        system=system, kind__in=(KIND, BUCKET, PUBLISHERS), target__flow=flow
    )
    latest: datetime | None = rows.aggregate(latest=Max("changed_at"))["latest"]
    return latest or datetime.min.replace(tzinfo=UTC)


def _stop(system: System, flow: str, since: datetime | None) -> Adaptation | None:
    row = Adaptation.objects.filter(system=system, flow=flow, stopped_at__isnull=False).first()
    if row is None or row.stopped_at is None:
        return None
    # A stop concerns the order that was in force then, and no later one.
    return row if since is None or row.stopped_at > since else None
