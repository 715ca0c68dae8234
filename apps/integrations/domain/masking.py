"""Mask secrets in what is kept of an exchange."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "***"
KEPT = 4_000
"""Characters that are kept of a body."""
SHORTEST = 4
"""What is shorter is no secret; masking it would make holes into every word."""

_NAMES = r"password|passwd|secret|token|api[_-]?key|authorization|credential|cookie|session"
_MEMBER = re.compile(
    rf'("[^"]*(?:{_NAMES})[^"]*"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^\s,}}\]]+)', re.IGNORECASE
)
_SCHEME = re.compile(r"\b(Basic|Bearer)\s+[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE)


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return the text without these secrets, without members that are named like one, and not
    longer than what is kept."""
    for secret in sorted({form for one in secrets for form in _forms(one)}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    text = _SCHEME.sub(rf"\1 {MASK}", text)
    text = _MEMBER.sub(rf'\1"{MASK}"', text)
    return text if len(text) <= KEPT else f"{text[:KEPT]}… ({len(text):,} characters)"


def _forms(secret: str) -> Iterable[str]:
    """Return a secret as it may stand in a text: whole, its password alone, encoded."""
    parts = [secret, *secret.split(":", 1)[1:]]
    for part in parts:
        if len(part) >= SHORTEST:
            yield part
            yield base64.b64encode(part.encode()).decode()
            yield json.dumps(part)[1:-1]
            yield json.dumps(part, ensure_ascii=False)[1:-1]
            yield quote(part, safe="")
            yield quote_plus(part)
