"""Send what waits in the outbox of one connection, and look at its changes.

    1. claim the connection: one worker at a time, for as long as it renews the claim
    2. for each change send what waits, in its order
    3. look at the changes that plans wait for
    4. release the claim

What is about to be sent is counted before it is sent. Whoever finds an attempt counted, and nothing
noted as sent, looks at the other side before sending again: the worker may have been killed, or the
answer lost. A worker that lost its claim sends nothing more, since it renews the claim before each
request, and a request takes less time than a claim lasts.
"""

import logging
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.integrations.connectors import product
from apps.integrations.domain.contract import (
    Approval,
    ChangeText,
    Connector,
    Ending,
    Record,
    Refused,
    Sent,
    Status,
    Unreachable,
)
from apps.integrations.domain.credentials import credential
from apps.integrations.models import EXCHANGES_KEPT, Change, Connection, Exchange, Message
from apps.integrations.models import MessageKind as Kind
from apps.integrations.services.follow import advance
from apps.integrations.services.http_session import HttpSession
from apps.integrations.services.looking import needs_look, status_store
from apps.plans.services.transitions import lock_plan, tell
from weir.errors import InvalidProblem, UnknownMethod
from weir.lifecycle.changes import ChangeCommand, ChangeState
from weir.plugins import from_dict

logger = logging.getLogger(__name__)
CLAIM = timedelta(seconds=75)
"""How long a claim holds without being renewed; more than a request may take."""

