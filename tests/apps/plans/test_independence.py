"""An approval counts while its person is a reviewer, and only between people who are two."""

import threading
from typing import Any

import pytest
from django.db import connection

from apps.accounts.domain.roles import Role
from apps.accounts.models import AccountGrant, User
from apps.accounts.services import password_change, user_create, user_update
from apps.common.errors import ApplicationError, Conflict
from apps.executions.models import Execution
from apps.executions.services import execution_start
from apps.plans.models import Plan
from apps.plans.services import plan_approve, plan_execute, plan_reject, plans_settle
from tests.conftest import client_of
from tests.factories import PASSWORD, make_user
from tests.factories.fleet import Harbour
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    make_plan,
    make_policy,
    submitted,
)

ANOTHER = "an entirely different secret"


@pytest.fixture
def root(db: None) -> User:
    """An administrator who also makes plans."""
    return make_user("root", Role.ADMIN, Role.EDITOR, Role.OPERATOR)


def change(person: User, actor: User, **values: Any) -> User:
    person.refresh_from_db()
    return user_update(user=person, expected_version=person.version, values=values, actor=actor)


def made_by(actor: User, username: str, *roles: Role) -> User:
    return user_create(
        username=username, password=PASSWORD, roles=[role.value for role in roles], actor=actor
    )


def refusal(plan: Plan, actor: User) -> str:
    with pytest.raises(ApplicationError) as caught:
        plan_approve(plan=plan, actor=actor, content_hash=plan.content_hash)
    assert caught.value.status == 403
    assert not plan.approvals.exists()
    return caught.value.code


@pytest.mark.parametrize(
    ("values", "because"),
    [
        ({"is_active": False}, "The account of jon is inactive."),
        ({"roles": ["viewer"]}, "jon is no longer an approver."),
    ],
)
def test_an_approval_ends_with_its_approvers_role(
    plan: Plan, ines: User, jon: User, root: User, values: dict[str, Any], because: str
) -> None:
    row = approved(plan, ines, jon)
    change(jon, root, **values)
    shown = client_of(ines).get(f"/api/v1/plans/{plan.public_id}").json()
    assert shown["approvals_given"] == 0
    assert shown["approvals"][0]["invalid_because"] == because
    assert plans_settle() == 1
    row.refresh_from_db()
    assert row.state == "pending_review"
    assert row.approvals.get().ended_because == because
    assert because in row.events.last().note  # type: ignore[union-attr]


def test_a_role_that_comes_back_revives_no_approval(
    plan: Plan, ines: User, jon: User, root: User
) -> None:
    row = approved(plan, ines, jon)
    change(jon, root, is_active=False)
    plans_settle()
    change(jon, root, is_active=True)
    plans_settle()
    row.refresh_from_db()
    assert row.state == "pending_review"


def test_execution_names_the_approval_that_no_longer_counts(
    plan: Plan, harbour: Harbour, ines: User, jon: User, olga: User, root: User
) -> None:
    agents_look(harbour, agents_come(harbour), offered=30.0)
    approved(plan, ines, jon)
    change(jon, root, is_active=False)
    with pytest.raises(Conflict, match=r"approval of jon no longer counts.*inactive") as caught:
        plan_execute(plan=plan, actor=olga)
    assert caught.value.code == "not_approved"
    assert not Execution.objects.exists()
    plan.refresh_from_db()
    assert plan.state == "pending_review"


