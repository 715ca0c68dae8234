"""Send requests to the server of a connection, and to no other."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import httpx
from django.conf import settings

from apps.common.outgoing.addresses import check_address
from apps.common.outgoing.masking import masked
from apps.integrations.connectors.settings import OAUTH
from apps.integrations.domain.contract import (
    Answer,
    ConnectionSettings,
    Failed,
    Refused,
    Sent,
    Unreachable,
)
from apps.integrations.services import kept_requests
from apps.integrations.services.access_tokens import AccessTokens
from apps.integrations.services.kept_requests import HEADERS, KeptRequests, Request, Response
from weir.errors import InvalidProblem

LONGEST_DETAIL = 300


@dataclass(frozen=True, kw_only=True)
class HttpSession:
    """Requests to one server, each kept with its answer."""

    settings: ConnectionSettings
    credential: str = field(repr=False)
    keep: Callable[[Sent], None]
    """Takes each exchange, secrets masked."""
    before: Callable[[], None] = field(default=lambda: None)
    """Is called before each request; what it raises stops that."""

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer of a success. Raises Unreachable, Failed or Refused."""
        address = self._address(path, query or {})
        given = {
            **HEADERS,
            "Content-Type": "application/json",
            **self.settings.headers,
            **(headers or {}),
        }
        _check_headers(given)
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        reads = method == "GET"
        request = Request(
            method=method,
            address=address,
            headers=given,
            content=content,
            pause_s=kept_requests.READ_PAUSE_S if reads else kept_requests.PAUSE_S,
            mask=self._masked,
            shown="" if content is None else content.decode(),
            mask_answer=self._masked,
        )
        return self._judge(self._answer(request))

    @cached_property
    def _requests(self) -> KeptRequests:
        return KeptRequests(keep=self.keep, before=self.before)

    @cached_property
    def _tokens(self) -> AccessTokens:
        return AccessTokens(
            settings=self.settings, credential=self.credential, requests=self._requests
        )

    @property
    def _takes_tokens(self) -> bool:
        return self.settings.authentication == OAUTH

    def _address(self, path: str, query: Mapping[str, str]) -> httpx.URL:
        base = self.settings.address
        try:
            check_address(base, plain_http=settings.WEIR_PLAIN_HTTP)
            return httpx.URL(base.rstrip("/") + path, params=query or None)
        except InvalidProblem as error:
            raise Unreachable(f"{base} is not asked: {error.message}", not_sent=True) from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unreachable(
                f"{base} with its path is no address; correct the settings. {error}",
                not_sent=True,
            ) from None

    def _answer(self, request: Request) -> Response:
        """Return what is answered to the request with its credential.

        A token may end, or be taken back, before its time: what was refused by 401 did nothing, and
        is sent once more with a new token. With one that was taken just now it is not tried again.
        """
        if not self._takes_tokens:
            return self._requests.send(_with(request, self._authorization()))
        token = self._tokens.remembered()
        if token is not None:
            try:
                response = self._requests.send(_with(request, f"Bearer {token.value}"))
            except Failed as error:
                # Its page about that may be too large to be read.
                if error.status != 401:
                    raise
            else:
                if response.status != 401:
                    return response
            self._tokens.forget(token)
        token = self._tokens.take()
        response = self._requests.send(_with(request, f"Bearer {token.value}"))
        if response.status == 401:
            self._tokens.forget(token)
        return response

    def _authorization(self) -> str:
        """Return the header of a credential that is sent as it is; empty for none."""
        if self.settings.authentication == "bearer":
            if not self.credential.isascii():
                raise Unreachable(
                    "The token holds letters that no header can carry. Correct what `credential` "
                    "of the connection names.",
                    not_sent=True,
                )
            return f"Bearer {self.credential}"
        if self.settings.authentication == "basic":
            encoded = base64.b64encode(self.credential.encode()).decode()
            return f"Basic {encoded}"
        return ""

    def _masked(self, text: str) -> str:
        secrets = self._tokens.secrets if self._takes_tokens else [self.credential]
        return masked(text, secrets)

    def _judge(self, response: Response) -> Answer:
        """Return a success.

        Raises Unreachable where nothing else would get through either, Failed where the server
        failed at this one request.
        """
        status, text = response.status, response.text
        if 200 <= status < 300:
            return Answer(
                status=status, headers=dict(response.headers), text=text, json=response.json
            )
        # Masked before it is cut: half of a secret is recognised by nobody.
        detail = self._masked(_detail(response.json))[:LONGEST_DETAIL]
        if status == 401:
            what = "access token" if self._takes_tokens else "credential"
            raise Unreachable(f"The {what} was refused (401). {detail}".strip())
        if status < 400:
            where = self._masked(response.redirection)[:200] or "elsewhere"
            raise Unreachable(
                f"The server sends on to {where}, which is not followed; correct the address."
            )
        problem = f"The server answers {status}. {detail}".strip()
        if response.is_away:
            raise Unreachable(problem, retry_after_s=response.retry_after_s)
        if status >= 500:
            raise Failed(problem, status=status)
        raise Refused(f"The server refuses this with {status}. {detail}".strip(), status=status)


def _with(request: Request, authorization: str) -> Request:
    if not authorization:
        return request
    return replace(request, headers={**request.headers, "Authorization": authorization})


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise Unreachable(
                f"The header {name} is not one line of ASCII; correct the settings.", not_sent=True
            )


def _detail(error: Any) -> str:
    """Return what an error says in words."""
    for name in ("error", "message", "detail", "errorMessage"):
        if isinstance(error, dict) and error.get(name):
            error = error[name]
    if isinstance(error, dict):
        error = _of_jira(error)
    if not isinstance(error, str):
        return ""
    line = " ".join(error.split())
    return f"It says: {line}" if line else ""


def _of_jira(error: Mapping[str, Any]) -> str:
    """Return `errorMessages` and `errors`, which name the fields, as one line."""
    messages, errors = error.get("errorMessages"), error.get("errors")
    words = [str(one) for one in messages] if isinstance(messages, list) else []
    if isinstance(errors, Mapping):
        words += [f"{name}: {one}" for name, one in errors.items()]
    return " ".join(words)
