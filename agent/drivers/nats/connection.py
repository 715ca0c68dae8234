"""Hold one connection to a NATS server, optimised for batches in and joined bytes out.

It never reconnects by itself: when it is lost, everything waiting on it fails with Retryable and
its owner (`session.py`) opens another, because what must be repeated differs from use to use.
Everything that waits is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import ssl
import struct
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from agent.drivers.base import Retryable
from agent.drivers.nats import wire

log = logging.getLogger(__name__)

Handler = Callable[[list[wire.Frame]], None]
Proof = Callable[[str], dict[str, str]]
"""A function from the nonce that the server sent to what CONNECT must add."""

_BUFFER_BYTES = 8 << 20
"""With more unsent bytes than this, the server or the network is slower than the agent."""
_LOOK_S = 0.1
"""The pause before it is looked again whether a former connection is gone."""
PING_S = 5.0
"""A connection that is silent for twice as long counts as lost."""


class NobodyAnswers(Retryable):
    """Signal that the server knows nobody who answers a request."""


class Connection(asyncio.Protocol):
    """Stay connected from `open` until `lost`; handlers are called with all frames of a chunk."""

    def __init__(self, prefix: str = "_INBOX") -> None:
        """Take the `prefix` of the inboxes, without the closing dot."""
        self._prefix = prefix
        self.info: dict[str, Any] = {}
        self.nonce = ""
        """The value that the server sent for signing; only its first message has it."""
        self.lost = asyncio.Event()
        self._on_lost: set[Callable[[], None]] = set()
        self.reason = ""
        self._parser = wire.Parser()
        self._transport: asyncio.Transport | None = None
        self._handlers: dict[int, Handler] = {}
        self._next_sid = 1
        self._greeting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pongs: list[asyncio.Future[None]] = []
        self._writable = asyncio.Event()
        self._writable.set()
        self._inbox = b""
        self._inbox_sid = 0
        self._replies: dict[bytes, asyncio.Future[wire.Frame]] = {}
        self._number = 0
        self._last_received = 0.0
        self._beat: asyncio.TimerHandle | None = None

    # --- life

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        name: str,
        inbox: str = "_INBOX",
        tls: ssl.SSLContext | None = None,
        proof: Proof | None = None,
        met: Callable[[str], None] | None = None,
        timeout_s: float = 3.0,
    ) -> Connection:
        """Connect and log in. Raises Retryable when nobody answers or the server refuses the agent.

        `tls` verifies the server instead of the system's certificates. With `proof`, a name and
        password in `url` are not sent. `met` receives the server's name before the server decides.
        The server itself waits two seconds for its auth callout; we wait longer to receive its
        reason.
        """
        loop = asyncio.get_running_loop()
        parts = urlsplit(url)
        try:
            async with asyncio.timeout(timeout_s):
                _, self = await loop.create_connection(
                    lambda: cls(inbox), parts.hostname or "127.0.0.1", parts.port or 4222
                )
                try:
                    await self._greeting
                    if met is not None:
                        met(str(self.info.get("server_name", "")))
                    if parts.scheme == "tls" or self.info.get("tls_required"):
                        await self._encrypt(tls or ssl.create_default_context(), parts.hostname)
                    await self._log_in(name, url, proof)
                except BaseException:
                    self.close("not logged in")
                    raise
        except (OSError, TimeoutError) as error:
            raise Retryable(f"{_where(url)} does not answer: {error or 'timeout'}") from error
        self._heartbeat()
        return self

    async def _encrypt(self, context: ssl.SSLContext, host: str | None) -> None:
        assert self._transport is not None
        transport = await asyncio.get_running_loop().start_tls(
            self._transport, self, context, server_hostname=host
        )
        if transport is None:
            raise Retryable("connection lost before it was encrypted")
        self.connection_made(transport)

    async def _log_in(self, name: str, url: str, proof: Proof | None) -> None:
        parts = urlsplit(url)
        options: dict[str, Any] = {
            "verbose": False,
            "pedantic": False,
            "lang": "weir",
            "version": "1",
            "protocol": 1,
            "headers": True,
            "no_responders": True,
            "name": name,
        }
        if proof is not None:
            options |= self._proven(proof)
        elif parts.username:
            options["user"] = unquote(parts.username)
            options["pass"] = unquote(parts.password or "")
        self.write(b"CONNECT " + json.dumps(options).encode() + b"\r\n")
        await self._pong()
        self._inbox = f"{self._prefix}.{id(self):x}{self.info.get('client_id', 0)}".encode()
        self._inbox_sid = self.subscribe(self._inbox.decode() + ".*", self._answered)

    def _proven(self, proof: Proof) -> dict[str, str]:
        if self.nonce:
            return proof(self.nonce)
        if self.info.get("auth_required"):
            raise Retryable(
                "the broker there sends no nonce to be signed: its configuration is of an older "
                "Weir; render it anew (docs/agent.md)"
            )
        return {}

    def close(self, reason: str = "closed", *, at_once: bool = False) -> None:
        """Disconnect; what was written is still sent where the socket takes it, or dropped with
        `at_once`."""
        if not self.reason:
            self.reason = reason
        if self._transport is not None:
            if at_once:
                self._transport.abort()
            else:
                self._transport.close()
        self._end()

    def _end(self) -> None:
        if self.lost.is_set():
            return
        self.lost.set()
        self._writable.set()
        if self._beat is not None:
            self._beat.cancel()
        error = Retryable(f"connection lost: {self.reason or 'closed by the server'}")
        waiting: list[asyncio.Future[Any]] = [*self._pongs, *self._replies.values(), self._greeting]
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # callers that wait see it; nobody else must
        self._pongs.clear()
        self._replies.clear()
        for callback in tuple(self._on_lost):
            callback()

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Call back once the connection is lost, at once if it is lost already."""
        self._on_lost.add(callback)
        if self.lost.is_set():
            callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """Cancel a callback of `on_lost`."""
        self._on_lost.discard(callback)

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not an assertion: uvloop's transports do not descend from asyncio's class.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_BUFFER_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not self.reason:
            self.reason = str(exc)
        self._end()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._last_received = asyncio.get_running_loop().time()
        try:
            frames, lines = self._parser.feed(bytes(data))
            for line in lines:
                self._control(line)
        except ValueError as error:
            self.close(str(error))
            return
        for sid, batch in frames.items():
            handler = self._handlers.get(sid)
            if handler is not None:
                try:
                    handler(batch)
                except ValueError:
                    # A malformed message of any client must not cost the connection that all share.
                    log.exception("%s: frames that cannot be read", batch[0][0][:200])

    def _control(self, line: bytes) -> None:
        word = line[:4].upper()
        if word == b"PING":
            self.write(b"PONG\r\n")
        elif word == b"PONG":
            if self._pongs:
                waiting = self._pongs.pop(0)
                if not waiting.done():
                    waiting.set_result(None)
        elif word == b"INFO":
            self.info = wire.server_info(line)
            if not self._greeting.done():
                self.nonce = str(self.info.get("nonce") or "")
                self._greeting.set_result(None)
        elif word == b"-ERR":
            text = line[4:].decode(errors="replace").strip(" '")
            if not text.lower().startswith("permissions violation"):
                self.close(text)
            else:
                self.reason = text
        elif word[:3] != b"+OK":
            raise wire.ProtocolViolation(repr(line[:80]))

    def _heartbeat(self) -> None:
        loop = asyncio.get_running_loop()
        if self._last_received and loop.time() - self._last_received > 2 * PING_S:
            self.close("the server has fallen silent")
            return
        future = loop.create_future()
        self._pongs.append(future)
        self.write(b"PING\r\n")
        self._beat = loop.call_later(PING_S, self._heartbeat)

    # --- use

    @property
    def alive(self) -> bool:
        """Return whether something written now can arrive."""
        return not self.lost.is_set()

    def write(self, data: bytes) -> None:
        """Send whole protocol lines. Raises Retryable when the connection is lost."""
        if self._transport is None or self.lost.is_set():
            raise Retryable(f"connection lost: {self.reason}")
        self._transport.write(data)

    async def writable(self) -> None:
        """Wait until few unsent bytes are left."""
        if not self._writable.is_set():
            await self._writable.wait()
        if self.lost.is_set():
            raise Retryable(f"connection lost: {self.reason}")

    def subscribe(self, subject: str, handler: Handler) -> int:
        """Pass all frames of a subject to `handler` from now on; return the number for
        `unsubscribe`."""
        sid = self._next_sid
        self._next_sid += 1
        self._handlers[sid] = handler
        self.write(f"SUB {subject} {sid}\r\n".encode())
        return sid

    def unsubscribe(self, sid: int) -> None:
        """End the subscription; harmless when the connection is lost."""
        self._handlers.pop(sid, None)
        with contextlib.suppress(Retryable):
            self.write(f"UNSUB {sid}\r\n".encode())

    async def flush(self, timeout_s: float = 2.0) -> None:
        """Wait until the server has processed everything written so far. Raises Retryable."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._pong()
        except TimeoutError as error:
            raise Retryable("the server does not answer in time") from error

    async def _pong(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pongs.append(future)
        self.write(b"PING\r\n")
        await future

    async def request(
        self, subject: str, payload: bytes = b"", *, header: bytes = b"", timeout_s: float = 2.0
    ) -> wire.Frame:
        """Send one request and return its answer. Raises NobodyAnswers at once where nobody could,
        and Retryable when nobody does in time."""
        self._number += 1
        reply = b"%b.%x" % (self._inbox, self._number)
        future: asyncio.Future[wire.Frame] = asyncio.get_running_loop().create_future()
        self._replies[reply] = future
        try:
            self.write(wire.publication(subject.encode(), payload, reply=reply, header=header))
            async with asyncio.timeout(timeout_s):
                answer = await future
        except TimeoutError as error:
            raise Retryable(f"{subject}: no answer in {timeout_s:g} s") from error
        finally:
            self._replies.pop(reply, None)
        if wire.status(answer[2]) == 503:
            raise NobodyAnswers(f"{subject}: nobody answers")
        return answer

    def cut(self) -> None:
        """Give up a connection that is lost, and what of it the server does not have yet: neither
        this process nor the system sends it any more."""
        if self._transport is None:
            return
        own = self._transport.get_extra_info("socket")
        if own is None:
            # uvloop has closed it, and nothing of it is left to be sent.
            return
        # On a second handle of it: uvloop's has no such method.
        with (
            contextlib.suppress(OSError),
            socket.socket(fileno=os.dup(own.fileno())) as same,
        ):
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    async def until_gone(self, former: Connection) -> bool:
        """Wait until the server, asked on this connection, reads nothing more of another one, which
        is lost here. Return False where it cannot be known. Raises Retryable."""
        if self.info.get("server_id") != former.info.get("server_id"):
            return True
        # The server forgets where a client listens once it has read all that the client wrote.
        while await self._is_heard(f"{former._inbox.decode()}.gone"):
            if await self._is_heard(self.inbox()):
                # Somebody listens to everything.
                return False
            await asyncio.sleep(_LOOK_S)
        return True

    async def _is_heard(self, subject: str) -> bool:
        """Return whether anybody listens to a subject. Raises Retryable."""
        answers: list[wire.Frame] = []
        inbox = self.inbox()
        sid = self.subscribe(inbox, answers.extend)
        try:
            self.write(wire.publication(subject.encode(), b"", reply=inbox.encode()))
            # However slow the server is, that nobody listens it says first.
            await self.flush(PING_S)
        finally:
            self.unsubscribe(sid)
        return not any(wire.status(header) == 503 for _, _, header, _ in answers)

    def _answered(self, frames: list[wire.Frame]) -> None:
        for frame in frames:
            future = self._replies.get(frame[0])
            if future is not None and not future.done():
                future.set_result(frame)

    def inbox(self) -> str:
        """Return a subject that nobody else uses."""
        self._number += 1
        return f"{self._prefix}.{id(self):x}{self.info.get('client_id', 0)}b.{self._number:x}"


def _where(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or 4222}"
