"""Queue for each webhook the events that it wants, in their order, each once."""

import logging
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from apps.audit.models import Event
from apps.systems.models import System
from apps.webhooks.domain import retries
from apps.webhooks.domain.event_types import is_wanted, type_of
from apps.webhooks.models import KEPT_DAYS, PER_WEBHOOK, Delivery, Webhook
from apps.webhooks.selectors.bodies import body_of, subject_of
from weir.lifecycle.deliveries import DeliveryState

logger = logging.getLogger(__name__)
AT_ONCE = 500
"""Events that one call looks at for one webhook."""

DELETED_AT_ONCE = 5_000

ROUNDS = 20
"""How often that many are deleted in a row, at most."""


def last_event() -> int:
    """Return the number of the newest event; 0: there is none."""
    return Event.objects.aggregate(last=Max("number"))["last"] or 0


def deliveries_queue() -> int:
    """Queue what webhooks have not looked at yet. Returns how many deliveries were made."""
    last = last_event()
    behind = Webhook.objects.filter(enabled=True, read_to__lt=last).values_list("pk", flat=True)
    count = 0
    for pk in behind:
        try:
            count += _queue(pk)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One webhook that cannot be served must not keep the others from it.
            logger.exception("events cannot be queued for webhook %s", pk)
    return count


@transaction.atomic
def _queue(pk: int) -> int:
    rows = Webhook.objects.select_for_update(skip_locked=True, no_key=True)
    webhook = rows.filter(pk=pk, enabled=True).first()
    if webhook is None:
        return 0
    events = list(
        Event.objects.filter(number__gt=webhook.read_to)
        .select_related("entry")
        .order_by("number")[:AT_ONCE]
    )
    if not events:
        return 0
    chosen = set(webhook.chosen.values_list("system_id", flat=True))
    wanted = [
        event
        for event in events
        if (webhook.all_systems or event.entry.system_id in chosen)
        and is_wanted(type_of(event.entry.object_kind, event.entry.action), webhook.types)
    ]
    ids = {one.entry.system_id for one in wanted if one.entry.system_id is not None}
    systems = {one.public_id: one for one in System.objects.filter(public_id__in=ids)}
    made = [
        Delivery(
            webhook=webhook,
            entry=event.entry,
            type=type_of(event.entry.object_kind, event.entry.action),
            subject=subject_of(event.entry),
            body=body_of(event, systems),
        )
        for event in wanted
    ]
    Delivery.objects.bulk_create(made, ignore_conflicts=True)
    webhook.read_to = events[-1].number
    webhook.save(update_fields=["read_to"])
    return len(wanted)


def deliveries_tidy() -> int:
    """Delete deliveries that have ended long ago, or of which there are too many.

    What waits for a webhook that is disabled is given up after a while. Returns how many were
    deleted.
    """
    now = timezone.now()
    give_up_waiting(
        Delivery.objects.filter(webhook__enabled=False, state=DeliveryState.WAITING), now
    )
    ended = Delivery.objects.exclude(state=DeliveryState.WAITING)
    old = ended.filter(ended_at__lt=now - timedelta(days=KEPT_DAYS)).order_by("id")
    count = _delete(old, 0)
    for webhook in Webhook.objects.all():
        count += _delete(ended.filter(webhook=webhook).order_by("-id"), PER_WEBHOOK)
    return count


def give_up_waiting(waiting: QuerySet[Delivery], now: datetime) -> None:
    """Give up what waited too long for a webhook that was disabled."""
    waiting.filter(created_at__lt=now - retries.KEPT_WHILE_DISABLED).update(
        state=DeliveryState.GIVEN_UP, ended_at=now, problem="The webhook was disabled."
    )


def _delete(rows: QuerySet[Delivery], kept: int) -> int:
    """Delete all but the first of these."""
    count = 0
    for _ in range(ROUNDS):
        keys = list(rows.values_list("pk", flat=True)[kept : kept + DELETED_AT_ONCE])
        # One of them may have been sent again since.
        ended = Delivery.objects.filter(pk__in=keys).exclude(state=DeliveryState.WAITING)
        count += ended.delete()[1].get(Delivery._meta.label, 0)
        if len(keys) < DELETED_AT_ONCE:
            break
    return count
