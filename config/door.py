"""Agents' requests, let in beside Django's middleware.

An agent has no session, no cookie and no page, and most of the time it only waits. Django's
request cycle would keep a thread for each one that waits; here a view is called as it is. Such
views are asynchronous from end to end and answer every error themselves.
"""

import asyncio
import contextlib
import io
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, JsonResponse
from django.urls import Resolver404, resolve

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 8 * 1024 * 1024
TOO_LARGE = {
    "type": "urn:weir:problem:too_large",
    "title": "Too large",
    "status": 413,
    "code": "too_large",
    "detail": f"A request body may hold {MAX_BODY_BYTES} bytes.",
}


class Door:
    """An ASGI application: paths under `prefix` go straight to their view, others inside."""

    def __init__(self, inner: Application, prefix: str) -> None:
        self.inner = inner
        self.prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self.prefix):
            await self.inner(scope, receive, send)
            return
        try:
            view = resolve(scope["path"]).func
        except Resolver404:
            await self.inner(scope, receive, send)
            return
        body = await _read(receive)
        if body is None:
            response: HttpResponse = JsonResponse(
                TOO_LARGE, status=413, content_type="application/problem+json"
            )
        else:
            request = ASGIRequest(scope, io.BytesIO(body))
            answer = await _unless_gone(view(request), receive)
            if answer is None:
                return
            response = answer
        await _send(response, send)


async def _read(receive: Receive) -> bytes | None:
    """The whole body; None when it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _unless_gone(answer: Awaitable[HttpResponse], receive: Receive) -> HttpResponse | None:
    """The answer; None when the caller hung up first, and then nobody waits for it any more."""
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
