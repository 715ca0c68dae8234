"""Send deliveries that are due, one worker for each webhook.

What was sent may be sent again: a worker that is killed, or whose answer is lost, leaves the
delivery waiting. It is the same message then, with the same id, and receivers know it by that.
"""

import logging
import time
import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.common.events import publish
from apps.common.tasks_by_name import enqueue
from apps.webhooks.domain import retries
from apps.webhooks.domain.signing import secret_of, signatures
from apps.webhooks.models import Attempt, Delivery, DeliveryState, Webhook
from apps.webhooks.selectors.bodies import CONTENT_TYPE
from apps.webhooks.services.posting import Answer, post
from apps.webhooks.services.webhooks import webhook_disable

logger = logging.getLogger(__name__)
CLAIM = timedelta(seconds=60)
"""How long a worker that died keeps others from its webhook. One attempt takes 15 s at most."""

LONGEST_S = 20.0
"""How long one call sends before other webhooks have their turn."""

AT_ONCE = 4
"""Webhooks that are sent to at a time."""

USER_AGENT = "Weir"
GONE = 410


def webhooks_hand_out() -> list[str]:
    """Start workers for webhooks with something due: a few at a time, the longest waiting first."""
    now = timezone.now()
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    room = AT_ONCE - Webhook.objects.exclude(is_free).count()
    if room <= 0:
        return []
    due = Webhook.objects.filter(
        is_free, Q(retry_at=None) | Q(retry_at__lte=now), Exists(_due(now)), enabled=True
    ).order_by("updated_at")
    handed = [str(public_id) for public_id in due.values_list("public_id", flat=True)[:room]]
    for public_id in handed:
        enqueue("webhooks.send", webhook=public_id)
    return handed


def _due(now: object) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        webhook=OuterRef("pk"), state=DeliveryState.WAITING, next_at__lte=now
    )


def webhook_send(public_id: uuid.UUID) -> int:
    """Send what is due to one webhook, in order. Returns how many deliveries were taken."""
    token = uuid.uuid4()
    webhook = _claim(public_id, token)
    if webhook is None:
        return 0
    taken, until = 0, time.monotonic() + LONGEST_S
    try:
        while time.monotonic() < until:
            delivery = _next(webhook)
            if delivery is None or not _renew(webhook, token):
                break
            taken += _attempt(webhook, delivery)
            webhook.refresh_from_db()
            if webhook.retry_at is not None or not webhook.enabled:
                break
    finally:
        Webhook.objects.filter(public_id=public_id, claimed_by=token).update(
            claimed_by=None, claimed_until=None, updated_at=timezone.now()
        )
    return taken


@transaction.atomic
def _claim(public_id: uuid.UUID, token: uuid.UUID) -> Webhook | None:
    now = timezone.now()
    row = Webhook.objects.select_for_update().filter(public_id=public_id, enabled=True).first()
    if row is None or (row.claimed_until is not None and row.claimed_until > now):
        return None
    if row.retry_at is not None and row.retry_at > now:
        return None
    row.claimed_by, row.claimed_until = token, now + CLAIM
    row.retry_at = None
    row.save(update_fields=["claimed_by", "claimed_until", "retry_at"])
    return row


def _renew(webhook: Webhook, token: uuid.UUID) -> bool:
    """Go on holding the claim; False: the webhook was edited, disabled or taken over."""
    held = Webhook.objects.filter(
        pk=webhook.pk, claimed_by=token, enabled=True, version=webhook.version
    )
    return bool(held.update(claimed_until=timezone.now() + CLAIM))


def _next(webhook: Webhook) -> Delivery | None:
    rows = Delivery.objects.filter(
        webhook=webhook, state=DeliveryState.WAITING, next_at__lte=timezone.now()
    )
    # What waits for its first attempt is in the order of events; what failed before comes after
    # it, so that an old failure holds nothing new up.
    return rows.order_by("attempts", "id").first()


def _attempt(webhook: Webhook, delivery: Delivery) -> bool:
    """Send a delivery once and note what came of it."""
    at = timezone.now()
    attempts = delivery.attempts + 1
    # Counted before it is sent: a worker that dies over it again and again comes to an end.
    following = retries.next_attempt(attempts)
    Delivery.objects.filter(pk=delivery.pk).update(
        attempts=attempts, next_at=at + (following or retries.LONGEST_WAIT)
    )
    body = delivery.body.encode()
    number = int(at.timestamp())
    answer = post(
        webhook.address,
        body,
        {
            "Content-Type": CONTENT_TYPE,
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
            "webhook-id": str(delivery.public_id),
            "webhook-timestamp": str(number),
            "webhook-signature": signatures(
                secrets_of(webhook), str(delivery.public_id), number, body
            ),
        },
    )
    with transaction.atomic():
        Attempt.objects.create(
            delivery=delivery,
            at=at,
            status=answer.status,
            response=answer.response,
            failure=answer.failure,
            seconds=answer.seconds,
        )
        _note(webhook, delivery, attempts, answer)
    publish("webhook", id=webhook.public_id)
    return answer.taken


def secrets_of(webhook: Webhook) -> list[str]:
    """Return the secrets that sign now, newest first."""
    generations = [webhook.generation]
    if webhook.previous_until is not None and webhook.previous_until > timezone.now():
        generations.append(webhook.generation - 1)
    key = settings.SECRET_KEY
    return [secret_of(key, webhook.public_id, generation) for generation in generations]


def _note(webhook: Webhook, delivery: Delivery, attempts: int, answer: Answer) -> None:
    """Note what came of an attempt, at the delivery and at its webhook."""
    now = timezone.now()
    row = Webhook.objects.select_for_update().get(pk=webhook.pk)
    if answer.taken:
        Delivery.objects.filter(pk=delivery.pk).update(
            state=DeliveryState.DELIVERED, ended_at=now, problem=""
        )
        row.failures, row.failing_since, row.problem, row.retry_at = 0, None, "", None
        row.answered_at = now
    else:
        wait = retries.next_attempt(attempts, answer.retry_after_s)
        if wait is None:
            outcome = {"state": DeliveryState.GIVEN_UP, "ended_at": now}
        else:
            outcome = {"next_at": now + wait}
        Delivery.objects.filter(pk=delivery.pk).update(problem=answer.failure, **outcome)
        row.failures += 1
        row.failing_since = row.failing_since or now
        row.problem = answer.failure
        if row.failures >= retries.FAILING:
            row.retry_at = now + retries.rest(row.failures)
        if answer.retry_after_s is not None:
            row.retry_at = max(row.retry_at or now, now + retries.wished(answer.retry_after_s))
    row.save(update_fields=["failures", "failing_since", "problem", "retry_at", "answered_at"])
    if answer.status == GONE:
        webhook_disable(row, "It answers 410: nobody wants these events any more.")
    elif row.failing_since is not None and now - row.failing_since > retries.GIVEN_UP_AFTER:
        days = retries.GIVEN_UP_AFTER.days
        webhook_disable(row, f"Nothing was taken for {days} days. {row.problem}")
