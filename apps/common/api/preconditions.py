"""Check If-Match on writes and Idempotency-Key on creating POSTs."""

import hashlib
from collections.abc import Callable

from django.db import IntegrityError, transaction
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.errors import ApplicationError, Conflict, PreconditionFailed, PreconditionRequired
from apps.common.models import IdempotencyKey


def etag(version: int) -> str:
    """Return the entity tag of a row version."""
    return f'"{version}"'


def expected_version(request: Request) -> int:
    """Return the version that If-Match names. Raises PreconditionRequired or PreconditionFailed."""
    header = request.headers.get("If-Match", "").strip()
    if not header:
        raise PreconditionRequired(
            "if_match_required",
            "Send If-Match with the ETag (or the quoted `version`) of the object you edit.",
        )
    try:
        return int(header.removeprefix("W/").strip('"'))
    except ValueError:
        raise PreconditionFailed(
            "version_mismatch", f"If-Match {header} names no version of this object."
        ) from None


def _owner(request: Request) -> str:
    return f"user:{request.user.pk}"


def once(
    request: Request, create: Callable[[], Response], *, body_sha256: str | None = None
) -> Response:
    """Run `create`, or return its former answer under the same Idempotency-Key. `body_sha256`
    stands for a body that is too large to be kept."""
    key = request.headers.get("Idempotency-Key", "").strip()
    if not key:
        return create()
    if len(key) > 200:
        raise ApplicationError(
            "invalid_idempotency_key", "Idempotency-Key: at most 200 characters."
        )
    body = request._request.body if body_sha256 is None else body_sha256.encode()
    digest = hashlib.sha256(
        f"{request.method} {request.get_full_path()}\n".encode() + body
    ).hexdigest()
    try:
        with transaction.atomic():
            # The unique row is locked until it holds the answer, so a concurrent twin waits here.
            row = IdempotencyKey.objects.create(owner=_owner(request), key=key, request_hash=digest)
            response = create()
            row.status, row.body = response.status_code, _plain(response)
            row.location = response.headers.get("Location", "")
            row.save(update_fields=["status", "body", "location"])
            return response
    except IntegrityError:
        row_before = IdempotencyKey.objects.filter(owner=_owner(request), key=key).first()
        if row_before is None:
            raise
    if row_before.request_hash != digest:
        raise Conflict(
            "idempotency_key_reused",
            "This Idempotency-Key was used for another request. Use a new one.",
            status=422,
        )
    headers = {"Idempotency-Replayed": "true"}
    if row_before.location:
        headers["Location"] = row_before.location
    if isinstance(row_before.body, dict) and "version" in row_before.body:
        headers["ETag"] = etag(row_before.body["version"])
    return Response(row_before.body, status=row_before.status or 200, headers=headers)


def _plain(response: Response) -> object:
    import json

    from rest_framework.renderers import JSONRenderer

    return json.loads(JSONRenderer().render(response.data) or b"null")
