"""Send server-sent events: the present state, then every change, until the browser leaves."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse

from apps.accounts.api.authentication import permissions_of_session
from apps.audit.services import NUMBERED
from apps.common.connections import connections_release
from apps.common.events import hub
from apps.runs.selectors import active_run_news

# The browser reconnects by itself; a bounded stream makes it prove its session again.
LIFE_S = 600.0
HEARTBEAT_S = 10.0
ABOUT_SESSIONS = '"kind": "session"'
"""Events for the streams themselves: somebody signed out or may no longer sign in."""
NUMBERS = f'"kind": "{NUMBERED}"'
"""Events for the streams of other systems; pages are told of the changes themselves."""


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _running_now() -> list[dict[str, Any]]:
    """Return what runs; the stream that follows may last minutes and needs the database no more."""
    try:
        return active_run_news()
    finally:
        connections_release()


def _signed_in(session_key: str | None) -> bool:
    """Return whether the session still lets its person in."""
    try:
        return permissions_of_session(session_key) is not None
    finally:
        connections_release()


async def _stream(session_key: str | None) -> AsyncIterator[bytes]:
    end = time.monotonic() + LIFE_S
    looked_at = time.monotonic()
    yield b"retry: 2000\n\n"
    # Subscribe before the snapshot is read, so that no change falls between the two.
    queue = hub.join()
    try:
        runs = await sync_to_async(_running_now)()
        yield _event(json.dumps({"kind": "snapshot", "runs": runs}, default=str))
        while time.monotonic() < end:
            try:
                news = await asyncio.wait_for(queue.get(), HEARTBEAT_S)
            except TimeoutError:
                news = '{"kind": "heartbeat"}'
            about_sessions = ABOUT_SESSIONS in news
            if about_sessions or time.monotonic() - looked_at >= HEARTBEAT_S:
                looked_at = time.monotonic()
                if not await sync_to_async(_signed_in)(session_key):
                    return
            if not about_sessions and NUMBERS not in news:
                yield _event(news)
    finally:
        hub.leave(queue)


async def events(request: HttpRequest) -> HttpResponseBase:
    """Send `text/event-stream`; needs a session and ends with it."""
    user = await request.auser()
    if not user.is_authenticated:
        await sync_to_async(connections_release)()
        body = {"type": "urn:weir:problem:not_authenticated", "title": "Sign in first"}
        body |= {"code": "not_authenticated", "detail": "Live events need a session."}
        return JsonResponse(
            {**body, "status": 401}, status=401, content_type="application/problem+json"
        )
    response = StreamingHttpResponse(
        _stream(request.session.session_key), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response
