"""Read requests and sign answers of the server's auth callout: JSON web tokens signed with
nkeys.

The form is that of github.com/nats-io/jwt, version 2 (`authorization_request`,
`authorization_response`, `user`); the algorithm is ed25519 over `header.payload`.
"""

from __future__ import annotations

import base64
import json
import secrets as random
from dataclasses import dataclass
from typing import Any

import nkeys

_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRequest:
    """Describe a client that wants to connect, as the server reports it."""

    server_id: str
    user_nkey: str
    """A key that the server made for this connection; the answer names it."""
    connection: int
    """The server's number of the connection, unique while the server runs."""
    host: str
    name: str
    """The connection's name, as the client gave it."""
    user: str
    password: str
    nkey: str = ""
    """The public key that the client claims to own; nobody has verified that."""
    signature: str = ""
    nonce: str = ""
    """What the server sent this connection for signing; given when there is a signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """List the subjects to which a user may publish and subscribe; an empty `allow` means all but
    `deny`."""

    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    publish_denied: tuple[str, ...] = ()
    subscribe_denied: tuple[str, ...] = ()


def read_request(token: bytes) -> ConnectRequest:
    """Return the server's request. It comes over the admission account, where only the server may
    publish on this subject, so its signature is not verified again. Raises ValueError."""
    try:
        claims = decode(token.decode())
        body = claims["nats"]
        client, options = body["client_info"], body["connect_opts"]
        return ConnectRequest(
            server_id=body["server_id"]["id"],
            user_nkey=body["user_nkey"],
            connection=int(client["id"]),
            host=client.get("host", ""),
            name=options.get("name", ""),
            user=options.get("user", ""),
            password=options.get("pass", ""),
            nkey=options.get("nkey", ""),
            signature=options.get("sig", ""),
            nonce=client.get("nonce", ""),
        )
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"not an authorization request: {error!r}") from error


class Issuer:
    """Sign answers as the account whose public key the server's configuration names."""

    def __init__(self, seed: str) -> None:
        self._keys = nkeys.from_seed(bytearray(seed.encode()))
        self.public = self._keys.public_key.decode()

    def admit(
        self,
        request: ConnectRequest,
        *,
        account: str,
        name: str,
        permissions: Permissions,
        now: float,
        expires: float | None,
    ) -> bytes:
        """Return the answer that lets the connection in until `expires` (Unix seconds; None: for
        good)."""
        user: dict[str, Any] = {
            "sub": request.user_nkey,
            "aud": account,
            "name": name,
            "nats": {
                "type": "user",
                "version": 2,
                "pub": _subjects(permissions.publish, permissions.publish_denied),
                "sub": _subjects(permissions.subscribe, permissions.subscribe_denied),
                "subs": -1,
                "data": -1,
                "payload": -1,
            },
        }
        if expires is not None:
            user["exp"] = int(expires)
        return self._answer(request, {"jwt": self._sign(user, now)}, now)

    def refuse(self, request: ConnectRequest, *, reason: str, now: float) -> bytes:
        """Return the answer that turns the connection away; the server logs `reason`."""
        return self._answer(request, {"error": reason}, now)

    def _answer(self, request: ConnectRequest, answer: dict[str, str], now: float) -> bytes:
        claims = {
            "sub": request.user_nkey,
            "aud": request.server_id,
            "nats": {"type": "authorization_response", "version": 2, **answer},
        }
        return self._sign(claims, now).encode()

    def _sign(self, claims: dict[str, Any], now: float) -> str:
        full = {**claims, "iss": self.public, "iat": int(now), "jti": random.token_hex(16)}
        text = f"{_encode(_HEADER)}.{_encode(full)}"
        return f"{text}.{_base64(self._keys.sign(text.encode()))}"


def decode(token: str) -> dict[str, Any]:
    """Return a token's claims, unverified. Raises ValueError."""
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("a token has three parts")
    padded = parts[1] + "=" * (-len(parts[1]) % 4)
    claims = json.loads(base64.urlsafe_b64decode(padded))
    if not isinstance(claims, dict):
        raise ValueError("a token's claims are an object")
    return claims


def _subjects(allow: tuple[str, ...], deny: tuple[str, ...]) -> dict[str, list[str]]:
    given = {"allow": list(allow), "deny": list(deny)}
    return {key: subjects for key, subjects in given.items() if subjects}


def _encode(plain: dict[str, Any]) -> str:
    return _base64(json.dumps(plain, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
