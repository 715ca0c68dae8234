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
# Every repetition that something must follow has an end: without, a text of many names and no
# closing quote takes time with the square of its length.
_MEMBER = re.compile(
    rf'("[^"]{{0,100}}(?:{_NAMES})[^"]{{0,100}}"\s{{0,20}}:\s{{0,20}})'
    r'("(?:[^"\\]|\\.)*"?|[^\s,}\]]+)',
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(Basic|Bearer)\s{1,20}[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE)


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return the text without these secrets, without members that are named like one, and not
    longer than what is kept.

    Only what can be kept is looked at. The end of that is left out again as far as a secret is
    long, for it may be the beginning of one.
    """
    length = len(text)
    forms = sorted({form for one in secrets for form in _forms(one)}, key=len, reverse=True)
    margin = len(forms[0]) if forms else 0
    is_cut = length > KEPT + margin
    text = text[: KEPT + margin]
    for form in forms:
        text = text.replace(form, MASK)
    if is_cut and margin:
        text = text[:-margin]
    text = _SCHEME.sub(rf"\1 {MASK}", text)
    text = _MEMBER.sub(rf'\1"{MASK}"', text)
    if not is_cut and len(text) <= KEPT:
        return text
    return f"{text[:KEPT]}… ({length:,} characters)"


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
            yield json.dumps(part)[1:-1].replace("/", r"\/")
