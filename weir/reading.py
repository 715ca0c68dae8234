"""Reading plain data that others wrote: each helper refuses by the path of the field.

A message says what is wrong with the value and what to give instead. `path` is where the value
stands, such as `classes[12].flow`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

LARGEST_NUMBER = 1e30
"""Above this a product of three inputs could leave the range of a double."""

SMALLEST_NUMBER = 1e-30
"""Closer to 0 a quotient could leave it; 0 itself is allowed."""

MAX_SHOWN = 60
"""Characters of a wrong value that a message repeats."""


class RepeatedKey(dict[str, Any]):
    """An object whose text gave one key twice."""

    key: str


def shown(value: object) -> str:
    """How an error message names a wrong value: its JSON type, or the short value itself."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 3] + "..."
        if not text.isprintable():  # a message is one line and can be encoded
            text = text.encode("unicode_escape").decode("ascii")
        return f'"{text}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        return "a huge number"
    return f"{value!r}" if isinstance(value, int | float) else type(value).__name__


def mapping(obj: object, path: str) -> dict[str, Any]:
    """An object, whatever its keys; none is given twice."""
    if not isinstance(obj, dict):
        raise InvalidProblem(path, f"must be an object, not {shown(obj)}")
    if isinstance(obj, RepeatedKey):
        raise InvalidProblem(path, f"key {shown(obj.key)} is given twice; keep one")
    return obj


def members(
    obj: object, path: str, required: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """An object with all required keys and no unknown one."""
    found = mapping(obj, path)
    needed = tuple(required)
    known = dict.fromkeys((*needed, *optional))
    for key in found:
        if key not in known:
            raise InvalidProblem(path, f"unknown key {shown(key)}; known are {', '.join(known)}")
    for key in needed:
        if key not in found:
            raise InvalidProblem(path, f'missing key "{key}"; add it')
    return found


def items(obj: object, path: str) -> list[Any]:
    """Return the value as a list; raise InvalidProblem that names `path` otherwise."""
    if not isinstance(obj, list | tuple):
        raise InvalidProblem(path, f"must be a list, not {shown(obj)}")
    return list(obj)


def each(obj: object, path: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
    """A list whose entries `read` understands."""
    return tuple(read(entry, f"{path}[{index}]") for index, entry in enumerate(items(obj, path)))


def unique(names: Iterable[str], path: str, what: str) -> None:
    """No name is given twice; `what` says what the names are of."""
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if seen.setdefault(name, index) != index:
            message = f"{what} {shown(name)} is {path}[{seen[name]}] already; keep one"
            raise InvalidProblem(f"{path}[{index}]", message)


def number(value: object, path: str) -> float:
    """`value` as a finite float; booleans and strings are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidProblem(path, f"must be a number, not {shown(value)}")
    if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:  # NaN fails this too
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidProblem(path, "must be finite; give an ordinary number")
        raise InvalidProblem(path, f"must lie within ±{LARGEST_NUMBER:g}; use a larger unit")
    if -SMALLEST_NUMBER < value < SMALLEST_NUMBER and value != 0:
        raise InvalidProblem(path, f"closer to 0 than {SMALLEST_NUMBER:g}; give 0 or change units")
    return float(value) + 0.0  # -0.0 becomes 0.0


def amount(value: object, path: str) -> float:
    """A number that is not negative."""
    found = number(value, path)
    if found < 0:
        raise InvalidProblem(path, f"must not be negative, but is {found:g}")
    return found


def whole(value: object, path: str, *, least: int = 0, most: int | None = None) -> int:
    """Return the value as an integer from `least` to `most`; raise InvalidProblem otherwise."""
    found = number(value, path)
    if found != int(found):
        raise InvalidProblem(path, f"must be a whole number, not {shown(value)}")
    if most is None and found < least:
        raise InvalidProblem(path, f"must be at least {least:,}, not {shown(value)}")
    if most is not None and not least <= found <= most:
        raise InvalidProblem(path, f"must lie between {least:,} and {most:,}")
    return int(found)


def boolean(value: object, path: str) -> bool:
    """Return the value as a boolean; raise InvalidProblem that names `path` otherwise."""
    if not isinstance(value, bool):
        raise InvalidProblem(path, f"must be true or false, not {shown(value)}")
    return value


def encodable(value: str, path: str) -> str:
    """The text, which holds no half of a character."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidProblem(path, "contains half a character") from None
    return value


def identifier(value: object, path: str) -> str:
    """Return the value as a text that names something; raise InvalidProblem otherwise."""
    if not isinstance(value, str) or not value:
        raise InvalidProblem(path, f"must be a text that is not empty, not {shown(value)}")
    return encodable(value, path)


def member_path(path: str, name: str) -> str:
    """Return the path of a member; a name that is no plain word is shown as a value is."""
    plain = name.isprintable() and " " not in name and len(name) <= MAX_SHOWN
    return f"{path}.{name}" if plain else f"{path}[{shown(name)}]"
