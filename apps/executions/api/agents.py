"""Serve agents: open a session, wait for a document, report; with a credential, no cookie, no
CSRF.

These views are asynchronous from end to end and run without Django's middleware
(`config.request_guard`): an agent that waits costs a coroutine, not a thread.
"""

import logging
import time
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from apps.common.api.problems import exception_handler
from apps.common.errors import ApplicationError
from apps.executions.api import messages
from apps.executions.services.document_cache import SystemGone, desk_of
from apps.executions.services.documents import Stamp, stamp_of
from apps.executions.services.pool import in_pool
from apps.executions.services.reports import agent_ahead, agent_heard, document_serve, session_open
from apps.executions.services.restored import restored_text
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Agent
from apps.telemetry.services import (
    LEASE_S,
    agent_by_secret,
    not_mine,
)
from weir.errors import InvalidProblem

logger = logging.getLogger(__name__)

POLL_S = 20.0

View = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]
AgentView = Callable[[HttpRequest, str], Coroutine[Any, Any, HttpResponse]]


def _refusal(error: Exception) -> HttpResponse:
    """Return the problem document for an error."""
    if isinstance(error, InvalidProblem):
        error = ApplicationError.of_field(error.path, error.message)
    if isinstance(error, RequestDataTooBig):
        error = ApplicationError(
            "too_large", f"A report may hold {messages.MAX_BODY_BYTES} bytes; split it.", status=413
        )
    answer = exception_handler(error, {})
    if answer is None:
        logger.error("an agent's request failed", exc_info=error)
        fault = ApplicationError("internal_error", "A fault of Weir; its log has it.", status=500)
        answer = exception_handler(fault, {})
        assert answer is not None
    response = JsonResponse(
        answer.data, status=answer.status_code, content_type="application/problem+json"
    )
    for name, value in answer.headers.items():
        if name.lower() != "content-type":
            response[name] = value
    if answer.status_code == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def agent_view(method: str, max_body_bytes: int) -> Callable[[AgentView], View]:
    """Take one method and a credential; turn exceptions into problem documents.

    `config.request_guard` asks `let_in` before it reads a large body, and reads no more than
    `max_body_bytes`.
    """

    def wrap(view: AgentView) -> View:
        def refused_method(request: HttpRequest) -> HttpResponse | None:
            if request.method == method:
                return None
            refusal = _refusal(ApplicationError("method_not_allowed", f"Use {method}.", status=405))
            refusal["Allow"] = method
            return refusal

        async def let_in(request: HttpRequest) -> HttpResponse | None:
            refusal = refused_method(request)
            if refusal is not None:
                return refusal
            try:
                await in_pool(_agent, _secret(request))
            except Exception as error:
                return _refusal(error)
            return None

        @csrf_exempt
        @wraps(view)
        async def guarded(request: HttpRequest) -> HttpResponse:
            refusal = refused_method(request)
            if refusal is not None:
                return refusal
            try:
                return await view(request, _secret(request))
            except Exception as error:
                return _refusal(error)

        guarded.let_in = let_in  # type: ignore[attr-defined]
        guarded.max_body_bytes = max_body_bytes  # type: ignore[attr-defined]
        return guarded

    return wrap


def _secret(request: HttpRequest) -> str:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise _unknown()
    return secret.strip()


def _unknown() -> ApplicationError:
    return ApplicationError(
        "unknown_credential",
        "This credential is unknown or revoked. Enrol the agent again (manage.py enrol_agents, "
        "or POST /api/v1/agents) and give it the new one.",
        status=401,
    )


def _agent(secret: str) -> Agent:
    agent = agent_by_secret(secret)
    if agent is None:
        raise _unknown()
    return agent


@agent_view("POST", max_body_bytes=256 * 1024)
async def session(request: HttpRequest, secret: str) -> HttpResponse:
    """Open the broker's next incarnation; sessions of older ones are refused."""

    def open_session() -> tuple[Agent, str]:
        agent = _agent(secret)
        given = messages.introduction(messages.body(request))
        opened = session_open(agent=agent, introduction=given)
        return opened, restored_text(opened.system)

    # Beside the event loop, as all work on what others sent: it waits for nobody's large body.
    agent, restored = await in_pool(open_session)
    return JsonResponse(
        {
            "system": agent.system.name,
            "broker": agent.broker.name,
            "incarnation": agent.incarnation,
            "lease_s": LEASE_S,
            "poll_s": POLL_S,
            "restored": restored,
        }
    )


def _arrive(secret: str, incarnation: int, obeyed: int) -> tuple[Agent, Stamp]:
    """Return who asks, and the stamp of the moment. Raises Fenced, SessionUnknown."""
    agent = _agent(secret)
    if incarnation < 1 or agent.incarnation != incarnation:
        raise not_mine(agent, incarnation)
    agent_ahead(agent=agent, number=obeyed)
    stamp = stamp_of(agent.system_id)
    if stamp is None:
        raise _unknown()
    return agent, stamp


@agent_view("GET", max_body_bytes=0)
async def document(request: HttpRequest, secret: str) -> HttpResponse:
    """Return the broker's document as soon as it differs from `seen`; 204 when it did not for
    long."""
    incarnation = messages.incarnation(request.GET.get("incarnation", ""))
    seen = request.GET.get("seen", "")
    obeyed = messages.number(request.GET.get("number", "0"), "number")
    end = time.monotonic() + POLL_S
    agent, stamp = await in_pool(_arrive, secret, incarnation, obeyed)
    broker = agent.broker.name
    try:
        async with desk_of(agent.system_id, agent.system.public_id) as desk:
            await desk.catch_up(stamp)
            while True:
                bell = desk.bell
                if not desk.speaks(broker, incarnation):
                    # A newer session began or the credential ended: find out which, and say so.
                    # Or the broker has a new name.
                    agent, stamp = await in_pool(_arrive, secret, incarnation, obeyed)
                    broker = agent.broker.name
                    await desk.catch_up(stamp)
                version, number, body = await desk.document(broker)
                if version != seen and not desk.held:
                    # Remembered first: an agent that obeys what we forgot is ahead of us.
                    serve = partial(document_serve, agent=agent, incarnation=incarnation)
                    if await in_pool(serve, obeyed=obeyed, number=number):
                        return HttpResponse(
                            body, content_type="application/json", headers={"ETag": f'"{version}"'}
                        )
                    await desk.catch_up(None)
                    continue
                if not await desk.change(bell, end - time.monotonic()):
                    return HttpResponse(status=204)
    except SystemGone:
        return _refusal(_unknown())


@agent_view("POST", max_body_bytes=messages.MAX_BODY_BYTES)
async def report(request: HttpRequest, secret: str) -> HttpResponse:
    """Store what the agent reports and renew its lease; repeating it is harmless."""

    def keep() -> None:
        agent = _agent(secret)
        plain = messages.body(request)
        telemetry = plain.get("telemetry")
        agent_heard(
            agent=agent,
            incarnation=messages.incarnation(plain.get("incarnation")),
            sequence=messages.sequence(plain),
            reports=messages.reports(plain),
            observed=messages.observed(plain),
            telemetry=None if telemetry is None else telemetry_checked(telemetry),
        )

    await in_pool(keep)
    return JsonResponse({"lease_s": LEASE_S})
