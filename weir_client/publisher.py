"""Publish flows under one name, each at the broker where its publisher belongs.

    async with await Publisher.connect("nats://broker:4222", name="fx-1", key=KEY) as feed:
        await feed.publish("quotes.eurusd", b"1.0843")
        await feed.publish("trades.eurusd", b"...", reliable=True)

Each flow is followed by itself; flows that belong to one broker share a connection. A reliable
message is one whose flow a broker stores: it is repeated under its id, wherever the publisher
belongs by then, until a broker has acknowledged it or its time is over.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from bisect import insort
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from nats import errors

from weir_client import following, subjects
from weir_client.delays import SENT_HEADER, sent_now
from weir_client.following import ACKNOWLEDGE_S, FAILURES, Pauses, Whereabouts, happens
from weir_client.links import Link, Links

TIMEOUT_S = 30.0
MOST_UNACKNOWLEDGED = 256
"""Reliable messages of one flow that are on their way at once."""
IDLE_S = 60.0
ID_HEADER = "Nats-Msg-Id"
_CLOSE_S = 2 * ACKNOWLEDGE_S + following.CLOSE_S
_BUSY = 429
_SERVER_ERROR = 500
_TOO_LARGE_CODE = 10054


class PublishError(Exception):
    """A message was not published; the text says of which flow, and why."""


class TooLarge(PublishError):
    """The broker takes no message of this size, whoever sends it."""


class Refused(PublishError):
    """The broker, or the stream of the flow there, does not take the message."""


class NoIngress(PublishError):
    """No broker let this publisher publish the flow in time, or the one that does stores none of
    it."""


class TimedOut(PublishError):
    """Nobody acknowledged the message in time. A reliable one may be stored nevertheless."""


@dataclass(slots=True, eq=False)
class _Outgoing:
    """A message until it is published."""

    number: int
    payload: bytes
    headers: dict[str, str] | None
    is_reliable: bool
    done: asyncio.Future[None]
    given_at: str
    """When it was given to be published, as its header says; empty where it says nothing."""
    sent_at: float = 0.0

    def size(self) -> int:
        """Return how many bytes the broker counts, without the time."""
        return _size(self.payload, self.headers)

    def headers_within(self, most: int) -> dict[str, str] | None:
        """Return its headers, with the time where the whole has at most so many bytes."""
        if not self.given_at:
            return self.headers
        timed = {**(self.headers or {}), SENT_HEADER: self.given_at}
        return timed if _size(self.payload, timed) <= most else self.headers


def _size(payload: bytes, headers: Mapping[str, str] | None) -> int:
    if not headers:
        return len(payload)
    lines = (len(f"{key}: {value}\r\n".encode()) for key, value in headers.items())
    return len(payload) + sum(lines) + len("NATS/1.0\r\n\r\n")


class Publisher:
    """A client that publishes flows. Use `connect`."""

    def __init__(
        self,
        url: str,
        *,
        name: str,
        key: str,
        addresses: Mapping[str, str],
        options: dict[str, Any],
        timed: bool = True,
    ) -> None:
        self.name = name
        self.timed = timed
        self.life = secrets.token_hex(8)
        """It distinguishes the ids of messages from those of other processes with this name."""
        self.links = Links(name=name, key=key, options=options)
        self._url = url
        self._addresses = dict(addresses)
        self._lanes: dict[str, _Lane] = {}
        self._is_closed = False

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        name: str,
        key: str,
        timeout_s: float = TIMEOUT_S,
        addresses: Mapping[str, str] | None = None,
        timed: bool = True,
        **options: Any,
    ) -> Publisher:
        """Connect under the publisher's name, with the key of the system's clients. `addresses` of
        brokers by name are for agents that are not told them; unless `timed`, messages do not carry
        the time at which they were given; `options` are others of `nats.connect`. Raises TimedOut
        when the broker is away, or lets nobody in, for that long."""
        publisher = cls(
            url, name=name, key=key, addresses=addresses or {}, options=options, timed=timed
        )
        pauses = Pauses(first_s=0.2, growth=2.0, longest_s=4.0)
        why: Exception = TimeoutError("no answer")
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    try:
                        await publisher.links.take(url)
                        return publisher
                    except FAILURES as error:
                        why = error
                    await asyncio.sleep(pauses.next())
        except TimeoutError:
            await publisher.close()
            raise TimedOut(
                f"{url}: no connection within {timeout_s:g} s: {str(why) or 'no answer'}"
            ) from why
        except BaseException:
            await publisher.close()
            raise

    async def __aenter__(self) -> Publisher:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def publish(
        self,
        flow: str,
        payload: bytes = b"",
        *,
        reliable: bool = False,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Publish a message of a flow behind all that were given before. Of a reliable one, return
        once a broker has stored it; else once it is written to the broker where it belongs.
        Calls may be concurrent. A header `Nats-Msg-Id` replaces the message's own id, and
        `Weir-Sent` the time of the call, which a message carries where there is room. Raises
        PublishError; after TimedOut, or when cancelled, it may be published nevertheless."""
        if self._is_closed:
            raise PublishError(f"{flow}: the publisher {self.name} is closed")
        lane = self._lanes.get(flow)
        if lane is None:
            lane = self._lanes[flow] = _Lane(
                flow, self, Whereabouts(self._url, broker="", addresses=self._addresses)
            )
        message = lane.put(payload, dict(headers or {}), is_reliable=reliable)
        try:
            async with asyncio.timeout(timeout_s):
                await message.done
        except TimeoutError:
            raise lane.late(timeout_s) from None
        finally:
            lane.tidy()

    async def close(self) -> None:
        """Disconnect in an orderly way. What was not published until then raises PublishError."""
        self._is_closed = True
        for lane in self._lanes.values():
            await lane.close()
        await self.links.close()


