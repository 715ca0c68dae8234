"""Settings that the products share."""

import re
from typing import Any

from weir.errors import InvalidProblem
from weir.plugins import about

AUTHENTICATION = ("basic", "bearer", "none")
LONGEST = 200
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
    help="`basic`: the credential is user:password; `bearer`: a token; `none`: no credential.",
    choices=AUTHENTICATION,
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


def check_length(field: str, value: str) -> None:
    """Raise InvalidProblem for a text that fits no field of a product."""
    if len(value) > LONGEST or not value.isprintable():
        raise InvalidProblem(field, f"Write one line of at most {LONGEST} characters.")


def state_names(states: str) -> frozenset[str]:
    """Return the names of a list with commas, for a comparison without case."""
    return frozenset(name.strip().casefold() for name in states.split(",") if name.strip())
