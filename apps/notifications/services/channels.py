"""Add, change and delete channels of chats, each change with an audit entry."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.editing import check_name_free, lock_version
from apps.common.errors import ApplicationError
from apps.common.outgoing.credentials import check_reference
from apps.notifications.models import Channel, Message, Notice
from apps.notifications.services.channel_tests import channel_test_follows_edit
from apps.notifications.services.choices import choice_change, due_times_follow
from apps.systems.models import System
from weir.errors import InvalidProblem

FIELDS = (
    *("name", "shape", "all_systems", "enabled", "kinds", "timezone"),
    *("digest_at", "quiet_from", "quiet_until"),
)
"""What the history shows of a channel, beside its systems."""

ANEW = ("credential", "shape", "enabled")
"""With another one of these, what was not taken is due again."""

REMEMBERED = timedelta(days=1)
"""How long what was given up is due again once the channel is corrected."""


@transaction.atomic
def channel_create(*, actor: User, values: Mapping[str, Any], reason: str = "") -> Channel:
    """Add a channel. Raises ApplicationError naming the field, Conflict for a name that is
    taken."""
    given = dict(values)
    systems = given.pop("systems", [])
    row = Channel()
    choice_change(row, given)
    _save(row, systems, True)
    _record(row, "create", actor, after=_plain(row), reason=reason)
    return row


@transaction.atomic
def channel_update(
    *,
    channel: Channel,
    actor: User,
    expected_version: int,
    values: Mapping[str, Any],
    reason: str = "",
) -> Channel:
    """Change the given members. What waits goes by the new times.

    With another credential or shape, and when it is disabled or enabled again, nothing of what was
    not taken is kept: what stands then is new to the channel, and comes in one message.
    """
    row = lock_version(channel, expected_version, shared=True)
    given, before = dict(values), _plain(row)
    systems, old = given.pop("systems", None), {name: getattr(row, name) for name in ANEW}
    moves_times = choice_change(row, given)
    row.version += 1
    is_anew = any(getattr(row, name) != value for name, value in old.items())
    if is_anew:
        row.problem, row.failures, row.failing_since, row.retry_at = "", 0, None, None
        channel_test_follows_edit(row, is_reshaped=row.shape != old["shape"])
    _save(row, systems, "all_systems" in given)
    if is_anew:
        _forget(row)
    elif moves_times:
        due_times_follow({"channel": row}, row.rhythm, timezone.now())
    after = _plain(row)
    if row.credential != old["credential"]:
        # Where it is only administrators see; that it is elsewhere everybody may.
        before["credential"], after["credential"] = "the one before", "another"
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
def channel_delete(
    *, channel: Channel, actor: User, expected_version: int, reason: str = ""
) -> None:
    """Delete a channel with all that waits for it."""
    # Also against notices that are written for it this moment.
    row = lock_version(channel, expected_version)
    _record(row, "delete", actor, before=_plain(row), reason=reason)
    row.delete()


def _forget(row: Channel) -> None:
    """Give up what waits for a channel, and forget that it was to be told of that, and of what was
    given up not long ago: what stands is new to it, and noted in one pass."""
    now = timezone.now()
    unsent = Message.objects.filter(channel=row, sent_at=None, given_up_at=None)
    # Somebody waits for a test; while the channel is disabled nothing is sent.
    (unsent.filter(is_test=False) if row.enabled else unsent).update(given_up_at=now)
    not_long_ago = Message.objects.filter(channel=row, given_up_at__gt=now - REMEMBERED)
    not_long_ago.filter(is_missed=True).update(is_missed=False)
    not_taken = Q(message=None) | Q(message__given_up_at__gt=now - REMEMBERED)
    Notice.objects.filter(not_taken, channel=row, over_at=None).update(over_at=now)


def _save(row: Channel, systems: Sequence[System] | None, scope_given: bool) -> None:
    try:
        check_reference(
            row.credential,
            prefix=settings.WEIR_CREDENTIAL_PREFIX,
            folder=settings.WEIR_CREDENTIALS_DIR,
        )
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error
    check_name_free(row)
    row.save()
    if systems is not None:
        row.systems.set(systems)
    # The systems that were chosen may have been deleted; that is no error of who edits the rest.
    if (scope_given or systems is not None) and not row.all_systems and not row.systems.exists():
        raise ApplicationError.of_field("systems", "Choose systems, or let `all_systems` be true.")


def _plain(row: Channel) -> dict[str, Any]:
    names = row.systems.order_by("name").values_list("name", flat=True) if row.pk else []
    return {**{name: getattr(row, name) for name in FIELDS}, "systems": list(names)}


def _record(row: Channel, action: str, actor: User, **values: Any) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="channel",
        object_id=row.public_id,
        object_name=row.name,
        **values,
    )
