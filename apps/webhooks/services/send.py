"""Send deliveries that are due, one worker for each webhook.

What was sent may be sent again: a worker that is killed, or whose answer is lost, leaves the
delivery waiting. It is the same message then, with the same id, and receivers know it by that.
"""

import itertools
import logging
import time
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.common.events import publish
from apps.common.outgoing.posting import Answer, post
from apps.common.tasks_by_name import enqueue
from apps.webhooks.domain import retries
from apps.webhooks.domain.signing import fingerprint, secret_of, signatures
from apps.webhooks.models import Attempt, Delivery, Webhook
from apps.webhooks.selectors.bodies import CONTENT_TYPE
from apps.webhooks.services.webhooks import webhook_disable
from weir.lifecycle.deliveries import DeliveryState

logger = logging.getLogger(__name__)
CLAIM = timedelta(seconds=60)
"""How long a worker that died keeps others from its webhook. One attempt takes 15 s at most."""

LONGEST_S = 20.0
"""How long one call sends before other webhooks have their turn."""

AT_ONCE = 2
"""Webhooks that are sent to at a time: the worker has other things to do as well."""

OLDEST_EVERY = 4
"""One in so many is what failed longest ago, so that no stream of new events holds it up."""

OTHER_KEY = "The secret key of this installation is another one now. Make a new secret."
DIED = "A worker ended during each attempt."
USER_AGENT = "Weir"
GONE = 410


def webhooks_hand_out() -> list[str]:
    """Start workers for webhooks with something due: a few at a time, the longest waiting first."""
    now = timezone.now()
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    room = AT_ONCE - Webhook.objects.exclude(is_free).count()
    if room <= 0:
        return []
    rests = Q(retry_at__gt=now)
    due = Webhook.objects.filter(
        is_free, (~rests & Exists(_due(now))) | Exists(_due(now).filter(urgent=True)), enabled=True
    ).order_by(F("worked_at").asc(nulls_first=True), "pk")
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
        for turn in itertools.count(1):
            delivery = _next(webhook, oldest=turn % OLDEST_EVERY == 0)
            if delivery is None or time.monotonic() > until or not _renew(webhook, token):
                break
            taken += _attempt(webhook, delivery)
            latest = Webhook.objects.filter(pk=webhook.pk, enabled=True).first()
            if latest is None:
                break
            webhook = latest
    finally:
        Webhook.objects.filter(public_id=public_id, claimed_by=token).update(
            claimed_by=None, claimed_until=None, worked_at=timezone.now()
        )
    return taken


@transaction.atomic
def _claim(public_id: uuid.UUID, token: uuid.UUID) -> Webhook | None:
    now = timezone.now()
    # Claims are made one after the other, so that the count is certain.
    rows = list(Webhook.objects.select_for_update(no_key=True).order_by("pk"))
    taken = [row for row in rows if row.claimed_until is not None and row.claimed_until > now]
    row = next((row for row in rows if row.public_id == public_id), None)
    if row is None or row in taken or len(taken) >= AT_ONCE or not row.enabled:
        return None
    secret = secret_of(settings.SECRET_KEY, row.public_id, row.generation)
    if fingerprint(secret) != row.fingerprint:
        row.problem, row.retry_at = OTHER_KEY, now + retries.LONGEST_REST
        row.save(update_fields=["problem", "retry_at", "updated_at"])
        return None
    row.claimed_by, row.claimed_until = token, now + CLAIM
    row.save(update_fields=["claimed_by", "claimed_until"])
    return row


def _renew(webhook: Webhook, token: uuid.UUID) -> bool:
    """Go on holding the claim; False: the webhook was edited, disabled or taken over."""
    held = Webhook.objects.filter(
        pk=webhook.pk, claimed_by=token, enabled=True, version=webhook.version
    )
    return bool(held.update(claimed_until=timezone.now() + CLAIM))


