"""Check what agents send, member by member; the error names the first one that is wrong."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest

from apps.common.json_reader import UnreadableJson, read_json
from apps.telemetry.domain.payload import storable
from apps.telemetry.services import Introduction
from weir.coordination.wire import (
    HandOverPhase,
    Report,
    observed_from_dict,
    report_from_dict,
)
from weir.errors import InvalidProblem

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_REPORTS = 1_000
MAX_ENTRIES = 100_000
LONGEST_NAME = 1_000
LONGEST_SENTENCE = 4_000
LONGEST_DIGEST = 64
SHOWN = 40
LATEST = 2.0**36
"""The latest moment that an agent may name, in Unix seconds: in the year 4147."""
LARGEST_INCARNATION = 2**31 - 1


def body(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object that the request holds."""
    if len(request.body) > MAX_BODY_BYTES:
        raise RequestDataTooBig
    try:
        plain = read_json(request.body)
    except UnreadableJson as error:
        raise InvalidProblem(error.path or "body", error.message) from error
    return _object(plain, "body")


def introduction(plain: Mapping[str, Any]) -> Introduction:
    """Return how an agent introduces itself."""
    return Introduction(
        agent_version=_text(plain.get("agent_version", ""), "agent_version", longest=64),
        product=_text(plain.get("product", ""), "product", longest=32),
        address=_text(plain.get("address", ""), "address", longest=300),
        key=_key(plain.get("key", "")),
        facts=_json(_object(plain.get("facts", {}), "facts"), "facts"),
        capabilities=_json(_object(plain.get("capabilities", {}), "capabilities"), "capabilities"),
        incarnation=incarnation(plain.get("incarnation", 0)),
        number=number(plain.get("number", 0), "number"),
    )


def _key(value: object) -> str:
    text = _text(value, "key", longest=56)
    if text and not re.fullmatch(r"U[A-Z2-7]{55}", text):
        raise InvalidProblem("key", "must be the public nkey of a user")
    return text


def incarnation(value: object) -> int:
    """Return the number of a session, from JSON or from a query."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:12])
    value = _whole(value, "incarnation")
    if value > LARGEST_INCARNATION:
        raise InvalidProblem("incarnation", f"must be at most {LARGEST_INCARNATION}")
    return value


def number(value: object, path: str) -> int:
    """Return the number of a document or of a report, from JSON or from a query."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:18])
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise InvalidProblem(path, f"must be a whole number, not {str(value)[:SHOWN]!r}")
    return value


def sequence(plain: Mapping[str, Any]) -> int | None:
    """Return the place of a report among those of its session; None: the agent does not count."""
    given = plain.get("sequence")
    return None if given is None else number(given, "sequence")


def reports(plain: Mapping[str, Any]) -> tuple[Report, ...]:
    """Return what the agent says about attempts."""
    rows = plain.get("reports")
    if rows is None:
        return ()
    if not isinstance(rows, list) or len(rows) > MAX_REPORTS:
        raise InvalidProblem("reports", f"must be a list of at most {MAX_REPORTS}")
    return tuple(_report(row, f"reports[{i}]") for i, row in enumerate(rows))


def _report(plain: object, path: str) -> Report:
    known = _object(plain, path)
    name = _text(known.get("action"), f"{path}.action")
    try:
        action = str(UUID(name))
    except ValueError as error:
        raise InvalidProblem(f"{path}.action", f"is no id: {name[:SHOWN]!r}") from error
    _whole(known.get("attempt"), f"{path}.attempt")
    _texts(known.get("interest", []), f"{path}.interest")
    _text(known.get("detail", ""), f"{path}.detail", longest=LONGEST_SENTENCE)
    _text(known.get("by_hand", ""), f"{path}.by_hand", longest=LONGEST_SENTENCE)
    for role, flows in _object(known.get("interests", {}), f"{path}.interests").items():
        _text(role, f"{path}.interests")
        _texts(flows, f"{path}.interests.{role}")
    if known.get("pause_s") is not None:
        _amount(known["pause_s"], f"{path}.pause_s")
    return report_from_dict({**known, "action": action}, path)


