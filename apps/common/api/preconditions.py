"""Check If-Match on writes and Idempotency-Key on POSTs."""

import json
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import IntegrityError, transaction
from django.http import Http404
from django.http.request import RawPostDataException
from django.utils.crypto import salted_hmac
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import APIException, UnsupportedMediaType
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.errors import ApplicationError, Conflict, PreconditionFailed, PreconditionRequired
from apps.common.models import IDEMPOTENCY_KEYS_KEPT, IdempotencyKey

VERSION_NAMED = re.compile(r'(?:W/)?(?P<quote>"?)([0-9]{1,18})(?:-[^"\s,]*)?(?P=quote)')
"""A version as If-Match names it; what follows it identifies a body, which edits do not need."""


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
    named = VERSION_NAMED.fullmatch(header)
    if named is None:
        raise PreconditionFailed(
            "version_mismatch", f"If-Match {header} names no version of this object."
        )
    return int(named[2])


IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="`ETag` of an answer that you have: 304 while it is the same.",
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200},
    OpenApiParameter.HEADER,
    description="Any text that the account has not sent yet, such as a UUID. A repeat of the same "
    "method, address, `If-Match` and body with it, by the session or the token of before, changes "
    "nothing and answers as the first did, with `Idempotency-Replayed: true`, for "
    f"{IDEMPOTENCY_KEYS_KEPT.days} days; another request with it is refused "
    "(`idempotency_key_reused`). Requests that failed are not remembered. An answer with a secret "
    "is not given twice (`secret_shown_once`).",
)

REFUSALS = (ApplicationError, APIException, Http404, PermissionDenied, SuspiciousOperation)
"""What a request may end with that is no fault of ours."""

V = TypeVar("V", bound=Callable[..., Response])


def repeatable(*, secret: str = "", instead: str = "") -> Callable[[V], V]:
    """Let callers repeat the POST of a method under an Idempotency-Key: it is done once.

    `secret`: the member of the answer that is shown once, and kept nowhere; `instead`: what to do
    for another one.
    """

    def wrap(view: V) -> V:
        @wraps(view)
        def keyed(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
            return once(
                request,
                lambda: view(self, request, *args, **kwargs),
                secret=secret,
                instead=instead,
            )

        keyed.takes_idempotency_key = True  # type: ignore[attr-defined]
        return cast("V", keyed)

    return wrap


def once(
    request: Request,
    create: Callable[[], Response],
    *,
    body_sha256: str | None = None,
    secret: str = "",
    instead: str = "",
) -> Response:
    """Run `create`, or return its former answer under the same Idempotency-Key.

    `body_sha256` stands for a body that is too large to be kept. Raises Conflict instead of showing
    the member `secret` again. What `create` has committed before it refuses stays: a plan that was
    found stale is stale.
    """
    if "Idempotency-Key" not in request.headers:
        return create()
    owner, key = f"user:{request.user.pk}", request.headers["Idempotency-Key"].strip()
    if not key or len(key) > 200:
        raise ApplicationError("invalid_idempotency_key", "Idempotency-Key: 1 to 200 characters.")
    digest = _digest(request, body_sha256)
    refusal: Exception | None = None
    try:
        with transaction.atomic():
            # The unique row is locked until it holds the answer, so a concurrent twin waits here.
            row = IdempotencyKey.objects.create(owner=owner, key=key, request_hash=digest)
            try:
                response = create()
            except REFUSALS as error:
                row.delete()
                refusal = error
            else:
                row.status = response.status_code
                row.body = None if secret else _plain(response)
                row.location = response.headers.get("Location", "")
                row.save(update_fields=["status", "body", "location"])
    except IntegrityError:
        former = IdempotencyKey.objects.filter(owner=owner, key=key).first()
        if former is None:
            raise
        return _replay(former, digest, secret, instead)
    if refusal is not None:
        raise refusal
    return response


def _replay(former: IdempotencyKey, digest: str, secret: str, instead: str) -> Response:
    """Return the former answer. Raises Conflict where the request differs, or the answer held a
    secret."""
    if former.request_hash != digest:
        raise Conflict(
            "idempotency_key_reused",
            "This Idempotency-Key was used for another request. Use a new one.",
            status=422,
        )
    if secret:
        where = f" What it made is at {former.location}." if former.location else ""
        raise Conflict(
            "secret_shown_once",
            f"This request was carried out, and its answer held a {secret}, which is shown once."
            f"{where} {instead}",
        )
    headers = {"Idempotency-Replayed": "true"}
    if former.location:
        headers["Location"] = former.location
    if isinstance(former.body, dict) and "version" in former.body:
        headers["ETag"] = etag(former.body["version"])
    return Response(former.body, status=former.status or 200, headers=headers)


def _digest(request: Request, body_sha256: str | None) -> str:
    """Return what tells requests apart: all that they ask for, and by which credential."""
    try:
        body = request._request.body if body_sha256 is None else body_sha256.encode()
    except RawPostDataException:
        # A form, whose token against forgery was looked for in its fields.
        raise UnsupportedMediaType(request.content_type or "") from None
    credential = f"token {request.auth.pk}" if hasattr(request.auth, "pk") else "session"
    match = request.headers.get("If-Match", "")
    # Keyed: a body may hold a password, which a plain hash would let somebody guess.
    sent = f"{request.method} {request.get_full_path()}\n{credential}\n{match}\n".encode() + body
    return salted_hmac("weir.idempotency", sent, algorithm="sha256").hexdigest()


def _plain(response: Response) -> object:
    return json.loads(JSONRenderer().render(response.data) or b"null")
