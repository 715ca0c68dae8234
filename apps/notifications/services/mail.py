"""Hand messages to people to the mail server.

Each attempt sends the same under the same id, so that receivers know it again. One process at a
time sends: it is the same server for everybody.
"""

import logging
import time
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
from django.utils import timezone

from apps.common.locks import lock_while
from apps.notifications.models import Message
from apps.notifications.services.attempts import attempt_begin, attempt_end
from apps.notifications.services.messages import messages_write

logger = logging.getLogger(__name__)
LONGEST_S = 20.0
"""How long one call sends before the worker does other things."""

PERMANENT = 500
"""Answers of a mail server from here on are final (RFC 5321, 4.2.1)."""

OF_SERVER = (421, 530, 535)
"""Answers that concern whoever sends, whatever they send: it closes, or wants a sign-in."""


def notices_send() -> int:
    """Send people what is due. Returns how many messages the mail server took."""
    if not settings.EMAIL_HOST:
        return 0
    with lock_while("mailsend") as ours:
        if not ours:
            return 0
        messages_write("person")
        return _send_all(time.monotonic() + LONGEST_S)


def _send_all(until: float) -> int:
    """Send messages that are due, those that never failed first, over one connection."""
    sent, server = 0, get_connection()
    tried: set[int] = set()
    try:
        while time.monotonic() < until:
            message = (
                Message.objects.filter(
                    person__isnull=False,
                    sent_at=None,
                    given_up_at=None,
                    next_at__lte=timezone.now(),
                )
                .exclude(pk__in=tried)
                .select_related("person")
                .order_by("attempts", "next_at", "id")
                .first()
            )
            if message is None:
                break
            tried.add(message.pk)
            if attempt_begin(message) is None:
                continue
            outcome = _hand_over(message, server)
            problem = "" if outcome is None else _problem(outcome)
            is_final = outcome is not None and _is_final(outcome)
            sent += attempt_end(message, problem, is_final=is_final) and outcome is None
            # What concerns the server concerns all that is left.
            if isinstance(outcome, OSError) and _answer(outcome) is None:
                break
    finally:
        server.close()
    return sent


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
