"""Reading the plain form of a study: each helper refuses with the path of the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir.errors import InvalidProblem, join_path
from weir.plugins import LARGEST_NUMBER, SMALLEST_NUMBER, number, shown

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_NAME = 200


def members(
    obj: object, path: str, required: Collection[str], optional: Collection[str] = ()
) -> dict[str, Any]:
    """The object, with all required keys and no unknown one."""
    if not isinstance(obj, dict):
        raise InvalidProblem(path, f"must be an object, not {shown(obj)}")
    for key in obj:
        if key not in required and key not in optional:
            known = ", ".join([*required, *optional])
            raise InvalidProblem(path, f"unknown key {shown(key)}; known are {known}")
    for key in required:
        if key not in obj:
            raise InvalidProblem(path, f'missing key "{key}"; add it')
    return obj


def entries(obj: object, path: str, *, most: int, least: int = 0) -> list[Any]:
    """A list of `least` to `most` entries."""
    if not isinstance(obj, list | tuple):
        raise InvalidProblem(path, f"must be a list, not {shown(obj)}")
    if len(obj) < least:
        raise InvalidProblem(path, "must not be empty; give at least one entry")
    if len(obj) > most:
        raise InvalidProblem(path, f"has {len(obj):,} entries; at most {most:,}")
    return list(obj)


def text(obj: object, path: str) -> str:
    """A name that people read: not empty, one line."""
    if not isinstance(obj, str):
        raise InvalidProblem(path, f"must be a string, not {shown(obj)}")
    if not obj.strip():
        raise InvalidProblem(path, "must not be empty")
    if len(obj) > MAX_NAME:
        raise InvalidProblem(path, f"longer than {MAX_NAME} characters")
    if not obj.isprintable():
        raise InvalidProblem(path, "contains a character that cannot be shown")
    return obj


def ids(obj: object, path: str) -> tuple[str, ...]:
    """At least one id, each once."""
    given = entries(obj, path, most=1_000_000, least=1)
    seen: set[str] = set()
    for index, value in enumerate(given):
        if not isinstance(value, str):
            raise InvalidProblem(f"{path}[{index}]", f"must be a string, not {shown(value)}")
        if value in seen:
            raise InvalidProblem(f"{path}[{index}]", f"{shown(value)} is given twice; keep one")
        seen.add(value)
    return tuple(given)


def ids_or_all(obj: object, path: str) -> tuple[str, ...] | None:
    """Ids, or None for `"all"`."""
    return None if obj == "all" else ids(obj, path)


def amount(obj: object, path: str) -> float:
    """A number that is not negative."""
    value = number(obj, path)
    if value < 0:
        raise InvalidProblem(path, f"must not be negative, but is {value:g}")
    return value


def whole(obj: object, path: str, *, least: int, most: int) -> int:
    """A whole number within bounds."""
    value = number(obj, path)
    if value != int(value):
        raise InvalidProblem(path, f"must be a whole number, not {shown(obj)}")
    if not least <= value <= most:
        raise InvalidProblem(path, f"must lie between {least:,} and {most:,}")
    return int(value)


def boolean(obj: object, path: str) -> bool:
    """True or false."""
    if not isinstance(obj, bool):
        raise InvalidProblem(path, f"must be true or false, not {shown(obj)}")
    return obj


def scale_or_set(obj: dict[str, Any], path: str) -> tuple[float | None, float | None]:
    """Exactly one of `scale` (a factor) and `set` (the new value)."""
    if ("scale" in obj) == ("set" in obj):
        raise InvalidProblem(path, 'give either "scale", a factor, or "set", the new value')
    if "scale" in obj:
        return amount(obj["scale"], join_path(path, "scale")), None
    return None, amount(obj["set"], join_path(path, "set"))


def within_range(value: float, field: str, what: str) -> float:
    """An edited number that a problem may hold; InvalidProblem names what it would belong to."""
    if value == 0 or SMALLEST_NUMBER <= value <= LARGEST_NUMBER:
        return value
    raise InvalidProblem(
        field,
        f"would make the {what} {value:g}; a problem holds 0 and "
        f"{SMALLEST_NUMBER:g} to {LARGEST_NUMBER:g}",
    )
