"""Read JSON of callers so that every accepted value can be stored and answered.

It rejects, besides malformed JSON, numbers that are not finite, values nested too deeply, and text
that Postgres cannot hold: null characters, and halves of surrogate pairs, which no answer in UTF-8
can hold either.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

DEEPEST = 64
_MAYBE_NO_TEXT = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)")


class UnreadableJson(ValueError):
    """Signal that the input cannot be read; `path` names the member, empty for the whole."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path


def read_json(raw: bytes) -> Any:
    """Return the value of the input. Raises UnreadableJson."""
    try:
        # Decode here: `json` itself accepts halves of pairs that are written as bytes.
        value = json.loads(raw.decode(), parse_constant=_no_number)
    except RecursionError:
        raise UnreadableJson("The JSON is nested too deeply.") from None
    except ValueError as error:
        raise UnreadableJson(f"This is not JSON: {error}") from None
    if _deeper_than(value, DEEPEST):
        raise UnreadableJson(f"The JSON is nested more than {DEEPEST} levels deep.")
    if _MAYBE_NO_TEXT.search(raw):
        for path, text in _texts(value, ""):
            if not _whole(text):
                raise UnreadableJson("Holds half of a surrogate pair; send whole characters.", path)
            if "\0" in text:
                raise UnreadableJson("Holds a null character; leave it out.", path)
    return value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _deeper_than(value: Any, most: int) -> bool:
    """Return whether the value is nested more deeply, without recursion."""
    level = [value]
    for _ in range(most):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, list | dict)
        ]
        if not level:
            return False
    return True


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield path, key
            name = key if _whole(key) and "\0" not in key else ""
            yield from _texts(inner, f"{path}.{name}" if path else name)


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
