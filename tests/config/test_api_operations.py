"""Every operation of the published schema is named, grouped and found at an address."""

import re
from typing import Any

from drf_spectacular.generators import SchemaGenerator

SCHEMA: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, item in SCHEMA["paths"].items()
    for method, operation in item.items()
}


def test_every_operation_has_a_summary_of_one_sentence() -> None:
    long = {
        name: operation.get("summary", "")
        for name, operation in OPERATIONS.items()
        if not 8 <= len(operation.get("summary", "")) <= 120
    }
    assert long == {}
    for name, operation in OPERATIONS.items():
        text = " ".join(operation["description"].split())
        assert text.startswith(operation["summary"]), name


def test_every_tag_is_described_and_used() -> None:
    described = {tag["name"]: tag["description"] for tag in SCHEMA["tags"]}
    used = {tag for operation in OPERATIONS.values() for tag in operation["tags"]}
    assert set(described) == used
    assert all(text.endswith(".") for text in described.values())


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(names) == len(set(names))


def test_addresses_are_those_of_the_installation_itself() -> None:
    (server,) = SCHEMA["servers"]
    assert server["url"] == "/"
    assert all(path.startswith("/api/v1/") for path in SCHEMA["paths"])


def test_every_command_on_a_plan_execution_or_run_takes_a_reason() -> None:
    without = []
    for name, operation in OPERATIONS.items():
        if not re.fullmatch(r"POST /api/v1/(plans|executions|runs)/\{id\}/.+", name):
            continue
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        component = body.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
        fields = SCHEMA["components"]["schemas"].get(component, {}).get("properties", {})
        if not {"reason", "comment"} & set(fields):
            without.append(name)
    # They change nothing, and open a run that has a history of its own.
    assert without == ["POST /api/v1/plans/{id}/dry-run", "POST /api/v1/runs/{id}/rerun"]
