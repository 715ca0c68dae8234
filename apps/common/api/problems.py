"""Answer every error of the API with an RFC 9457 problem document."""

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, IntegrityError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from psycopg2.errors import UniqueViolation
from rest_framework import exceptions
from rest_framework.response import Response

from apps.common.errors import ApplicationError, FieldError

logger = logging.getLogger(__name__)
CONTENT_TYPE = "application/problem+json"
TITLES = {
    400: "The request is not valid",
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Not possible in this state",
    412: "Changed by someone else",
    413: "Too large",
    415: "Unsupported media type",
    422: "The request cannot be carried out",
    428: "Say which version you edit",
    429: "Too many requests",
    503: "Not available now",
}


def problem(
    http_status: int,
    code: str,
    detail: str,
    *,
    headers: dict[str, str] | None = None,
    **members: Any,
) -> Response:
    """Return a problem document as a DRF response."""
    body = {
        "type": f"urn:weir:problem:{code}",
        "title": TITLES.get(http_status, "The request failed"),
        "status": http_status,
        "code": code,
        "detail": detail,
        **{name: value for name, value in members.items() if value},
    }
    return Response(body, status=http_status, headers=headers, content_type=CONTENT_TYPE)


def _member(error: FieldError) -> dict[str, Any]:
    line = {} if error.line is None else {"line": error.line}
    return {"field": error.field, "message": error.message, **line}


def flatten(detail: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Flatten DRF's nested error detail to `{field, message}` entries with dotted paths."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            if isinstance(key, int):
                yield from flatten(value, f"{path}[{key}]")
                continue
            name = "" if key == "non_field_errors" else str(key)
            yield from flatten(value, f"{path}.{name}" if path and name else path or name)
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            nested = isinstance(value, dict | list)
            if value:
                yield from flatten(value, f"{path}[{index}]" if nested else path)
    else:
        yield {"field": path, "message": str(detail)}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn an exception of a view into a problem document; a bug goes on to Django and is
    logged."""
    if isinstance(error, ApplicationError):
        return problem(
            error.status,
            error.code,
            error.message,
            errors=[_member(one) for one in error.errors],
            violated_constraint=error.violated_constraint,
            headers={"Retry-After": "1"} if error.status in (429, 503) else None,
            **error.extra,
        )
    if isinstance(error, exceptions.ValidationError):
        errors = list(flatten(error.detail))
        first = errors[0] if errors else {"field": "", "message": "not valid"}
        detail = f"{first['field']}: {first['message']}" if first["field"] else first["message"]
        return problem(400, "invalid", detail, errors=errors)
    if isinstance(error, Http404):
        return problem(404, "not_found", "There is no such object, or it was deleted.")
    if isinstance(error, PermissionDenied):
        return problem(403, "forbidden", str(error) or "Your roles do not allow this.")
    if isinstance(error, RequestDataTooBig):
        return problem(
            413,
            "too_large",
            "A request body may hold 32 MiB. Solve larger problems with manage.py allocate.",
        )
    if isinstance(error, SuspiciousOperation):
        # Too many parameters or a wrong host are errors of the caller.
        return problem(400, "bad_request", str(error) or "The request is not valid.")
    if isinstance(error, OperationalError):
        logger.warning("database away: %s", error)
        return problem(
            503,
            "database_away",
            "The database does not answer; nothing was changed. Try again in a few seconds.",
            headers={"Retry-After": "3"},
        )
    if isinstance(error, IntegrityError) and isinstance(error.__cause__, UniqueViolation):
        # Two concurrent requests, each of which saw that the value was free.
        return problem(
            409,
            "taken_meanwhile",
            "Another request has just taken this name or number. Reload, then try again.",
            violated_constraint=error.__cause__.diag.constraint_name,
        )
    if isinstance(error, DataError):
        # It passed all checks of Weir but is outside the database's types.
        logger.warning("value refused by the database: %s", error)
        return problem(400, "invalid", "A value is out of the range that the database can hold.")
    if isinstance(error, exceptions.APIException):
        codes = error.get_codes()
        code = codes if isinstance(codes, str) else "invalid"
        headers = {}
        wait = getattr(error, "wait", None)
        if wait is not None:
            headers["Retry-After"] = str(int(wait))
        auth_header = getattr(error, "auth_header", None)
        if auth_header:
            headers["WWW-Authenticate"] = auth_header
        return problem(error.status_code, code, str(error.detail), headers=headers)
    return None


def _plain(http_status: int, code: str, detail: str) -> JsonResponse:
    """Return a problem document for a request that reached no view of the API."""
    return JsonResponse(
        {
            "type": f"urn:weir:problem:{code}",
            "title": TITLES.get(http_status, "The request failed"),
            "status": http_status,
            "code": code,
            "detail": detail,
        },
        status=http_status,
        content_type=CONTENT_TYPE,
    )


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request that Django rejects before it reaches a view of the API."""
    if isinstance(exception, RequestDataTooBig):
        return _plain(413, "too_large", "The request body is too large.")
    return _plain(400, "bad_request", str(exception) or "The request is not valid.")


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Answer a request for an unknown address."""
    return _plain(404, "not_found", f"There is nothing at {request.path[:200]}.")


def server_error(request: HttpRequest) -> JsonResponse:
    """Answer a request that failed by an internal error; the log has the trace."""
    return _plain(
        500, "internal_error", "This is an internal error of Weir; its log has the trace."
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> JsonResponse:
    """Answer a browser request without its CSRF token."""
    return _plain(403, "csrf_failed", "The page is out of date: reload it and try again.")
