"""Dial the servers that requests may reach, and give up on time whatever they do."""

import math
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import certifi
import httpcore
import httpx

from apps.common.outgoing.addresses import Network, refusal_of

LOOKUP_S = 10.0
"""How long looking a name up may take."""

LOOKUPS = 8
"""Names that are looked up at the same time, at most. One that hangs keeps its thread until the
machine's resolver gives up: nobody else can end it."""

_free_lookups = threading.BoundedSemaphore(LOOKUPS)


class ForbiddenAddress(Exception):
    """Signal that a name leads to an address that may not be dialled."""


class Deadline:
    """The moment at which a request is given up, whatever part of it goes on."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds

    def left(self, most: float | None = None) -> float:
        """Return how long to wait at most. Raises ReadTimeout once it is over."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout(f"the request takes longer than {self.seconds:g} s")
        return min(left, threading.TIMEOUT_MAX if most is None else most)


class CheckedTransport(httpx.HTTPTransport):
    """A transport that dials the very address that it has checked, until a deadline.

    A name that is looked up once more for dialling could lead elsewhere the second time.
    """

    def __init__(self, allowed: Sequence[Network], deadline: Deadline | None = None) -> None:
        super().__init__(verify=_tls(), trust_env=False)
        # httpx has no parameter for how connections are made; its pool has.
        self._pool = httpcore.ConnectionPool(
            ssl_context=_tls(), network_backend=_Backend(allowed, deadline or Deadline())
        )


class _Backend(httpcore.NetworkBackend):
    """What makes the connections of a pool."""

    def __init__(self, allowed: Sequence[Network], deadline: Deadline) -> None:
        self._allowed = allowed
        self._deadline = deadline
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Dial the first of the server's addresses that takes the connection."""
        failure: Exception | None = None
        for address in self._addresses(host, port):
            wait = self._deadline.left(timeout)
            try:
                stream = self._inner.connect_tcp(
                    address, port, wait, local_address, socket_options or ()
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream, self._deadline)
        assert failure is not None
        raise failure

    def _addresses(self, host: str, port: int) -> list[str]:
        addresses = _looked_up(host, port, self._deadline)
        refusals = [refusal_of(address, self._allowed) for address in addresses]
        allowed = [one for one, refusal in zip(addresses, refusals, strict=True) if not refusal]
        if not allowed:
            raise ForbiddenAddress(refusals[0] if refusals else f"{host} has no address.")
        return allowed


class _Stream(httpcore.NetworkStream):
    """A connection on which no wait outlasts the deadline.

    The pauses that httpx knows begin anew with each byte; a server that sends or takes one every
    few seconds would never come to an end.
    """

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has come."""
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it, as much at a time as the other side takes."""
        sock = self._inner.get_extra_info("socket")
        rest = memoryview(buffer)
        while rest:
            wait = self._deadline.left(timeout)
            with _as_httpcore():
                sock.settimeout(wait)
                rest = rest[sock.send(rest) :]

    def close(self) -> None:
        """Close the connection beneath it."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Begin TLS; a handshake has one limit for all of it."""
        wait = self._deadline.left(timeout)
        return _Stream(
            self._inner.start_tls(ssl_context, server_hostname, wait),
            self._deadline,
        )

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of the connection beneath."""
        return self._inner.get_extra_info(info)


@contextmanager
def _as_httpcore() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise httpcore.WriteTimeout(str(error)) from error
    except OSError as error:
        raise httpcore.WriteError(str(error)) from error


def _looked_up(host: str, port: int, deadline: Deadline) -> list[str]:
    """Return the addresses of a name, each once.

    In a thread, since a resolver takes no limit; in few, since one that hangs cannot be ended.
    """
    if not _free_lookups.acquire(timeout=deadline.left(LOOKUP_S)):
        raise httpcore.ConnectError(
            f"{LOOKUPS} names are being looked up without an answer; look at the resolver"
        )
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # it is raised where it is waited for
            answers.put(error)
        finally:
            _free_lookups.release()

    try:
        threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
    except RuntimeError:
        _free_lookups.release()
        raise
    try:
        answer = answers.get(timeout=deadline.left(LOOKUP_S))
    except queue.Empty:
        raise httpcore.ConnectError(
            f"the name is not looked up within {LOOKUP_S:g} s; look at the resolver"
        ) from None
    if isinstance(answer, OSError | UnicodeError):
        raise httpcore.ConnectError(f"{host} has no address: {answer}") from answer
    if isinstance(answer, Exception):
        raise answer
    return list(dict.fromkeys(str(entry[4][0]) for entry in answer))


@cache
def _tls() -> ssl.SSLContext:
    """Return the machine's own authorities, `SSL_CERT_FILE`, and those that browsers know."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
