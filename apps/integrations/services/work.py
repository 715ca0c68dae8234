"""Send what waits in the outbox of one connection, and look at its changes.

    1. claim the connection: one worker at a time, for as long as it renews the claim
    2. for each change send what waits, in its order
    3. look at the changes that plans wait for
    4. release the claim

What is about to be sent is counted before it is sent. Whoever finds an attempt counted, and nothing
noted as sent, looks at the other side before sending again: the worker may have been killed, or the
answer lost. A server that was too slow to answer may carry a request out later; it is given a while
for that first. A worker that lost its claim sends nothing more, since it renews the claim before
each request, and a request takes less time than a claim lasts.

What goes wrong with one message or one change puts that off and nothing else, unless nothing gets
there.
"""

import logging
import random
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.integrations.domain.contract import (
    ChangeText,
    Connector,
    Ending,
    ExchangeError,
    Failed,
    Record,
    Refused,
    Sent,
    Unreachable,
)
from apps.integrations.models import Change, Connection, Message
from apps.integrations.models import MessageKind as Kind
from apps.integrations.services.exchanges import (
    connector_of,
    exchange_keep,
    fitting,
    is_write,
    storable,
)
from apps.integrations.services.follow import AT_ONCE, advance, change_deleted, may_open_anew
from apps.integrations.services.looking import EVERY, look_put_off, needs_look, status_store
from apps.plans.services.transitions import lock_plan, tell
from weir.lifecycle.changes import ChangeCommand, ChangeState

logger = logging.getLogger(__name__)
CLAIM = timedelta(seconds=150)
"""How long a claim holds without being renewed; far more than a request may take."""

SETTLE = timedelta(seconds=90)
"""How long a server may go on carrying out what it has not answered."""

