"""What drf-spectacular cannot see by itself: the problem document every operation may answer."""

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
