"""Add to the schema what drf-spectacular cannot see: problem documents, 304, and headers."""

from collections.abc import Mapping
from typing import Any

from rest_framework.permissions import SAFE_METHODS

from apps.common.problem_codes import PROBLEM_CODES

PROBLEM = {
    "type": "object",
    "description": "RFC 9457 problem document.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {
            "type": "string",
            "description": "Stable; programs decide by it, and take one that they do not know by "
            "its status.\n\n"
            + "\n".join(
                f"- `{code}` ({status}): {meaning}"
                for code, (status, meaning) in PROBLEM_CODES.items()
            ),
        },
        "detail": {"type": "string", "description": "A sentence for people."},
        "errors": {
            "type": "array",
            "description": "What is wrong with which field; `field` is a path such as "
            "`node_costs[2].cost`, and empty where the request as a whole is wrong.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {
                    "field": {"type": "string"},
                    "message": {"type": "string"},
                    "line": {
                        "type": "integer",
                        "description": "Of a CSV: the line of the file; the header is line 1.",
                    },
                },
            },
        },
        "more_errors": {
            "type": "integer",
            "description": "Of an import: how many errors there are beside those in `errors`.",
        },
        "violated_constraint": {
            "type": "string",
            "description": "With `constraint_violated` and `taken_meanwhile`: which rule.",
        },
        "plan": {
            "type": "string",
            "format": "uuid",
            "description": "With `plan_exists` and `plan_in_the_way`: that plan.",
        },
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


PROBLEMS: dict[str, str] = {
    "400": "A field, a parameter or the body is not valid; `errors` names each.",
    "401": "Neither a session nor a token was sent, or the token is not valid.",
    "403": "The caller may not do this: the role is missing, or with a session `X-CSRFToken`.",
    "404": "There is no such object, or the `cursor` is none of this list.",
    "406": "This address answers in another format than `Accept` names.",
    "409": "The object's state, or that of its system, does not allow this now.",
    "412": "Somebody changed or deleted the object since: read it again.",
    "413": "The body is larger than this address takes.",
    "415": "The body is neither `application/json` nor what else this address takes.",
    "422": "The request is valid, but cannot be carried out as it is.",
    "428": "`If-Match` is missing.",
    "429": "Too many requests; `Retry-After` says when to try again.",
    "503": "The database does not answer; nothing was changed. Try again after `Retry-After`.",
}
"""The statuses that operations declare, with what each means."""
LIMIT_HEADERS = {
    "RateLimit-Policy": {
        "description": "With a token: how many requests (`q`) it may make in how many seconds "
        "(`w`), by draft-ietf-httpapi-ratelimit-headers. Left out where nothing is counted.",
        "schema": {"type": "string"},
        "example": '"token";q=1200;w=60',
    },
    "RateLimit": {
        "description": "With a token: how many requests it may make at once now (`r`), and in how "
        "many seconds it may make more than that (`t`).",
        "schema": {"type": "string"},
        "example": '"token";r=1187;t=1',
    },
}
LIMITS = {name: {"$ref": f"#/components/headers/{name}"} for name in LIMIT_HEADERS}
"""The headers of every answer to a token."""
RETRY_AFTER = {
    "description": "In how many seconds to try again.",
    "schema": {"type": "integer", "minimum": 0},
}
WWW_AUTHENTICATE = {
    "description": "The scheme in which to sign in.",
    "schema": {"type": "string"},
}
PROBLEM_HEADERS = {
    "401": {"WWW-Authenticate": WWW_AUTHENTICATE},
    "429": {"Retry-After": RETRY_AFTER},
    "503": {"Retry-After": RETRY_AFTER},
}


def error_statuses(view: Any, method: str, operation: Mapping[str, Any]) -> list[str]:
    """Return the statuses with which an operation may refuse a request, by what its view is.

    A service may refuse for reasons that nobody sees in the view; the view names those statuses in
    `refuses`, by action or method as `needs` does.
    """
    parameters = operation.get("parameters", ())
    headers = {one["name"] for one in parameters if one["in"] == "header"}
    places = {one["in"] for one in parameters}
    pages = any(one["name"] == "cursor" for one in parameters)
    body, writes = "requestBody" in operation, method.upper() not in SAFE_METHODS
    applies = {
        "400": body or "query" in places or "Idempotency-Key" in headers,
        "401": bool(view.get_authenticators()),
        "403": writes,
        "404": "path" in places or pages,
        "406": True,
        "412": "If-Match" in headers,
        "413": body,
        "415": body,
        "422": "Idempotency-Key" in headers,
        "428": "If-Match" in headers,
        # A token that is known may have asked too often, whatever it asks.
        "429": bool(view.get_authenticators() or view.get_throttles()),
        "503": True,
    }
    more = getattr(view, "refuses", {}).get(getattr(view, "action", method.lower()), ())
    return sorted({status for status, does in applies.items() if does} | set(map(str, more)))