@pytest.mark.django_db(transaction=True)
def test_nobody_is_deactivated_between_the_check_and_the_start(
    plan: Plan,
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
    root: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A deactivation that comes while the plan is being started waits for the start."""
    from apps.plans.services import execute as carrying_out

    agents_look(harbour, agents_come(harbour), offered=30.0)
    approved(plan, ines, jon)
    real = execution_start
    order: list[str] = []

    def deactivate() -> None:
        try:
            change(jon, root, is_active=False)
            order.append("deactivated")
        finally:
            connection.close()

    thread = threading.Thread(target=deactivate)

    def start(**values: Any) -> Execution:
        thread.start()
        # It would have been done long before, did nothing hold it back.
        thread.join(1.0)
        order.append("started")
        return real(**values)

    monkeypatch.setattr(carrying_out, "execution_start", start)
    plan_execute(plan=plan, actor=olga)
    thread.join(30.0)
    assert order == ["started", "deactivated"]


def test_a_person_made_by_the_author_does_not_approve(harbour: Harbour, root: User) -> None:
    puppet = made_by(root, "puppet", Role.APPROVER)
    plan = submitted(make_plan(harbour.system, root), root)
    assert refusal(plan, puppet) == "approver_made_by_author"
    shown = client_of(puppet).get(f"/api/v1/plans/{plan.public_id}").json()
    assert "approve" not in shown["allowed_commands"]
    waiting = client_of(puppet).get("/api/v1/plans?waiting_for=me").json()
    assert waiting["count"] == 0
    # A no needs nobody's independence.
    assert plan_reject(plan=plan, actor=puppet, comment="No.").state == "rejected"


def test_a_person_made_by_whom_the_author_made_does_not_approve(
    harbour: Harbour, root: User
) -> None:
    second = made_by(root, "second", Role.ADMIN)
    puppet = made_by(second, "puppet", Role.APPROVER)
    plan = submitted(make_plan(harbour.system, root), root)
    assert refusal(plan, puppet) == "approver_made_by_author"


def test_who_got_the_role_from_the_author_does_not_approve(harbour: Harbour, root: User) -> None:
    friend = make_user("friend", Role.VIEWER)
    change(friend, root, roles=["approver"])
    plan = submitted(make_plan(harbour.system, root), root)
    assert refusal(plan, friend) == "approver_made_by_author"


def test_who_got_a_password_from_the_author_does_not_approve(
    harbour: Harbour, root: User, jon: User
) -> None:
    change(jon, root, password=ANOTHER)
    plan = submitted(make_plan(harbour.system, root), root)
    assert refusal(plan, jon) == "approver_made_by_author"
    # Whoever signs in as jon can also change the password as jon.
    password_change(user=jon, current=ANOTHER, password="a third, also long, secret")
    assert refusal(plan, jon) == "approver_made_by_author"


def test_who_set_the_authors_password_does_not_approve(plan: Plan, ines: User, root: User) -> None:
    boss = make_user("boss", Role.ADMIN, Role.APPROVER)
    change(ines, boss, password=ANOTHER)
    assert refusal(submitted(plan, ines), boss) == "approver_made_author"


def test_the_maker_may_not_be_the_submitter_either(plan: Plan, root: User, ines: User) -> None:
    puppet = made_by(root, "puppet", Role.APPROVER)
    assert refusal(submitted(plan, root), puppet) == "approver_made_by_author"


def test_another_administrator_ends_it(harbour: Harbour, root: User) -> None:
    nina = made_by(root, "nina", Role.APPROVER)
    other = make_user("other", Role.ADMIN)
    change(nina, other, password=ANOTHER, roles=["viewer"])
    change(nina, other, roles=["approver"])
    assert {grant.by for grant in AccountGrant.objects.filter(person=nina)} == {other}
    plan = submitted(make_plan(harbour.system, root), root)
    approved_plan = plan_approve(plan=plan, actor=nina, content_hash=plan.content_hash)
    assert approved_plan.state == "approved"


def test_people_whom_a_third_person_made_are_independent(harbour: Harbour, root: User) -> None:
    editor = made_by(root, "editor", Role.EDITOR)
    approver = made_by(root, "judge", Role.APPROVER)
    plan = submitted(make_plan(harbour.system, editor), editor)
    assert (
        plan_approve(plan=plan, actor=approver, content_hash=plan.content_hash).state == "approved"
    )


@pytest.mark.parametrize("first", ["boss", "puppet"])
def test_two_approvals_of_one_pair_of_hands_are_one(
    plan: Plan, harbour: Harbour, ines: User, jon: User, first: str
) -> None:
    make_policy(harbour.system, approval_rules=[{"approvals": 2}])
    boss = make_user("boss", Role.ADMIN, Role.APPROVER)
    puppet = made_by(boss, "puppet", Role.APPROVER)
    one, other = (boss, puppet) if first == "boss" else (puppet, boss)
    row = approved(plan, ines, one)
    shown = client_of(other).get(f"/api/v1/plans/{plan.public_id}").json()
    assert shown["allowed_commands"] == ["reject", "dry_run"]
    assert client_of(other).get("/api/v1/plans?waiting_for=me").json()["count"] == 0
    with pytest.raises(ApplicationError, match="password") as caught:
        plan_approve(plan=row, actor=other, content_hash=row.content_hash)
    assert (caught.value.status, caught.value.code) == (403, "approvers_are_one")
    row = plan_approve(plan=row, actor=jon, content_hash=row.content_hash)
    assert row.state == "approved"