LONGEST_S = 40.0
"""How long one call works before others have their turn."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 300.0
LOOKED_AT = 50
"""Changes that one call looks at."""


class ClaimLost(Exception):
    """Signal that another worker has taken the connection over."""


def pause_after(failures: int) -> timedelta:
    """Return how long to wait after so many failures: twice as long each time, at random less."""
    longest = min(FIRST_PAUSE_S * 2 ** min(failures - 1, 20), LONGEST_PAUSE_S)
    return timedelta(seconds=longest * random.uniform(0.5, 1.0))


def exchange_keep(connection: Connection, change: Change | None, sent: Sent) -> None:
    """Keep an exchange, and of all only the last ones."""
    Exchange.objects.create(
        connection=connection,
        change=change,
        at=sent.at,
        method=sent.method,
        address=sent.address[:2000],
        status=sent.status,
        request=sent.request,
        response=sent.response,
        failure=sent.failure,
        seconds=sent.seconds,
    )
    rows = Exchange.objects.filter(connection=connection).order_by("-id")
    last = rows.values_list("pk", flat=True)[EXCHANGES_KEPT - 1 : EXCHANGES_KEPT].first()
    if last is not None:
        rows.filter(pk__lt=last).delete()


def connector_of(
    connection: Connection,
    *,
    change: Change | None = None,
    before: Callable[[], None] = lambda: None,
) -> Connector:
    """Return the product at the other side. Raises Unreachable where settings forbid to ask."""
    try:
        kind = product(connection.product)
        values = from_dict(kind.Settings, connection.settings)
        secret = credential(
            connection.credential,
            prefix=settings.WEIR_CREDENTIAL_PREFIX,
            folder=settings.WEIR_CREDENTIALS_DIR,
            environ=os.environ,
        )
    except InvalidProblem as error:
        raise Unreachable(error.message) from None
    except UnknownMethod as error:
        raise Unreachable(f"{error}.") from None
    session = HttpSession(
        settings=values,
        credential=secret,
        keep=partial(exchange_keep, connection, change),
        before=before,
    )
    return kind.connect(values, session)


def connection_work(public_id: uuid.UUID) -> int:
    """Do what is due of one connection. Returns how many messages were sent."""
    with _claimed(public_id) as work:
        return work.run() if work is not None else 0


@contextmanager
def _claimed(public_id: uuid.UUID) -> "Iterator[Work | None]":
    token, now = uuid.uuid4(), timezone.now()
    free = Connection.objects.filter(
        Q(claimed_until=None) | Q(claimed_until__lte=now),
        Q(retry_at=None) | Q(retry_at__lte=now),
        public_id=public_id,
        enabled=True,
    )
    if not free.update(claimed_by=token, claimed_until=now + CLAIM):
        yield None
        return
    try:
        yield Work(Connection.objects.get(public_id=public_id), token)
    except ClaimLost:
        logger.warning("another worker has taken over connection %s", public_id)
    finally:
        Connection.objects.filter(public_id=public_id, claimed_by=token).update(
            claimed_by=None, claimed_until=None
        )


class Work:
    """What one worker does with the connection that it has claimed."""

    def __init__(self, connection: Connection, token: uuid.UUID) -> None:
        self.connection = connection
        self.token = token
        self.until = time.monotonic() + LONGEST_S

    def run(self) -> int:
        """Send what is due and look at changes, until the other side fails or time is up."""
        sent = 0
        try:
            for change in self._changes():
                sent += self._send_all(change)
            for change in needs_look(self.connection, timezone.now())[:LOOKED_AT]:
                self._look(change)
        except Unreachable as error:
            self._unreachable(error)
        return sent

    def _renew(self) -> None:
        """Go on holding the claim. Raises ClaimLost."""
        held = Connection.objects.filter(pk=self.connection.pk, claimed_by=self.token)
        if not held.update(claimed_until=timezone.now() + CLAIM):
            raise ClaimLost

    def _connector(self, change: Change) -> Connector:
        return connector_of(self.connection, change=change, before=self._renew)

    def _changes(self) -> list[Change]:
        """Return the changes with something to send, the one that waits longest first."""
        keys = (
            Message.objects.filter(change__connection=self.connection, sent_at=None)
            .order_by("id")
            .values_list("change", flat=True)
        )
        rows = Change.objects.select_related("plan", "plan__system").in_bulk(list(keys))
        return [rows[key] for key in dict.fromkeys(keys)]

    def _send_all(self, change: Change) -> int:
        """Send what waits of one change, in order, until something is refused."""
        sent = 0
        while time.monotonic() < self.until:
            message = change.messages.filter(sent_at=None).order_by("id").first()
            if message is None or message.next_at > timezone.now():
                break
            try:
                self._send(change, message)
            except Refused as error:
                if not self._in_vain(change, message, error):
                    self._postpone(message, str(error))
                    break
            except Unreachable as error:
                Message.objects.filter(pk=message.pk, sent_at=None).update(problem=str(error))
                raise
            sent += 1
        return sent

    def _send(self, change: Change, message: Message) -> None:
        connector = self._connector(change)
        again = message.attempts > 0
        if not self._count(message):
            return
        kind, payload = Kind(message.kind), message.payload
        if kind == Kind.OPEN:
            self._open(change, message, connector, again=again)
            return
        change.refresh_from_db(fields=["record_id", "number", "link", "state"])
        record = change.record
        if record is None:
            # Opening it was given up, for the other side has no such change.
            self._sent(message, "There is no such change.")
            return
        if kind == Kind.COMMENT:
            mark = f"[weir {message.public_id}]"
            connector.comment(record, f"{payload['text']}\n{mark}", mark=mark, again=again)
        elif kind == Kind.BEGIN:
            connector.begin(record)
        else:
            connector.end(record, Ending(payload["ending"]), payload["text"])
            self._closed(change, message)
            return
        self._sent(message)

    def _count(self, message: Message) -> bool:
        """Count the attempt; return False where the message was taken back meanwhile."""
        with transaction.atomic():
            row = Message.objects.select_for_update().filter(pk=message.pk, sent_at=None).first()
            if row is None:
                return False
            row.attempts += 1
            row.save(update_fields=["attempts", "updated_at"])
        return True

    def _open(self, change: Change, message: Message, connector: Connector, *, again: bool) -> None:
        text = ChangeText(**message.payload)
        record = change.record or (connector.find(text.key) if again else None)
        if record is not None:
            self._known(change, record)
        change.refresh_from_db(fields=["state"])
        if change.state == ChangeState.ENDING:
            if record is None:
                self._dropped(change, message)
            else:
                self._sent(message)
            return
        record = connector.open(text) if record is None else connector.amend(record, text)
        self._known(change, record)
        if record.ignored:
            raise Refused(
                f"{record.number} was opened without {', '.join(record.ignored)}: the account may "
                "not write them, or they have no such value. Give it the right, or correct the "
                "settings."
            )
        with transaction.atomic():
            plan = lock_plan(change.plan)
            row = Change.objects.select_for_update().get(pk=change.pk)
            self._mark_sent(message)
            if row.state == ChangeState.OPENING:
                advance(row, ChangeCommand.OPEN, opened_at=timezone.now())
                title = f"opened change {record.number}"
                tell(plan, "open_change", actor=None, title=title, note=str(self.connection))

    def _known(self, change: Change, record: Record) -> None:
        """Store at once how the other side calls the change, whatever comes after."""
        change.record_id, change.number, change.link = record.id, record.number, record.link
        change.save(update_fields=["record_id", "number", "link", "updated_at"])

    def _closed(self, change: Change, message: Message) -> None:
        with transaction.atomic():
            lock_plan(change.plan)
            row = Change.objects.select_for_update().get(pk=change.pk)
            self._mark_sent(message)
            advance(row, ChangeCommand.CLOSE, closed_at=timezone.now())

    def _dropped(self, change: Change, message: Message) -> None:
        """Close a change that was never opened, with all that waits of it."""
        with transaction.atomic():
            lock_plan(change.plan)
            row = Change.objects.select_for_update().get(pk=change.pk)
            row.messages.filter(sent_at=None).update(
                sent_at=timezone.now(), problem="There is no such change."
            )
            advance(row, ChangeCommand.DROP, closed_at=timezone.now())

    def _sent(self, message: Message, problem: str = "") -> None:
        with transaction.atomic():
            self._mark_sent(message, problem)

    def _mark_sent(self, message: Message, problem: str = "") -> None:
        """Note a message as sent, in a transaction; also that the other side answers."""
        held = Connection.objects.select_for_update().filter(
            pk=self.connection.pk, claimed_by=self.token
        )
        if not held.exists():
            raise ClaimLost
        held.update(failures=0, problem="", retry_at=None, answered_at=timezone.now())
        Message.objects.filter(pk=message.pk, sent_at=None).update(
            sent_at=timezone.now(), problem=problem
        )

    def _in_vain(self, change: Change, message: Message, error: Refused) -> bool:
        """Return whether a refused message is not needed: people there have ended the change, or
        do not let this account say that it begins."""
        if message.kind == Kind.BEGIN:
            self._sent(message, str(error))
            return True
        record = change.record
        if message.kind != Kind.COMMENT or record is None:
            return False
        try:
            over = self._connector(change).status(record).over
        except Refused as refused:
            over = refused.status in (404, 410)
        if over:
            self._sent(message, f"Not written, for the change is over. {error}")
        return over

    def _postpone(self, message: Message, problem: str) -> None:
        row = Message.objects.get(pk=message.pk)
        row.problem, row.next_at = problem, timezone.now() + pause_after(row.attempts)
        row.save(update_fields=["problem", "next_at", "updated_at"])

    def _unreachable(self, error: Unreachable) -> None:
        """Leave the other side alone for a while, whatever waits."""
        failures = Connection.objects.get(pk=self.connection.pk).failures + 1
        pause = pause_after(failures)
        if error.retry_after_s is not None:
            pause = max(pause, timedelta(seconds=error.retry_after_s))
        Connection.objects.filter(pk=self.connection.pk, claimed_by=self.token).update(
            failures=failures, problem=str(error), retry_at=timezone.now() + pause
        )

    def _look(self, change: Change) -> None:
        record = change.record
        if record is None or time.monotonic() > self.until:
            return
        try:
            status = self._connector(change).status(record)
        except Refused as error:
            if error.status not in (404, 410):
                raise Unreachable(f"{change} cannot be read. {error}") from error
            # Somebody deleted it there.
            status = Status(state="not found", approval=Approval.WAITING, over=True)
        status_store(change, status)
        held = Connection.objects.filter(pk=self.connection.pk, claimed_by=self.token)
        held.update(failures=0, problem="", retry_at=None, answered_at=timezone.now())
