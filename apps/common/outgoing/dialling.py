"""Dial the servers that requests may reach, and give up on time whatever they do."""

import math
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import certifi
import httpcore
import httpx

from apps.common.outgoing.addresses import Network, refusal_of
from apps.common.outgoing.proxy import ANSWER_S, Proxy, open_tunnel, target_of

LOOKUP_S = 10.0
"""How long looking a name up may take."""

KNOWN_LOOKUP_S = 2.0
"""The same where a proxy may look it up."""

LOOKUPS = 8
"""Names that are looked up at the same time, at most. One that hangs keeps its thread until the
machine's resolver gives up: nobody else can end it."""

_free_lookups = threading.BoundedSemaphore(LOOKUPS)
_free_for_proxies = threading.BoundedSemaphore(LOOKUPS)
"""Of their own: a proxy is there for names that this machine's resolver leaves hanging."""


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

    A proxy looks names up itself, and may know what this machine does not. Behind it a name counts
    with TLS alone: the server proves by its certificate that it is meant, wherever the name led the
    proxy. Without TLS the proxy is asked for the address that was checked.
    """

    def __init__(
        self,
        allowed: Sequence[Network],
        deadline: Deadline | None = None,
        proxy: Proxy | None = None,
    ) -> None:
        super().__init__(verify=_tls(), trust_env=False)
        self._backend = _Backend(allowed, deadline or Deadline(), proxy)
        # httpx has no parameter for how connections are made; its pool has.
        self._pool = httpcore.ConnectionPool(ssl_context=_tls(), network_backend=self._backend)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its pool does not say for which of them it connects."""
        self._backend.is_encrypted = request.url.scheme == "https"
        return super().handle_request(request)


class _Backend(httpcore.NetworkBackend):
    """What makes the connections of a pool, for one request after the other."""

    def __init__(self, allowed: Sequence[Network], deadline: Deadline, proxy: Proxy | None) -> None:
        self.is_encrypted = False
        self._allowed = allowed
        self._deadline = deadline
        self._proxy = proxy
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Reach a server at the first of its addresses that takes the connection."""
        proxy = self._proxy
        if proxy is None or proxy.spares_name(host):
            addresses = _looked_up(host, port, self._deadline)
            return self._dial(self._permitted(host, addresses), port, timeout)
        addresses = self._known_addresses(host, port)
        spared = proxy.spared(addresses)
        if spared:
            return self._dial(self._permitted(host, spared), port, timeout)
        return self._first(
            partial(self._tunnel, proxy, target, port, timeout)
            for target in self._targets(host, addresses)
        )

    def _dial(
        self, addresses: Sequence[str], port: int, timeout: float | None
    ) -> httpcore.NetworkStream:
        def dial(address: str) -> httpcore.NetworkStream:
            wait = self._deadline.left(timeout)
            return _Stream(self._inner.connect_tcp(address, port, wait), self._deadline)

        return self._first(partial(dial, address) for address in addresses)

    def _first(
        self, attempts: Iterable[Callable[[], httpcore.NetworkStream]]
    ) -> httpcore.NetworkStream:
        """Return what the first attempt reaches that reaches something."""
        failure: Exception | None = None
        for attempt in attempts:
            try:
                return attempt()
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure

    def _permitted(self, host: str, addresses: Sequence[str]) -> list[str]:
        refusals = [refusal_of(address, self._allowed) for address in addresses]
        allowed = [one for one, refusal in zip(addresses, refusals, strict=True) if not refusal]
        if not allowed:
            raise ForbiddenAddress(refusals[0] if refusals else f"{host} has no address.")
        return allowed

    # --- by a proxy

    def _known_addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses that this machine knows; none: the proxy may know some."""
        try:
            return _looked_up(host, port, self._deadline, KNOWN_LOOKUP_S)
        except httpcore.ConnectError:
            if _is_number(host):
                raise ForbiddenAddress(f"{host} is neither a name nor an address.") from None
            return []

    def _targets(self, host: str, addresses: Sequence[str]) -> list[str]:
        """Return what the proxy is asked for. It chooses among the addresses of a name, so that
        each of them has to be one that may be dialled."""
        for address in addresses:
            self._permitted(host, [address])
        if self.is_encrypted and not _is_number(host):
            return [host]
        if not addresses:
            raise ForbiddenAddress(
                f"{host} has no address that Weir could check. Without TLS that is needed."
            )
        return list(addresses)

    def _tunnel(
        self, proxy: Proxy, host: str, port: int, timeout: float | None
    ) -> httpcore.NetworkStream:
        try:
            addresses = _looked_up(proxy.host, proxy.port, self._deadline, slots=_free_for_proxies)
            stream = self._dial(addresses, proxy.port, timeout)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise httpcore.ConnectError(
                f"the proxy {proxy} takes no connection: {str(error) or type(error).__name__}"
            ) from error
        try:
            wait = Deadline(self._deadline.left(ANSWER_S))
            open_tunnel(_Stream(stream, wait), proxy, target_of(host, port))
        except BaseException:
            stream.close()
            raise
        return stream


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


def _is_number(host: str) -> bool:
    """Return whether it is, or may be read as, an address and no name: a proxy may read forms of
    numbers in another way than this machine does."""
    return host.rstrip(".").rpartition(".")[2][:1].isdigit() or ":" in host


def _looked_up(
    host: str,
    port: int,
    deadline: Deadline,
    longest_s: float | None = None,
    slots: threading.Semaphore = _free_lookups,
) -> list[str]:
    """Return the addresses of a name, each once.

    In a thread, since a resolver takes no limit; in few, since one that hangs cannot be ended.
    """
    longest_s = LOOKUP_S if longest_s is None else longest_s
    if not slots.acquire(timeout=deadline.left(longest_s)):
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
            slots.release()

    try:
        threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
    except RuntimeError:
        slots.release()
        raise
    try:
        answer = answers.get(timeout=deadline.left(longest_s))
    except queue.Empty:
        raise httpcore.ConnectError(
            f"the name is not looked up within {longest_s:g} s; look at the resolver"
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
