"""Administrators keep the channels of chats; everybody sees which there are."""

import re
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.inbox.models import Item
from apps.notifications.models import Channel, Message, Notice
from tests.conftest import client_of
from tests.factories import make_system, make_user
from tests.schema import SCHEMA

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/channels"
REFERENCE = "env:WEIR_CREDENTIAL_OPS_CHAT"


def send(api: APIClient, **values: Any) -> Any:
    body = {"name": "ops", "shape": "slack", "credential": REFERENCE, **values}
    return api.post(ADDRESS, body, format="json")


def path_of(made: dict[str, Any]) -> str:
    return f"{ADDRESS}/{made['id']}"


def patch(api: APIClient, made: dict[str, Any], body: Any, version: int = 1) -> Any:
    return api.patch(path_of(made), body, format="json", headers={"If-Match": f'"{version}"'})


def test_what_is_chosen_is_kept(api: APIClient) -> None:
    harbour = make_system("harbour")
    chosen = {
        "shape": "teams",
        "all_systems": False,
        "systems": [str(harbour.public_id)],
        "kinds": ["agent_silent", "plan_to_review"],
        "timezone": "Europe/Berlin",
        "digest_at": "09:30:00",
        "quiet_from": "22:00:00",
        "quiet_until": "07:00:00",
    }
    answer = send(api, **chosen, reason="So that ops hear of it")
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert (answer["ETag"], answer["Location"]) == ('"1"', path_of(body))
    assert {name: body[name] for name in chosen} == chosen
    assert body["system_names"] == ["harbour"]
    assert (body["waiting"], body["last_sent_at"], body["problem"]) == (0, None, "")
    assert sorted(body["allowed_commands"]) == ["delete", "edit", "test"]
    assert api.get(path_of(body)).json() == body
    entry = AuditEntry.objects.get(object_kind="channel")
    assert (entry.action, entry.reason) == ("create", "So that ops hear of it")
    assert "credential" not in entry.after


def test_defaults_are_all_systems_at_once(api: APIClient) -> None:
    body = send(api).json()
    assert (body["all_systems"], body["enabled"], body["timezone"]) == (True, True, "UTC")
    assert (body["digest_at"], body["quiet_from"]) == (None, None)
    assert "plan_to_review" in body["kinds"]
    assert "execution_paused" not in body["kinds"]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "x" * 101}),
        ("shape", {"shape": "irc"}),
        ("credential", {"credential": ""}),
        ("credential", {"credential": "https://hooks.example.com/T0/B0/secret"}),
        ("credential", {"credential": "env:DATABASE_URL"}),
        ("credential", {"credential": "env:WEIR_CREDENTIAL_OPS_CHAT_HOSTS"}),
        ("credential", {"credential": "file:/etc/passwd"}),
        ("systems", {"all_systems": False}),
        ("systems", {"systems": ["7a1e0000-0000-4000-8000-000000000001"]}),
        ("kinds[0]", {"kinds": ["storm"]}),
        ("timezone", {"timezone": "Mars"}),
        ("digest_at", {"digest_at": "25:00"}),
        ("quiet_until", {"quiet_from": "22:00"}),
        ("quiet_from", {"quiet_until": "07:00"}),
        ("colour", {"colour": "red"}),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(
    api: APIClient, field: str, values: dict[str, Any]
) -> None:
    answer = send(api, **values)
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert "secret" not in answer.content.decode()
    assert not Channel.objects.exists()


def test_times_of_day_are_published_as_they_are_written(api: APIClient) -> None:
    """They have no offset, which `format: time` of JSON Schema demands."""
    made = send(api, quiet_from="20:00:00", quiet_until="07:30").json()
    channel = SCHEMA["components"]["schemas"]["Channel"]["properties"]
    for name in ("quiet_from", "quiet_until"):
        assert "format" not in channel[name]
        assert re.match(channel[name]["pattern"], made[name])
        assert not re.match(channel[name]["pattern"], "24:00:00")


def test_a_name_is_taken_once(api: APIClient) -> None:
    send(api)
    answer = send(api)
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")


