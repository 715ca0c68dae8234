"""A server of access tokens on a socket: client credentials (RFC 6749, section 4.4)."""

import base64
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

from tests.apps.integrations.faulty_server import FaultyServer

PATH = "/oauth_token.do"


class FakeTokenServer(FaultyServer):
    """What gives tokens to one client, and knows those that it gave."""

    def __init__(self, client: str, secret: str, *, in_body: bool = False) -> None:
        super().__init__()
        self.client, self.secret = client, secret
        self.in_body = in_body
        """It looks for the client in the body, not in the header."""
        self.life: Any = 1800
        """`expires_in`; None: it is not said."""
        self.more: dict[str, Any] = {}
        """What its answers say beside, or otherwise."""
        self.given: list[str] = []
        self.valid: set[str] = set()

    def takes(self, authorization: str) -> bool:
        """Return whether a request of another server came with a token that holds."""
        kind, _, token = authorization.partition(" ")
        return kind == "Bearer" and token in self.valid

    def end_all(self) -> None:
        """No token that was given holds any more."""
        self.valid.clear()

    def answer(
        self, method: str, address: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        """Give a token to the client, and to nobody else."""
        if address != PATH or method != "POST":
            return 404, {"error": "not_found"}
        if headers.get("Content-Type") != "application/x-www-form-urlencoded":
            return 415, {"error": "invalid_request"}
        if body.get("grant_type") != "client_credentials":
            return 400, {"error": "unsupported_grant_type"}
        if self._client(body, headers) != (self.client, self.secret):
            return 401, {"error": "invalid_client", "error_description": "access_denied"}
        token = f"tok.{secrets.token_urlsafe(24)}"
        self.given.append(token)
        self.valid.add(token)
        answer = {"access_token": token, "token_type": "Bearer", "scope": body.get("scope", "all")}
        if self.life is not None:
            answer["expires_in"] = self.life
        return 200, {**answer, **self.more}

    def _client(self, body: Mapping[str, str], headers: Mapping[str, str]) -> tuple[str, str]:
        if self.in_body:
            return body.get("client_id", ""), body.get("client_secret", "")
        kind, _, encoded = headers.get("Authorization", "").partition(" ")
        if kind != "Basic" or "client_secret" in body:
            return "", ""
        user, _, password = base64.b64decode(encoded).decode().partition(":")
        return unquote_plus(user), unquote_plus(password)
