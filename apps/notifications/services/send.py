"""Write what is due into one message for each person, and hand messages to the mail server.

A message is written once; each attempt sends the same under the same id, so that receivers know it
again. One process at a time sends: it is the same server for everybody.
"""

import logging
import time
from datetime import datetime, timedelta
from email.utils import parseaddr
from smtplib import (
    SMTPAuthenticationError,
    SMTPDataError,
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.accounts.models import User
from apps.common.locks import lock_while
from apps.inbox.selectors import inbox_of
from apps.notifications.domain.mail import Line, body_of, subject_of
from apps.notifications.domain.timing import due_at, is_quiet
from apps.notifications.models import Message, Notice, Reason
from apps.notifications.services.notices import settings_of

logger = logging.getLogger(__name__)
PAUSES_S = (60.0, 300.0, 900.0, 3600.0)
"""How long after a failure it is tried again; the last one from then on."""

GIVEN_UP_AFTER = timedelta(hours=24)
"""After its first attempt. What still waits is in the inbox."""

APART = timedelta(minutes=10)
"""Between the last message to somebody and one with nothing that waits for them: many things of a
kind may begin one after the other."""

LONGEST_S = 20.0
"""How long one call sends before the worker does other things."""

KEPT = timedelta(days=30)
PERMANENT = 500
"""Answers of a mail server from here on are final (RFC 5321, 4.2.1)."""

OF_SERVER = (421, 530, 535)
"""Answers that concern whoever sends, whatever they send: it closes, or wants a sign-in."""


def notices_send() -> int:
    """Send what is due. Returns how many messages the mail server took."""
    if not settings.EMAIL_HOST:
        return 0
    with lock_while("mailsend") as ours:
        if not ours:
            return 0
        messages_write()
        return _send_all(time.monotonic() + LONGEST_S)


def messages_write() -> int:
    """Write a message for each person to whom something is due. Returns how many."""
    now = timezone.now()
    due = Notice.objects.filter(message=None, over_at=None, due_at__lte=now)
    people = list(due.order_by("person").values_list("person", flat=True).distinct())
    return sum(_write(person, now) for person in people)


@transaction.atomic
def _write(key: int, now: datetime) -> bool:
    notices = list(
        Notice.objects.select_for_update(of=("self",))
        .filter(person=key, message=None, over_at=None, due_at__lte=now)
        .select_related("item__system")
        .order_by("id")
    )
    person = User.objects.select_related("notification_settings").get(pk=key)
    if Message.objects.filter(person=person, sent_at=None, given_up_at=None).exists():
        # What is over by the time that the server takes it need not be sent.
        return False
    chosen = settings_of(person)
    if is_quiet(chosen.rhythm, now):
        later = due_at(chosen.rhythm, now)
        Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(due_at=later)
        return False
    wanted = _wanted(person, now)
    due = [one for one in notices if one.item_id in wanted]
    over = [one.pk for one in notices if one not in due]
    Notice.objects.filter(pk__in=over).update(over_at=now)
    if not due:
        return False
    last = Message.objects.filter(person=person).order_by("-id").first()
    if last and now - last.created_at < APART and not any(one.item.waits for one in due):
        return False
    lines = sorted((_line(notice) for notice in due), key=lambda line: (not line.waits, line.since))
    message = Message.objects.create(
        person=person,
        address=person.email,
        subject=subject_of(lines),
        body=body_of(lines, web_url=settings.WEIR_PUBLIC_URL, timezone=chosen.timezone),
    )
    Notice.objects.filter(pk__in=[one.pk for one in due]).update(message=message)
    return True


def _wanted(person: User, now: datetime) -> set[int]:
    """Return the keys of the items of which somebody wants to hear now."""
    chosen = settings_of(person)
    if not (chosen.by_email and person.is_active and person.email):
        return set()
    items = inbox_of(person, person.permissions, now)
    return {item.pk for item in items if item.kind in chosen.kinds}


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


def _send_all(until: float) -> int:
    """Send messages that are due, those that never failed first, over one connection."""
    sent, server = 0, get_connection()
    tried: set[int] = set()
    try:
        while time.monotonic() < until:
            message = (
                Message.objects.filter(sent_at=None, given_up_at=None, next_at__lte=timezone.now())
                .exclude(pk__in=tried)
                .select_related("person__notification_settings")
                .order_by("attempts", "next_at", "id")
                .first()
            )
            if message is None:
                break
            tried.add(message.pk)
            outcome = _send(message, server)
            sent += message.sent_at is not None
            # What concerns the server concerns all that is left.
            if isinstance(outcome, OSError) and _answer(outcome) is None:
                break
    finally:
        server.close()
    return sent


def _send(message: Message, server: BaseEmailBackend) -> Exception | None:
    """Send a message once and note what came of it. Returns why it was not taken."""
    now = timezone.now()
    rhythm = settings_of(message.person).rhythm
    if is_quiet(rhythm, now):
        Message.objects.filter(pk=message.pk).update(next_at=due_at(rhythm, now))
        return None
    if _take_back(message, now):
        return None
    if message.failing_since is not None and now - message.failing_since > GIVEN_UP_AFTER:
        Message.objects.filter(pk=message.pk).update(given_up_at=now)
        return None
    # Before it is sent: what ends the worker each time is not tried for ever.
    message.attempts += 1
    message.next_at = now + _pause(message.attempts)
    message.failing_since = message.failing_since or now
    message.save(update_fields=["attempts", "next_at", "failing_since"])
    outcome = _hand_over(message, server)
    now = timezone.now()
    if outcome is None:
        message.sent_at, message.problem, message.failing_since = now, "", None
    else:
        message.problem = _problem(outcome)
        message.next_at = now + _pause(message.attempts)
        if _is_final(outcome):
            message.given_up_at = now
    message.save(update_fields=["sent_at", "problem", "failing_since", "next_at", "given_up_at"])
    return outcome


@transaction.atomic
def _take_back(message: Message, now: datetime) -> bool:
    """Give a message up of which something is over or no longer for its person, or that was written
    to another address. What still stands is due again, in another message."""
    wanted = _wanted(message.person, now)
    notices = list(message.notices.values_list("pk", "item"))
    if {item for _, item in notices} <= wanted and message.address == message.person.email:
        return False
    # Some may be due again already: they got worse meanwhile.
    waiting = Notice.objects.filter(person=message.person, message=None, over_at=None)
    wanted -= set(waiting.values_list("item", flat=True))
    stands = [key for key, item in notices if item in wanted]
    Message.objects.filter(pk=message.pk).update(given_up_at=now)
    message.notices.exclude(pk__in=stands).update(over_at=now)
    message.notices.filter(pk__in=stands).update(message=None, due_at=now)
    return True


def _pause(attempts: int) -> timedelta:
    return timedelta(seconds=PAUSES_S[min(attempts, len(PAUSES_S)) - 1])


def _hand_over(message: Message, server: BaseEmailBackend) -> Exception | None:
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    mail = EmailMessage(
        subject=message.subject,
        body=message.body,
        to=[message.address],
        connection=server,
        headers={
            "Message-ID": f"<{message.public_id}@{domain}>",
            "Auto-Submitted": "auto-generated",
        },
    )
    try:
        # One connection for all of them: a message opens and closes its own otherwise.
        server.open()
        mail.send()
    except (SMTPException, OSError) as error:
        logger.warning("no e-mail to %s: %s", message.person, error)
        server.close()
        return error
    except Exception as error:
        # One message that cannot be sent keeps no other from it.
        logger.exception("no e-mail to %s", message.person)
        server.close()
        return error
    return None


def _answer(error: Exception) -> tuple[int, str] | None:
    """Return code and text of the mail server's answer to this message; None: it gave none, or one
    that it would give to every message."""
    text: bytes | str
    if isinstance(error, SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()))
    elif isinstance(error, SMTPDataError):
        code, text = error.smtp_code, error.smtp_error
    else:
        return None
    if code in OF_SERVER:
        return None
    return code, text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def _is_final(error: Exception) -> bool:
    answer = _answer(error)
    return answer is not None and answer[0] >= PERMANENT


def _problem(error: Exception) -> str:
    """Return why in words for everybody: what concerns the server is in the log alone."""
    answer = _answer(error)
    if answer is not None:
        return f"{answer[0]} {answer[1]}"
    if isinstance(error, SMTPAuthenticationError):
        return "The mail server does not let Weir in."
    if isinstance(error, SMTPResponseException | SMTPRecipientsRefused):
        return "The mail server takes nothing from Weir."
    return "The mail server cannot be reached."


def messages_tidy() -> int:
    """Delete what was sent, given up or over long ago. Returns how many rows. What was told of an
    item that still stands is kept: it would be told again."""
    before = timezone.now() - KEPT
    standing = Notice.objects.filter(message=OuterRef("pk"), item__ended_at=None)
    ended = Message.objects.exclude(Exists(standing))
    return sum(
        rows.delete()[0]
        for rows in (
            ended.filter(sent_at__lt=before),
            ended.filter(given_up_at__lt=before),
            Notice.objects.filter(over_at__lt=before),
            Notice.objects.filter(message=None, due_at__lt=before),
        )
    )