LONGEST_S, SENDING_S = 40.0, 30.0
"""How long one call works before others have their turn, and how long of that it sends."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 300.0
LOOKED_AT = 50
"""Changes that one call looks at."""

FAILING = 3
"""Different changes in a row at which the other side fails: it fails at all of them."""

GONE = (404, 410)


class ClaimLost(Exception):
    """Signal that another worker has taken the connection over, or somebody has edited it."""


def pause_after(failures: int) -> timedelta:
    """Return how long to wait after so many failures: twice as long each time, at random less."""
    longest = min(FIRST_PAUSE_S * 2 ** min(failures - 1, 20), LONGEST_PAUSE_S)
    return timedelta(seconds=longest * random.uniform(0.5, 1.0))


def connection_work(public_id: uuid.UUID) -> int:
    """Do what is due of one connection. Returns how many messages were sent."""
    with _claimed(public_id) as work:
        return work.run() if work is not None else 0


@contextmanager
def _claimed(public_id: uuid.UUID) -> "Iterator[Work | None]":
    connection = _claim(public_id, uuid.uuid4())
    if connection is None:
        yield None
        return
    token = connection.claimed_by
    assert token is not None
    try:
        yield Work(connection, token)
    except ClaimLost:
        logger.warning("connection %s was edited, or taken over by another worker", public_id)
    finally:
        Connection.objects.filter(public_id=public_id, claimed_by=token).update(
            claimed_by=None, claimed_until=None, worked_at=timezone.now()
        )


@transaction.atomic
def _claim(public_id: uuid.UUID, token: uuid.UUID) -> Connection | None:
    """Claim a connection, unless it is not due, or too many are worked on."""
    now = timezone.now()
    # Claims are made one after the other, so that the count is certain.
    rows = list(Connection.objects.select_for_update(no_key=True).order_by("pk"))
    taken = [row for row in rows if row.claimed_until is not None and row.claimed_until > now]
    wanted = next((row for row in rows if row.public_id == public_id), None)
    if wanted is None or wanted in taken or len(taken) >= AT_ONCE or not wanted.enabled:
        return None
    if wanted.retry_at is not None and wanted.retry_at > now:
        return None
    wanted.claimed_by, wanted.claimed_until = token, now + CLAIM
    wanted.save(update_fields=["claimed_by", "claimed_until"])
    return wanted


class Work:
    """What one worker does with the connection that it has claimed."""

    def __init__(self, connection: Connection, token: uuid.UUID) -> None:
        self.connection = connection
        self.token = token
        self.until = time.monotonic() + LONGEST_S
        self.sends_until = time.monotonic() + SENDING_S
        self.under_way: Message | Change | None = None
        """What is sent or looked at."""
        self.settle = SETTLE
        """How long what is sent is left alone where its answer is lost."""
        self.last: Sent | None = None
        """The last exchange since a connector was made."""
        self.failing: set[int] = set()
        """Changes at which the other side has failed since it did something."""

    def run(self) -> int:
        """Send what is due and look at changes, until the other side fails or time is up."""
        sent = 0
        try:
            for change in self._changes():
                sent += self._send_all(change)
            for change in needs_look(self.connection, timezone.now())[:LOOKED_AT]:
                if time.monotonic() < self.until:
                    self._look(change)
        except Unreachable as error:
            # What it failed at comes after what is due once the other side is asked again: if it
            # fails at this alone, all else goes on.
            pause = self._unreachable(error) + EVERY
            problem = storable(str(error))
            if isinstance(self.under_way, Change):
                look_put_off(self.under_way, pause, problem)
            elif self.under_way is not None:
                waiting = Message.objects.filter(pk=self.under_way.pk, sent_at=None)
                waiting.update(problem=problem, next_at=timezone.now() + pause)
        return sent

    def _renew(self) -> None:
        """Go on holding the claim. Raises ClaimLost, also after an edit: its settings count."""
        held = Connection.objects.filter(
            pk=self.connection.pk,
            claimed_by=self.token,
            enabled=True,
            version=self.connection.version,
        )
        if not held.update(claimed_until=timezone.now() + CLAIM):
            raise ClaimLost

    def _connector(self, change: Change) -> Connector:
        self.last = None
        return connector_of(self.connection, keep=partial(self._keep, change), before=self._renew)

    def _keep(self, change: Change, sent: Sent) -> None:
        self.last = sent
        exchange_keep(self.connection, change, sent)

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
        """Send what waits of one change, in order, until something is put off."""
        sent = 0
        while time.monotonic() < self.sends_until:
            message = _due_message(change)
            if message is None:
                break
            if self._attempt(change, message):
                sent += 1
            elif message.kind != Kind.BEGIN:
                break
        return sent

    def _attempt(self, change: Change, message: Message) -> bool:
        """Send a message; return whether the next one may follow, else it was put off."""
        self.under_way, self.settle = message, SETTLE
        try:
            try:
                self._send(change, message)
            except Refused as error:
                if not self._in_vain(change, message, error):
                    raise
        except (OperationalError, InterfaceError):
            raise
        except ClaimLost:
            # It is raised before a request, so that none is under way.
            rows = Message.objects.filter(pk=message.pk, attempts=message.attempts + 1)
            rows.filter(sent_at=None).update(settles_at=None)
            raise
        except Unreachable as error:
            lost = not error.not_sent and self.last is not None and self.last.status is None
            self._put_off(message, str(error), timedelta(0), lost=lost)
            raise
        except Exception as error:
            pause = pause_after(message.attempts + 1)
            refused = isinstance(error, Refused)
            problem = self._problem(change, error)
            self._put_off(message, problem, pause, lost=not refused, refused=refused)
            self._judge(change, error)
            return False
        self.failing.clear()
        return True

    def _problem(self, change: Change, error: Exception) -> str:
        """Return what people read of an error; one that is no answer's goes into the log."""
        if isinstance(error, ExchangeError):
            return str(error)
        logger.exception("%s in %s cannot be worked on", change, self.connection)
        return f"A fault of Weir, or of the connector ({type(error).__name__}). Its log has more."

    def _judge(self, change: Change, error: Exception) -> None:
        """Note what an error says about the other side. Raises Unreachable where it fails at one
        change after the other."""
        if isinstance(error, Refused):
            self.failing.clear()
            self._answers()
        elif isinstance(error, Failed):
            self.failing.add(change.pk)
            if len(self.failing) >= FAILING:
                raise Unreachable(str(error)) from error

    def _answers(self) -> None:
        """Note that the other side answers, if it was asked."""
        if self.last is None or self.last.status is None:
            return
        held = Connection.objects.filter(pk=self.connection.pk, claimed_by=self.token)
        now = timezone.now()
        held.update(failures=0, problem="", retry_at=None, answered_at=now, updated_at=now)

    def _put_off(
        self,
        message: Message,
        problem: str,
        pause: timedelta,
        *,
        lost: bool,
        refused: bool = False,
    ) -> None:
        """Note why a message was not sent. `lost`: what was sent may be carried out yet."""
        now = timezone.now()
        Message.objects.filter(pk=message.pk, sent_at=None).update(
            problem=storable(problem),
            refused=refused,
            next_at=now + pause,
            settles_at=now + self.settle if lost and is_write(self.last) else None,
        )

    def _send(self, change: Change, message: Message) -> None:
        connector = self._connector(change)
        again = message.attempts > 0
        kind, payload = Kind(message.kind), message.payload
        if kind == Kind.OPEN:
            self.settle = SETTLE + timedelta(seconds=connector.search_lag_s)
        if not self._count(message):
            return
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
            self._end(change, message, connector, record)
            return
        self._sent(message)

    def _end(self, change: Change, message: Message, connector: Connector, record: Record) -> None:
        ending, problem = Ending(message.payload["ending"]), ""
        try:
            connector.end(record, ending, message.payload["text"])
        except Refused as error:
            if not _is_gone(connector, record, error):
                raise
            problem = f"It was deleted there. {error}"
        self._closed(change, message, problem)

    def _count(self, message: Message) -> bool:
        """Count the attempt; return False where the message was taken back meanwhile."""
        with transaction.atomic():
            row = Message.objects.select_for_update().filter(pk=message.pk, sent_at=None).first()
            if row is None:
                return False
            row.attempts += 1
            # A worker that is killed now leaves this behind.
            row.settles_at = timezone.now() + self.settle
            row.save(update_fields=["attempts", "settles_at", "updated_at"])
        return True

    def _open(self, change: Change, message: Message, connector: Connector, *, again: bool) -> None:
        text, record = ChangeText(**message.payload), change.record
        if again:
            records = connector.find_all(text.key)
            record = next((one for one in records if record and one.id == record.id), record)
            record = record or next(iter(records), None)
            for one in records:
                if record is not None and one.id != record.id:
                    self._cancel_double(change, connector, one)
        if record is not None:
            self._known(change, record)
        change.refresh_from_db(fields=["state"])
        if change.state == ChangeState.ENDING:
            if record is None:
                self._dropped(change, message)
            else:
                self._sent(message)
            return
        record = self._amended(change, connector, record, text) if record else connector.open(text)
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

    def _amended(
        self, change: Change, connector: Connector, record: Record, text: ChangeText
    ) -> Record:
        """Write a change anew that is there in part; one that was deleted there is opened anew."""
        try:
            return connector.amend(record, text)
        except Refused as error:
            if not _is_gone(connector, record, error) or not may_open_anew(change.plan):
                raise
        title, where = f"change {record.number} was deleted there", str(self.connection)
        with transaction.atomic():
            tell(lock_plan(change.plan), "change_deleted", actor=None, title=title, note=where)
        return connector.open(text)

    def _cancel_double(self, change: Change, connector: Connector, record: Record) -> None:
        """Cancel what was made again because the first answer came too late to count."""
        title, note = f"change {record.number} was opened twice", "The second one is cancelled."
        try:
            connector.end(record, Ending.CANCELLED, "Weir has opened this change twice.")
        except Refused as error:
            note = f"Cancel it there: {error}"
        if not change.plan.events.filter(command="change_doubled", title=title).exists():
            with transaction.atomic():
                plan = lock_plan(change.plan)
                tell(plan, "change_doubled", actor=None, title=title, note=note)

    def _known(self, change: Change, record: Record) -> None:
        """Store at once how the other side calls the change, whatever comes after."""
        longest = Change._meta.get_field("record_id").max_length or 0
        if storable(record.id, longest) != record.id:
            raise Refused(f"The answer holds an id that is longer than {longest} characters.")
        columns = fitting(Change, record_id=record.id, number=record.number, link=record.link)
        for name, value in columns.items():
            setattr(change, name, value)
        with transaction.atomic():
            change.save(update_fields=[*columns, "updated_at"])

    def _closed(self, change: Change, message: Message, problem: str) -> None:
        with transaction.atomic():
            lock_plan(change.plan)
            row = Change.objects.select_for_update().get(pk=change.pk)
            self._mark_sent(message, problem)
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
        held = Connection.objects.select_for_update(no_key=True).filter(
            pk=self.connection.pk, claimed_by=self.token
        )
        if not held.exists():
            raise ClaimLost
        self._answers()
        Message.objects.filter(pk=message.pk, sent_at=None).update(
            sent_at=timezone.now(), settles_at=None, problem=storable(problem)
        )

    def _check_held(self) -> None:
        """Lock the connection, in a transaction, so that nobody edits it. Raises ClaimLost."""
        held = Connection.objects.select_for_update(no_key=True).filter(
            pk=self.connection.pk, claimed_by=self.token, version=self.connection.version
        )
        if not held.exists():
            raise ClaimLost

    def _in_vain(self, change: Change, message: Message, error: Refused) -> bool:
        """Return whether a refused message is not needed: people there have ended the change, or
        it is carried out by now and they still do not let this account say that it begins."""
        if message.kind == Kind.BEGIN and change.messages.filter(kind=Kind.END).exists():
            self._sent(message, f"Not written, for its end is next. {error}")
            return True
        record = change.record
        if message.kind != Kind.COMMENT or record is None:
            return False
        connector = self._connector(change)
        try:
            over = connector.status(record).over
        except Refused as refused:
            over = _is_gone(connector, record, refused)
        if over:
            self._sent(message, f"Not written, for the change is over. {error}")
        return over

    def _unreachable(self, error: Unreachable) -> timedelta:
        """Leave the other side alone for a while, whatever waits. Returns for how long."""
        failures = Connection.objects.get(pk=self.connection.pk).failures + 1
        pause = pause_after(failures)
        if error.retry_after_s is not None:
            pause = max(pause, timedelta(seconds=error.retry_after_s))
        Connection.objects.filter(pk=self.connection.pk, claimed_by=self.token).update(
            failures=failures,
            problem=storable(str(error)),
            retry_at=timezone.now() + pause,
            updated_at=timezone.now(),
        )
        return pause

    def _look(self, change: Change) -> None:
        """Read how a change stands; one that cannot be read is put off, and the others go on."""
        self.under_way = change
        try:
            self._read(change)
        except (ClaimLost, Unreachable, OperationalError, InterfaceError):
            raise
        except Exception as error:
            problem = storable(self._problem(change, error))
            look_put_off(change, pause_after(change.look_failures + 1), problem)
            self._judge(change, error)
            return
        self.failing.clear()
        self._answers()

    def _read(self, change: Change) -> None:
        record = change.record
        assert record is not None
        connector = self._connector(change)
        try:
            status = connector.status(record)
        except Refused as error:
            if _is_gone(connector, record, error) and change_deleted(change, self._check_held):
                return
            raise
        if self.last is None:
            # These settings read nothing; they may be edited.
            look_put_off(change, timedelta(seconds=LONGEST_PAUSE_S))
            return
        status_store(change, status, self._check_held)


def _due_message(change: Change) -> Message | None:
    """Return what of a change is sent next; None where that is put off.

    A begin that was refused holds no comment up: whoever may mend it reads them. Before the end it
    is tried once more.
    """
    now, waiting = timezone.now(), change.messages.filter(sent_at=None).order_by("id")
    rows = list(waiting[:2])
    if len(rows) == 2 and rows[0].kind == Kind.BEGIN and rows[0].refused and rows[0].due_at > now:
        begin, after = rows
        if after.due_at > now:
            return None
        return begin if after.kind == Kind.END else after
    return rows[0] if rows and rows[0].due_at <= now else None


def _is_gone(connector: Connector, record: Record, error: Refused) -> bool:
    """Return whether an answer means that the change was deleted there, not that an address is
    wrong."""
    return error.status in GONE and connector.is_missing(record)
