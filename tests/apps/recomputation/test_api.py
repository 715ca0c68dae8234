"""/api/v1/recomputation: schedules, triggers, firings, and the reading of a schedule."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.recomputation.models import Schedule
from apps.recomputation.services import recomputation_tick
from tests.factories import make_system

pytestmark = pytest.mark.django_db
ROOM = "/api/v1/recomputation"


@pytest.fixture
def editor(as_role: Any) -> APIClient:
    return as_role(Role.EDITOR)


def add(client: APIClient, rules: str, **body: Any) -> Any:
    return client.post(f"{ROOM}/{rules}", body, format="json")


def test_a_schedule_is_made_changed_and_deleted_with_its_history(editor):
    system = make_system("s")
    body = {"system": str(system.public_id), "name": "often", "every_s": 60, "then": "none"}
    answer = add(editor, "schedules", **body)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert answer["ETag"] == '"1"'
    assert answer["Location"] == f"{ROOM}/schedules/{made['id']}"
    assert (made["text"], made["allowed_commands"]) == ("Every minute", ["edit", "delete", "run"])
    address = answer["Location"]
    assert editor.patch(address, {"enabled": False}, format="json").status_code == 428
    changed = editor.patch(
        address,
        {"every_s": None, "cron": "0 2 * * *", "reason": "At night."},
        format="json",
        headers={"If-Match": '"1"'},
    )
    assert changed.status_code == 200, changed.content
    assert changed.json()["text"] == "At 02:00 every day, UTC"
    late = editor.patch(address, {"name": "x"}, format="json", headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["code"]) == (412, "version_mismatch")
    gone = editor.delete(f"{address}?reason=Enough.", headers={"If-Match": '"2"'})
    assert gone.status_code == 204
    rows = AuditEntry.objects.filter(object_kind="schedule").order_by("id")
    assert [row.action for row in rows] == ["create", "update", "delete"]
    assert rows[1].before == {"every_s": 60, "cron": ""}
    assert [row.reason for row in rows] == ["", "At night.", "Enough."]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "every_s"),
        ({"every_s": 60, "cron": "0 2 * * *"}, "every_s"),
        ({"every_s": 5}, "every_s"),
        ({"cron": "0 2 * *"}, "cron"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": "0 2 * * *", "timezone": "Mars/Olympus"}, "timezone"),
        ({"every_s": 60, "method": "guessing"}, "method"),
        ({"every_s": 60, "least_benefit": 5}, "least_benefit"),
        ({"every_s": 60, "then": "do_it"}, "then"),
        ({"every_s": 60, "time_limit_s": 0}, "time_limit_s"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_at_its_field(editor, body, field):
    system = make_system("s")
    answer = add(editor, "schedules", system=str(system.public_id), name="n", **body)
    assert answer.status_code == 400, answer.content
    assert answer.json()["errors"][0]["field"] == field
    assert not Schedule.objects.exists()


def test_names_are_unique_within_a_system(editor):
    first, second = make_system("one"), make_system("two")
    for system, expected in ((first, 201), (first, 409), (second, 201)):
        body = {"system": str(system.public_id), "name": "often", "every_s": 60}
        assert add(editor, "schedules", **body).status_code == expected


def test_a_trigger_shows_what_it_sees(clockwork, api):
    answer = add(
        api,
        "triggers",
        system=str(clockwork.system.public_id),
        name="capacities",
        kind="capacity_change",
        threshold=0.5,
    )
    assert answer.status_code == 201, answer.content
    recomputation_tick()
    seen = api.get(answer["Location"]).json()
    assert (seen["value"], seen["above_since"], seen["last_firing"]) == (0.0, None, None)
    assert seen["looked_at"] is not None
    assert "the latest" in seen["detail"]


def test_running_a_schedule_now_gives_its_firing(clockwork, api):
    schedule = clockwork.schedule(then="none")
    answer = api.post(f"{ROOM}/schedules/{schedule.public_id}/run")
    assert answer.status_code == 202, answer.content
    assert (answer.json()["state"], answer.json()["why"]) == ("waiting", "admin asked.")
    recomputation_tick()
    clockwork.work()
    recomputation_tick()
    done = api.get(answer["Location"]).json()
    assert (done["state"], done["outcome"]) == ("done", "computed")
    assert done["run_name"].startswith("R-")
    row = api.get(f"{ROOM}/schedules/{schedule.public_id}").json()
    assert row["last_firing"]["id"] == done["id"]
    listed = api.get(f"{ROOM}/firings", {"system": str(clockwork.system.public_id)}).json()
    assert [one["id"] for one in listed["results"]] == [done["id"]]


def test_the_record_outlives_the_schedule(clockwork, api):
    schedule = clockwork.schedule(then="none")
    api.post(f"{ROOM}/schedules/{schedule.public_id}/run")
    address = f"{ROOM}/schedules/{schedule.public_id}"
    assert api.delete(address, headers={"If-Match": '"1"'}).status_code == 204
    (row,) = api.get(f"{ROOM}/firings").json()["results"]
    assert (row["schedule"], row["cause"]) == (None, "nightly")


def test_a_list_takes_the_same_number_of_queries_however_long(
    clockwork, api, django_assert_max_num_queries
):
    for index in range(5):
        schedule = clockwork.schedule(name=f"s{index}", then="none")
        api.post(f"{ROOM}/schedules/{schedule.public_id}/run")
    with django_assert_max_num_queries(8):
        rows = api.get(f"{ROOM}/schedules").json()["results"]
    assert all(row["last_firing"] for row in rows)
    with django_assert_max_num_queries(8):
        assert len(api.get(f"{ROOM}/firings").json()["results"]) == 5


def test_the_reading_of_a_schedule_and_its_next_times(api):
    preview = api.get(f"{ROOM}/preview", {"cron": "*/15 6-20 * * 1-5"}).json()
    assert preview["text"].startswith("Every 15th minute from 06:00 through 20:59 on Monday")
    assert len(preview["next"]) == 5
    assert preview["next"] == sorted(preview["next"])
    wrong = api.get(f"{ROOM}/preview", {"cron": "often"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "cron")
