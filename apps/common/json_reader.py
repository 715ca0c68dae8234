"""Read JSON of callers so that every accepted value can be stored and answered.

It rejects, besides malformed JSON, words such as NaN, members that an object has more than once,
values nested too deeply, and text that Postgres cannot hold: null characters, and halves of
surrogate pairs, which no answer in UTF-8 can hold either.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

DEEPEST = 64
MORE_THAN_ONCE = "Is there more than once; send it once."
_MAYBE_NO_TEXT = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)")


class UnreadableJson(ValueError):
    """Signal that the input cannot be read; `path` names the member, empty for the whole."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path


def read_json(raw: bytes) -> Any:
    """Return the value of the input. Raises UnreadableJson."""
    objects = Objects()
    try:
        # Decode here: `json` itself accepts halves of pairs that are written as bytes.
        value = json.loads(raw.decode(), parse_constant=_no_number, object_pairs_hook=objects.of)
    except RecursionError:
        raise UnreadableJson("The JSON is nested too deeply.") from None
    except ValueError as error:
        raise UnreadableJson(f"This is not JSON: {error}") from None
    if _deeper_than(value, DEEPEST):
        raise UnreadableJson(f"The JSON is nested more than {DEEPEST} levels deep.")
    # Which object has a member twice is known while it is read, and where it stands only now.
    if objects.doubled or _MAYBE_NO_TEXT.search(raw):
        for path, inner in _values(value, ""):
            _refuse(inner, path)
    return value


class Doubled(dict[str, Any]):
    """An object that has members more than once, which is to be refused; `name` is the first."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        times = Counter(name for name, _ in pairs)
        self.name = next(name for name in times if times[name] > 1)


class Objects:
    """The objects of one input; `doubled` where one of them is to be refused."""

    doubled = False

    def of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object of these members. There may be very many, so it only counts."""
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.doubled = True
        return Doubled(pairs)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _refuse(value: Any, path: str) -> None:
    """Raise UnreadableJson where a value cannot be kept."""
    if isinstance(value, Doubled):
        raise UnreadableJson(MORE_THAN_ONCE, _joined(path, _shown(value.name)))
    if isinstance(value, str) and not _whole(value):
        raise UnreadableJson("Holds half of a surrogate pair; send whole characters.", path)
    if isinstance(value, str) and "\0" in value:
        raise UnreadableJson("Holds a null character; leave it out.", path)


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


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the path of each value, and of each name of a member that of its object."""
    yield path, value
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _values(inner, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield path, key
            yield from _values(inner, _joined(path, _shown(key)))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _shown(name: str) -> str:
    return name if _whole(name) and "\0" not in name else ""


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