def test_edit_and_delete_need_the_version_that_was_seen(api: APIClient) -> None:
    made = send(api).json()
    assert api.patch(path_of(made), {}, format="json").status_code == 428
    assert patch(api, made, {"enabled": False}, version=7).status_code == 412
    changed = patch(api, made, {"enabled": False, "reason": "Less"})
    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    entry = AuditEntry.objects.get(object_id=made["id"], action="update")
    assert (entry.before, entry.after) == ({"enabled": True}, {"enabled": False})
    assert patch(api, made, {"quiet_from": "22:00"}, version=2).status_code == 400
    assert api.delete(path_of(made), headers={"If-Match": '"1"'}).status_code == 412
    assert api.delete(path_of(made), headers={"If-Match": '"2"'}).status_code == 204
    assert api.get(path_of(made)).status_code == 404


def test_who_is_no_administrator_sees_no_credential(api: APIClient) -> None:
    made = send(api).json()
    missing = "WEIR_CREDENTIAL_OPS_CHAT is not set where this process runs."
    Channel.objects.update(problem=missing)
    assert api.get(path_of(made)).json()["problem"] == missing
    viewer = client_of(make_user("viewer", Role.VIEWER))
    seen = viewer.get(path_of(made)).json()
    assert (seen["credential"], seen["allowed_commands"]) == ("", [])
    assert seen["problem"] == "It takes no messages; administrators see why."
    assert viewer.get(ADDRESS).json()["results"] == [seen]
    assert send(viewer, name="mine").status_code == 403


def test_a_test_is_written_once_for_one_key(api: APIClient) -> None:
    made = send(api).json()
    for _ in range(2):
        answer = api.post(f"{path_of(made)}/test", headers={"Idempotency-Key": "one"})
        assert answer.status_code == 202, answer.content
        assert answer.json()["waiting"] == 1
        assert answer["Location"] == path_of(made)
    message = Message.objects.get()
    assert message.is_test
    assert "test of the channel ops" in message.subject


def test_a_channel_that_is_disabled_is_not_tested(api: APIClient) -> None:
    made = send(api, enabled=False).json()
    assert "test" not in made["allowed_commands"]
    answer = api.post(f"{path_of(made)}/test")
    assert (answer.status_code, answer.json()["code"]) == (409, "channel_disabled")
    assert not Message.objects.exists()
    patch(api, made, {"enabled": True})
    api.post(f"{path_of(made)}/test")
    # Nor is it once it is disabled after all.
    patch(api, made, {"enabled": False}, version=2)
    assert Message.objects.get().given_up_at is not None


def test_channels_are_searched_and_cost_no_query_each(api: APIClient) -> None:
    systems = [str(make_system(name).public_id) for name in ("harbour", "bay")]
    send(api, name="operations", all_systems=False, systems=systems)

    def listed(**query: str) -> list[Any]:
        return list(api.get(ADDRESS, query).json()["results"])

    listed()
    with CaptureQueriesContext(connection) as one:
        listed()
    for number in range(5):
        send(api, name=f"crew {number}", all_systems=False, systems=systems)
    with CaptureQueriesContext(connection) as more:
        assert len(listed()) == 6
    assert len(one) == len(more)
    assert [row["name"] for row in listed(search="operat")] == ["operations"]
    assert listed(until="2026-01-01T00:00:00Z") == []


@pytest.mark.parametrize("both", [False, True])
def test_messages_and_notices_are_for_one_person_or_one_channel(admin: User, both: bool) -> None:
    channel = Channel.objects.create(name="ops", shape="slack", credential=REFERENCE)
    item = Item.objects.create(
        kind="agent_silent", about="x", title="x", waits=False, since=timezone.now()
    )
    whose = {"person": admin, "channel": channel} if both else {}
    with pytest.raises(IntegrityError, match="message_for_one"), transaction.atomic():
        Message.objects.create(subject="x", body="x", **whose)
    with pytest.raises(IntegrityError, match="notice_for_one"), transaction.atomic():
        Notice.objects.create(item=item, reason="stands", due_at=timezone.now(), **whose)
