"""A plan names its change record elsewhere: in any state, and outside what people approve."""

from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.plans.models import Approval, Plan
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour
from tests.factories.plans import approved, edit_model, make_plan, seen

TICKET = "https://tickets.example.org/CHG0042317"


def at(plan: Plan) -> str:
    return f"/api/v1/plans/{plan.public_id}"


def name(client: APIClient, plan: Plan, ticket: Any) -> Any:
    """The answer to an edit by somebody who sees the plan as it is."""
    return client.patch(at(plan), {"change_ticket": ticket}, format="json", headers=seen(plan))


def test_it_is_named_with_a_version_an_event_and_an_entry(plan: Plan, ines: User) -> None:
    client = client_of(ines)
    before = client.get(at(plan)).json()
    assert before["change_ticket"] == ""
    answer = name(client, plan, f"  {TICKET} ")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert (body["change_ticket"], body["content_hash"]) == (TICKET, before["content_hash"])
    assert body["version"] == before["version"] + 1
    event = body["events"][-1]
    assert (event["command"], event["actor"], event["note"]) == ("update", "ines", TICKET)
    entry = AuditEntry.objects.get(object_id=plan.public_id, action="update")
    assert (entry.before, entry.after) == ({"change_ticket": ""}, {"change_ticket": TICKET})
    # The same again is no edit.
    again = name(client, plan, TICKET).json()
    assert (again["version"], len(again["events"])) == (body["version"], len(body["events"]))
    gone = name(client, plan, "").json()
    assert (gone["change_ticket"], gone["version"]) == ("", body["version"] + 1)
    assert gone["events"][-1]["note"] == TICKET


def test_an_edit_names_what_was_seen(plan: Plan, ines: User) -> None:
    client, body = client_of(ines), {"change_ticket": TICKET}
    answer = client.patch(at(plan), body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (428, "if_match_required")
    old = seen(plan)
    assert name(client, plan, "CHG-1").status_code == 200
    answer = client.patch(at(plan), body, format="json", headers=old)
    assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch")
    plan.refresh_from_db()
    assert plan.change_ticket == "CHG-1"


def test_what_was_approved_stays_approved(plan: Plan, ines: User, jon: User) -> None:
    approved(plan, ines, jon)
    body = name(client_of(ines), plan, TICKET).json()
    assert (body["state"], body["approvals_given"]) == ("approved", 1)
    assert Approval.objects.get(plan=plan).ended_at is None


def test_a_plan_that_came_back_keeps_the_time_when_it_did(
    plan: Plan, harbour: Harbour, ines: User
) -> None:
    edit_model(harbour, ines)
    assert name(client_of(ines), plan, "CHG-1").json()["state"] == "stale"
    plan.refresh_from_db()
    since = plan.updated_at
    before = timezone.now()
    body = name(client_of(ines), plan, "CHG-2").json()
    assert (body["change_ticket"], body["state"]) == ("CHG-2", "stale")
    plan.refresh_from_db()
    assert plan.updated_at == since
    # Whoever follows the list hears of it all the same.
    moment = before.isoformat().replace("+00:00", "Z")
    (row,) = client_of(ines).get(f"/api/v1/plans?updated_since={moment}").json()["results"]
    assert row["change_ticket"] == "CHG-2"
    assert datetime.fromisoformat(row["updated_at"]) >= before


@pytest.mark.parametrize("role", Role)
def test_who_proposes_plans_names_it(plan: Plan, role: Role) -> None:
    client = client_of(make_user("somebody", role))
    may = role == Role.EDITOR
    assert ("edit" in client.get(at(plan)).json()["allowed_commands"]) == may
    assert name(client, plan, TICKET).status_code == (200 if may else 403)


@pytest.mark.parametrize("ticket", ["x" * 201, "CHG-1\nCHG-2", "CHG-1\u2028CHG-2", None, ["CHG-1"]])
def test_it_is_one_line_of_text(plan: Plan, ines: User, ticket: Any) -> None:
    answer = name(client_of(ines), plan, ticket)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "change_ticket"
    assert name(client_of(ines), plan, "x" * 200).status_code == 200


def test_lists_find_it_exactly(harbour: Harbour, ines: User) -> None:
    client = client_of(ines)
    first, second = make_plan(harbour.system, ines), make_plan(harbour.system, ines, kind="other")
    assert name(client, first, "CHG-1").status_code == 200
    assert name(client, second, "CHG-11").status_code == 200
    for ticket, found in (("CHG-1", ["P-1"]), ("chg-1", []), ("CHG", []), ("", ["P-2", "P-1"])):
        rows = client.get("/api/v1/plans", {"change_ticket": ticket}).json()["results"]
        assert [row["name"] for row in rows] == found, ticket


def test_the_text_for_people_has_it(plan: Plan, ines: User) -> None:
    client = client_of(ines)
    export = f"{at(plan)}/export"
    assert "Change ticket" not in client.get(export, {"as": "text"}).content.decode()
    name(client, plan, TICKET)
    lines = client.get(export, {"as": "text"}).content.decode().splitlines()
    (line,) = [line for line in lines if line.startswith("Change ticket")]
    assert line.endswith(f"  {TICKET}")