def _next(webhook: Webhook, *, oldest: bool) -> Delivery | None:
    """Return what is sent next; with `oldest`, what failed and is due longest goes before."""
    now = timezone.now()
    rows = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING, next_at__lte=now)
    urgent = rows.filter(urgent=True).order_by("id").first()
    if urgent is not None or (webhook.retry_at is not None and webhook.retry_at > now):
        return urgent
    if oldest:
        failed = rows.filter(attempts__gt=0).order_by("next_at", "id").first()
        if failed is not None:
            return failed
    # What waits for its first attempt is in the order of events; what failed before comes after
    # it, so that an old failure holds nothing new up.
    return rows.order_by("-urgent", "attempts", "id").first()


def _attempt(webhook: Webhook, delivery: Delivery) -> bool:
    """Send a delivery once and note what came of it."""
    at = timezone.now()
    attempts = delivery.attempts + 1
    if attempts > retries.MOST_ATTEMPTS:
        Delivery.objects.filter(pk=delivery.pk).update(
            state=DeliveryState.GIVEN_UP, ended_at=at, urgent=False, problem=DIED
        )
        return False
    # Counted before it is sent: workers that die over it come to an end. Another one tries it
    # again as soon as it may take the webhook over.
    Delivery.objects.filter(pk=delivery.pk).update(attempts=attempts, next_at=at + CLAIM)
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
    _note(webhook, delivery, attempts, answer, at)
    publish("webhook", id=webhook.public_id)
    return answer.taken


def secrets_of(webhook: Webhook) -> list[str]:
    """Return the secrets that sign now, newest first."""
    generations = [webhook.generation]
    if webhook.previous_until is not None and webhook.previous_until > timezone.now():
        generations.append(webhook.generation - 1)
    key = settings.SECRET_KEY
    return [secret_of(key, webhook.public_id, generation) for generation in generations]


@transaction.atomic
def _note(
    webhook: Webhook, delivery: Delivery, attempts: int, answer: Answer, at: datetime
) -> None:
    """Note what came of an attempt, at the delivery and at its webhook."""
    now = timezone.now()
    row = Webhook.objects.select_for_update().filter(pk=webhook.pk).first()
    if row is None:
        return  # it was deleted meanwhile, with all its deliveries
    Attempt.objects.create(
        delivery=delivery,
        at=at,
        status=answer.status,
        response=answer.response,
        failure=answer.failure,
        seconds=answer.seconds,
    )
    waiting = Delivery.objects.filter(webhook=row, state=DeliveryState.WAITING)
    this = waiting.filter(pk=delivery.pk)
    if answer.taken:
        this.update(state=DeliveryState.DELIVERED, ended_at=now, urgent=False, problem="")
        row.failures, row.failing_since, row.problem, row.retry_at = 0, None, "", None
        row.answered_at = now
        row.save(
            update_fields=[
                *("failures", "failing_since", "problem", "retry_at", "answered_at"),
                "updated_at",
            ]
        )
        return
    wait = retries.next_attempt(attempts, answer.retry_after_s)
    ended = {"state": DeliveryState.GIVEN_UP, "ended_at": now}
    outcome = ended if wait is None else {"next_at": now + wait}
    if (row.version, row.claimed_by) != (webhook.version, webhook.claimed_by):
        # It was sent to what was edited since: that says nothing about what it is now.
        this.update(problem=answer.failure, urgent=False)
        return
    this.update(problem=answer.failure, urgent=False, **outcome)
    row.failures += 1
    row.failing_since = row.failing_since or now
    row.problem = answer.failure
    if row.failures >= retries.FAILING:
        row.retry_at = now + retries.rest(row.failures)
    if answer.retry_after_s is not None:
        row.retry_at = max(row.retry_at or now, now + retries.wished(answer.retry_after_s))
    if answer.status == GONE:
        webhook_disable(row, "It answers 410: nobody wants these events any more.")
    elif now - row.failing_since > retries.GIVEN_UP_AFTER:
        days = retries.GIVEN_UP_AFTER.days
        webhook_disable(row, f"Nothing has been taken for {days} days. {row.problem}")
    elif wait is None and not waiting.exists():
        # Silence is no failure: what comes after it has its own time.
        row.failing_since = None
    row.save(update_fields=["failures", "failing_since", "problem", "retry_at", "updated_at"])
