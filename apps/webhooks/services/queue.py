"""Queue for each webhook the events that it wants, in their order, each once."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from apps.audit.models import Event
from apps.systems.models import System
from apps.webhooks.domain.event_types import is_wanted, type_of
from apps.webhooks.models import KEPT_DAYS, PER_WEBHOOK, Delivery, DeliveryState, Webhook
from apps.webhooks.selectors.bodies import body_of, subject_of

AT_ONCE = 500
"""Events that one call looks at for one webhook."""

DELETED_AT_ONCE = 5_000


def last_event() -> int:
    """Return the number of the newest event; 0: there is none."""
    return Event.objects.aggregate(last=Max("number"))["last"] or 0


def deliveries_queue() -> int:
    """Queue what webhooks have not looked at yet. Returns how many deliveries were made."""
    last = last_event()
    behind = Webhook.objects.filter(enabled=True, read_to__lt=last).values_list("pk", flat=True)
    return sum(_queue(pk) for pk in behind)


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
    chosen = set(webhook.systems.values_list("public_id", flat=True))
    wanted = [
        event
        for event in events
        if (webhook.all_systems or event.entry.system_id in chosen)
        and is_wanted(type_of(event.entry.object_kind, event.entry.action), webhook.types)
    ]
    ids = {one.entry.system_id for one in wanted if one.entry.system_id is not None}
    systems = {one.public_id: one for one in System.objects.filter(public_id__in=ids)}
    Delivery.objects.bulk_create(
        Delivery(
            webhook=webhook,
            entry=event.entry,
            type=type_of(event.entry.object_kind, event.entry.action),
            subject=subject_of(event.entry),
            body=body_of(event, systems),
        )
        for event in wanted
    )
    webhook.read_to = events[-1].number
    webhook.save(update_fields=["read_to"])
    return len(wanted)


def deliveries_tidy() -> int:
    """Delete deliveries that have ended long ago, or of which there are too many."""
    ended = Delivery.objects.exclude(state=DeliveryState.WAITING)
    old = ended.filter(ended_at__lt=timezone.now() - timedelta(days=KEPT_DAYS))
    count = _delete(list(old.values_list("pk", flat=True)[:DELETED_AT_ONCE]))
    for webhook in Webhook.objects.all():
        surplus = ended.filter(webhook=webhook).order_by("-id").values_list("pk", flat=True)
        count += _delete(list(surplus[PER_WEBHOOK : PER_WEBHOOK + DELETED_AT_ONCE]))
    return count


def _delete(keys: list[int]) -> int:
    return Delivery.objects.filter(pk__in=keys).delete()[0] if keys else 0
