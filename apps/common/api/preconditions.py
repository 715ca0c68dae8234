"""Check If-Match on writes and Idempotency-Key on POSTs."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac
from drf_spectacular.utils import OpenApiParameter
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.errors import ApplicationError, Conflict, PreconditionFailed, PreconditionRequired
from apps.common.models import IDEMPOTENCY_KEYS_KEPT, IdempotencyKey


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


IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "maxLength": 200},
    OpenApiParameter.HEADER,
    description="Any text that the account has not sent yet, such as a UUID. A repeat of the same "
    "method, address and body with it changes nothing and answers as the first did, with "
    f"`Idempotency-Replayed: true`, for {IDEMPOTENCY_KEYS_KEPT.days} days; another request with it "
    "is refused (`idempotency_key_reused`). Requests that failed are not remembered. An answer "
    "with a secret is not given twice (`secret_shown_once`).",
)

V = TypeVar("V", bound=Callable[..., Response])


def repeatable(*, secret: str = "") -> Callable[[V], V]:
    """Let callers repeat the POST of a method under an Idempotency-Key: it is done once.

    `secret`: the member of the answer that is shown once, and kept nowhere.
    """

    def wrap(view: V) -> V:
        @wraps(view)
        def keyed(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
            return once(request, lambda: view(self, request, *args, **kwargs), secret=secret)

        keyed.takes_idempotency_key = True  # type: ignore[attr-defined]
        return cast("V", keyed)

    return wrap


def _owner(request: Request) -> str:
    return f"user:{request.user.pk}"


def once(
    request: Request,
    create: Callable[[], Response],
    *,
    body_sha256: str | None = None,
    secret: str = "",
) -> Response:
    """Run `create`, or return its former answer under the same Idempotency-Key. `body_sha256`
    stands for a body that is too large to be kept. Raises Conflict instead of showing the member
    `secret` again."""
    key = request.headers.get("Idempotency-Key", "").strip()
    if not key:
        return create()
    if len(key) > 200:
        raise ApplicationError(
            "invalid_idempotency_key", "Idempotency-Key: at most 200 characters."
        )
    body = request._request.body if body_sha256 is None else body_sha256.encode()
    # Keyed: a body may hold a password, which a plain hash would let somebody guess.
    sent = f"{request.method} {request.get_full_path()}\n".encode() + body
    digest = salted_hmac("weir.idempotency", sent, algorithm="sha256").hexdigest()
    try:
        with transaction.atomic():
            # The unique row is locked until it holds the answer, so a concurrent twin waits here.
            row = IdempotencyKey.objects.create(owner=_owner(request), key=key, request_hash=digest)
            response = create()
            row.status = response.status_code
            row.body = None if secret else _plain(response)
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
    if secret:
        where = f" It is about {row_before.location}." if row_before.location else ""
        raise Conflict(
            "secret_shown_once",
            f"This request was carried out, and its answer held a {secret}, which is shown once."
            f"{where} Make a new {secret} there, or delete it and begin again with another key.",
        )
    headers = {"Idempotency-Replayed": "true"}
    if row_before.location:
        headers["Location"] = row_before.location
    if isinstance(row_before.body, dict) and "version" in row_before.body:
        headers["ETag"] = etag(row_before.body["version"])
    return Response(row_before.body, status=row_before.status or 200, headers=headers)


def _plain(response: Response) -> object:
    return json.loads(JSONRenderer().render(response.data) or b"null")
