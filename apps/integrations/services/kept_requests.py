"""Send requests to servers, within a time, and keep each with its answer."""

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx
from django.conf import settings
from django.utils import timezone

from apps.common.outgoing.dialling import CheckedTransport, Deadline, ForbiddenAddress
from apps.integrations.domain.contract import Failed, Sent, Unreachable

CONNECT_S = 5.0
"""How long each address of a server may take until it is connected."""

READ_PAUSE_S, PAUSE_S = 20.0, 60.0
"""How long the answer to a request that reads, and to any other, may pause."""

WHOLE_S = 90.0
"""How long a request may take in all: looking the name up, connecting, sending, the answer."""

LARGEST_ANSWER_BYTES = 1024 * 1024
LONGEST_WAIT_S = 3600.0
USER_AGENT = "Weir"
HEADERS = {
    "Accept": "application/json",
    # What is packed could be a thousand times larger than it looks.
    "Accept-Encoding": "identity",
    "User-Agent": USER_AGENT,
}


class _TooLarge(Exception):
    """Signal an answer that is not read to its end."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, and how it may be shown."""

    method: str
    address: httpx.URL
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    pause_s: float
    """How long its answer may pause."""
    mask: Callable[[str], str]
    """Returns a text without secrets."""
    shown: str = field(repr=False)
    """The body as it is kept, before it is masked."""
    mask_answer: Callable[[str], str]
    """Returns the body of the answer as it is kept."""
    signs_in: bool = False
    """It asks for an access token, and writes nothing."""
    whole_s: float | None = None
    """How long it may take in all; None: as any other."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """What a server answered, whatever its status."""

    status: int
    headers: httpx.Headers = field(repr=False)
    text: str = field(repr=False)

    @cached_property
    def json(self) -> Any:
        """Return what it holds, fit for Postgres; None: no JSON."""
        return read_json(self.text)

    @property
    def retry_after_s(self) -> float | None:
        """Return how long the server wants to be left alone; None: it does not say."""
        try:
            seconds = float(self.headers.get("retry-after", ""))
        except ValueError:
            return None
        return min(max(seconds, 0.0), LONGEST_WAIT_S) if seconds == seconds else None

    @property
    def is_away(self) -> bool:
        """Return whether nothing else would get through either, for a while."""
        maintained = self.status == 503 and "retry-after" in self.headers
        return maintained or self.status in (408, 425, 429)

    @property
    def redirection(self) -> str:
        """Return where a redirection leads, without what may be a secret."""
        try:
            place = httpx.URL(self.headers.get("location", ""))
            return str(place.copy_with(userinfo=b"", query=None, fragment=None))
        except (httpx.InvalidURL, UnicodeError):
            return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequests:
    """Requests of one connection, each kept with its answer."""

    keep: Callable[[Sent], None]
    """Takes each exchange, secrets masked."""
    before: Callable[[], None]
    """Is called before each request; what it raises stops that."""

    def send(self, request: Request) -> Response:
        """Return what is answered. Raises Unreachable where nothing is, Failed where it is too
        large to be read."""
        self.before()
        at, began = timezone.now(), time.monotonic()
        status, text, failure, not_sent = None, "", "", False
        host = request.address.host
        headers = httpx.Headers()
        try:
            status, headers, text = _exchange(request)
        except _TooLarge as error:
            status = error.status
            failure = f"The answer is larger than {LARGEST_ANSWER_BYTES:,} bytes."
        except ForbiddenAddress as error:
            failure, not_sent = f"{host} is not asked: {error}", True
        except (
            *(httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError),
            # A redirection to a name that cannot be: httpx reads it, though nobody follows it.
            UnicodeError,
        ) as error:
            failure = _failure(error, host)
            not_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        finally:
            self.keep(
                Sent(
                    method=request.method,
                    address=request.mask(str(request.address)),
                    status=status,
                    request=request.mask(request.shown),
                    response=request.mask_answer(text),
                    failure=request.mask(failure),
                    seconds=time.monotonic() - began,
                    at=at,
                    signs_in=request.signs_in,
                )
            )
        if status is None:
            raise Unreachable(request.mask(failure), not_sent=not_sent)
        if failure:
            raise Failed(failure, status=status)
        return Response(status=status, headers=headers, text=text)


def _exchange(request: Request) -> tuple[int, httpx.Headers, str]:
    transport = CheckedTransport(
        settings.WEIR_PRIVATE_NETWORKS,
        Deadline(WHOLE_S if request.whole_s is None else request.whole_s),
        settings.WEIR_OUTGOING_PROXY,
    )
    received = bytearray()
    with (
        httpx.Client(
            transport=transport,
            timeout=httpx.Timeout(request.pause_s, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=False,
        ) as client,
        client.stream(
            request.method, request.address, content=request.content, headers=request.headers
        ) as response,
    ):
        for piece in response.iter_raw():
            received += piece
            if len(received) > LARGEST_ANSWER_BYTES:
                raise _TooLarge(response.status_code)
        text = received.decode("utf-8", "replace").replace("\x00", "\ufffd")
        return response.status_code, response.headers, text


def _failure(error: Exception, host: str) -> str:
    if isinstance(error, httpx.ConnectTimeout):
        return f"{host} takes no connection within {CONNECT_S:.0f} s."
    if isinstance(error, httpx.TimeoutException):
        return f"{host} does not answer in time: {str(error) or 'no answer'}."
    return f"{host}: {str(error) or type(error).__name__}".rstrip(".") + "."


def read_json(text: str) -> Any:
    """Return what a text holds, fit for Postgres; None where it is no JSON."""
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
