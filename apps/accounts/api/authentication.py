"""Identify the caller by a browser session, or by `Authorization: Bearer weir_…`."""

from copy import copy
from datetime import timedelta
from importlib import import_module
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from apps.accounts.api.token_limit import count_request
from apps.accounts.domain.roles import Permission
from apps.accounts.models import ApiToken, User
from apps.accounts.services import token_digest

# The time of last use helps people to clean up; it does not need a row write per request.
USE_RECORDED_EVERY = timedelta(minutes=1)


class SessionAuthentication(authentication.SessionAuthentication):
    """Use Django's session with CSRF; without a session the answer is 401, not 403."""

    def enforce_csrf(self, request: Request) -> None:
        """Take the CSRF token from its header alone. Looking for it among the fields of a form
        would read the body, and find fault with it, before anybody knows who sent it."""
        without_body = copy(request._request)
        without_body.POST = QueryDict()
        super().enforce_csrf(cast("Request", without_body))

    def authenticate_header(self, request: Request) -> str:
        return "Session"


class TokenAuthentication(authentication.BaseAuthentication):
    """Identify the caller by a token, of which only a hash is stored."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = (
            ApiToken.objects.select_related("owner")
            .filter(digest=token_digest(secret.strip()))
            .first()
        )
        if token is None or not token.usable:
            raise exceptions.AuthenticationFailed(
                "This token is unknown, expired or revoked. Make a new one under Settings."
            )
        count_request(request, token)
        now = timezone.now()
        if token.last_used_at is None or now - token.last_used_at > USE_RECORDED_EVERY:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def permissions_of_session(session_key: str | None) -> frozenset[Permission] | None:
    """Return what the person of a session may do now; None where it lets nobody in any more."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    person = get_user(request)
    return person.permissions if isinstance(person, User) else None


def permissions_of_token(token: ApiToken) -> frozenset[Permission] | None:
    """Return what a token may do now; None where it may not be used any more."""
    row = ApiToken.objects.select_related("owner").filter(pk=token.pk).first()
    return row.permissions if row is not None and row.usable else None


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Name the token in the published schema."""

    target_class = "apps.accounts.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "weir_…"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Name the browser session in the published schema."""

    target_class = "apps.accounts.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
