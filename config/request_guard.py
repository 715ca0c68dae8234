"""Check requests before Django: sizes of bodies, credentials of machines, agents' own route.

A body is counted while it comes and refused as soon as it is too large. A view may say with
`let_in` whether it knows the caller at all; that is asked before a body is read that is larger than
a stranger's may be. The view itself asks again: a smaller body, or none, is read without.

An agent has no session, no cookie and no page, and most of the time it only waits. Django's
request cycle would keep a thread for each one that waits; here a view is called as it is. Such
views are asynchronous from end to end and answer every error themselves.
"""

import asyncio
import contextlib
import io
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, JsonResponse
from django.urls import Resolver404, resolve

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

KIB = 1024
STRANGERS_BYTES = 64 * KIB
"""The limit for requests with neither a token nor a session: enough to sign in."""
LARGEST_BYTES = 32 * KIB * KIB
IMPORT_PATH = "/api/v1/interest-imports"
"""The path whose bodies are read in pieces, and may be as large as the settings say."""
MACHINES = ("/agent/v1/", "/internal/")
"""The paths whose views decide themselves how much they take, and from whom."""


class RequestGuard:
    """Wrap Django's ASGI application; paths under `direct` go straight to their view."""

    def __init__(self, inner: Application, *, direct: str) -> None:
        self.inner = inner
        self.direct = direct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        view = _machine_view(scope["path"])
        most: int = getattr(view, "max_body_bytes", _limit(scope))
        if _declared_bytes(scope) > most:
            await _send(_too_large(most), send)
            return
        let_in = None if _is_small(scope, most) else getattr(view, "let_in", None)
        refusal = await let_in(ASGIRequest(scope, io.BytesIO())) if let_in else None
        if refusal is not None:
            await _send(refusal, send)
        elif view is not None and scope["path"].startswith(self.direct):
            await _answer_directly(view, scope, receive, send, most)
        else:
            await self._through_django(scope, receive, send, most)

    async def _through_django(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        counted, too_large = 0, False

        async def counting() -> Mapping[str, Any]:
            nonlocal counted, too_large
            message = await receive()
            counted += len(message.get("body", b""))
            if counted > most:
                # Django has answered nothing yet: it reads all of the body first.
                too_large = True
                return {"type": "http.disconnect"}
            return message

        await self.inner(scope, counting, send)
        if too_large:
            await _send(_too_large(most), send)


def _machine_view(path: str) -> Any:
    if not path.startswith(MACHINES):
        return None
    try:
        return resolve(path).func
    except Resolver404:
        return None


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key.lower() == name), b"")


def _limit(scope: Scope) -> int:
    known = _header(scope, b"authorization") or b"sessionid=" in _header(scope, b"cookie")
    if not known:
        return STRANGERS_BYTES
    bulk: int = settings.WEIR_LARGEST_IMPORT_BYTES
    return bulk if scope["path"] == IMPORT_PATH else LARGEST_BYTES


def _declared_bytes(scope: Scope) -> int:
    """Return the length that the request declares; an undeclared one is counted as it arrives."""
    text = _header(scope, b"content-length")
    return int(text[:20]) if text.isdigit() else 0


def _is_small(scope: Scope, most: int) -> bool:
    """Return whether the body is known to be no larger than anybody's may be."""
    declared = 0 if _header(scope, b"transfer-encoding") else _declared_bytes(scope)
    return most <= STRANGERS_BYTES or 0 < declared <= STRANGERS_BYTES


def _too_large(most: int) -> HttpResponse:
    return JsonResponse(
        {
            "type": "urn:weir:problem:too_large",
            "title": "Too large",
            "status": 413,
            "code": "too_large",
            "detail": f"A request body may hold {most} bytes here.",
        },
        status=413,
        content_type="application/problem+json",
    )


async def _answer_directly(
    view: Any, scope: Scope, receive: Receive, send: Send, most: int
) -> None:
    body = await _read(receive, most)
    if body is None:
        await _send(_too_large(most), send)
        return
    answer = await _unless_gone(view(ASGIRequest(scope, io.BytesIO(body))), receive)
    if answer is not None:
        await _send(answer, send)


async def _read(receive: Receive, most: int) -> bytes | None:
    """Return the whole body; None when it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _unless_gone(answer: Awaitable[HttpResponse], receive: Receive) -> HttpResponse | None:
    """Return the answer; None when the caller disconnected first."""
    working = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, leaving):
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task


async def _send(response: HttpResponse, send: Send) -> None:
    headers = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in response.items()]
    headers.append((b"content-length", str(len(response.content)).encode()))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
