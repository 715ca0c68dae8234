"""Send the events of the history as they happen, and from a number on, to programs that follow."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.accounts.api.authentication import permissions_of_session, permissions_of_token
from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.accounts.models import ApiToken
from apps.audit.models import FOR_ADMINISTRATORS, Event
from apps.audit.services import NUMBERED
from apps.common.api.forms import refuse_unknown
from apps.common.connections import connections_release
from apps.common.errors import ApplicationError
from apps.common.events import hub
from apps.systems.models import System
from apps.webhooks.domain.event_types import EVERYTHING, check_patterns, is_wanted, type_of
from apps.webhooks.selectors.bodies import body_of
from apps.webhooks.services.queue import last_event
from weir.errors import InvalidProblem

T = TypeVar("T")

LIFE_S = 600.0
"""A program connects again by itself; a bounded stream makes it prove who it is."""
HEARTBEAT_S = 5.0
"""How long a stream is silent at most, and how often it looks whether its caller still may."""
AT_ONCE = 200
"""Events that are read at once."""
MOST_SYSTEMS = 100
MOST_STREAMS = 200
"""Streams of one process."""
_READERS = ThreadPoolExecutor(2, thread_name_prefix="event-stream")
"""All streams wake at the same moment; so many read at once, and Postgres has a hundred
connections."""


class EventText(JSONRenderer):
    """Render nothing: the stream is text already, and a problem is JSON."""

    media_type = "text/event-stream"
    format = "event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a stream tells of."""

    types: Sequence[str]
    systems: frozenset[UUID]
    """Empty: all of them, and what is of none."""
    administers: bool

    def includes(self, event: Event) -> bool:
        """Return whether it is of one of the types."""
        return is_wanted(type_of(event.entry.object_kind, event.entry.action), self.types)


def events_after(number: int, wanted: Wanted) -> tuple[list[tuple[int, str]], int, bool]:
    """Return the next events as number and CloudEvent, up to which number was looked, and whether
    there may be more."""
    last = last_event()
    rows = Event.objects.filter(number__gt=number, number__lte=last).select_related("entry")
    if wanted.systems:
        rows = rows.filter(entry__system_id__in=wanted.systems)
    if not wanted.administers:
        rows = rows.exclude(entry__object_kind__in=FOR_ADMINISTRATORS)
    events = list(rows.order_by("number")[:AT_ONCE])
    chosen = [event for event in events if wanted.includes(event)]
    ids = {event.entry.system_id for event in chosen if event.entry.system_id is not None}
    systems = {row.public_id: row for row in System.objects.filter(public_id__in=ids)}
    bodies = [(event.number, body_of(event, systems)) for event in chosen]
    more = len(events) == AT_ONCE
    return bodies, events[-1].number if more else max(number, last), more


async def _read(work: Callable[[], T]) -> T:
    """Do some work with the database in a thread of all streams, which keeps no connection."""

    def run() -> T:
        try:
            return work()
        finally:
            connections_release()

    return await asyncio.get_running_loop().run_in_executor(_READERS, run)


