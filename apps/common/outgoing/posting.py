"""Post a body to an address that may hold secrets, within a time, and to no private address."""

import logging
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl, urlsplit

import httpx
from django.conf import settings

from apps.common.outgoing.addresses import check_address
from apps.common.outgoing.dialling import CheckedTransport, Deadline, ForbiddenAddress
from apps.common.outgoing.masking import KEPT, masked
from weir.errors import InvalidProblem

logger = logging.getLogger(__name__)
CONNECT_S, WHOLE_S = 5.0, 15.0
"""How long connecting, and all of a request, may take."""

READ_BYTES = 64 * 1024
"""What is read of an answer; the rest says nothing that counts."""

SHORTEST_PIECE = 8
"""What is shorter in a path is a word like `hooks`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a request."""

    status: int | None
    """None: nothing was answered."""
    response: str
    failure: str
    """Why it does not count as taken; empty: it does."""
    retry_after_s: float | None
    seconds: float

    @property
    def taken(self) -> bool:
        """Return whether the other side has it."""
        return not self.failure


def post(address: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Return what came of the request; it raises nothing that a server could bring about."""
    began = time.monotonic()
    status, text, failure, wait = None, "", "", None
    try:
        check_address(address, plain_http=settings.WEIR_PLAIN_HTTP, may_query=True)
        status, text, wait = _exchange(address, body, headers)
        failure = _failure(status)
    except InvalidProblem as error:
        failure = f"The address is not asked: {error.message}"
    except ForbiddenAddress as error:
        failure = f"The address is not asked: {error}"
    except httpx.ConnectTimeout:
        failure = f"No connection within {CONNECT_S:.0f} s."
    except httpx.TimeoutException:
        failure = f"No answer within {WHOLE_S:.0f} s."
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, UnicodeError) as error:
        failure = _sentence(error)
    except Exception as error:
        # Whatever a server brings about is a failed attempt, which is noted and comes to an end.
        trace = masked(traceback.format_exc(), _secrets(address))
        logger.error("a request failed in a way that nobody thought of: %s", trace)
        failure = _sentence(error)
    secrets = _secrets(address)
    return Answer(
        status=status,
        response=masked(text, secrets)[:KEPT],
        failure=masked(failure, secrets),
        retry_after_s=wait,
        seconds=time.monotonic() - began,
    )


def _exchange(
    address: str, body: bytes, headers: Mapping[str, str]
) -> tuple[int, str, float | None]:
    transport = CheckedTransport(
        settings.WEIR_PRIVATE_NETWORKS, Deadline(WHOLE_S), settings.WEIR_OUTGOING_PROXY
    )
    with (
        httpx.Client(
            transport=transport,
            timeout=httpx.Timeout(WHOLE_S, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=False,
        ) as client,
        client.stream("POST", address, content=body, headers=headers) as response,
    ):
        wait = _retry_after(response.headers.get("retry-after", ""))
        return response.status_code, _text(response), wait


def _text(response: httpx.Response) -> str:
    """Return the body as far as it comes: what counts is the status, which is there."""
    received = bytearray()
    try:
        for piece in response.iter_raw():
            received += piece
            if len(received) > READ_BYTES:
                break
    except (httpx.HTTPError, httpx.StreamError, OSError):
        pass
    return bytes(received[:READ_BYTES]).decode("utf-8", "replace").replace("\x00", "\ufffd")


def _failure(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"It sends on elsewhere ({status}), which is not followed; correct the address."
    return f"It answers {status}."


def _sentence(error: Exception) -> str:
    return f"{str(error) or type(error).__name__}".rstrip(".") + "."


def _secrets(address: str) -> list[str]:
    """Return the parts of an address that only administrators see; a server may repeat them."""
    parts = urlsplit(address)
    pieces = [piece for piece in parts.path.split("/") if len(piece) >= SHORTEST_PIECE]
    values = [value for _, value in parse_qsl(parts.query)]
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return [address, target, parts.path, parts.query, *values, *pieces]


def _retry_after(text: str) -> float | None:
    """Return how many seconds a server wants to be left alone; it says so or names a time."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None