class _Retired(Exception):
    """Signal that a flow has to go on on another connection."""


class _Lane:
    """One flow: its messages in their order, at the broker where it belongs."""

    def __init__(self, flow: str, publisher: Publisher, whereabouts: Whereabouts) -> None:
        self.flow = flow
        self.moved = asyncio.Event()
        self.wakes = asyncio.Event()
        """Set when there is something to send, to leave or to finish."""
        self.trouble: tuple[type[PublishError], str] | None = None
        """What went wrong last, while nothing is published."""
        self._publisher = publisher
        self._home = self._named = whereabouts.url
        """The broker to begin with, and the last other one that an agent has named."""
        self._whereabouts = whereabouts
        self._failures = Pauses(first_s=0.2, growth=2.0, longest_s=4.0)
        self._refusals = Pauses(first_s=0.1, growth=2.0, longest_s=1.0)
        self._number = 0
        self._queue: deque[_Outgoing] = deque()
        self._unacknowledged: dict[str, _Outgoing] = {}
        """Inbox -> message, in the order in which they were sent on this connection."""
        self._most_unacknowledged = MOST_UNACKNOWLEDGED
        self._resumes_at = 0.0
        self._is_written = False
        """Whether something was written of which the broker may not have heard yet."""
        self._task = asyncio.create_task(self._run(), name=f"publisher of {flow}")

    # --- for whoever publishes

    def put(self, payload: bytes, headers: dict[str, str], *, is_reliable: bool) -> _Outgoing:
        """Add a message behind all others."""
        self._number += 1
        if is_reliable:
            name, life = self._publisher.name, self._publisher.life
            own = following.message_id(self.flow, name, life, self._number)
            headers.setdefault(ID_HEADER, own)
        done = asyncio.get_running_loop().create_future()
        is_timed = self._publisher.timed and SENT_HEADER not in headers
        given_at = sent_now() if is_timed else ""
        message = _Outgoing(self._number, payload, headers or None, is_reliable, done, given_at)
        self._queue.append(message)
        self.wakes.set()
        return message

    def tidy(self) -> None:
        """Forget messages for which nobody waits any more."""
        while self._queue and self._queue[0].done.done():
            self._queue.popleft()

    def late(self, timeout_s: float) -> PublishError:
        """Return what is raised for a message whose time is over."""
        kind, why = self.trouble or (TimedOut, "nobody acknowledged it")
        if not self._whereabouts.is_let_in:
            kind, why = NoIngress, f"no broker lets {self._publisher.name} publish it now"
        return kind(f"{self.flow}: not published within {timeout_s:g} s: {why}")

    async def close(self) -> None:
        """Stop, and raise PublishError for what was not published."""
        await following.end(self._task, again_s=_CLOSE_S)
        for message in (*self._queue, *self._unacknowledged.values()):
            if not message.done.done():
                message.done.set_exception(
                    PublishError(f"{self.flow}: the publisher was closed before it was published")
                )
        self._queue.clear()

    # --- connections

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(await self._visit())

    async def _visit(self) -> float:
        """Do what can be done on one connection; return the pause before the next one."""
        links = self._publisher.links
        if self._whereabouts.url != self._home:
            self._named = self._whereabouts.url
        try:
            link = await links.take(self._whereabouts.url, self)
        except FAILURES as error:
            self.trouble = TimedOut, f"{self._whereabouts.url}: {str(error) or 'no answer'}"
            # A broker that is gone for good has left its publishers to others: the first one knows.
            away, self._whereabouts.url = self._whereabouts.url, self._home
            if away == self._home:
                self._whereabouts.url = self._named
            return self._failures.next()
        self._failures.reset()
        try:
            await following.until_lost(link.client, link.closed, self._stay(link))
        except _Retired:
            return 0.0
        except FAILURES as error:
            self.trouble = TimedOut, str(error) or "the connection was lost"
            link.drop()
        except Exception:
            # An error of the client library ends one connection, not the publisher.
            following.log.exception("%s", self.flow)
            link.drop()
        finally:
            self._take_back(link)
            await links.leave(link, self)
        return self._whereabouts.pause_s()

    async def _stay(self, link: Link) -> None:
        async def where() -> dict[str, Any]:
            if link.is_retired:
                raise _Retired
            return await following.where(link.client, self.flow, self._publisher.name)

        if await self._whereabouts.follow(where, self.moved, lambda: self._publish(link)):
            link.retire()

    def _take_back(self, link: Link) -> None:
        """Put what was not acknowledged back to where it was."""
        for inbox, message in self._unacknowledged.items():
            link.forget(inbox)
            self._put_back(message)
        self._unacknowledged.clear()

    def _put_back(self, message: _Outgoing) -> None:
        if not message.done.done():
            insort(self._queue, message, key=lambda each: each.number)

    # --- messages

    async def _publish(self, link: Link) -> None:
        """Send until the publisher may have moved; then nothing is on its way."""
        while not self.moved.is_set():
            self.wakes.clear()
            pause_s = self._pause_s()
            if pause_s > 0:
                await happens(self.wakes, pause_s)
            else:
                await self._send(link, self._queue.popleft())
        while self._unacknowledged:
            self.wakes.clear()
            await happens(self.wakes, self._patience_s())
        if self._is_written:
            await following.settle(link.client)
            self._is_written = False

    def _pause_s(self) -> float:
        """Return how long there is nothing to send; 0 where there is."""
        patience_s = self._patience_s()
        if not self._queue or len(self._unacknowledged) >= self._most_unacknowledged:
            return patience_s
        return min(patience_s, self._resumes_at - time.monotonic())

    def _patience_s(self) -> float:
        """Return how long the acknowledgement that is due next may take. Raises TimeoutError."""
        oldest = next(iter(self._unacknowledged.values()), None)
        if oldest is None:
            return IDLE_S
        left_s = oldest.sent_at + ACKNOWLEDGE_S - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"no acknowledgement within {ACKNOWLEDGE_S} s")
        return left_s

    async def _send(self, link: Link, message: _Outgoing) -> None:
        """Send a message. Raises one of FAILURES with the connection."""
        client, size = link.client, message.size()
        if message.done.done():
            return
        if size > client.max_payload:
            message.done.set_exception(
                TooLarge(
                    f"{self.flow}: {size} bytes with headers; the broker takes {client.max_payload}"
                )
            )
            return
        if not client.is_connected:
            self._put_back(message)
            raise errors.ConnectionClosedError
        reply = ""
        if message.is_reliable:
            reply = link.expect(self)
            message.sent_at = time.monotonic()
            self._unacknowledged[reply] = message
        else:
            # Whatever becomes of the connection now, it is not sent again: it might come twice.
            self._is_written = True
            message.done.set_result(None)
        try:
            await client.publish(
                subjects.ingress_subject(self.flow),
                message.payload,
                reply,
                message.headers_within(client.max_payload),
            )
        except (errors.BadHeaderError, errors.BadSubjectError, UnicodeEncodeError) as error:
            self._unacknowledged.pop(reply, None)
            link.forget(reply)
            if not message.done.done():
                message.done.set_exception(Refused(f"{self.flow}: {error}"))

    def look_up(self) -> None:
        """Find out, when nothing is on the way any more, where the flow belongs."""
        self.moved.set()
        self.wakes.set()

    def denied(self) -> None:
        """Take note that the broker does not let the publisher publish the flow."""
        self.trouble = NoIngress, "the broker does not let this publisher publish it"

    def answered(self, answer: Any) -> None:
        """Take what the broker answers to a reliable message."""
        message = self._unacknowledged.pop(answer.subject, None)
        if message is None:
            return
        self.wakes.set()
        refusal = _refusal(answer)
        if refusal is None:
            self.trouble = None
            self._most_unacknowledged = MOST_UNACKNOWLEDGED
            self._refusals.reset()
            if not message.done.done():
                message.done.set_result(None)
        elif refusal.kind is TooLarge and message.given_at:
            # The stream takes less than the broker does: the time must not be what is too much.
            message.given_at = ""
            self._put_back(message)
        elif refusal.is_final:
            if not message.done.done():
                message.done.set_exception(refusal.kind(f"{self.flow}: {refusal.why}"))
        else:
            # One at a time until there is room: those behind it would overtake it.
            self.trouble = refusal.kind, refusal.why
            self._most_unacknowledged = 1
            self._resumes_at = time.monotonic() + self._refusals.next()
            self._put_back(message)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a broker has not stored a message."""

    kind: type[PublishError]
    why: str
    is_final: bool
    """Whether it would not store the message later either."""


def _refusal(answer: Any) -> _Refusal | None:
    """Read the answer to a reliable message; None where it is stored."""
    if (answer.headers or {}).get("Status") is not None:
        return _Refusal(
            NoIngress, "the broker stores none of it: it is best effort, or enters elsewhere", False
        )
    try:
        plain = json.loads(answer.data)
        error = plain.get("error")
        if error is None:
            return None
        code, why = int(error.get("code", _SERVER_ERROR)), str(error.get("description"))
    except (AttributeError, TypeError, ValueError) as wrong:
        return _Refusal(Refused, f"no answer of a stream: {wrong}", False)
    kind = TooLarge if error.get("err_code") == _TOO_LARGE_CODE else Refused
    return _Refusal(kind, why, code != _BUSY and code < _SERVER_ERROR)