async def stream(number: int, wanted: Wanted, lasts: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Yield each wanted event after this number with its own as id, in their order, until the
    stream's time is over or `lasts` says that its caller may not go on.

    A number is passed on also where nothing was wanted up to it, so that whoever connects again
    does not have all that looked through once more.
    """
    end, looked_at = time.monotonic() + LIFE_S, time.monotonic()
    yield b"retry: 2000\n\n"
    # Join before events are read, so that none falls between the two.
    queue = hub.join()
    try:
        while time.monotonic() < end:
            if time.monotonic() - looked_at >= HEARTBEAT_S:
                looked_at = time.monotonic()
                if not await _read(lasts):
                    return
            bodies, looked_to, more = await _read(partial(events_after, number, wanted))
            for each, body in bodies:
                yield f"id: {each}\ndata: {body}\n\n".encode()
            if looked_to > number and (not bodies or bodies[-1][0] < looked_to):
                yield f"id: {looked_to}\n\n".encode()
            number = looked_to
            if not more and not await _numbers(queue):
                yield b": nothing new\n\n"
    finally:
        hub.leave(queue)


async def _numbers(queue: "asyncio.Queue[str]") -> bool:
    """Wait until there are new numbers; return whether that was said. Without Valkey nobody says
    it, and the stream looks by itself after a while."""
    try:
        async with asyncio.timeout(HEARTBEAT_S):
            while f'"kind": "{NUMBERED}"' not in await queue.get():
                pass
    except TimeoutError:
        return False
    return True


class EventStreamView(APIView):
    """Follow what happens, as server-sent events."""

    # A HEAD would go on as a GET does.
    http_method_names = ["get", "options"]
    needs = {"get": Permission.READ}
    refuses = {"get": (429,)}
    renderer_classes = [EventText]
    never_alike = ("get",)

    @extend_schema(
        operation_id="event_stream",
        parameters=[
            OpenApiParameter(
                "type",
                str,
                many=True,
                description="Types as /event-types lists them, `weir.plan.*` for a kind, or `*` "
                "(the default) for all but accounts, tokens and sign-ins; may be given several "
                "times.",
            ),
            OpenApiParameter(
                "system",
                OpenApiTypes.UUID,
                many=True,
                description="Only events of this system; may be given several times.",
            ),
            OpenApiParameter(
                "after",
                {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
                description="The number of the last event that is known; 0: none. Without it and "
                "without `Last-Event-ID` the stream begins with what happens next.",
            ),
            OpenApiParameter(
                "Last-Event-ID",
                str,
                OpenApiParameter.HEADER,
                description="As `after`, which it goes before; what the library of a browser or "
                "program sends when it connects again.",
            ),
        ],
        responses={
            (200, "text/event-stream"): OpenApiResponse(
                OpenApiTypes.STR,
                "Messages `id: <number>`, `data: <CloudEvent>`; the event is that of a webhook.",
            )
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Follow what happens as server-sent events, each with its number as id.

        Whoever connects again with the last id misses nothing and gets nothing twice. Events come
        within seconds, in the order of their numbers, which for each object is the order of what
        happened. A message with an id alone says that up to it there was nothing to tell. The
        stream ends after ten minutes, or 10 s after what its token may do has changed; connect
        again. Sign-ins are sent to administrators alone.
        """
        refuse_unknown(request.query_params, {"type", "system", "after"}, "query parameter")
        if hub.listeners >= MOST_STREAMS:
            raise ApplicationError(
                "too_many_streams",
                f"{MOST_STREAMS} streams are open here. Close some, or try again later.",
                status=429,
            )
        types = request.query_params.getlist("type") or [EVERYTHING]
        try:
            check_patterns(types, "type")
        except InvalidProblem as error:
            raise serializers.ValidationError({"type": error.message}) from error
        may, now = granted(request), _permissions(request)
        wanted = Wanted(
            types=types,
            systems=_systems(request),
            administers=Permission.ADMINISTER in may,
        )
        response = StreamingHttpResponse(
            stream(_begin(request), wanted, lambda: now() == may), content_type="text/event-stream"
        )
        response["Cache-Control"] = "no-cache"
        response["X-Accel-Buffering"] = "no"
        return response

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the answer, and let go the connection of a thread that is this request's alone."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        connections_release()
        return answer


def _systems(request: Request) -> frozenset[UUID]:
    given = request.query_params.getlist("system")
    form = serializers.ListField(child=serializers.UUIDField(), max_length=MOST_SYSTEMS)
    try:
        return frozenset(form.run_validation(given))
    except serializers.ValidationError as error:
        message = f"Must be public ids of systems, {MOST_SYSTEMS} at most."
        raise serializers.ValidationError({"system": message}) from error


def _begin(request: Request) -> int:
    """Return the number after which the stream begins. Raises ValidationError."""
    header = request.headers.get("Last-Event-ID", "").strip()
    name = "Last-Event-ID" if header else "after"
    given = header or request.query_params.get("after", "")
    last = last_event()
    if not given:
        return last
    try:
        number = int(serializers.IntegerField(min_value=0).run_validation(given))
    except serializers.ValidationError as error:
        raise serializers.ValidationError({name: error.detail}) from error
    if number > last:
        message = f"There is no event {number} yet; the newest has the number {last}."
        raise serializers.ValidationError({name: message})
    return number


def _permissions(request: Request) -> Callable[[], frozenset[Permission] | None]:
    """Return what reads anew what the caller may do; None: no longer anything."""
    if isinstance(request.auth, ApiToken):
        return partial(permissions_of_token, request.auth)
    return partial(permissions_of_session, request._request.session.session_key)
