"""Reading the plain form of a study: each helper refuses with the path of the field."""

from __future__ import annotations

from typing import Any

from weir.errors import InvalidProblem, join_path
from weir.reading import LARGEST_NUMBER, SMALLEST_NUMBER, amount, items, shown

MAX_NAME = 200


def entries(obj: object, path: str, *, most: int, least: int = 0) -> list[Any]:
    """A list of `least` to `most` entries."""
    given = items(obj, path)
    if len(given) < least:
        raise InvalidProblem(path, "must not be empty; give at least one entry")
    if len(given) > most:
        raise InvalidProblem(path, f"has {len(given):,} entries; at most {most:,}")
    return given


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
    """Return the ids, or None for `"all"`."""
    return None if obj == "all" else ids(obj, path)


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
