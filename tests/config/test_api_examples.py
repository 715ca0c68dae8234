"""The examples of the published schema: they fit it, and whoever sends them is not refused."""

import json
from typing import Any

from jsonschema import Draft202012Validator

from apps.accounts.domain.roles import Role
from apps.common.api.examples import BROKER, OTHER_BROKER, SYSTEM
from config.api_examples import IMPORTED, NAMES, OBJECTS, REQUESTS, TABLES
from tests.conftest import client_of
from tests.factories import make_user
from tests.schema import SCHEMA

PREFIX = "/api/v1"


def plain(schema: Any) -> Any:
    """OpenAPI 3.0's `nullable` in the words of JSON Schema; what is generated is read-only lazy."""
    if isinstance(schema, list | tuple):
        return [plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    members = {str(name): plain(part) for name, part in schema.items()}
    if members.pop("nullable", False):
        return {"anyOf": [members, {"type": "null"}]}
    return members


COMPONENTS = plain(SCHEMA["components"])


def media_types() -> list[tuple[str, dict[str, Any]]]:
    """Everything that an operation takes or answers, with its own name."""
    named = []
    for path, operations in SCHEMA["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            places = {"request": operation.get("requestBody", {}), **operation["responses"]}
            for what, place in places.items():
                for media in place.get("content", {}).values():
                    named.append((f"{name} {what}", media))
    return named


def test_every_request_with_a_body_has_an_example() -> None:
    without = [
        name for name, media in media_types() if name.endswith("request") and "example" not in media
    ]
    assert without == []


def test_no_example_is_of_a_request_that_is_not_there() -> None:
    there = {name.removesuffix(" request").replace(f" {PREFIX}", " ") for name, _ in media_types()}
    assert set(REQUESTS) <= there


def test_every_example_fits_its_own_schema() -> None:
    validator = Draft202012Validator({"components": COMPONENTS})
    wrong = {}
    for name, media in media_types():
        if "example" in media:
            one = validator.evolve(schema={**plain(media["schema"]), "components": COMPONENTS})
            errors = [error.message for error in one.iter_errors(media["example"])]
            if errors:
                wrong[name] = errors
    assert wrong == {}


def test_components_are_described_by_what_they_are() -> None:
    texts = {name: c.get("description", "") for name, c in COMPONENTS["schemas"].items()}
    assert texts["Subscriber"] == "A subscriber with its interests."
    assert not [name for name, text in texts.items() if text.startswith(("Describe ", "Read "))]


def test_problem_example_fits_its_schema() -> None:
    problem = COMPONENTS["schemas"]["Problem"]
    Draft202012Validator(problem).validate(problem["example"])


STORY = (
    "POST /utility-kinds/curve",
    "POST /utility-curves",
    "POST /allocations",
    "POST /allocations/solve",
    "POST /studies/check",
    "POST /studies",
    "POST /recomputation/schedules",
    "POST /recomputation/triggers",
    "POST /overlay-transformations",
    "POST /agents",
    "POST /tokens",
    "POST /users",
)
"""What needs nothing but the objects; the rest needs an answer of Spark or of a person first."""


def test_the_examples_sent_one_after_the_other_are_all_accepted(db: None) -> None:
    client = client_of(make_user("root", *Role))
    ids: dict[str, str] = {}

    def send(method: str, path: str, body: Any, **headers: str) -> Any:
        text = json.dumps(body)
        for example, real in ids.items():
            text, path = text.replace(example, real), path.replace(example, real)
        answer = getattr(client, method)(
            f"{PREFIX}{path}", text, content_type="application/json", headers=headers
        )
        assert answer.status_code in (200, 201, 202), f"{method} {path}: {answer.content}"
        return answer.json()

    for path, (public_id, body, _) in OBJECTS.items():
        ids[public_id] = send("post", path, body)["id"]
        if public_id == BROKER:
            other = send("post", path, {**body, "name": NAMES[OTHER_BROKER]})
            ids[OTHER_BROKER] = other["id"]
    for path in IMPORTED:
        kind, line = f"{path}/import", f"POST {path}/import"
        address = f"{kind}?system={SYSTEM}&dry_run=true"
        sent = send("post", address, REQUESTS[line])
        assert (sent["created"], sent["changed"], sent["unchanged"]) == (0, 0, 1), kind
        text = client.post(
            f"{PREFIX}{address}".replace(SYSTEM, ids[SYSTEM]), TABLES[line], content_type="text/csv"
        )
        assert text.json() == sent, text.content
    for line in STORY:
        send("post", line.removeprefix("POST "), REQUESTS[line])
    for path, (public_id, _, change) in OBJECTS.items():
        version = client.get(f"{PREFIX}{path}/{ids[public_id]}")["ETag"]
        send("patch", f"{path}/{ids[public_id]}", change, **{"If-Match": version})
