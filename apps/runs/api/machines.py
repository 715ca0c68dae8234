"""Serve the addresses to which running jobs post; they take a token and are for machines only."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core import signing
from django.db import DataError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from apps.common.json_reader import read_json
from apps.runs.services import attempt_of_token

View = Callable[[HttpRequest], HttpResponse]


def machine_post(*, max_body_bytes: int) -> Callable[[Callable[[str, Any], bool]], View]:
    """Return a view of what a job sends; its answer says whether the job should go on.

    The token is checked before the body, and by `config.request_guard` before a large one is read.
    """

    def wrap(keep: Callable[[str, Any], bool]) -> View:
        @csrf_exempt
        @wraps(keep)
        def view(request: HttpRequest) -> HttpResponse:
            refusal = _refusal(request)
            if refusal is not None:
                return refusal
            try:
                return JsonResponse({"continue": keep(_token(request), read_json(request.body))})
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, DataError):
                return _problem(400, "invalid", "This is not what a job sends.")

        async def let_in(request: HttpRequest) -> HttpResponse | None:
            return _refusal(request)

        view.let_in = let_in  # type: ignore[attr-defined]
        view.max_body_bytes = max_body_bytes  # type: ignore[attr-defined]
        return view

    return wrap


def _token(request: HttpRequest) -> str:
    return request.headers.get("Authorization", "").partition(" ")[2]


def _refusal(request: HttpRequest) -> HttpResponse | None:
    if request.method != "POST":
        answer = _problem(405, "method_not_allowed", "Use POST.")
        answer["Allow"] = "POST"
        return answer
    try:
        attempt_of_token(_token(request))
    except (signing.BadSignature, ValueError, TypeError):
        return _problem(403, "bad_token", "This token names no attempt of a run.")
    return None


def _problem(status: int, code: str, detail: str) -> HttpResponse:
    body = {"type": f"urn:weir:problem:{code}", "title": detail, "status": status, "code": code}
    return JsonResponse(
        {**body, "detail": detail}, status=status, content_type="application/problem+json"
    )
