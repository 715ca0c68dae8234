"""Send requests to the server of a connection, and to no other."""

import base64
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import certifi
import httpx
from django.conf import settings
from django.utils import timezone

from apps.integrations.domain.addresses import Network, check_address, refusal_of
from apps.integrations.domain.contract import (
    Answer,
    ConnectionSettings,
    Refused,
    Sent,
    Unreachable,
)
from apps.integrations.domain.masking import masked
from weir.errors import InvalidProblem

CONNECT_S, PAUSE_S, WHOLE_S = 5.0, 15.0, 30.0
"""How long connecting, each pause of an answer, and a whole answer may take."""

LARGEST_ANSWER_BYTES = 1024 * 1024
LONGEST_WAIT_S = 3600.0
USER_AGENT = "Weir"


class ForbiddenAddress(Exception):
    """Signal that a name leads to an address that may not be dialled."""


class CheckedTransport(httpx.BaseTransport):
    """A transport that dials the very address that it has checked.

    A name that is looked up once more for dialling could lead elsewhere the second time.
    """

    def __init__(self, allowed: Sequence[Network]) -> None:
        self._allowed = allowed
        self._inner = httpx.HTTPTransport(verify=_tls(), trust_env=False, retries=0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Dial the first of the server's addresses that takes the connection."""
        host, failure = request.url.host, None
        for address in self._addresses(request.url):
            dialled = httpx.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return self._inner.handle_request(dialled)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure

    def close(self) -> None:
        """Close the connections that are kept."""
        self._inner.close()

    def _addresses(self, url: httpx.URL) -> list[str]:
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = socket.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"{url.host} has no address: {error}") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        refusals = [refusal_of(address, self._allowed) for address in addresses]
        allowed = [one for one, refusal in zip(addresses, refusals, strict=True) if not refusal]
        if not allowed:
            raise ForbiddenAddress(refusals[0] if refusals else f"{url.host} has no address.")
        return allowed


@cache
def _tls() -> ssl.SSLContext:
    """Return the machine's own authorities, `SSL_CERT_FILE`, and those that browsers know."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@dataclass(frozen=True, kw_only=True)
class HttpSession:
    """Requests to one server, each kept with its answer."""

    settings: ConnectionSettings
    credential: str
    keep: Callable[[Sent], None]
    """Takes each exchange, secrets masked."""
    before: Callable[[], None] = field(default=lambda: None)
    """Is called before each request; what it raises stops that."""

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer of a success. Raises Unreachable or Refused."""
        self.before()
        base = self.settings.address
        try:
            check_address(base, plain_http=settings.WEIR_PLAIN_HTTP)
        except InvalidProblem as error:
            raise Unreachable(f"{base} is not asked: {error.message}") from None
        address = httpx.URL(base.rstrip("/") + path, params=query or None)
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        at, began = timezone.now(), time.monotonic()
        status, text, failure = None, "", ""
        try:
            status, answered, text = self._exchange(method, address, content, headers or {})
        except ForbiddenAddress as error:
            failure = f"{address.host} is not asked: {error}"
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError) as error:
            failure = _failure(error, address.host)
        finally:
            self.keep(
                Sent(
                    method=method,
                    address=masked(str(address), [self.credential]),
                    status=status,
                    request=self._masked("" if content is None else content.decode()),
                    response=self._masked(text),
                    failure=self._masked(failure),
                    seconds=time.monotonic() - began,
                    at=at,
                )
            )
        if status is None:
            raise Unreachable(self._masked(failure))
        return self._judge(status, answered, text)

    def _exchange(
        self,
        method: str,
        address: httpx.URL,
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int, httpx.Headers, str]:
        timeout = httpx.Timeout(PAUSE_S, connect=CONNECT_S)
        deadline = time.monotonic() + WHOLE_S
        received = bytearray()
        with (
            httpx.Client(
                transport=CheckedTransport(settings.WEIR_PRIVATE_NETWORKS),
                timeout=timeout,
                follow_redirects=False,
                trust_env=False,
            ) as client,
            client.stream(
                method, address, content=content, headers={**self._headers(), **headers}
            ) as response,
        ):
            for piece in response.iter_raw():
                received += piece
                if len(received) > LARGEST_ANSWER_BYTES:
                    raise httpx.ReadError(
                        f"the answer is larger than {LARGEST_ANSWER_BYTES:,} bytes"
                    )
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout(f"the answer takes longer than {WHOLE_S:.0f} s")
            text = received.decode("utf-8", "replace").replace("\x00", "\ufffd")
            return response.status_code, response.headers, text

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            # What is packed could be a thousand times larger than it looks.
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            **self.settings.headers,
        }
        if self.settings.authentication == "bearer":
            headers["Authorization"] = f"Bearer {self.credential}"
        elif self.settings.authentication == "basic":
            encoded = base64.b64encode(self.credential.encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
        return headers

    def _masked(self, text: str) -> str:
        return masked(text, [self.credential])

    def _judge(self, status: int, headers: httpx.Headers, text: str) -> Answer:
        """Return a success. Raises Unreachable where nothing else would get through either."""
        if 200 <= status < 300:
            return Answer(status=status, headers=dict(headers), text=text, json=_json(text))
        detail = self._masked(_detail(text))
        if status == 401:
            raise Unreachable(f"The credential was refused (401). {detail}".strip())
        if 300 <= status < 400:
            where = headers.get("location", "elsewhere")[:200]
            raise Unreachable(
                f"The server sends on to {where}, which is not followed; correct the address."
            )
        if status in (408, 425, 429) or status >= 500:
            raise Unreachable(
                f"The server answers {status}. {detail}".strip(),
                retry_after_s=_retry_after(headers.get("retry-after", "")),
            )
        raise Refused(f"The server refuses this with {status}. {detail}".strip(), status=status)


def _failure(error: Exception, host: str) -> str:
    if isinstance(error, httpx.ConnectTimeout):
        return f"{host} takes no connection within {CONNECT_S:.0f} s."
    if isinstance(error, httpx.TimeoutException):
        return f"{host} does not answer in time: {str(error) or 'no answer'}."
    return f"{host}: {str(error) or type(error).__name__}".rstrip(".") + "."


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _detail(text: str) -> str:
    """Return what an error says in words, short."""
    error = _json(text)
    for name in ("error", "message", "detail"):
        if isinstance(error, dict) and error.get(name):
            error = error[name]
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    if not isinstance(error, str):
        return ""
    line = " ".join(error.split())[:300]
    return f"It says: {line}" if line else ""


def _retry_after(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT_S) if seconds == seconds else None
