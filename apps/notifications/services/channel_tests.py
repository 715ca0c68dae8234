"""Test channels of chats. What becomes of a test is kept apart from what becomes of other messages:
whoever asked for it wants to know of this one."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.notifications.models import Channel, ChannelTestOutcome, Message
from apps.notifications.services.recipients import ChatChannel

TEST_FIELDS = ("test_outcome", "test_asked_at", "test_ended_at", "test_problem")
DISABLED = "The channel was disabled before the outcome was known."
EDITED = "The channel was edited meanwhile. Send another test."


@transaction.atomic
def channel_test(*, channel: Channel, actor: User) -> Channel:
    """Write a message that only shows that the channel works; a worker posts it at once. While one
    waits it is that one. Raises Conflict while the channel is disabled."""
    row = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
    if row is None:
        raise Conflict("channel_disabled", f"{channel} was deleted meanwhile.")
    if not row.enabled:
        raise Conflict("channel_disabled", f"{row} is disabled; enable it first.")
    now = timezone.now()
    message = _unsent(row).first()
    if message is not None and message.attempts and message.next_at <= now:
        # Whoever posted it is long dead.
        _unsent(row).update(given_up_at=now)
        message = None
    if message is None:
        message = ChatChannel(row).test(actor.display_name, now)
        message.save()
    _set(row, ChannelTestOutcome.WAITING, message.created_at)
    row.save(update_fields=[*TEST_FIELDS, "updated_at"])
    return row


def channel_test_end(
    row: Channel, message: Message, outcome: ChannelTestOutcome, problem: str = ""
) -> None:
    """Note what came of a test at its channel, which is locked. An edit need not have seen it: the
    version stays."""
    _set(row, outcome, message.created_at, timezone.now(), problem)
    row.save(update_fields=[*TEST_FIELDS, "updated_at"])


def channel_test_follows_edit(row: Channel, *, is_reshaped: bool) -> None:
    """Let a test follow its channel, which has another credential or shape, or is disabled or
    enabled; unsaved. What came of one before says nothing of what the channel is now."""
    now = timezone.now()
    if row.test_outcome != ChannelTestOutcome.WAITING or not _unsent(row).exists():
        _set(row, ChannelTestOutcome.NONE)
    elif not row.enabled:
        _set(row, ChannelTestOutcome.FAILED, row.test_asked_at, now, DISABLED)
    elif is_reshaped:
        # It is written for the chat that the channel was of.
        _unsent(row).update(given_up_at=now)
        _set(row, ChannelTestOutcome.FAILED, row.test_asked_at, now, EDITED)


def _unsent(row: Channel) -> QuerySet[Message]:
    return Message.objects.filter(channel=row, is_test=True, sent_at=None, given_up_at=None)


def _set(
    row: Channel,
    outcome: ChannelTestOutcome,
    asked_at: datetime | None = None,
    ended_at: datetime | None = None,
    problem: str = "",
) -> None:
    row.test_outcome, row.test_problem = outcome, problem
    row.test_asked_at, row.test_ended_at = asked_at, ended_at
