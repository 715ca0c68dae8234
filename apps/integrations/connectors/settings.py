"""Settings that the products share."""

import re
from typing import Any

from apps.integrations.domain.contract import ConnectionSettings
from weir.errors import InvalidProblem
from weir.plugins import about

BASIC, BEARER, OAUTH, NONE = "basic", "bearer", "oauth", "none"
AUTHENTICATION = (BASIC, BEARER, OAUTH, NONE)
LONGEST = 200
# Section 3.3 of RFC 6749.
_SCOPE = re.compile(r"(?:[!#-\[\]-~]+(?: [!#-\[\]-~]+)*)?")
_WEB_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,200}(?:/[A-Za-z0-9._~/-]{0,200})?")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_OURS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "host", "content-length", "content-type"}
    | {"transfer-encoding", "connection", "accept", "accept-encoding"}
)

ADDRESS = about(
    help="Address of the server, such as https://example.service-now.com. It stays at this server "
    "while changes are not closed there."
)
AUTHENTICATION_HELP = about(
    help="`basic`: the credential is user:password; `bearer`: a token; `oauth`: "
    "client_id:client_secret, for which access tokens are taken; `none`: no credential.",
    choices=AUTHENTICATION,
)
TOKEN_ADDRESS = about(
    help="Where access tokens are taken by client credentials, such as "
    "https://example.service-now.com/oauth_token.do.",
    only_with={"authentication": OAUTH},
)
SCOPE = about(
    help="Scopes that tokens are asked for, separated by spaces; empty: those of the client.",
    only_with={"authentication": OAUTH},
)
CLIENT_IN_BODY = about(
    help="Client and secret go into the body of the request for a token, as ServiceNow and Jira "
    "want them, not into its header.",
    only_with={"authentication": OAUTH},
)
HEADERS = about(
    help="Further headers of each request, such as X-Team. No secrets: everybody is shown them.",
    type="mapping",
)


def check_headers(value: Any) -> None:
    """Raise InvalidProblem unless these are headers that a request may carry."""
    if not isinstance(value, dict):
        raise InvalidProblem("headers", 'Write an object such as {"X-Team": "messaging"}.')
    for name, text in value.items():
        if not _HEADER.fullmatch(name):
            raise InvalidProblem("headers", f'"{name[:60]}" is no name of a header.')
        if name.lower() in _OURS:
            raise InvalidProblem("headers", f"{name} is written by Weir itself; leave it out.")
        if not isinstance(text, str) or not text.isascii() or not text.isprintable():
            raise InvalidProblem("headers", f"{name}: write one line of ASCII text.")


def check_tokens(value: ConnectionSettings) -> None:
    """Raise InvalidProblem unless access tokens can be taken, or nothing is said of them."""
    if value.authentication == OAUTH:
        if not value.token_address:
            raise InvalidProblem("token_address", "Say where access tokens are taken.")
        if not _SCOPE.fullmatch(value.scope):
            raise InvalidProblem(
                "scope", "Write names in ASCII with one space between, without quotes."
            )
        return
    for name in ("token_address", "scope", "client_in_body"):
        if getattr(value, name):
            raise InvalidProblem(
                name, "Only the authentication `oauth` takes access tokens; leave it out."
            )


def check_web_address(value: str) -> None:
    """Raise InvalidProblem unless links for people can begin so, or it is empty."""
    if value and not _WEB_ADDRESS.fullmatch(value):
        raise InvalidProblem(
            "web_address", "Begin with https:// or http:// and the name of the server."
        )


def check_length(field: str, value: str) -> None:
    """Raise InvalidProblem for a text that fits no field of a product."""
    if len(value) > LONGEST or not value.isprintable():
        raise InvalidProblem(field, f"Write one line of at most {LONGEST} characters.")


def state_names(states: str) -> frozenset[str]:
    """Return the names of a list with commas, for a comparison without case."""
    return frozenset(name.strip().casefold() for name in states.split(",") if name.strip())
