"""Administrators manage webhooks over REST; secrets are shown once."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.audit.services import record
from apps.systems.models import System
from apps.webhooks.models import Delivery, Webhook
from tests.apps.webhooks.conftest import deliver, due
from tests.apps.webhooks.receiver import Receiver
from tests.factories import make_topic

pytestmark = pytest.mark.django_db
ADDRESS = "https://hooks.example.com/weir/T0/B0?token=secret-of-the-chat"


def send(api: APIClient, **values: Any) -> Any:
    body = {"name": "Tickets", "address": ADDRESS, "types": ["weir.plan.*"], **values}
    return api.post("/api/v1/webhooks", body, format="json")


def path_of(row: Any) -> str:
    return f"/api/v1/webhooks/{row['id']}"


def test_a_webhook_is_made_with_a_secret_that_is_shown_once(api: APIClient) -> None:
    answer = send(api)
    assert answer.status_code == 201
    made = answer.json()
    assert made["secret"].startswith("whsec_")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Location"] == path_of(made)
    shown = api.get(path_of(made))
    assert "secret" not in shown.json()
    assert shown.json()["secret_fingerprint"] == made["secret_fingerprint"]
    rows = str(list(AuditEntry.objects.values()) + list(Webhook.objects.values()))
    assert made["secret"] not in rows


def test_only_administrators_see_the_whole_address(api: APIClient, as_role: Any) -> None:
    made = send(api).json()
    assert made["address"] == ADDRESS
    seen = as_role(Role.VIEWER).get(path_of(made)).json()
    assert (seen["address"], seen["allowed_commands"]) == ("https://hooks.example.com/…", [])
    assert "secret-of-the-chat" not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("types", {"types": []}),
        ("types[0]", {"types": ["weir.ship.*"]}),
        ("types[0]", {"types": ["weir.plan.aprove"]}),
        ("types[1]", {"types": ["*", "plan"]}),
        ("address", {"address": "ftp://hooks.example.com"}),
        ("address", {"address": "https://user:word@hooks.example.com"}),
        ("address", {"address": "http://hooks.example.com"}),
        ("address", {"address": "https://hooks.example.com/#part"}),
        ("address", {"address": "https://hooks.example.com\\\\secret"}),
        ("address", {"address": "https://xn--a/hook"}),
        ("systems", {"all_systems": False}),
        ("name", {"name": ""}),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    api: APIClient, field: str, values: dict[str, Any]
) -> None:
    answer = send(api, **values)
    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["errors"]] == [field]
    assert not Webhook.objects.exists()


def test_a_name_is_taken_once(api: APIClient) -> None:
    send(api)
    answer = send(api)
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")


def test_edit_and_delete_need_the_version_that_was_seen(api: APIClient, harbour: System) -> None:
    made = send(api).json()
    values = {"all_systems": False, "systems": [str(harbour.public_id)], "reason": "Less"}
    stale = api.patch(path_of(made), values, format="json", headers={"If-Match": '"7"'})
    assert stale.status_code == 412
    changed = api.patch(path_of(made), values, format="json", headers={"If-Match": '"1"'})
    assert changed.json()["system_names"] == ["harbour"]
    entry = AuditEntry.objects.get(object_id=made["id"], action="update")
    assert (entry.before, entry.after) == (
        {"all_systems": True, "systems": []},
        {"all_systems": False, "systems": ["harbour"]},
    )
    assert api.delete(path_of(made), headers={"If-Match": '"2"'}).status_code == 204
    assert api.get(path_of(made)).status_code == 404


def test_rotation_answers_the_new_secret_once(api: APIClient) -> None:
    made = send(api).json()
    answer = api.post(
        f"{path_of(made)}/rotate",
        {"keep_previous_h": 2},
        format="json",
        headers={"If-Match": '"1"'},
    )
    rotated = answer.json()
    assert rotated["secret"] not in ("", made["secret"])
    assert rotated["secret_fingerprint"] != made["secret_fingerprint"]
    assert rotated["previous_until"] is not None
    at_once = api.post(
        f"{path_of(made)}/rotate",
        {"keep_previous_h": 0},
        format="json",
        headers={"If-Match": '"2"'},
    )
    assert at_once.json()["previous_until"] is None


def test_deliveries_are_shown_with_bodies_and_answers_and_sent_again(
    api: APIClient, hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    make_topic(harbour, "tides")
    receiver.answer(500, b"no room")
    deliver(hook)
    listed = api.get("/api/v1/deliveries", {"webhook": hook.public_id, "state": "waiting"}).json()
    (row,) = listed["results"]
    assert (row["type"], row["attempts"], row["problem"]) == (
        "weir.topic.create",
        1,
        "It answers 500.",
    )
    whole = api.get(f"/api/v1/deliveries/{row['id']}").json()
    assert '"object_name": "tides"' in whole["body"]
    assert [(one["answer_status"], one["response"]) for one in whole["tries"]] == [(500, "no room")]
    again = api.post(f"/api/v1/deliveries/{row['id']}/redeliver")
    assert (again.status_code, again.headers["Location"]) == (
        202,
        f"/api/v1/deliveries/{row['id']}",
    )
    deliver(hook)
    assert api.get(f"/api/v1/deliveries/{row['id']}").json()["state"] == "delivered"


def test_a_disabled_webhook_is_sent_nothing(
    api: APIClient, hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    address = f"/api/v1/webhooks/{hook.public_id}"
    api.patch(address, {"enabled": False}, format="json", headers={"If-Match": '"1"'})
    make_topic(harbour, "tides")
    due(hook)
    assert deliver(hook) == 0
    assert receiver.received == []
    answer = api.post(f"{address}/test")
    assert (answer.status_code, answer.json()["code"]) == (409, "webhook_disabled")
    assert "disabled it" in api.get(address).json()["disabled_because"]
    assert not Delivery.objects.exists()


def test_kinds_of_events_are_listed(api: APIClient) -> None:
    rows = api.get("/api/v1/event-types").json()["results"]
    plan = next(row for row in rows if row["kind"] == "plan")
    assert (plan["title"], plan["pattern"], plan["is_private"]) == ("Plans", "weir.plan.*", False)
    assert "weir.plan.approve" in plan["types"]
    assert {row["kind"] for row in rows if row["is_private"]} == {"user", "token", "session"}


def test_only_administrators_read_who_signed_in_from_where(
    api: APIClient, as_role: Any, hook: Webhook, receiver: Receiver, harbour: System, admin: User
) -> None:
    Webhook.objects.filter(pk=hook.pk).update(types=["weir.session.*", "*"])
    record(
        actor=admin,
        action="sign_in",
        object_kind="session",
        object_id=admin.public_id,
        object_name=str(admin),
        after={"address": "203.0.113.7"},
    )
    make_topic(harbour, "tides")
    deliver(hook)
    assert sorted(receiver.types) == ["weir.session.sign_in", "weir.topic.create"]
    row = Delivery.objects.get(type="weir.session.sign_in")
    viewer = as_role(Role.VIEWER)
    listed = viewer.get("/api/v1/deliveries").json()["results"]
    assert [one["type"] for one in listed] == ["weir.topic.create"]
    assert viewer.get(f"/api/v1/deliveries/{row.public_id}").status_code == 404
    assert "203.0.113.7" in api.get(f"/api/v1/deliveries/{row.public_id}").json()["body"]


def test_another_path_on_the_same_server_is_in_the_history_without_being_shown(
    api: APIClient,
) -> None:
    made = send(api).json()
    address = ADDRESS.replace("secret-of-the-chat", "another-secret")
    changed = api.patch(
        path_of(made), {"address": address}, format="json", headers={"If-Match": '"1"'}
    )
    assert changed.status_code == 200
    entry = AuditEntry.objects.get(object_id=made["id"], action="update")
    assert (entry.before, entry.after) == ({"path": "the one before"}, {"path": "another"})
