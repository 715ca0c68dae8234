"""The kernel of the toy: count the words of a text."""

import json
from typing import Any


def answer(payload: bytes, call: Any) -> bytes:
    """The text and its number of words."""
    text = payload.decode()
    call.report({"done": 1, "total": 1})
    return json.dumps({"text": text, "words": len(text.split())}, sort_keys=True).encode()
