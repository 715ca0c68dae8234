"""JSON text into plain objects, stricter than the standard library.

NaN and Infinity become non-finite floats that every number check refuses by name of its
field; a repeated key becomes a RepeatedKey that every object check refuses the same way.
"""

from __future__ import annotations

import json
import math
from typing import Any

from weir.errors import InvalidProblem
from weir.reading import RepeatedKey, mapping


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    repeated = RepeatedKey(members)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            repeated.key = key
            break
        seen.add(key)
    return repeated


def _bounded_int(digits: str) -> float:
    """Numbers with thousands of digits are refused by the field's own check."""
    return int(digits) if len(digits) < 400 else math.inf


def object_from_json(raw: bytes) -> dict[str, Any]:
    """The object that the bytes hold; syntax errors name line and column."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidProblem(
            "", f"not UTF-8 at byte {error.start} (line {line}); save the file as UTF-8"
        ) from None
    try:
        try:
            obj = json.loads(text, object_pairs_hook=_object)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer beyond the interpreter's digit limit
            obj = json.loads(text, object_pairs_hook=_object, parse_int=_bounded_int)
    except json.JSONDecodeError as error:
        raise InvalidProblem(
            "", f"not JSON at line {error.lineno} column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise InvalidProblem("", "nested too deeply; a problem has at most six levels") from None
    if not isinstance(obj, dict):
        raise InvalidProblem("", "the top level must be an object in braces")
    return mapping(obj, "")
