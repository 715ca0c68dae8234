"""Put the examples into the published schema; drf-spectacular calls this module."""

import copy
import json
import re
from typing import Any

from apps.common.api.examples import SYSTEM, Example
from config.api_examples import NAMES, OBJECTS, REQUESTS, TABLES

PREFIX = "/api/v1"
RUN = "#/components/schemas/Run"
RUN_ID = "7a1e0000-0000-4000-8000-000000000020"
AT = "2026-03-02T08:00:00Z"
BINARY = {
    "application/vnd.apache.parquet": "PAR1 (the bytes of the file) PAR1",
    "application/x-protobuf": "(the bytes of the message)",
}
"""What stands for a body that is no text."""

RUN_ANSWER: Example = {
    "id": RUN_ID,
    "number": 26,
    "kind": "allocation",
    "system": SYSTEM,
    "system_name": NAMES[SYSTEM],
    "state": "running",
    "method": "certified",
    "parameters": {},
    "seed": 0,
    "time_limit_s": 30,
    "snapshot_hash": "9b1f" * 16,
    "model_version": 14,
    "demand_estimate": None,
    "demand_estimate_name": None,
    "result_hash": None,
    "kernel_version": "",
    "allocation": None,
    "study": None,
    "overlay_evaluation": None,
    "computed": None,
    "answer": None,
    "asked_by": "editor",
    "asked_by_id": "7a1e0000-0000-4000-8000-000000000021",
    "rerun_of": None,
    "rerun_of_name": None,
    "starts_from": None,
    "starts_from_name": None,
    "attempt": 1,
    "worker": "celery@worker-1",
    "created_at": AT,
    "updated_at": "2026-03-02T08:00:00.640Z",
    "started_at": "2026-03-02T08:00:00.140Z",
    "finished_at": None,
    "heartbeat_at": "2026-03-02T08:00:00.640Z",
    "cancel_requested": False,
    "progress": {"iteration": 12, "utility": 1320911.4, "upper_bound": 1329014.2},
    "failure_code": "",
    "failure": "",
    "allowed_commands": ["cancel"],
}


NAMING = re.compile(r"(?:Describe|Read) (\w)")


def describe_components(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Begin the description of a component with what it is: the docstring of a serializer begins
    with what the serializer does to it."""
    for component in result.get("components", {}).get("schemas", {}).values():
        text = component.get("description", "")
        if match := NAMING.match(text):
            component["description"] = match[1].upper() + text[match.end() :]
    return result


def add_examples(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add an `example` to every request with a body, and to answers that are objects or runs."""
    for path, operations in result.get("paths", {}).items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path.removeprefix(PREFIX)}"
            if name in REQUESTS:
                _put(operation.get("requestBody", {}), REQUESTS[name], TABLES.get(name))
            for status, answer in operation.get("responses", {}).items():
                example = _answer(path.removeprefix(PREFIX), method, answer)
                if example is not None and status != "default":
                    _put(answer, example)
    return result


def _answer(path: str, method: str, answer: dict[str, Any]) -> Example | None:
    media = answer.get("content", {}).get("application/json")
    if media is None:
        return None
    if media["schema"].get("$ref") == RUN:
        return RUN_ANSWER
    kind = path.removesuffix("/{id}")
    if kind not in OBJECTS:
        return None
    one = object_example(kind)
    if method == "patch":
        return {**one, "version": 2, **_without_reason(OBJECTS[kind][2])}
    if method == "get" and kind == path:
        return {"count": 1, "next": None, "previous": None, "results": [one]}
    return one


def _without_reason(body: Example) -> Example:
    return {name: value for name, value in body.items() if name != "reason"}


def _put(place: dict[str, Any], example: Any, table: str | None = None) -> None:
    for kind, media in place.get("content", {}).items():
        if kind == "text/csv":
            media["example"] = table
        elif kind == "application/x-ndjson":
            media["example"] = f"{json.dumps(example)}\n"
        else:
            media["example"] = BINARY.get(kind, example)


def object_example(path: str) -> Example:
    """Return the API's answer to the POST of this path, with every reference's name beside it."""
    public_id, body, _ = OBJECTS[path]
    rest = {name: value for name, value in body.items() if name != "reason"}
    more: Example = {"version": 1, "created_at": AT, "updated_at": AT}
    more["allowed_commands"] = ["edit", "delete"]
    if "system" in body:
        more["system_name"] = NAMES[SYSTEM]
    if "system" in body or path == "/systems":
        more |= {"external_id": None, "labels": {}}
    if path == "/systems":
        more |= {"product_name": "NATS", "model_version": 1, "description": ""}
        more |= {"unmanaged": "refuse", "retention_s": 3600, "model_only": False}
        more["allowed_commands"] += ["add", "optimize"]
    if path in ("/topics", "/utility-functions"):
        more["class_count"] = 1
    return {"id": public_id, **_named(rest), **more}


def _named(row: Example) -> Example:
    """Add to every reference the name of its object, in lists, too."""
    named: Example = {}
    for member, value in row.items():
        if isinstance(value, list):
            value = [_named(part) if isinstance(part, dict) else part for part in value]
        named[member] = copy.deepcopy(value)
        if member not in ("id", "system") and isinstance(value, str) and value in NAMES:
            named[f"{member}_name"] = NAMES[value]
    return named
