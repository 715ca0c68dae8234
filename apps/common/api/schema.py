"""What drf-spectacular cannot see by itself: problem documents, `ETag` and `Location`."""

from typing import Any

PROBLEM = {
    "type": "object",
    "description": "RFC 9457 problem document.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; programs decide by it."},
        "detail": {"type": "string", "description": "One sentence for a person."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
        "violated_constraint": {"type": "string"},
    },
    "example": {
        "type": "urn:weir:problem:invalid",
        "title": "The request is not valid",
        "status": 400,
        "code": "invalid",
        "detail": "rate_min_per_s: Above rate_max_per_s (10 msg/s); lower it.",
        "errors": [
            {
                "field": "rate_min_per_s",
                "message": "Above rate_max_per_s (10 msg/s); lower it.",
            }
        ],
    },
}


def add_problem_responses(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Declare `default: Problem` on every operation."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    reference = {"$ref": "#/components/schemas/Problem"}
    for path in result.get("paths", {}).values():
        for operation in path.values():
            operation.setdefault("responses", {})["default"] = {
                "description": "The request was refused or failed.",
                "content": {"application/problem+json": {"schema": reference}},
            }
    return result


ETAG = {
    "description": "The object's version; send it as If-Match when you change the object.",
    "required": True,
    "schema": {"type": "string"},
}
LOCATION = {
    "description": "Address of what was made, or of what tells how far the work is.",
    "required": True,
    "schema": {"type": "string"},
}


def add_headers(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Declare `Location` on every 201 and 202, and `ETag` on what wants If-Match to be changed."""
    paths: dict[str, dict[str, Any]] = result.get("paths", {})
    versioned = {
        path
        for path, operations in paths.items()
        if any(
            parameter["name"] == "If-Match"
            for operation in operations.values()
            for parameter in operation.get("parameters", ())
        )
    }
    # `/fits/{id}/apply` changes `/fits/{id}`; that does not change the list `/fits`.
    versioned |= {path.rpartition("/")[0] for path in versioned if not path.endswith("}")}
    for path, operations in paths.items():
        for operation in operations.values():
            for status, response in operation.get("responses", {}).items():
                if status in ("201", "202"):
                    response.setdefault("headers", {})["Location"] = LOCATION
                made = status == "201" and f"{path}/{{id}}" in versioned
                if made or (path in versioned and status == "200"):
                    response.setdefault("headers", {})["ETag"] = ETAG
    return result
