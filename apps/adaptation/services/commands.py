"""Let a person stop the adaptation of a topic's parts, and let it go on."""

from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.fields.json import KT
from django.utils import timezone

from apps.accounts.models import User
from apps.adaptation.models import Adaptation
from apps.adaptation.selectors.orders import Order, order_in_force
from apps.audit.services import record
from apps.catalog.models import Topic
from apps.common.errors import Conflict
from apps.common.events import publish
from apps.executions.models import ACTIVE_NAMES, Execution, Setting
from weir.actions.adapt_parts import KIND as ORDER


@transaction.atomic
def adaptation_stop(*, topic: Topic, actor: User, note: str = "") -> None:
    """Stop moving parts, and return to those in force: at once, and without a plan.

    Raises Conflict: `not_adapted` (no order is in force), `stopped_already`.
    """
    row, order = _locked(topic)
    if order.stop is not None:
        raise Conflict(
            "stopped_already",
            f"{row.stopped_by_name} has stopped the adaptation of {topic.name} before.",
        )
    row.stopped_at, row.stopped_by = timezone.now(), actor
    row.stopped_by_name, row.note = actor.display_name, note.strip()
    row.save()
    _record(topic, actor, "stop_adaptation", row.note)


@transaction.atomic
def adaptation_resume(*, topic: Topic, actor: User, note: str = "") -> None:
    """Let parts move again, from those in force on.

    Raises Conflict: `not_adapted` (no order is in force), `not_stopped`.
    """
    row, order = _locked(topic)
    if order.stop is None:
        raise Conflict("not_stopped", f"Nobody has stopped the adaptation of {topic.name}.")
    row.stopped_at = row.stopped_by = None
    row.stopped_by_name, row.note = "", note.strip()
    row.save()
    _record(topic, actor, "resume_adaptation", row.note)


def stops_end() -> None:
    """End stops of orders that have ended; one that a plan under way has ended may come back."""
    orders = Setting.objects.annotate(flow=KT("target__flow")).filter(
        system=OuterRef("system"), kind=ORDER, in_force__isnull=False, flow=OuterRef("flow")
    )
    under_way = Execution.objects.filter(system=OuterRef("system"), state__in=ACTIVE_NAMES)
    stopped = Adaptation.objects.filter(stopped_at__isnull=False)
    stopped.filter(~Exists(orders), ~Exists(under_way)).update(
        stopped_at=None, stopped_by=None, stopped_by_name="", note=""
    )


def _locked(topic: Topic) -> tuple[Adaptation, Order]:
    row, _ = Adaptation.objects.get_or_create(system=topic.system, flow=topic.name)
    row = Adaptation.objects.select_for_update().get(pk=row.pk)
    order = order_in_force(topic.system, topic.name)
    if order is None:
        raise Conflict(
            "not_adapted",
            f"No order to adapt the parts of {topic.name} is in force: a plan of a placement "
            "brings one.",
        )
    return row, order


def _record(topic: Topic, actor: User, action: str, note: str) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="topic",
        object_id=topic.public_id,
        object_name=topic.name,
        system_id=topic.system.public_id,
        reason=note[:500],
    )
    # It wakes the loops; what they decide does not (`decision`).
    event: dict[str, Any] = {"system": topic.system.public_id, "topic": topic.name}
    publish("adaptation", **event)
