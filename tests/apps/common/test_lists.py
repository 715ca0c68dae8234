"""Every list of the schema is narrowed, ordered and paged in the same way."""

import re
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from tests.factories.bay import QUAY, make_bay, suggested
from tests.factories.kinds import KINDS, World
from tests.factories.market import in_turn, make_market, map_market
from tests.factories.runs import make_allocation
from tests.factories.streets import make_streets, place

SCHEMA: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
COMPONENTS: dict[str, Any] = SCHEMA["components"]["schemas"]


def parameters_of(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in operation.get("parameters", ()) if one["in"] == "query"}


LISTS = {
    path: item["get"]
    for path, item in SCHEMA["paths"].items()
    if "get" in item and "cursor" in parameters_of(item["get"])
}
# Settings exist as long as their system.
TIMELESS = {
    f"/api/v1/{path}"
    for path in (
        *("policies", "calibration-settings", "demand-settings", "mapping-settings"),
        "record-settings",
    )
}
WHEN = {"created_at", "fired_at", "at"}
# What a reconciler follows: rows that go on changing after they were made.
FOLLOWED = {
    f"/api/v1/{path}"
    for path in (
        *("plans", "executions", "runs", "allocations", "placements", "mappings", "calibrations"),
        *("studies", "overlay-evaluations", "correlation-analyses", "connections", "webhooks"),
        *("channels", "users", "agents", "policies", "calibration-settings", "mapping-settings"),
        *("record-settings", "demand-settings", "demand-estimates"),
        *("recomputation/schedules", "recomputation/triggers", "systems"),
        *(kind.path for kind in KINDS),
    )
}


def row_of(operation: dict[str, Any]) -> dict[str, Any]:
    """The properties of one row."""
    page = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    rows = COMPONENTS[page.rsplit("/", 1)[1]]["properties"]["results"]
    row: dict[str, Any] = COMPONENTS[rows["items"]["$ref"].rsplit("/", 1)[1]]["properties"]
    return row


def joins_of(statement: str) -> int:
    """The joins of a statement itself, without those of the queries inside it."""
    while (outer := re.sub(r"\([^()]*\)", "", statement)) != statement:
        statement = outer
    return statement.count(" JOIN ")


def test_no_list_joins_more_tables_than_postgres_orders(api: APIClient) -> None:
    """It tries the orders of up to eight tables, which at nine or more takes it longer at each
    request than to read the rows."""
    widest = {}
    for path in LISTS:
        with CaptureQueriesContext(connection) as captured:
            api.get(path.replace("{id}", str(uuid.uuid4())))
        widest[path] = max((joins_of(query["sql"]) for query in captured), default=0)
    assert {path: joins for path, joins in widest.items() if joins > 7} == {}
    assert widest["/api/v1/studies"] > 5, "nothing is counted any more"


@pytest.mark.parametrize("path", sorted(LISTS))
def test_a_list_is_narrowed_by_what_its_rows_hold(path: str) -> None:
    row, parameters = row_of(LISTS[path]), parameters_of(LISTS[path])
    needed = {name for name in ("system", "state", "status") if name in row}
    if path not in TIMELESS and WHEN & set(row):
        needed |= {"since", "until"}
    if "updated_at" in row:
        needed.add("updated_since")
    assert needed - set(parameters) == set()


@pytest.mark.parametrize("path", sorted(FOLLOWED))
def test_rows_that_change_say_when(path: str) -> None:
    assert "updated_at" in row_of(LISTS[path])


@pytest.mark.parametrize("path", sorted(LISTS))
def test_parameters_of_lists_say_how_to_use_them(path: str) -> None:
    parameters = parameters_of(LISTS[path])
    for name in {
        "cursor",
        "page_size",
        "ordering",
        "search",
        "since",
        "until",
        "updated_since",
    } & set(parameters):
        assert parameters[name].get("description"), name
    assert "`next`" in parameters["cursor"]["description"]


def address(path: str, world: World) -> str:
    """The address of a list, also of one below an object."""
    if "{allocation_id}" in path:
        return path.replace("{allocation_id}", str(make_allocation(world.system).public_id))
    if "{analysis_id}" in path or "{suggestion_id}" in path:
        (suggestion,) = suggested(make_bay(), QUAY)
        return path.replace("{suggestion_id}", str(suggestion.public_id)).replace(
            "{analysis_id}", str(suggestion.analysis.public_id)
        )
    if "{mapping_id}" in path:
        market = make_market()
        in_turn(market)
        return path.replace("{mapping_id}", str(map_market(market).public_id))
    if "{placement_id}" in path:
        return path.replace("{placement_id}", str(place(make_streets()).public_id))
    return re.sub(r"\{\w+\}", str(uuid.uuid4()), path)


@pytest.mark.parametrize("path", sorted(LISTS))
def test_a_list_takes_its_own_parameters_and_refuses_others(
    api: APIClient, world: World, path: str
) -> None:
    where, parameters = address(path, world), parameters_of(LISTS[path])
    if api.get(where).status_code == 404:
        assert "{study_id}" in path
        return

    def refused(name: str, value: str) -> None:
        answer = api.get(where, {name: value})
        assert answer.status_code == 400, (name, value, answer.content)
        assert [error["field"] for error in answer.json()["errors"]] == [name]

    refused("nonsense", "1")
    for name in re.findall(r"`(\w+)`", parameters.get("ordering", {}).get("description", "")):
        for order in (name, f"-{name}"):
            assert api.get(where, {"ordering": order}).status_code == 200, order
    if "ordering" in parameters:
        refused("ordering", "nonsense")
    everything = api.get(where).json()["count"]
    if "since" in parameters:
        assert api.get(where, {"since": "2100-01-01T00:00:00Z"}).json()["count"] == 0
        assert api.get(where, {"until": "2100-01-01T00:00:00Z"}).json()["count"] == everything
        refused("since", "yesterday")
    if "updated_since" in parameters:
        assert api.get(where, {"updated_since": "2100-01-01T00:00:00Z"}).json()["count"] == 0
        assert api.get(where, {"updated_since": "2000-01-01"}).json()["count"] == everything
        refused("updated_since", "yesterday")
        refused("updated_since", "0001-01-01T00:00:00+10:00")
    for name in ("state", "system"):
        if name in parameters and path not in TIMELESS:
            refused(name, "nonsense")
