"""Puts the examples into the published schema; called by drf-spectacular."""

import copy
from typing import Any

from config.api_examples import NAMES, OBJECTS, REQUESTS, SYSTEM, Example

PREFIX = "/api/v1"
RUN = "#/components/schemas/Run"
RUN_ID = "7a1e0000-0000-4000-8000-000000000020"
AT = "2026-03-02T08:00:00Z"

RUN_ANSWER: Example = {
    "id": RUN_ID,
    "number": 26,
    "kind": "allocation",
    "system": SYSTEM,
    "system_name": "Trading floor",
    "state": "running",
    "method": "certified",
    "parameters": {},
    "seed": 0,
    "time_limit_s": 30,
    "snapshot_hash": "9b1f" * 16,
    "model_version": 14,
    "result_hash": None,
    "kernel_version": "",
    "allocation": None,
    "study": None,
    "overlay_evaluation": None,
    "asked_by": "editor",
    "rerun_of": None,
    "starts_from": None,
    "starts_from_name": None,
    "attempt": 1,
    "worker": "celery@worker-1",
    "created_at": AT,
    "started_at": "2026-03-02T08:00:00.140Z",
    "finished_at": None,
    "heartbeat_at": "2026-03-02T08:00:00.640Z",
    "cancel_requested": False,
    "progress": {"iteration": 12, "utility": 1320911.4, "upper_bound": 1329014.2},
    "failure_code": "",
    "failure": "",
    "allowed_commands": ["cancel"],
}


def add_examples(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """An `example` for every request with a body, and for answers that are objects or runs."""
    for path, operations in result.get("paths", {}).items():
        for method, operation in operations.items():
            body = REQUESTS.get(f"{method.upper()} {path.removeprefix(PREFIX)}")
            if body is not None:
                _put(operation.get("requestBody", {}), body)
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


def _put(place: dict[str, Any], example: Any) -> None:
    for media in place.get("content", {}).values():
        media["example"] = example


def object_example(path: str) -> Example:
    """What the API answers to the POST of this path, with every reference's name beside it."""
    public_id, body, _ = OBJECTS[path]
    rest = {name: value for name, value in body.items() if name != "reason"}
    more: Example = {"version": 1, "created_at": AT, "updated_at": AT}
    more["allowed_commands"] = ["edit", "delete"]
    if path == "/systems":
        more |= {"product_name": "NATS", "model_version": 1, "description": ""}
        more |= {"unmanaged": "refuse", "retention_s": 3600}
        more["allowed_commands"] += ["add", "optimize"]
    if path in ("/topics", "/utility-functions"):
        more["class_count"] = 1
    return {"id": public_id, **_named(rest), **more}


def _named(row: Example) -> Example:
    """Every reference followed by the name of what it refers to, in lists, too."""
    found: Example = {}
    for member, value in row.items():
        if isinstance(value, list):
            value = [_named(part) if isinstance(part, dict) else part for part in value]
        found[member] = copy.deepcopy(value)
        if member not in ("id", "system") and isinstance(value, str) and value in NAMES:
            found[f"{member}_name"] = NAMES[value]
    return found
