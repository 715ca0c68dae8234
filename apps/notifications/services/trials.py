"""Test channels of chats. What becomes of a test is kept apart from what becomes of other messages:
whoever asked for it wants to know of this one."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.notifications.models import Channel, Message, TrialOutcome
from apps.notifications.services.recipients import ChatChannel

OUTCOME = ("test_outcome", "test_asked_at", "test_ended_at", "test_problem")
DISABLED = "The channel was disabled before the test was posted."
EDITED = "The channel was edited while the test was posted. Send another one."


@transaction.atomic
def channel_test(*, channel: Channel, actor: User) -> Channel:
    """Write a message that only shows that the channel works; a worker posts it at once. While one
    waits it is that one. Raises Conflict while the channel is disabled."""
    row = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
    if row is None:
        raise Conflict("channel_disabled", f"{channel} was deleted meanwhile.")
    if not row.enabled:
        raise Conflict("channel_disabled", f"{row} is disabled; enable it first.")
    unsent = Message.objects.filter(channel=row, is_test=True, sent_at=None, given_up_at=None)
    message = unsent.first()
    if message is None:
        message = ChatChannel(row).test(actor.display_name, timezone.now())
        message.save()
    _set(row, TrialOutcome.WAITING, message.created_at)
    row.save(update_fields=[*OUTCOME, "updated_at"])
    return row


def trial_end(row: Channel, message: Message, outcome: TrialOutcome, problem: str = "") -> None:
    """Note what came of a test at its channel, which is locked. An edit need not have seen it: the
    version stays."""
    _set(row, outcome, message.created_at, timezone.now(), problem)
    row.save(update_fields=[*OUTCOME, "updated_at"])


def trial_follows_edit(row: Channel) -> None:
    """Let a test follow its channel, which has another credential or shape, or is disabled or
    enabled; unsaved. What came of one before says nothing of what the channel is now."""
    if row.test_outcome != TrialOutcome.WAITING:
        _set(row, TrialOutcome.NONE)
    elif not row.enabled:
        _set(row, TrialOutcome.FAILED, row.test_asked_at, timezone.now(), DISABLED)


def _set(
    row: Channel,
    outcome: TrialOutcome,
    asked_at: datetime | None = None,
    ended_at: datetime | None = None,
    problem: str = "",
) -> None:
    row.test_outcome, row.test_problem = outcome, problem
    row.test_asked_at, row.test_ended_at = asked_at, ended_at
