"""Commands name the version of the plan that somebody has seen, and nothing else is carried out."""

from functools import partial
from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.plans.models import Approval, Plan
from apps.plans.selectors.versions import plan_version
from apps.plans.services import plan_create, plan_submit, plans_settle
from apps.plans.services.transitions import lock_plan, tell
from tests.at_once import at_once
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour, make_harbour, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    edit_model,
    make_document,
    make_plan,
    make_policy,
    seen,
    submitted,
)
from weir.lifecycle.plans import PlanState

TWO = {
    "approval_rules": [{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 2}],
}
COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "submit": ("draft", {}),
    "withdraw": ("pending_review", {}),
    "approve": ("pending_review", {"content_hash": "0" * 64}),
    "reject": ("pending_review", {"comment": "No."}),
    "discard": ("draft", {}),
    "execute": ("approved", {}),
    "accept-overload": ("draft", {"reason": "A third of them come."}),
    "roll-back": ("executed", {}),
}


def at(plan: Plan, command: str = "") -> str:
    return f"/api/v1/plans/{plan.public_id}" + (f"/{command}" if command else "")


def in_state(harbour: Harbour, state: str, editor: User, approver: User, operator: User) -> Plan:
    """A plan that was led into this state by people."""
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    plan = make_plan(harbour.system, editor)
    if state == "pending_review":
        submitted(plan, editor)
    elif state in ("approved", "executed"):
        approved(plan, editor, approver)
    if state == "executed":
        carried_out(harbour, agents, Plan.objects.get(pk=plan.pk), operator)
    plan.refresh_from_db()
    assert plan.state == state
    return plan


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_what_somebody_has_not_seen_changes_nothing(
    harbour: Harbour, ines: User, jon: User, olga: User, command: str
) -> None:
    state, body = COMMANDS[command]
    plan = in_state(harbour, state, ines, jon, olga)
    version = plan_version(plan)
    client = client_of(make_user("everybody", *Role))
    before = (Plan.objects.count(), Approval.objects.count(), AuditEntry.objects.count())
    answer = client.post(at(plan, command), body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (428, "if_match_required")
    for tag in (f'"{version - 1}"', f'"{version + 1}"', '"ninth"'):
        answer = client.post(at(plan, command), body, format="json", headers={"If-Match": tag})
        assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch"), tag
    plan.refresh_from_db()
    assert (plan.state, plan_version(plan)) == (state, version)
    now = (Plan.objects.count(), Approval.objects.count(), AuditEntry.objects.count())
    assert now == before


def test_every_answer_carries_the_version_that_the_next_command_names(
    plan: Plan, ines: User, jon: User
) -> None:
    editor, approver = client_of(ines), client_of(jon)
    shown = editor.get(at(plan))
    version = shown.json()["version"]
    assert editor.get("/api/v1/plans").json()["results"][0]["version"] == version
    for client, command, body in (
        (editor, "submit", {}),
        (editor, "withdraw", {}),
        (editor, "submit", {}),
        (approver, "approve", {"content_hash": plan.content_hash}),
        (editor, "discard", {"reason": "Not today."}),
    ):
        headers = {"If-Match": f'"{version}"'}
        answer = client.post(at(plan, command), body, format="json", headers=headers)
        assert answer.status_code == 200, answer.content
        assert answer.json()["version"] > version
        version = answer.json()["version"]
        assert answer["ETag"] == f'"{version}"'


def test_each_kind_of_change_advances_the_version(
    harbour: Harbour, ines: User, jon: User, tomas: User, olga: User
) -> None:
    make_policy(harbour.system, **TWO)
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    plan = make_plan(harbour.system, ines, [rate(None, 40.0)])
    versions = [plan_version(plan)]

    def advanced() -> bool:
        versions.append(plan_version(plan))
        return versions[-1] > versions[-2]

    plan_submit(plan=plan, actor=ines)
    assert advanced(), "sent for review"
    body = {"content_hash": plan.content_hash}
    given = client_of(jon).post(at(plan, "approve"), body, format="json", headers=seen(plan))
    assert (given.status_code, given.json()["state"]) == (200, "pending_review")
    assert advanced(), "one of two approvals"
    jon.roles = []
    jon.save()
    plans_settle()
    assert Approval.objects.get(plan=plan).ended_at is not None
    assert advanced(), "an approval that ended"
    plan_create(
        system=harbour.system, actor=ines, document=make_document(harbour.system, [rate(None, 5.0)])
    )
    plan.refresh_from_db()
    assert plan.state == PlanState.SUPERSEDED
    assert advanced(), "superseded"


def test_being_rolled_back_advances_the_version(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    executed = in_state(harbour, "executed", ines, jon, olga)
    before = plan_version(executed)
    headers = seen(executed)
    made = client_of(ines).post(at(executed, "roll-back"), {}, format="json", headers=headers)
    assert made["ETag"] == f'"{made.json()["version"]}"'
    assert plan_version(executed) == before + 1


def test_what_changes_nothing_about_the_plan_leaves_the_version(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    plan = in_state(harbour, "pending_review", ines, jon, olga)
    version, events = plan_version(plan), plan.events.count()
    answer = client_of(olga).post(at(plan, "dry-run"))
    assert answer.status_code == 200, answer.content
    tell(lock_plan(plan), "open_change", actor=None, title="opened change CHG-1")
    assert (plan.events.count(), plan_version(plan)) == (events + 2, version)


def test_a_plan_that_an_edit_made_stale_is_refused_by_its_state(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    """Whether or not the coordinator has written that down yet."""
    plan = in_state(harbour, "approved", ines, jon, olga)
    version = seen(plan)
    edit_model(harbour)
    for _ in range(2):
        answer = client_of(olga).post(at(plan, "execute"), {}, format="json", headers=version)
        assert (answer.status_code, answer.json()["code"]) == (409, "plan_is_stale")
        plans_settle()
        plan.refresh_from_db()
        assert plan.state == "stale"


def test_a_repeat_names_the_version_of_before(harbour: Harbour, plan: Plan, ines: User) -> None:
    headers = {"Idempotency-Key": "once", **seen(plan)}
    client = client_of(ines)
    first = client.post(at(plan, "submit"), {}, format="json", headers=headers)
    again = client.post(at(plan, "submit"), {}, format="json", headers=headers)
    assert (first.status_code, again.status_code) == (200, 200), again.content
    assert (again["Idempotency-Replayed"], again["ETag"]) == ("true", first["ETag"])
    assert again.json() == first.json()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", ["approve", "reject"])
def test_of_two_at_once_who_saw_the_same_one_has_to_read_again(command: str) -> None:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    make_policy(harbour.system, **TWO)
    editor = make_user("editor", Role.EDITOR)
    plan = submitted(make_plan(harbour.system, editor), editor)
    headers = seen(plan)
    given = {"approve": {"content_hash": plan.content_hash}, "reject": {"comment": "No."}}

    def decide(name: str, what: str) -> Any:
        client = client_of(User.objects.get(username=name))
        return client.post(at(plan, what), given[what], format="json", headers=headers)

    for name in ("first", "second"):
        make_user(name, Role.APPROVER)
    answers = at_once(partial(decide, "first", "approve"), partial(decide, "second", command))
    assert sorted(answer.status_code for answer in answers) == [200, 412], [
        answer.content for answer in answers
    ]
    assert Approval.objects.filter(plan=plan).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_plan_is_rolled_back_once_by_who_saw_the_same() -> None:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    editor = make_user("editor", Role.EDITOR)
    approver = make_user("approver", Role.APPROVER)
    operator = make_user("operator", Role.OPERATOR)
    plan = in_state(harbour, "executed", editor, approver, operator)
    headers = seen(plan)

    def roll_back() -> Any:
        return client_of(editor).post(at(plan, "roll-back"), {}, format="json", headers=headers)

    answers = at_once(roll_back, roll_back)
    assert sorted(answer.status_code for answer in answers) == [201, 412], [
        answer.content for answer in answers
    ]
    assert Plan.objects.filter(source_id=plan.public_id).count() == 1
