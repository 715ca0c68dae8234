"""Post a body to the address of a webhook, within a time, and to no private address."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
from django.conf import settings

from apps.common.outgoing.addresses import check_address
from apps.common.outgoing.dialling import CheckedTransport, Deadline, ForbiddenAddress
from weir.errors import InvalidProblem

CONNECT_S, WHOLE_S = 5.0, 15.0
"""How long connecting, and all of a request, may take."""

READ_BYTES = 64 * 1024
"""What is read of an answer; the rest says nothing that counts."""

KEPT = 4_000
"""Characters that are kept of it."""


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
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
        failure = f"{str(error) or type(error).__name__}".rstrip(".") + "."
    return Answer(
        status=status,
        response=text[:KEPT],
        failure=failure,
        retry_after_s=wait,
        seconds=time.monotonic() - began,
    )


def _exchange(
    address: str, body: bytes, headers: Mapping[str, str]
) -> tuple[int, str, float | None]:
    transport = CheckedTransport(settings.WEIR_PRIVATE_NETWORKS, Deadline(WHOLE_S))
    received = bytearray()
    with (
        httpx.Client(
            transport=transport,
            timeout=httpx.Timeout(WHOLE_S, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=False,
        ) as client,
        client.stream("POST", address, content=body, headers=headers) as response,
    ):
        for piece in response.iter_raw():
            received += piece
            if len(received) > READ_BYTES:
                break
        text = bytes(received[:READ_BYTES]).decode("utf-8", "replace").replace("\x00", "\ufffd")
        return response.status_code, text, _retry_after(response.headers.get("retry-after", ""))


def _failure(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"It sends on elsewhere ({status}), which is not followed; correct the address."
    return f"It answers {status}."


def _retry_after(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(seconds, 0.0) if seconds == seconds else None
