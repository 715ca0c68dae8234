"""A misspelt field or filter is refused by its name; what answers hold may be sent back."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.factories.kinds import World

pytestmark = pytest.mark.django_db


def refused(answer: Any, field: str) -> str:
    assert answer.status_code == 400, answer.content
    (error,) = answer.json()["errors"]
    assert error["field"] == field
    return str(error["message"])


def test_an_unknown_field_is_refused_and_the_likely_one_named(api: APIClient) -> None:
    body = {"name": "quay", "product": "nats", "descripton": "Mine"}
    message = refused(api.post("/api/v1/systems", body, format="json"), "descripton")
    assert message == 'There is no such field. Is "description" meant?'


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("plans", {"titel": "x"}, "titel"),
        ("allocations", {"sead": 1}, "sead"),
        ("overlay-evaluations", {"weights": {"per_mesage": 1}}, "weights.per_mesage"),
        ("placements", {"drained": []}, "drained"),
        ("studies", {"nmae": "x"}, "nmae"),
    ],
)
def test_commands_refuse_it_too(
    api: APIClient, world: World, path: str, body: dict[str, Any], field: str
) -> None:
    given = {"system": str(world.system.public_id), **body}
    answer = api.post(f"/api/v1/{path}", given, format="json")
    assert answer.status_code == 400
    assert field in [error["field"] for error in answer.json()["errors"]]


def test_a_row_of_a_list_is_looked_at(api: APIClient, world: World) -> None:
    path = f"/api/v1/brokers/{world.broker.public_id}"
    current = api.get(path)
    rows = [{"resource": "cpu", "capacity": 1.0, "capcity": 2.0}]
    answer = api.patch(
        path, {"capacities": rows}, format="json", headers={"If-Match": current.headers["ETag"]}
    )
    refused(answer, "capacities[0].capcity")


def test_an_answer_may_be_sent_back(api: APIClient, world: World) -> None:
    for path in (
        f"/api/v1/brokers/{world.broker.public_id}",
        f"/api/v1/systems/{world.system.public_id}",
    ):
        current = api.get(path)
        headers = {"If-Match": current.headers["ETag"]}
        answer = api.patch(path, current.json(), format="json", headers=headers)
        assert answer.status_code == 200, answer.content


@pytest.mark.parametrize("path", ["topics", "plans", "audit", "users", "tokens", "policies"])
def test_an_unknown_filter_is_refused(api: APIClient, path: str) -> None:
    refused(api.get(f"/api/v1/{path}?nmae=x"), "nmae")


def test_settings_of_one_system_refuse_it_too(api: APIClient, world: World) -> None:
    system = world.system.public_id
    refused(api.get(f"/api/v1/calibration-settings?system={system}&nmae=x"), "nmae")


def test_forms_in_the_address_refuse_it_too(api: APIClient, world: World) -> None:
    refused(api.get(f"/api/v1/telemetry?system={world.system.public_id}&brokr=x"), "brokr")


@pytest.mark.parametrize("path", ["policies", "calibration-settings"])
def test_a_system_that_is_no_id_is_named(api: APIClient, path: str) -> None:
    refused(api.get(f"/api/v1/{path}?system=nonsense"), "system")