def add_problem_responses(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add the problem documents to which operations refer, and `default` to every operation."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM
    reference = {"$ref": "#/components/schemas/Problem"}
    components["responses"] = {
        f"Problem{status}": {
            "description": text,
            "headers": {**PROBLEM_HEADERS.get(status, {}), **LIMITS},
            "content": {"application/problem+json": {"schema": reference}},
        }
        for status, text in PROBLEMS.items()
    }
    for path in result.get("paths", {}).values():
        for operation in path.values():
            operation.setdefault("responses", {})["default"] = {
                "description": "The request failed, or was refused before it was read.",
                "headers": LIMITS,
                "content": {"application/problem+json": {"schema": reference}},
            }
    return result


def problem_reference(status: str) -> dict[str, str]:
    """Return the reference to the response that describes this status."""
    return {"$ref": f"#/components/responses/Problem{status}"}


REPLAYED = {
    "description": "`true`: the answer to an earlier request with this Idempotency-Key.",
    "schema": {"type": "string", "enum": ["true"]},
}
ETAG = {
    "description": "The object's version; send it as If-Match when you change the object.",
    "required": True,
    "schema": {"type": "string"},
}
ETAG_READ = {
    "description": "The object's version and a hash of the answer; send it as If-Match when you "
    "change the object, as If-None-Match when you read it again.",
    "required": True,
    "schema": {"type": "string"},
}
ETAG_HASH = {
    "description": "A hash of the answer; send it as If-None-Match when you read it again.",
    "required": True,
    "schema": {"type": "string"},
}
POLL_AFTER = {
    "description": "In how many seconds it makes sense to look at `Location`.",
    "required": True,
    "schema": {"type": "integer", "minimum": 0},
}
LOCATION = {
    "description": "Address of the new object; with 202, of the object that shows the progress.",
    "required": True,
    "schema": {"type": "string"},
}


def _body(operation: Mapping[str, Any], status: str) -> str:
    """Return the component that is the body of an answer in JSON; empty where none is."""
    content = operation.get("responses", {}).get(status, {}).get("content", {})
    reference: str = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    return reference


def add_headers(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add `Location` to every 201 and 202, `Retry-After` to 202, 304 to reads, `ETag` to these and
    to objects whose changes need If-Match, and what a token has left to all that tokens may do."""
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
    # `/fits/{id}/apply` changes `/fits/{id}`; that does not change the list `/fits`. What is read
    # at its own address changes itself.
    versioned |= {
        path.rpartition("/")[0]
        for path in versioned
        if not path.endswith("}") and "get" not in paths[path]
    }
    shown = {_body(paths[path]["get"], "200") for path in versioned if "get" in paths[path]} - {""}
    components = result.setdefault("components", {})
    components.setdefault("headers", {}).update(LIMIT_HEADERS)
    components.setdefault("responses", {})["NotModified"] = {
        "description": "The answer is still the one that `If-None-Match` names; it has no body.",
        "headers": {"ETag": ETAG_HASH, **LIMITS},
    }
    for path, operations in paths.items():
        for operation in operations.values():
            responses = operation.get("responses", {})
            read = any(one["name"] == "If-None-Match" for one in operation.get("parameters", ()))
            for status, response in responses.items():
                if status[0] != "2":
                    continue
                if any("token" in one for one in operation.get("security", ())):
                    response.setdefault("headers", {}).update(LIMITS)
                if status in ("201", "202"):
                    response.setdefault("headers", {})["Location"] = LOCATION
                if status == "202":
                    response.setdefault("headers", {})["Retry-After"] = POLL_AFTER
                # Whether here or as the outcome of a command on something else.
                made = _body(operation, status) in shown or (
                    status in ("201", "202") and f"{path}/{{id}}" in versioned
                )
                if status == "200" and read:
                    tag = ETAG_READ if path in versioned else ETAG_HASH
                    response.setdefault("headers", {})["ETag"] = tag
                elif made or (path in versioned and status == "200"):
                    response.setdefault("headers", {})["ETag"] = ETAG
            if read:
                responses["304"] = {"$ref": "#/components/responses/NotModified"}
    return result
