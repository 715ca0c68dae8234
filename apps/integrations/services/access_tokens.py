"""Take access tokens by the client credentials of OAuth 2.0 (RFC 6749, section 4.4).

A token lives in the memory of this process alone: it is never stored, never logged, and masked in
what is kept of exchanges. Another process takes one of its own.
"""

import base64
import hashlib
import json
import math
import re
import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import quote_plus, urlencode

import httpx
from django.conf import settings

from apps.common.outgoing.addresses import check_address
from apps.common.outgoing.masking import MASK, masked
from apps.integrations.domain.contract import ConnectionSettings, Failed, Unreachable
from apps.integrations.services import kept_requests
from apps.integrations.services.kept_requests import HEADERS, KeptRequests, Request, Response
from weir.errors import InvalidProblem

MARGIN_S = 60.0
"""How long before its end a token is used no more; of one that lives less than twice as long, half
of its life."""

UNSAID_S, LONGEST_S = 300.0, 86_400.0
"""How long a token is used whose end is not said, and any other at most."""

TAKEN_WITHIN_S = 20.0
"""How long a token may take in all: what needs it waits, and holds up other connections."""

LONGEST_TOKEN, LONGEST_DETAIL = 16_384, 300
SHOWN = ("expires_in", "scope", "error", "error_description", "error_uri")
"""Members of an answer that hold no secret; of what else there is, only the name is kept."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token, and when it is used no more."""

    value: str = field(repr=False)
    until: float
    """Of the monotonic clock."""


_TOKEN = re.compile(r"[!-~]+")
_tokens: dict[bytes, AccessToken] = {}
_lock = threading.Lock()


