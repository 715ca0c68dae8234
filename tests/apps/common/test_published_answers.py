"""Answers and refusals are those that the published schema names."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.factories.kinds import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def paths(api: APIClient) -> dict[str, Any]:
    """The operations of the schema by their address."""
    paths: dict[str, Any] = api.get("/api/v1/schema?format=json").json()["paths"]
    return paths


def flags(operation: dict[str, Any]) -> list[str]:
    """The filters of a list that are true or false."""
    parameters = {p["name"]: p for p in operation.get("parameters", ()) if p["in"] == "query"}
    return [
        name
        for name, parameter in parameters.items()
        if "cursor" in parameters and parameter["schema"].get("type") == "boolean"
    ]


def test_a_filter_that_is_true_or_false_refuses_all_else(
    api: APIClient, paths: dict[str, Any]
) -> None:
    filters = [(path, name) for path, item in paths.items() for name in flags(item.get("get", {}))]
    assert filters
    for path, name in filters:
        for value in ("1", "yes", "nonsense"):
            answer = api.get(path, {name: value})
            assert answer.status_code == 400, f"{path}?{name}={value}"
            assert answer.json()["errors"][0]["field"] == name
        for value in ("true", "false", "True", ""):
            assert api.get(path, {name: value}).status_code == 200, f"{path}?{name}={value}"


def test_an_overlay_is_found_by_whether_it_is_in_force(api: APIClient, world: World) -> None:
    overlays = api.get("/api/v1/overlays").json()["results"]
    for value in (True, False):
        rows = api.get("/api/v1/overlays", {"in_force": str(value).lower()}).json()["results"]
        assert rows == [row for row in overlays if row["in_force"] is value]


def test_what_is_made_answers_with_its_version_also_the_second_time(
    api: APIClient, paths: dict[str, Any]
) -> None:
    declared = paths["/api/v1/systems"]["post"]["responses"]["201"]["headers"]
    assert declared["ETag"]["required"]
    first, again = (
        api.post(
            "/api/v1/systems", {"name": "quay"}, format="json", headers={"idempotency-key": "k"}
        )
        for _ in range(2)
    )
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    for name in ("ETag", "Location"):
        assert again.headers[name] == first.headers[name]


def test_a_versioned_object_that_a_command_answers_with_has_its_tag(paths: dict[str, Any]) -> None:
    """A plan is made of an allocation, say, or of another plan: the next command needs its
    version."""
    makers = {
        path: answer["headers"]["ETag"]["required"]
        for path, item in paths.items()
        for status, answer in item.get("post", {}).get("responses", {}).items()
        if status == "201"
        and answer["content"]["application/json"]["schema"]
        == {"$ref": "#/components/schemas/PlanDetail"}
    }
    assert len(makers) > 6
    assert "/api/v1/plans/{id}/roll-back" in makers
    assert all(makers.values())


def test_the_schema_names_all_that_describes_a_parameter(api: APIClient) -> None:
    schemas = api.get("/api/v1/schema?format=json").json()["components"]["schemas"]
    named = set(schemas["ParameterDescription"]["properties"])
    for path in (
        *("utility-kinds", "optimizers", "topology-methods", "topology-planners"),
        "placement-methods",
    ):
        for row in api.get(f"/api/v1/{path}").json()["results"]:
            for parameter in row["parameters"]:
                assert set(parameter) == named, path


def test_a_place_beside_the_map_is_refused(api: APIClient, world: World) -> None:
    body = {"system": str(world.system.public_id), "name": "pier", "map_x": 2, "capacities": []}
    answer = api.post("/api/v1/brokers", body, format="json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["errors"][0]["field"] == "map_x"


def test_the_schema_says_how_large_a_page_is_and_what_orders_it(paths: dict[str, Any]) -> None:
    named = {p["name"]: p for p in paths["/api/v1/executions"]["get"]["parameters"]}
    assert named["page_size"]["schema"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 500,
        "default": 50,
    }
    assert "`ended_at`" in named["ordering"]["description"]
