"""Send requests to the server of a connection, and to no other."""

import base64
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from django.conf import settings
from django.utils import timezone

from apps.common.outgoing.addresses import check_address
from apps.common.outgoing.dialling import CheckedTransport, Deadline, ForbiddenAddress
from apps.common.outgoing.masking import masked
from apps.integrations.domain.contract import (
    Answer,
    ConnectionSettings,
    Failed,
    Refused,
    Sent,
    Unreachable,
)
from weir.errors import InvalidProblem

CONNECT_S = 5.0
"""How long each address of a server may take until it is connected."""

READ_PAUSE_S, PAUSE_S = 20.0, 60.0
"""How long the answer to a request that reads, and to any other, may pause."""

WHOLE_S = 90.0
"""How long a request may take in all: looking the name up, connecting, sending, the answer."""

LARGEST_ANSWER_BYTES = 1024 * 1024
LONGEST_WAIT_S = 3600.0
LONGEST_DETAIL = 300
USER_AGENT = "Weir"


class _TooLarge(Exception):
    """Signal an answer that is not read to its end."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


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
        """Return the answer of a success. Raises Unreachable, Failed or Refused."""
        self.before()
        address = self._address(path, query or {})
        given = {**self._headers(), **(headers or {})}
        _check_headers(given)
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        at, began = timezone.now(), time.monotonic()
        status, text, failure, not_sent = None, "", "", False
        answered = httpx.Headers()
        try:
            status, answered, text = self._exchange(method, address, content, given)
        except _TooLarge as error:
            status = error.status
            failure = f"The answer is larger than {LARGEST_ANSWER_BYTES:,} bytes."
        except ForbiddenAddress as error:
            failure, not_sent = f"{address.host} is not asked: {error}", True
        except (
            *(httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError),
            # A redirection to a name that cannot be: httpx reads it, though nobody follows it.
            UnicodeError,
        ) as error:
            failure = _failure(error, address.host)
            not_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        finally:
            self.keep(
                Sent(
                    method=method,
                    address=self._masked(str(address)),
                    status=status,
                    request=self._masked("" if content is None else content.decode()),
                    response=self._masked(text),
                    failure=self._masked(failure),
                    seconds=time.monotonic() - began,
                    at=at,
                )
            )
        if status is None:
            raise Unreachable(self._masked(failure), not_sent=not_sent)
        if failure:
            raise Failed(failure, status=status)
        return self._judge(status, answered, text)

    def _address(self, path: str, query: Mapping[str, str]) -> httpx.URL:
        base = self.settings.address
        try:
            check_address(base, plain_http=settings.WEIR_PLAIN_HTTP)
            return httpx.URL(base.rstrip("/") + path, params=query or None)
        except InvalidProblem as error:
            raise Unreachable(f"{base} is not asked: {error.message}", not_sent=True) from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unreachable(
                f"{base} with its path is no address; correct the settings. {error}",
                not_sent=True,
            ) from None

    def _exchange(
        self,
        method: str,
        address: httpx.URL,
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int, httpx.Headers, str]:
        pause = READ_PAUSE_S if method == "GET" else PAUSE_S
        transport = CheckedTransport(settings.WEIR_PRIVATE_NETWORKS, Deadline(WHOLE_S))
        received = bytearray()
        with (
            httpx.Client(
                transport=transport,
                timeout=httpx.Timeout(pause, connect=CONNECT_S),
                follow_redirects=False,
                trust_env=False,
            ) as client,
            client.stream(method, address, content=content, headers=headers) as response,
        ):
            for piece in response.iter_raw():
                received += piece
                if len(received) > LARGEST_ANSWER_BYTES:
                    raise _TooLarge(response.status_code)
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
            if not self.credential.isascii():
                raise Unreachable(
                    "The token holds letters that no header can carry. Correct what `credential` "
                    "of the connection names.",
                    not_sent=True,
                )
            headers["Authorization"] = f"Bearer {self.credential}"
        elif self.settings.authentication == "basic":
            encoded = base64.b64encode(self.credential.encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
        return headers

    def _masked(self, text: str) -> str:
        return masked(text, [self.credential])

    def _judge(self, status: int, headers: httpx.Headers, text: str) -> Answer:
        """Return a success.

        Raises Unreachable where nothing else would get through either, Failed where the server
        failed at this one request.
        """
        if 200 <= status < 300:
            return Answer(status=status, headers=dict(headers), text=text, json=_json(text))
        # Masked before it is cut: half of a secret is recognised by nobody.
        detail = self._masked(_detail(text))[:LONGEST_DETAIL]
        if status == 401:
            raise Unreachable(f"The credential was refused (401). {detail}".strip())
        if status < 400:
            where = self._masked(_without_query(headers.get("location", "")))[:200] or "elsewhere"
            raise Unreachable(
                f"The server sends on to {where}, which is not followed; correct the address."
            )
        problem = f"The server answers {status}. {detail}".strip()
        away = status == 503 and "retry-after" in headers
        if away or status in (408, 425, 429):
            raise Unreachable(problem, retry_after_s=_retry_after(headers.get("retry-after", "")))
        if status >= 500:
            raise Failed(problem, status=status)
        raise Refused(f"The server refuses this with {status}. {detail}".strip(), status=status)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise Unreachable(
                f"The header {name} is not one line of ASCII; correct the settings.", not_sent=True
            )


def _without_query(location: str) -> str:
    """Return where a redirection leads, without what may be a secret."""
    try:
        return str(httpx.URL(location).copy_with(userinfo=b"", query=None, fragment=None))
    except (httpx.InvalidURL, UnicodeError):
        return ""


def _failure(error: Exception, host: str) -> str:
    if isinstance(error, httpx.ConnectTimeout):
        return f"{host} takes no connection within {CONNECT_S:.0f} s."
    if isinstance(error, httpx.TimeoutException):
        return f"{host} does not answer in time: {str(error) or 'no answer'}."
    return f"{host}: {str(error) or type(error).__name__}".rstrip(".") + "."


def _json(text: str) -> Any:
    try:
        return _storable(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _storable(part: Any) -> Any:
    """Return a part of an answer without what text in Postgres cannot hold."""
    if isinstance(part, str):
        whole = part.replace("\x00", "\ufffd")
        return whole.encode("utf-8", "replace").decode() if not whole.isascii() else whole
    if isinstance(part, list):
        return [_storable(one) for one in part]
    if isinstance(part, dict):
        return {_storable(name): _storable(one) for name, one in part.items()}
    return part


def _detail(text: str) -> str:
    """Return what an error says in words."""
    error = _json(text)
    for name in ("error", "message", "detail", "errorMessage"):
        if isinstance(error, dict) and error.get(name):
            error = error[name]
    if isinstance(error, dict):
        error = _of_jira(error)
    if not isinstance(error, str):
        return ""
    line = " ".join(error.split())
    return f"It says: {line}" if line else ""


def _of_jira(error: Mapping[str, Any]) -> str:
    """Return `errorMessages` and `errors`, which name the fields, as one line."""
    messages, errors = error.get("errorMessages"), error.get("errors")
    words = [str(one) for one in messages] if isinstance(messages, list) else []
    if isinstance(errors, Mapping):
        words += [f"{name}: {one}" for name, one in errors.items()]
    return " ".join(words)


def _retry_after(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT_S) if seconds == seconds else None
