"""Write what is due into one message for each recipient. A message is written once."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.notifications.domain.lines import Line
from apps.notifications.domain.timing import due_at, is_quiet
from apps.notifications.models import Message, Notice, Reason
from apps.notifications.services.recipients import recipient_locked

logger = logging.getLogger(__name__)
APART = timedelta(minutes=10)
"""Between the last message to somebody and one with nothing that waits for them: many things of a
kind may begin one after the other."""

KEPT = timedelta(days=30)


def messages_write(column: str) -> int:
    """Write a message for each `person`, or `channel`, to whom something is due. Returns how
    many."""
    now = timezone.now()
    due = Notice.objects.filter(message=None, over_at=None, due_at__lte=now)
    due = due.filter(**{f"{column}__isnull": False})
    keys = list(due.order_by(column).values_list("person", "channel").distinct())
    written = 0
    for person, channel in keys:
        with logged(f"no message for {column} {person or channel}"):
            written += _write(person, channel, now)
    return written


@contextmanager
def logged(what: str) -> Iterator[None]:
    """Log a fault at one recipient, so that others get theirs; a database that is away is one of
    all."""
    try:
        yield
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("%s", what)


@transaction.atomic
def _write(person: int | None, channel: int | None, now: datetime) -> bool:
    recipient = recipient_locked(person, channel)
    if recipient is None:
        return False
    notices = list(
        Notice.objects.select_for_update(of=("self",))
        .filter(**recipient.named, message=None, over_at=None, due_at__lte=now)
        .select_related("item__system")
        .order_by("id")
    )
    messages = Message.objects.filter(**recipient.named, is_test=False)
    if messages.filter(sent_at=None, given_up_at=None).exists():
        # What is over by the time that it is taken need not be sent.
        return False
    if is_quiet(recipient.rhythm, now):
        later = due_at(recipient.rhythm, now)
        Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(due_at=later)
        return False
    wanted = recipient.wanted(now)
    due = [one for one in notices if one.item_id in wanted]
    over = [one.pk for one in notices if one not in due]
    Notice.objects.filter(pk__in=over).update(over_at=now)
    if not due:
        return False
    waits = any(one.item.waits for one in due)
    if not waits and messages.filter(sent_at__gt=now - APART).exists():
        return False
    lines = sorted((_line(notice) for notice in due), key=lambda line: (not line.waits, line.since))
    message = recipient.written(lines)
    message.save()
    Notice.objects.filter(pk__in=[one.pk for one in due]).update(message=message)
    return True


def _line(notice: Notice) -> Line:
    item = notice.item
    return Line(
        title=item.title,
        detail=item.detail,
        system=item.system.name if item.system else "",
        page=item.page,
        since=item.since,
        waits=item.waits,
        worse=notice.reason == Reason.WORSE,
    )


def messages_tidy() -> int:
    """Delete what was sent, given up or over long ago. Returns how many rows. What was told of an
    item that still stands is kept: it would be told again; so is what a channel is still to be
    told that it missed."""
    before = timezone.now() - KEPT
    standing = Notice.objects.filter(message=OuterRef("pk"), item__ended_at=None)
    ended = Message.objects.exclude(Exists(standing))
    return sum(
        rows.delete()[0]
        for rows in (
            ended.filter(sent_at__lt=before),
            ended.filter(given_up_at__lt=before, is_missed=False),
            Notice.objects.filter(over_at__lt=before),
            Notice.objects.filter(message=None, due_at__lt=before),
        )
    )