def observed(plain: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the agent sees in force, its known members as plain values."""
    given = plain.get("observed")
    if given is None:
        return None
    known = _object(given, "observed")
    _text(known.get("version", ""), "observed.version")
    number(known.get("number", 0), "observed.number")
    for table, amounts in (("gates", ("rate_per_s", "burst")), ("buckets", ("rate_per_s", "size"))):
        for path, value in _table(known, table):
            for name in amounts:
                _amount(_object(value, path).get(name), f"{path}.{name}")
    for name in ("limits", "admitted", "waiting"):
        for path, value in _table(known, name):
            _whole(value, path)
    for path, value in _table(known, "publishers"):
        _text(value, path, longest=LONGEST_DIGEST)
    for name in ("ingress", "served"):
        if known.get(name) is not None:
            for path, value in _table(known, name):
                _text(value, path)
    for name in ("flow_failures", "class_failures"):
        for path, value in _table(known, name):
            _text(value, path, longest=LONGEST_SENTENCE)
    if known.get("hand_overs") is not None:
        for path, value in _table(known, "hand_overs"):
            _hand_over(_object(value, path), path)
    for name in ("links", "problems"):
        _texts(known.get(name, []), f"observed.{name}")
    # As it is stored, so that it can be compared with that: lists, not tuples.
    plain_values: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(observed_from_dict(known, "observed"))
    )
    return plain_values


def _hand_over(plain: Mapping[str, Any], path: str) -> None:
    """Check what Postgres, or a reader, could not take; the types are read afterwards."""
    for name in ("source", "target", "next"):
        if plain.get(name) is not None:
            place = _object(plain[name], f"{path}.{name}")
            for number_of in ("group", "stream"):
                _whole(place.get(number_of), f"{path}.{name}.{number_of}")
    for name in ("began_at", "took_s"):
        if plain.get(name) is not None:
            _amount(plain[name], f"{path}.{name}")
    if plain.get("began_at", 0) > LATEST:
        raise InvalidProblem(f"{path}.began_at", "must be in Unix seconds")
    if (plain.get("took_s") is None) == (plain.get("phase") == HandOverPhase.DONE):
        raise InvalidProblem(f"{path}.took_s", "is there once the hand-over is done, not before")
    _whole(plain.get("unready", 0), f"{path}.unready")


def _table(known: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    rows = _object(known.get(name, {}), f"observed.{name}")
    if len(rows) > MAX_ENTRIES:
        raise InvalidProblem(f"observed.{name}", f"holds more than {MAX_ENTRIES} entries")
    for key in rows:
        _text(key, f"observed.{name}")
    return [(f"observed.{name}.{key}", value) for key, value in rows.items()]


def _object(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidProblem(path, "must be an object")
    return value


def _text(value: object, path: str, *, longest: int = LONGEST_NAME) -> str:
    # Postgres takes no zero character and no half of a surrogate pair, in text or in JSON.
    if not isinstance(value, str) or len(value) > longest or not storable(value):
        raise InvalidProblem(path, f"must be text of at most {longest} characters")
    return value


def _json(value: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a free object, as long as Postgres can keep it: no zero characters, finite numbers."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidProblem(path, str(error)) from error
    if "\\u0000" in text or not storable(text):
        raise InvalidProblem(path, "holds characters that cannot be kept")
    return value


def _texts(value: object, path: str) -> None:
    if not isinstance(value, list) or len(value) > MAX_ENTRIES:
        raise InvalidProblem(path, f"must be a list of at most {MAX_ENTRIES} names")
    for i, item in enumerate(value):
        _text(item, f"{path}[{i}]", longest=LONGEST_SENTENCE)


def _whole(value: object, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise InvalidProblem(path, f"must be a whole number, not {str(value)[:SHOWN]!r}")
    return value


def _amount(value: object, path: str) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidProblem(path, f"must be a finite number, not {str(value)[:SHOWN]!r}")
    if value < 0:
        raise InvalidProblem(path, f"must not be negative: {value}")
    return value
