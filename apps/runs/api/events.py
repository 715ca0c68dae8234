"""Server-sent events: what is true now, then every change, until the browser leaves."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse

from apps.common.connections import connections_release
from apps.common.events import hub
from apps.runs.selectors import active_run_news

# The browser reconnects by itself; a bounded life makes it prove its session again.
LIFE_S = 600.0
HEARTBEAT_S = 10.0


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _running_now() -> list[dict[str, Any]]:
    """What runs; the stream that follows may last minutes and needs the database no more."""
    try:
        return active_run_news()
    finally:
        connections_release()


async def _stream() -> AsyncIterator[bytes]:
    end = time.monotonic() + LIFE_S
    yield b"retry: 2000\n\n"
    # Subscribed before the snapshot is read, so that no change falls between the two.
    queue = hub.join()
    try:
        runs = await sync_to_async(_running_now)()
        yield _event(json.dumps({"kind": "snapshot", "runs": runs}, default=str))
        while time.monotonic() < end:
            try:
                yield _event(await asyncio.wait_for(queue.get(), HEARTBEAT_S))
            except TimeoutError:
                yield _event('{"kind": "heartbeat"}')
    finally:
        hub.leave(queue)


async def events(request: HttpRequest) -> HttpResponseBase:
    """`text/event-stream`; needs a session."""
    user = await request.auser()
    if not user.is_authenticated:
        body = {"type": "urn:weir:problem:not_authenticated", "title": "Sign in first"}
        body |= {"code": "not_authenticated", "detail": "Live events need a session."}
        return JsonResponse(
            {**body, "status": 401}, status=401, content_type="application/problem+json"
        )
    response = StreamingHttpResponse(_stream(), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response
