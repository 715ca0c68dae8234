"""Two people at the same moment, on real connections: one order, one outcome."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.common.errors import ApplicationError
from apps.executions.models import Execution
from apps.plans.models import Plan
from apps.plans.services import (
    plan_approve,
    plan_create,
    plan_discard,
    plan_execute,
    plan_reject,
    plans_settle,
)
from tests.factories import make_user
from tests.factories.fleet import Harbour, make_harbour
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    edit_model,
    make_document,
    make_plan,
    make_policy,
    submitted,
)

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_S = 60.0


@pytest.fixture
def harbour(transactional_db: None) -> Harbour:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


@pytest.fixture
def ines(transactional_db: None) -> User:
    return make_user("ines", Role.EDITOR)


@pytest.fixture
def jon(transactional_db: None) -> User:
    return make_user("jon", Role.APPROVER)


@pytest.fixture
def tomas(transactional_db: None) -> User:
    return make_user("tomas", Role.APPROVER)


def at_once(*deeds: Callable[[], Any]) -> list[str]:
    """Do all of them at the same moment, each on its own connection: `done` or a code each."""
    barrier = threading.Barrier(len(deeds))
    outcomes = [""] * len(deeds)

    def run(index: int, deed: Callable[[], Any]) -> None:
        try:
            barrier.wait(PATIENCE_S)
            deed()
            outcomes[index] = "done"
        except ApplicationError as error:
            outcomes[index] = error.code
        except Exception as error:
            outcomes[index] = repr(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(deeds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return sorted(outcomes)


def test_two_approvers_at_once_give_two_approvals(
    harbour: Harbour, ines: User, jon: User, tomas: User
) -> None:
    make_policy(
        harbour.system,
        approval_rules=[{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 2}],
    )
    plan = submitted(make_plan(harbour.system, ines), ines)
    outcomes = at_once(
        lambda: plan_approve(plan=plan, actor=jon, content_hash=plan.content_hash),
        lambda: plan_approve(plan=plan, actor=tomas, content_hash=plan.content_hash),
    )
    assert outcomes == ["done", "done"]
    plan.refresh_from_db()
    assert (plan.state, plan.approvals.count()) == ("approved", 2)


def test_one_person_in_two_windows_approves_once(harbour: Harbour, ines: User, jon: User) -> None:
    make_policy(
        harbour.system,
        approval_rules=[{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 2}],
    )
    plan = submitted(make_plan(harbour.system, ines), ines)
    approve = lambda: plan_approve(plan=plan, actor=jon, content_hash=plan.content_hash)  # noqa: E731
    assert at_once(approve, approve, approve) == ["already_decided", "already_decided", "done"]
    plan.refresh_from_db()
    assert (plan.state, plan.approvals.count()) == ("pending_review", 1)


def test_approval_and_rejection_at_once_end_in_one_state(
    harbour: Harbour, ines: User, jon: User, tomas: User
) -> None:
    plan = submitted(make_plan(harbour.system, ines), ines)
    outcomes = at_once(
        lambda: plan_approve(plan=plan, actor=jon, content_hash=plan.content_hash),
        lambda: plan_reject(plan=plan, actor=tomas, comment="No."),
    )
    assert outcomes == ["done", "not_in_this_state"]
    plan.refresh_from_db()
    assert plan.state in ("approved", "rejected")


def test_execute_at_once_executes_once(harbour: Harbour, ines: User, jon: User) -> None:
    olga = make_user("olga", Role.OPERATOR)
    agents_look(harbour, agents_come(harbour))
    plan = approved(make_plan(harbour.system, ines), ines, jon)
    execute = lambda: plan_execute(plan=plan, actor=olga)  # noqa: E731
    assert at_once(*[execute] * 4) == ["done", *["not_in_this_state"] * 3]
    assert Execution.objects.count() == 1
    plan.refresh_from_db()
    assert plan.state == "executing"


def test_two_plans_of_a_system_at_once_execute_one(harbour: Harbour, ines: User, jon: User) -> None:
    olga = make_user("olga", Role.OPERATOR)
    agents_look(harbour, agents_come(harbour))
    plans = [
        approved(make_plan(harbour.system, ines, kind=kind), ines, jon) for kind in ("one", "two")
    ]
    outcomes = at_once(*[lambda plan=plan: plan_execute(plan=plan, actor=olga) for plan in plans])  # type: ignore[misc]
    assert outcomes == ["done", "system_is_busy"]
    assert sorted(Plan.objects.values_list("state", flat=True)) == ["approved", "executing"]


def test_execute_and_edit_at_once_never_execute_a_stale_plan(
    harbour: Harbour, ines: User, jon: User
) -> None:
    olga = make_user("olga", Role.OPERATOR)
    agents_look(harbour, agents_come(harbour))
    plan = approved(make_plan(harbour.system, ines), ines, jon)
    outcomes = at_once(
        lambda: plan_execute(plan=plan, actor=olga), lambda: edit_model(harbour, ines)
    )
    plan.refresh_from_db()
    assert (outcomes, plan.state) in (
        (["done", "done"], "executing"),
        (["done", "plan_is_stale"], "stale"),
    )
    assert Execution.objects.count() == (plan.state == "executing")


def test_plans_made_at_once_leave_one_unsettled(harbour: Harbour, ines: User) -> None:
    titles = [f"Tide {number}" for number in range(4)]
    documents = [make_document(harbour.system, title=title) for title in titles]
    outcomes = at_once(
        *[
            lambda document=document: plan_create(
                system=harbour.system, actor=ines, document=document
            )
            for document in documents
        ]  # type: ignore[misc]
    )
    assert outcomes == ["done"] * 4
    assert sorted(Plan.objects.values_list("number", flat=True)) == [1, 2, 3, 4]
    assert sorted(Plan.objects.values_list("state", flat=True)) == ["draft", *["superseded"] * 3]


def test_coordinators_beside_people_do_no_harm(harbour: Harbour, ines: User, jon: User) -> None:
    plan = approved(make_plan(harbour.system, ines), ines, jon)
    edit_model(harbour, ines)
    outcomes = at_once(
        plans_settle, plans_settle, lambda: plan_discard(plan=plan, actor=ines), plans_settle
    )
    assert outcomes == ["done", "done", "done", "plan_is_stale"]
    plan.refresh_from_db()
    assert plan.state == "stale"
    assert [event.command for event in plan.events.all()].count("go_stale") == 1