@dataclass(kw_only=True)
class AccessTokens:
    """The access tokens of one connection."""

    settings: ConnectionSettings
    credential: str = field(repr=False)
    """`client_id:client_secret`."""
    requests: KeptRequests
    secrets: list[str] = field(default_factory=list, repr=False)
    """What is masked: the credential as it is sent, and every token that came up here."""

    def __post_init__(self) -> None:
        self.secrets += [self.credential, self._encoded()]

    def remembered(self) -> AccessToken | None:
        """Return the token that this process has taken before, while it holds."""
        with _lock:
            token = _tokens.get(self._key())
        if token is None or monotonic() >= token.until:
            return None
        self._hide(token.value)
        return token

    def take(self) -> AccessToken:
        """Take a new token. Raises Unreachable: without one nothing else gets there either.

        What the token is for was not sent, or was refused by 401 and did nothing.
        """
        try:
            token = self._taken()
        except Unreachable as error:
            message = f"No access token: {error}"
            raise Unreachable(message, retry_after_s=error.retry_after_s, not_sent=True) from None
        except Failed as error:
            raise Unreachable(f"No access token: {error}", not_sent=True) from None
        now = monotonic()
        with _lock:
            for key in [key for key, one in _tokens.items() if one.until <= now]:
                del _tokens[key]
            if token.until > now:
                _tokens[self._key()] = token
        return token

    def forget(self, token: AccessToken) -> None:
        """Use this token no more; one that somebody else has taken since stays."""
        with _lock:
            if _tokens.get(self._key()) == token:
                del _tokens[self._key()]

    def _taken(self) -> AccessToken:
        began = monotonic()
        response = self.requests.send(self._request())
        content = response.json if isinstance(response.json, dict) else {}
        host = httpx.URL(self.settings.token_address).host
        if response.status < 200 or response.status >= 300:
            raise self._refusal(response, content, host)
        value, kind = content.get("access_token"), content.get("token_type") or "bearer"
        if not isinstance(value, str) or not value:
            raise Unreachable(
                f"{host} answers {response.status} without `access_token`; look at `token_address`."
            )
        self._hide(value)
        if str(kind).casefold() != "bearer":
            raise Unreachable(
                f"{host} gives a token of the type {self._masked(str(kind))[:60]}; Weir sends "
                "those of the type Bearer."
            )
        if len(value) > LONGEST_TOKEN or not _TOKEN.fullmatch(value):
            raise Unreachable(f"{host} gives a token that no header can carry.")
        return AccessToken(value, began + _life(content.get("expires_in")))

    def _request(self) -> Request:
        setting = self.settings
        try:
            check_address(setting.token_address, plain_http=settings.WEIR_PLAIN_HTTP)
        except InvalidProblem as error:
            raise Unreachable(f"{setting.token_address} is not asked: {error.message}") from None
        user, colon, password = self.credential.partition(":")
        if not (user and colon and password):
            raise Unreachable(
                "The credential is no client_id:client_secret. Correct what `credential` of the "
                "connection names."
            )
        form = {"grant_type": "client_credentials"}
        if setting.scope:
            form["scope"] = setting.scope
        headers = {**HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
        shown = dict(form)
        if setting.client_in_body:
            form |= {"client_id": user, "client_secret": password}
            shown |= {"client_id": user, "client_secret": MASK}
        else:
            encoded = base64.b64encode(self._encoded().encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
        return Request(
            method="POST",
            address=httpx.URL(setting.token_address),
            headers=headers,
            content=urlencode(form).encode(),
            # It writes nothing, so that nothing is lost by asking once more.
            pause_s=kept_requests.READ_PAUSE_S,
            mask=self._masked,
            shown=urlencode(shown, safe="*"),
            mask_answer=self._shown_answer,
            signs_in=True,
            whole_s=TAKEN_WITHIN_S,
        )

    def _encoded(self) -> str:
        """Return user and password of HTTP Basic as section 2.3.1 writes them."""
        user, _, password = self.credential.partition(":")
        return f"{quote_plus(user)}:{quote_plus(password)}"

    def _refusal(self, response: Response, content: dict[str, Any], host: str) -> Unreachable:
        names = ("error", "error_description")
        words = [" ".join(content[name].split()) for name in names if _is_text(content.get(name))]
        # Masked before it is cut: half of a secret is recognised by nobody.
        detail = self._masked(": ".join(words))[:LONGEST_DETAIL]
        detail = f"It says: {detail}" if detail else ""
        status = response.status
        if 300 <= status < 400:
            where = self._masked(response.redirection)[:200] or "elsewhere"
            return Unreachable(
                f"{host} sends on to {where}, which is not followed; correct `token_address`."
            )
        wait = response.retry_after_s if response.is_away else None
        if status == 401 or content.get("error") == "invalid_client":
            return Unreachable(f"{host} refuses the credential ({status}). {detail}".strip())
        return Unreachable(f"{host} answers {status}. {detail}".strip(), retry_after_s=wait)

    def _hide(self, secret: str) -> None:
        if secret not in self.secrets:
            self.secrets.append(secret)

    def _masked(self, text: str) -> str:
        return masked(text, self.secrets)

    def _shown_answer(self, text: str) -> str:
        """Return an answer as it is kept: a token may stand anywhere in what is not understood."""
        content = kept_requests.read_json(text)
        if not isinstance(content, dict):
            return f"({len(text):,} characters that are no object of JSON)" if text else ""
        token = content.get("access_token")
        secrets = [*self.secrets, token] if isinstance(token, str) else self.secrets
        shown = {name: one if name in SHOWN else MASK for name, one in content.items()}
        return masked(json.dumps(shown, ensure_ascii=False), secrets)

    def _key(self) -> bytes:
        """Return what a token is for: whom it came from, for which client, and where it goes."""
        setting = self.settings
        parts = (
            *(setting.token_address, setting.scope, str(setting.client_in_body)),
            *(setting.address, self.credential),
        )
        return hashlib.sha256(json.dumps(parts).encode()).digest()


def _is_text(content: object) -> bool:
    return isinstance(content, str) and bool(content)


def _life(expires_in: object) -> float:
    """Return how long a token is used, from the moment on at which it was asked for."""
    try:
        seconds = float(str(expires_in))
    except ValueError:
        return UNSAID_S
    if math.isnan(seconds):
        return UNSAID_S
    seconds = min(max(seconds, 0.0), LONGEST_S)
    return seconds - min(MARGIN_S, seconds / 2)
