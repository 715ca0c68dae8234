"""Executions over REST: what people see, and who may command."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.executions.models import Execution
from apps.executions.services import execution_stop
from tests.factories.fleet import make_harbour, population, rate, shift, start

pytestmark = pytest.mark.django_db
COMMANDS = ("pause", "resume", "stop", "roll-back")


@pytest.fixture
def harbour():
    return make_harbour()


@pytest.fixture
def execution(harbour, admin) -> Execution:
    return start(
        harbour.system, [rate(None, 90.0), population(None, 4)], [shift("a", "b", "c")], actor=admin
    )


def test_shows_the_whole_of_it(api, execution, admin):
    body = api.get(f"/api/v1/executions/{execution.public_id}").json()
    assert (body["name"], body["number"], body["state"]) == ("E-1", 1, "running")
    assert (body["plan_name"], body["plan_title"]) == ("P-7", "Spring tide")
    assert body["plan"] == str(execution.subject_id)
    assert body["started_by"] == admin.display_name
    assert (body["actions_done"], body["actions_total"]) == (0, 3)
    first, second = body["steps"]
    assert [s["state"] for s in (first, second)] == ["in_progress", "pending"]
    action = first["actions"][0]
    assert action["title"] == "Set tides at a to 90 msg/s, burst 5"
    assert (action["before"], action["after"]) == (None, {"rate_per_s": 90.0, "burst": 5.0})
    assert (action["brokers"], action["waiting_for"]) == (["a"], ["a"])
    assert second["actions"][0]["brokers"] == ["a", "b", "c"]
    assert second["actions"][0]["waiting_for"] == []
    assert body["allowed_commands"] == ["pause", "stop", "roll_back"]


def test_a_command_answers_with_the_fresh_object(api, execution):
    address = f"/api/v1/executions/{execution.public_id}"
    answer = api.post(f"{address}/pause")
    assert answer.status_code == 200
    assert answer.json()["state"] == "pausing"
    assert answer.json()["allowed_commands"] == ["resume", "stop", "roll_back"]
    assert api.post(f"{address}/resume").json()["state"] == "running"
    assert api.post(f"{address}/stop").json()["state"] == "stopping"
    assert api.post(f"{address}/roll-back").json()["state"] == "rolling_back"


def test_a_command_keeps_its_reason_in_the_audit_and_shows_it(api, execution, admin):
    address = f"/api/v1/executions/{execution.public_id}"
    for command in ("pause", "stop", "roll-back"):
        answer = api.post(
            f"{address}/{command}", {"reason": f" {command}: tides fall "}, format="json"
        )
        assert answer.status_code == 200, answer.content
    shown = [(row["actor"], row["command"], row["reason"]) for row in answer.json()["commands"]]
    assert shown == [
        (admin.display_name, "pause", "pause: tides fall"),
        (admin.display_name, "stop", "stop: tides fall"),
        (admin.display_name, "roll_back", "roll-back: tides fall"),
    ]
    kept = AuditEntry.objects.filter(object_id=execution.public_id, action="pause")
    assert [(entry.reason, entry.before, entry.after) for entry in kept] == [
        ("pause: tides fall", {"state": "running"}, {"state": "pausing"})
    ]


@pytest.mark.parametrize("command", ["pause", "stop", "roll-back"])
def test_a_reason_that_is_too_long_is_refused_at_its_field(api, execution, command):
    address = f"/api/v1/executions/{execution.public_id}/{command}"
    answer = api.post(address, {"reason": "x" * 401}, format="json")
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["reason"]


def test_a_command_that_does_not_fit_is_a_conflict(api, execution):
    answer = api.post(f"/api/v1/executions/{execution.public_id}/resume")
    assert answer.status_code == 409
    assert answer.json()["code"] == "not_possible_now"
    assert "allowed: pause, stop, roll back" in answer.json()["detail"]


@pytest.mark.parametrize("role", list(Role))
def test_only_operators_command(harbour, as_role, role):
    execution = start(harbour.system, [rate(None, 90.0)])
    client = as_role(role)
    address = f"/api/v1/executions/{execution.public_id}"
    shown = client.get(address).json()["allowed_commands"]
    assert bool(shown) == (role == Role.OPERATOR)
    for command in COMMANDS:
        answer = client.post(f"{address}/{command}")
        assert (answer.status_code != 403) == (role == Role.OPERATOR)


def test_signed_out_is_401(execution, client):
    assert client.get(f"/api/v1/executions/{execution.public_id}").status_code == 401
    assert client.post(f"/api/v1/executions/{execution.public_id}/stop").status_code == 401


def test_lists_newest_first_and_by_plan(api, execution, harbour, admin):
    execution_stop(execution=execution, actor=admin)
    elsewhere = make_harbour("elsewhere")
    other = start(elsewhere.system, [rate(None, 9.0)])
    listed = api.get("/api/v1/executions").json()["results"]
    assert [row["id"] for row in listed] == [str(other.public_id), str(execution.public_id)]
    for query, expected in (
        (f"plan={execution.subject_id}", [execution]),
        (f"system={elsewhere.system.public_id}", [other]),
        ("state=stopping", [execution]),
        (f"plan={uuid.uuid4()}", []),
    ):
        listed = api.get(f"/api/v1/executions?{query}").json()["results"]
        assert [row["id"] for row in listed] == [str(e.public_id) for e in expected], query


def test_the_number_of_queries_does_not_grow_with_the_plan(api, harbour):
    def asked(execution: Execution) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert api.get(f"/api/v1/executions/{execution.public_id}").status_code == 200
        return len(captured)

    small = start(harbour.system, [rate(None, 90.0)])
    elsewhere = make_harbour("elsewhere")
    large = start(
        elsewhere.system,
        [rate(None, 1.0), population(None, 1)],
        *([rate(float(i), float(i + 1))] for i in range(1, 9)),
    )
    assert asked(small) == asked(large)
