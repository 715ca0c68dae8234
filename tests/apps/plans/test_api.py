"""Plans over REST: by role, by state, within their budget of queries."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import token_create
from apps.plans.models import Plan
from apps.plans.selectors.approvals import counted_approvals
from apps.plans.selectors.readings import plan_rows
from apps.plans.services import plan_withdraw
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour, population, rate, shift
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    edit_model,
    envelope,
    make_plan,
    make_policy,
    seen,
    submitted,
)

COMMANDS: dict[str, tuple[dict[str, Any], set[Role]]] = {
    "submit": ({}, {Role.EDITOR}),
    "withdraw": ({}, {Role.EDITOR}),
    "discard": ({}, {Role.EDITOR}),
    "approve": ({"content_hash": "0" * 64}, {Role.APPROVER}),
    "reject": ({"comment": "No."}, {Role.APPROVER}),
    "accept-overload": ({"reason": "A third of them come."}, {Role.APPROVER}),
    "roll-back": ({}, {Role.EDITOR}),
    "execute": ({}, {Role.OPERATOR}),
    "dry-run": ({}, set(Role)),
}


def at(plan: Plan, command: str = "") -> str:
    return f"/api/v1/plans/{plan.public_id}" + (f"/{command}" if command else "")


def given(client: APIClient, plan: Plan, command: str, body: Any = None) -> Any:
    """The answer to a command by somebody who sees the plan as it is."""
    return client.post(at(plan, command), body or {}, format="json", headers=seen(plan))


def rows(client: APIClient, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/plans{query}")
    assert answer.status_code == 200, answer.content
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def names(client: APIClient, query: str) -> list[str]:
    return [row["name"] for row in rows(client, query)]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_needs_its_role(plan: Plan, role: Role, command: str) -> None:
    body, roles = COMMANDS[command]
    somebody = client_of(make_user("somebody", role))
    answer = given(somebody, plan, command, body)
    if role in roles:
        assert answer.status_code != 403, answer.content
    else:
        assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")


def test_the_whole_way(harbour: Harbour, ines: User, jon: User, olga: User) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    plan = make_plan(harbour.system, ines)
    editor, reviewer, operator = client_of(ines), client_of(jon), client_of(olga)
    assert given(editor, plan, "submit").json()["state"] == "pending_review"
    assert given(editor, plan, "withdraw").json()["state"] == "draft"
    assert given(editor, plan, "submit").json()["state"] == "pending_review"
    body = {"content_hash": plan.content_hash, "comment": "Dry run clean."}
    fresh = given(reviewer, plan, "approve", body).json()
    assert (fresh["state"], fresh["approvals_given"]) == ("approved", 1)
    assert fresh["approvals"][0]["person"] == "jon"
    checks = operator.post(at(plan, "dry-run")).json()["results"]
    # Nothing was limited before: going back there would overload c.
    assert {c["name"] for c in checks if c["state"] != "pass"} == {"roll_back_ready"}
    answer = given(operator, plan, "execute")
    assert answer.status_code == 202, answer.content
    execution = answer.json()
    assert answer.headers["Location"] == f"/api/v1/executions/{execution['id']}"
    assert (execution["plan"], execution["plan_name"]) == (str(plan.public_id), "P-1")
    detail = operator.get(at(plan)).json()
    assert (detail["state"], detail["execution"]["id"]) == ("executing", execution["id"])
    assert [row["id"] for row in detail["executions"]] == [execution["id"]]
    assert (detail["checks"], detail["allowed_commands"]) == ([], [])


def test_every_command_says_why_in_the_history_and_in_the_audit(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    plan = make_plan(harbour.system, ines)
    why = {"reason": "CHG-1042"}
    for person, command in ((ines, "submit"), (ines, "withdraw"), (ines, "submit")):
        assert given(client_of(person), plan, command, why).status_code == 200
    body = {"content_hash": plan.content_hash, "comment": "CHG-1042"}
    assert given(client_of(jon), plan, "approve", body).status_code == 200
    assert given(client_of(olga), plan, "execute", why).status_code == 202
    events = client_of(olga).get(at(plan)).json()["events"]
    told = {event["command"]: event["note"] for event in events}
    assert all("CHG-1042" in told[name] for name in ("submit", "withdraw", "approve", "execute"))
    query = {"object": str(plan.public_id), "search": "CHG-1042"}
    audit = client_of(olga).get("/api/v1/audit", query).json()["results"]
    assert {entry["action"] for entry in audit} == {"submit", "withdraw", "approve", "execute"}
    refused = given(client_of(ines), plan, "withdraw", {"reasn": "x"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "reasn")


def test_an_executed_plan_shows_the_approvals_that_it_was_executed_on(
    plan: Plan, harbour: Harbour, ines: User, jon: User, tomas: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    make_policy(harbour.system, approval_rules=[{"approvals": 2}])
    carried_out(harbour, agents, approved(plan, ines, jon, tomas), olga)
    # Whatever happens afterwards: the plan was executed on two approvals.
    edit_model(harbour, ines)
    make_policy(harbour.system, approval_rules=[{"approvals": 3}])
    jon.roles = []
    jon.save()
    later = timezone.now() + timedelta(days=400)
    reader = client_of(olga)
    (row,) = rows(reader)
    assert (row["state"], row["approvals_given"], row["approvals_needed"]) == ("executed", 2, 2)
    body = reader.get(at(plan)).json()
    assert [(a["person"], a["valid"], a["invalid_because"]) for a in body["approvals"]] == [
        ("jon", True, ""),
        ("tomas", True, ""),
    ]
    plan = plan_rows().get(pk=plan.pk)
    assert counted_approvals(plan, later, needed=3) == (2, 2)


def test_an_approval_that_had_ended_before_does_not_count_for_an_executed_plan(
    plan: Plan, harbour: Harbour, ines: User, jon: User, tomas: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    make_policy(harbour.system, approval_rules=[{"approvals": 2}])
    approved(plan, ines, jon)
    plan_withdraw(plan=plan, actor=ines)
    make_policy(harbour.system, approval_rules=[{"approvals": 1}])
    carried_out(harbour, agents, approved(plan, ines, tomas), olga)
    body = client_of(olga).get(at(plan)).json()
    assert (body["approvals_given"], body["approvals_needed"]) == (1, 1)
    assert [(a["person"], a["valid"]) for a in body["approvals"]] == [
        ("jon", False),
        ("tomas", True),
    ]
    assert body["approvals"][0]["invalid_because"] == "ines took the plan back from review."


def test_detail_says_what_changes_and_why(harbour: Harbour, ines: User, api: APIClient) -> None:
    plan = make_plan(
        harbour.system,
        ines,
        [population(None, 5), rate(None, 40.0)],
        [shift("d", "c", "b")],
        envelope=envelope(1.0, 2.0),
    )
    body = api.get(at(plan)).json()
    assert body["why"] == ["Broker c is full."]
    assert body["promise"] == [{"name": "utility", "unit": "", "before": 100.0, "after": 140.0}]
    assert body["source"] == {"kind": "allocation", "id": None, "name": "A-3"}
    assert [[a["title"] for a in step["actions"]] for step in body["steps"]] == [
        ["Admit 5 consumers of gulls at c (was no limit)", "Set tides at a to 40 msg/s, burst 5"],
        ["Shift link d-c to d-b"],
    ]
    assert body["steps"][0]["actions"][1]["undo_title"] == "Stop limiting tides at a (was 40 msg/s)"
    assert body["steps"][1]["actions"][0]["brokers"] == ["d", "c", "b"]
    assert [
        (c["label"], c["unit"], c["before"], c["after"], c["step"]) for c in body["changes"]
    ] == [
        ("gulls at c", "consumers", None, 5.0, 0),
        ("tides at a", "msg/s", None, 40.0, 0),
        ("tides at a", "msg", None, 5.0, 0),
        ("c-d", "link", 1.0, 0.0, 1),
        ("b-d", "link", 0.0, 1.0, 1),
    ]
    bound = {"name": "tides", "unit": "msg/s", "low": 1.0, "high": 2.0, "measured": None}
    assert body["envelope"] == [bound]
    assert body["policy"] == {
        "approvals_needed": 1,
        "reason": "Every plan needs one approval.",
        "window_open": True,
        "next_window_at": None,
        "window_text": "Changes are allowed at any time.",
    }
    assert [event["command"] for event in body["events"]] == ["create"]


def test_moved_model_shows_at_once_without_being_written(
    plan: Plan, harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    approved(plan, ines, jon)
    edit_model(harbour, ines)
    client = client_of(olga)
    (row,) = rows(client, "?state=stale")
    assert (row["state"], row["allowed_commands"]) == ("stale", [])
    assert "ines changed topic tides (rate_max_per_s)" in row["stale_because"]
    assert rows(client, "?state=approved") == []
    detail = client.get(at(plan)).json()
    assert (detail["state"], detail["stale_because"]) == ("stale", row["stale_because"])
    assert detail["approvals"][0]["invalid_because"].startswith("It was given for model version")
    plan.refresh_from_db()
    assert plan.state == "approved"
    answer = given(client, plan, "execute")
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_is_stale")
    assert "ines changed topic tides" in answer.json()["detail"]
    plan.refresh_from_db()
    assert plan.state == "stale"


def test_author_cannot_approve_over_the_api(harbour: Harbour, admin: User, api: APIClient) -> None:
    plan = submitted(make_plan(harbour.system, admin), admin)
    assert "approve" not in api.get(at(plan)).json()["allowed_commands"]
    answer = given(api, plan, "approve", {"content_hash": plan.content_hash})
    assert (answer.status_code, answer.json()["code"]) == (403, "author_cannot_approve")


def test_allowed_commands_by_person(
    harbour: Harbour, ines: User, jon: User, tomas: User, olga: User
) -> None:
    make_policy(
        harbour.system,
        approval_rules=[{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 2}],
    )
    plan = make_plan(harbour.system, ines)
    people = {person.username: client_of(person) for person in (ines, jon, tomas, olga)}

    def allowed() -> dict[str, list[str]]:
        return {
            name: client.get(at(plan)).json()["allowed_commands"] for name, client in people.items()
        }

    assert allowed() == {
        "ines": ["submit", "discard", "dry_run", "edit"],
        "jon": ["dry_run"],
        "tomas": ["dry_run"],
        "olga": ["dry_run"],
    }
    approved(plan, ines, jon)
    assert allowed() == {
        "ines": ["withdraw", "discard", "dry_run", "edit"],
        "jon": ["reject", "dry_run"],
        "tomas": ["approve", "reject", "dry_run"],
        "olga": ["dry_run"],
    }
    given(people["tomas"], plan, "approve", {"content_hash": plan.content_hash})
    assert allowed() == {
        "ines": ["discard", "dry_run", "edit"],
        "jon": ["dry_run"],
        "tomas": ["dry_run"],
        "olga": ["execute", "dry_run"],
    }


def test_token_is_held_to_its_own_roles(plan: Plan, ines: User) -> None:
    root = make_user("root", *Role)
    submitted(plan, ines)
    _, secret = token_create(owner=root, name="reader", roles=[Role.VIEWER.value])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert client.get(at(plan)).json()["allowed_commands"] == ["dry_run"]
    assert rows(client, "?waiting_for=me") == []
    answer = given(client, plan, "approve", {"content_hash": plan.content_hash})
    assert answer.status_code == 403


def test_filters(harbour: Harbour, ines: User, jon: User, api: APIClient) -> None:
    make_plan(harbour.system, ines, kind="other", title="Harbour wall")
    waiting = submitted(make_plan(harbour.system, ines), ines)
    assert names(api, "") == ["P-2", "P-1"]
    assert names(api, "?kind=other") == ["P-1"]
    assert names(api, "?state=draft&state=pending_review") == ["P-2", "P-1"]
    assert names(api, "?state=pending_review") == ["P-2"]
    assert names(api, "?search=wall") == ["P-1"]
    assert names(api, "?ordering=number") == ["P-1", "P-2"]
    assert names(api, f"?system={harbour.system.public_id}&state=executed") == []
    assert names(api, "?system=00000000-0000-4000-8000-000000000000") == []
    assert api.get("/api/v1/plans?state=sunk").status_code == 400
    assert names(client_of(jon), "?waiting_for=me") == ["P-2"]
    assert names(client_of(ines), "?waiting_for=me") == []
    approved_by_jon = {"content_hash": waiting.content_hash}
    make_policy(
        harbour.system,
        approval_rules=[{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 2}],
    )
    given(client_of(jon), waiting, "approve", approved_by_jon)
    assert names(client_of(jon), "?waiting_for=me") == []
    assert names(api, "?waiting_for=me") == ["P-2"]


@pytest.mark.parametrize(
    ("command", "body", "field"),
    [
        ("approve", {}, "content_hash"),
        ("approve", {"content_hash": "abc"}, "content_hash"),
        ("approve", {"content_hash": "0" * 64, "comment": "x" * 2001}, "comment"),
        ("reject", {}, "comment"),
        ("reject", {"comment": "  "}, "comment"),
        ("discard", {"reason": ["x"]}, "reason"),
    ],
)
def test_what_is_wrong_is_named(
    plan: Plan, ines: User, api: APIClient, command: str, body: dict[str, Any], field: str
) -> None:
    submitted(plan, ines)
    answer = given(api, plan, command, body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field


def test_list_keeps_its_budget_of_queries(
    harbour: Harbour, ines: User, jon: User, api: APIClient, django_assert_max_num_queries: Any
) -> None:
    def more(first: int, last: int) -> None:
        for number in range(first, last):
            kind = f"kind{number}"
            approved(make_plan(harbour.system, ines, kind=kind), ines, jon)

    more(0, 2)
    edit_model(harbour, ines)
    more(2, 4)
    with django_assert_max_num_queries(14) as captured:
        assert len(rows(api)) == 4
    few = len(captured.captured_queries)
    more(4, 12)
    with django_assert_max_num_queries(few):
        assert len(rows(api)) == 12


def test_detail_keeps_its_budget_of_queries(
    harbour: Harbour, ines: User, jon: User, api: APIClient, django_assert_max_num_queries: Any
) -> None:
    agents_look(harbour, agents_come(harbour), offered=3.0)
    plan = make_plan(harbour.system, ines, envelope=envelope(1.0, 50.0))
    approved(plan, ines, jon)
    with django_assert_max_num_queries(41):
        assert client_of(jon).get(at(plan)).status_code == 200


def test_nobody_reads_without_signing_in(plan: Plan) -> None:
    assert client_of(None).get(at(plan)).status_code == 401
