"""Create, change and delete webhooks and rotate their secrets, each with an audit entry; and send
what somebody waits for."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import events_number, record
from apps.common.api.fields import instant
from apps.common.editing import check_name_free, lock_version
from apps.common.errors import ApplicationError, Conflict
from apps.common.events import publish
from apps.common.outgoing.addresses import check_address
from apps.systems.models import System
from apps.webhooks.domain import retries
from apps.webhooks.domain.event_types import MOST, TEST, check_patterns
from apps.webhooks.domain.signing import fingerprint, secret_of
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.selectors.bodies import sample_body
from apps.webhooks.services.queue import give_up_waiting, last_event
from weir.errors import InvalidProblem
from weir.lifecycle.deliveries import DELIVERIES, DeliveryCommand, DeliveryState

FIELDS = ("name", "description", "types", "all_systems", "enabled")
"""What the history shows of a webhook; its address may hold a secret and is shown as its server."""


@transaction.atomic
def webhook_create(
    *, actor: User, values: Mapping[str, Any], reason: str = ""
) -> tuple[Webhook, str]:
    """Add a webhook, which hears of what happens from now on. Returns it and its secret."""
    given = dict(values)
    systems = given.pop("systems", [])
    row = Webhook(**given, read_to=_now())
    secret = secret_of(settings.SECRET_KEY, row.public_id, row.generation)
    row.fingerprint = fingerprint(secret)
    _save(row, systems, True)
    _record(row, "create", actor, after=_plain(row), reason=reason)
    return row, secret


@transaction.atomic
def webhook_update(
    *,
    webhook: Webhook,
    actor: User,
    expected_version: int,
    values: Mapping[str, Any],
    reason: str = "",
) -> Webhook:
    """Change the given members. With another address what waits is tried again at once.

    A webhook that is enabled again hears of what happens from then on; of what waited, only what
    is younger than three days is sent.
    """
    row = lock_version(webhook, expected_version)
    given, before = dict(values), _plain(row)
    systems, was_enabled, old_address = given.pop("systems", None), row.enabled, row.address
    for name, value in given.items():
        setattr(row, name, value)
    row.version += 1
    row.failures, row.problem, row.retry_at, row.failing_since = 0, "", None, None
    now = timezone.now()
    waiting = Delivery.objects.filter(webhook=row, state=DeliveryState.WAITING)
    if row.enabled and not was_enabled:
        row.disabled_because, row.read_to = "", _now()
        give_up_waiting(waiting, now)
    elif was_enabled and not row.enabled:
        row.disabled_because = f"{actor.display_name} disabled it."
    _save(row, systems, "all_systems" in given)
    if (row.address, row.enabled) != (old_address, was_enabled):
        waiting.update(next_at=now)
    after = _plain(row)
    if row.address != old_address and before["server"] == after["server"]:
        # The path may be a secret; that it is another one is none.
        before["path"], after["path"] = "the one before", "another"
    moved = [name for name in after if after[name] != before[name]]
    _record(
        row,
        "update",
        actor,
        before={name: before[name] for name in moved},
        after={name: after[name] for name in moved},
        reason=reason,
    )
    return row


@transaction.atomic
def webhook_delete(
    *, webhook: Webhook, actor: User, expected_version: int, reason: str = ""
) -> None:
    """Delete a webhook with all its deliveries, also those that wait."""
    row = lock_version(webhook, expected_version)
    _record(row, "delete", actor, before=_plain(row), reason=reason)
    row.delete()


@transaction.atomic
def secret_rotate(
    *,
    webhook: Webhook,
    actor: User,
    expected_version: int,
    keep_previous: timedelta,
    reason: str = "",
) -> tuple[Webhook, str]:
    """Make a new secret, and sign with the one before as well for a while. Returns the new one.

    The one before that stops at once: two secrets sign at most.
    """
    row = lock_version(webhook, expected_version)
    row.generation += 1
    row.version += 1
    row.previous_until = timezone.now() + keep_previous if keep_previous else None
    secret = secret_of(settings.SECRET_KEY, row.public_id, row.generation)
    before, row.fingerprint = row.fingerprint, fingerprint(secret)
    row.problem, row.retry_at = "", None
    row.save()
    _record(
        row,
        "rotate_secret",
        actor,
        before={"fingerprint": before},
        after={"fingerprint": row.fingerprint, "previous_until": instant(row.previous_until)},
        reason=reason,
    )
    return row, secret


def webhook_disable(webhook: Webhook, because: str) -> None:
    """Disable a locked webhook by itself, and say why in the history."""
    webhook.enabled, webhook.disabled_because = False, because
    webhook.version += 1
    webhook.save(update_fields=["enabled", "disabled_because", "version", "updated_at"])
    record(
        actor=None,
        action="disable",
        object_kind="webhook",
        object_id=webhook.public_id,
        object_name=webhook.name,
        before={"enabled": True},
        after={"enabled": False},
        reason=because[:500],
    )


@transaction.atomic
def webhook_test(*, webhook: Webhook, actor: User) -> Delivery:
    """Queue an event that only shows that the address works. Raises Conflict while disabled."""
    row = Webhook.objects.select_for_update().get(pk=webhook.pk)
    if not row.enabled:
        raise Conflict("webhook_disabled", f"{row} is disabled; enable it first.")
    subject = f"webhook/{row.public_id}"
    delivery = Delivery(webhook=row, type=TEST, subject=subject, urgent=True)
    at = instant(timezone.now())
    assert at is not None
    delivery.body = sample_body(row, delivery.public_id, at, actor.display_name)
    delivery.save()
    publish("webhook", id=row.public_id)
    return delivery


@transaction.atomic
def delivery_repeat(*, delivery: Delivery) -> Delivery:
    """Send a delivery that has ended, or waits for its next attempt, at once, as the same message.

    Raises Conflict while its webhook is disabled.
    """
    webhook = Webhook.objects.select_for_update().get(pk=delivery.webhook_id)
    if not webhook.enabled:
        raise Conflict("webhook_disabled", f"{webhook} is disabled; enable it first.")
    row = Delivery.objects.select_for_update().select_related("webhook").get(pk=delivery.pk)
    row.state = DELIVERIES.advance(DeliveryState(row.state), DeliveryCommand.REPEAT)
    row.ended_at, row.next_at = None, timezone.now()
    row.urgent = True
    if row.attempts > len(retries.PAUSES_S):
        row.attempts = 0
    row.save(update_fields=["state", "ended_at", "next_at", "urgent", "attempts", "updated_at"])
    publish("webhook", id=webhook.public_id)
    return row


def _now() -> int:
    """Return the number of the last event so far, those included that have had none yet."""
    events_number(wait=True)
    return last_event()


def _save(row: Webhook, systems: Sequence[System] | None, scope_given: bool) -> None:
    if not row.types or len(row.types) > MOST:
        raise ApplicationError.of_field("types", f"Name one to {MOST} types of events.")
    try:
        check_patterns(row.types)
        check_address(row.address, plain_http=settings.WEIR_PLAIN_HTTP, may_query=True)
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error
    check_name_free(row)
    row.save()
    if systems is not None:
        row.systems.set(systems)
    # The systems that were chosen may have been deleted; that is no error of who edits the rest.
    if (scope_given or systems is not None) and not row.all_systems and not row.systems.exists():
        raise ApplicationError.of_field("systems", "Choose systems, or let `all_systems` be true.")


def _plain(row: Webhook) -> dict[str, Any]:
    names = row.systems.order_by("name").values_list("name", flat=True) if row.pk else []
    return {
        **{name: getattr(row, name) for name in FIELDS},
        "server": server_shown(row.address),
        "systems": list(names),
    }


def server_shown(address: str) -> str:
    """Return what everybody may see of an address: the path of a chat's webhook is a secret."""
    scheme, _, rest = address.partition("://")
    host, slash, _ = rest.partition("/")
    return f"{scheme}://{host.partition('?')[0]}" + ("/…" if slash or "?" in host else "")


def _record(row: Webhook, action: str, actor: User, **values: Any) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="webhook",
        object_id=row.public_id,
        object_name=row.name,
        **values,
    )
    publish("webhook", id=row.public_id)
