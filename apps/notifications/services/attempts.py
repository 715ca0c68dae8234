"""Begin an attempt at a message, and note what came of it.

Each attempt sends the same. What is no longer true by then, or no longer wanted, is not sent: what
still stands comes in another message.
"""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.notifications.domain.timing import due_at, is_quiet
from apps.notifications.models import Channel, Message, Notice
from apps.notifications.services.recipients import Recipient, recipient_locked

PAUSES_S = (60.0, 300.0, 900.0, 3600.0)
"""How long after a failure it is tried again; the last one from then on."""

GIVEN_UP_AFTER = timedelta(hours=24)
"""After its first attempt. What still waits is in the inbox."""


def pause_after(failures: int) -> timedelta:
    """Return how long to wait after so many failures in a row."""
    return timedelta(seconds=PAUSES_S[min(failures, len(PAUSES_S)) - 1])


@transaction.atomic
def attempt_begin(message: Message) -> Recipient | None:
    """Count an attempt at a message. Returns whom it is for; None: it is not sent now.

    It is counted before it is made: what ends the worker each time is not tried for ever.
    """
    now = timezone.now()
    recipient = recipient_locked(message.person_id, message.channel_id)
    unsent = Message.objects.filter(pk=message.pk, sent_at=None, given_up_at=None)
    row = unsent.select_for_update().first()
    if recipient is None or row is None:
        return None
    if not row.is_test and not _may_be_sent(row, recipient, now):
        return None
    row.attempts += 1
    row.next_at = now + pause_after(row.attempts)
    row.failing_since = row.failing_since or now
    row.save(update_fields=["attempts", "next_at", "failing_since"])
    message.attempts = row.attempts
    return recipient


def attempt_end(
    message: Message, problem: str, *, is_final: bool = False, wait: timedelta | None = None
) -> bool:
    """Note what came of an attempt: why it was not taken, empty where it was. Returns False where
    the message was given up meanwhile, or deleted with its recipient; that stays so."""
    now = timezone.now()
    outcome: dict[str, object] = {"problem": problem}
    if not problem:
        outcome |= {"sent_at": now, "failing_since": None}
    elif is_final:
        outcome |= {"given_up_at": now, "is_missed": _is_missed(message)}
    else:
        outcome |= {"next_at": now + (wait or pause_after(message.attempts))}
    unsent = Message.objects.filter(pk=message.pk, sent_at=None, given_up_at=None)
    return bool(unsent.update(**outcome))


def _may_be_sent(message: Message, recipient: Recipient, now: datetime) -> bool:
    if is_quiet(recipient.rhythm, now):
        message.next_at = due_at(recipient.rhythm, now)
        message.save(update_fields=["next_at"])
        return False
    if _take_back(message, recipient, now):
        return False
    if message.failing_since is not None and now - message.failing_since > GIVEN_UP_AFTER:
        message.given_up_at, message.is_missed = now, _is_missed(message)
        message.save(update_fields=["given_up_at", "is_missed"])
        # It shows how many it missed.
        Channel.objects.filter(messages=message).update(updated_at=now)
        return False
    return True


def _is_missed(message: Message) -> bool:
    """Return whether a message that is given up untaken is counted: a channel hears later how many
    it missed. People have their inbox, and a test has an outcome of its own."""
    return message.channel_id is not None and not message.is_test


def _take_back(message: Message, recipient: Recipient, now: datetime) -> bool:
    """Give a message up of which something is over or no longer wanted, or that was written to
    another address. What still stands is due again, in another message."""
    wanted = recipient.wanted(now)
    notices = list(message.notices.values_list("pk", "item"))
    if {item for _, item in notices} <= wanted and recipient.takes(message):
        return False
    # Some may be due again already: they got worse meanwhile.
    waiting = Notice.objects.filter(**recipient.named, message=None, over_at=None)
    wanted -= set(waiting.values_list("item", flat=True))
    stands = [key for key, item in notices if item in wanted]
    message.given_up_at = now
    message.save(update_fields=["given_up_at"])
    message.notices.exclude(pk__in=stands).update(over_at=now)
    for key in stands:
        try:
            with transaction.atomic():
                message.notices.filter(pk=key).update(message=None, due_at=now)
        except IntegrityError:
            # The coordinator has noted the same this moment.
            message.notices.filter(pk=key).update(over_at=now)
    return True
