"""What time, edits and executions do to plans without anybody's command."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import user_create
from apps.common.errors import Conflict
from apps.executions.services import execution_roll_back, execution_stop, executions_tick
from apps.plans.models import Plan
from apps.plans.services import plan_approve, plan_execute, plans_settle
from apps.plans.services import settle as settling
from tests.conftest import client_of
from tests.factories import PASSWORD, make_broker, make_user
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    edit_model,
    make_plan,
    make_policy,
    submitted,
)

TWO = {"approval_rules": [{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 2}]}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let time pass, for whoever asks Django."""

    def pass_by(**delta: float) -> None:
        then = timezone.now() + timedelta(**delta)
        monkeypatch.setattr("django.utils.timezone.now", lambda: then)

    return pass_by


def test_nothing_is_due_in_a_quiet_system(plan: Plan, ines: User, jon: User) -> None:
    approved(plan, ines, jon)
    assert plans_settle() == 0


def test_edited_model_makes_every_unsettled_plan_stale(
    plan: Plan, harbour: Harbour, ines: User
) -> None:
    edit_model(harbour, ines)
    assert plans_settle() == 1
    plan.refresh_from_db()
    assert plan.state == "stale"
    assert plan.stale_because.startswith(
        f"The model is at version {plan.model_version + 1}, the plan was made for version "
        f"{plan.model_version}: ines changed topic tides (rate_max_per_s)."
    )
    assert plans_settle() == 0


def test_expired_approval_lapses(plan: Plan, ines: User, jon: User, later: Any) -> None:
    approved(plan, ines, jon)
    later(hours=25)
    assert plans_settle() == 1
    plan.refresh_from_db()
    assert (plan.state, plan.expires_at) == ("pending_review", None)
    assert plan.waiting_since == timezone.now()
    assert "expired" in plan.approvals.get().ended_because
    assert [event.command for event in plan.events.all()][-2:] == ["expire", "lapse"]
    # The same person may look at it once more.
    row = plan_approve(plan=plan, actor=jon, content_hash=plan.content_hash)
    assert row.state == "approved"


def test_an_approval_that_its_approver_lost_is_ended_not_expired(
    plan: Plan, ines: User, jon: User
) -> None:
    approved(plan, ines, jon)
    assert plan.approvals.get().expires_at is not None
    User.objects.filter(pk=jon.pk).update(is_active=False)
    assert plans_settle() == 1
    assert [event.command for event in plan.events.all()][-2:] == ["lose", "lapse"]


def test_expired_approval_cannot_be_executed_before_the_coordinator_noticed(
    plan: Plan, harbour: Harbour, ines: User, jon: User, olga: User, later: Any
) -> None:
    approved(plan, ines, jon)
    later(hours=25)
    agents_look(harbour, agents_come(harbour))
    with pytest.raises(Conflict, match="needs 1 valid approvals and has 0") as caught:
        plan_execute(plan=plan, actor=olga)
    assert caught.value.code == "not_approved"
    plan.refresh_from_db()
    assert plan.state == "pending_review"


def test_first_of_two_approvals_expires_alone(
    plan: Plan, harbour: Harbour, ines: User, jon: User, tomas: User, later: Any
) -> None:
    make_policy(harbour.system, **TWO)
    approved(plan, ines, jon)
    later(hours=23)
    row = plan_approve(plan=plan, actor=tomas, content_hash=plan.content_hash)
    assert row.state == "approved"
    assert row.expires_at == min(a.expires_at for a in row.approvals.all())
    later(hours=2)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "pending_review"
    assert [a.ended_at is None for a in plan.approvals.all()] == [False, True]


def test_stricter_policy_takes_the_approval_back(
    plan: Plan, harbour: Harbour, ines: User, jon: User, tomas: User
) -> None:
    approved(plan, ines, jon)
    make_policy(harbour.system, **TWO)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "pending_review"
    assert plan.events.last().note.startswith("1 of the 2 approvals")  # type: ignore[union-attr]
    row = plan_approve(plan=plan, actor=tomas, content_hash=plan.content_hash)
    assert row.state == "approved"


def test_milder_policy_finds_the_approvals_enough(
    plan: Plan, harbour: Harbour, ines: User, jon: User
) -> None:
    make_policy(harbour.system, **TWO)
    approved(plan, ines, jon)
    make_policy(
        harbour.system,
        approval_rules=[{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 1}],
    )
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "approved"


def test_small_changes_are_approved_by_weir_itself(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    make_policy(harbour.system, auto_approve_max_share=0.5, auto_approve_max_change=0.1)
    plan = submitted(make_plan(harbour.system, ines, [rate(40.0, 42.0)]), ines)
    assert plan.state == "approved"
    approval = plan.approvals.get()
    assert approval.person is None
    assert approval.comment.startswith("The policy approves by itself: it touches 25 %")
    assert plan.events.last().actor_name == "Weir"  # type: ignore[union-attr]
    # Taken back when the policy no longer says so.
    make_policy(harbour.system, auto_approve_max_share=0.0)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "pending_review"


def test_policy_that_comes_later_approves_what_waits(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    plan = submitted(make_plan(harbour.system, ines, [rate(40.0, 42.0)]), ines)
    large = submitted(
        make_plan(harbour.system, ines, [population(5, 9)], kind="other", title="Large"), ines
    )
    make_policy(harbour.system, auto_approve_max_share=0.5, auto_approve_max_change=0.1)
    assert plans_settle() == 1
    plan.refresh_from_db()
    large.refresh_from_db()
    assert (plan.state, large.state) == ("approved", "pending_review")


def test_nobody_lets_a_policy_approve_their_own_plan(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    plan = submitted(make_plan(harbour.system, ines, [rate(40.0, 42.0)]), ines)
    small = {"auto_approve_max_share": 0.5, "auto_approve_max_change": 0.1}
    make_policy(harbour.system, by=ines, **small)
    make_policy(harbour.system, by=jon, pace_s=2.0)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "pending_review"
    # Neither through the default, nor by letting the system follow a default of somebody else.
    make_policy(None, by=jon, **small)
    make_policy(harbour.system, by=jon, auto_approve_max_share=0.0)
    make_policy(harbour.system, by=ines, inherits=True)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "pending_review"
    make_policy(harbour.system, by=jon, auto_approve_max_share=0.4)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "approved"


def test_nobody_lets_it_by_giving_a_system_terms_of_its_own(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    make_policy(None, by=ines, auto_approve_max_share=0.5, auto_approve_max_change=0.1)
    # The default's bounds become the system's own: whoever set them has decided about these, too.
    make_policy(harbour.system, by=jon, pace_s=2.0)
    plan = submitted(make_plan(harbour.system, ines, [rate(40.0, 42.0)]), ines)
    assert plan.state == "pending_review"
    make_policy(harbour.system, by=ines, inherits=True)
    make_policy(harbour.system, by=ines, pace_s=3.0)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "pending_review"
    make_policy(harbour.system, by=jon, auto_approve_max_share=0.4)
    plans_settle()
    plan.refresh_from_db()
    assert plan.state == "approved"


def test_nobody_lets_it_through_an_account_that_they_made(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    root = make_user("root", Role.ADMIN, Role.EDITOR)
    puppet = user_create(username="puppet", password=PASSWORD, roles=["admin"], actor=root)
    make_policy(harbour.system, by=puppet, auto_approve_max_share=0.5, auto_approve_max_change=0.1)
    own = submitted(make_plan(harbour.system, root, [rate(40.0, 42.0)]), root)
    assert own.state == "pending_review"
    other = submitted(make_plan(harbour.system, ines, [rate(40.0, 41.0)]), ines)
    assert other.state == "approved"


def test_brokers_that_nobody_runs_make_no_plan_small(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    make_policy(
        harbour.system,
        auto_approve_max_share=0.2,
        approval_rules=[{"approvals": 1}, {"approvals": 2, "min_share": 0.2}],
    )
    for number in range(6):
        make_broker(harbour.system, f"paper-{number}")
    plan = submitted(make_plan(harbour.system, ines, [rate(40.0, 42.0)]), ines)
    assert plan.state == "pending_review"
    shown = client_of(jon).get(f"/api/v1/plans/{plan.public_id}").json()
    assert shown["approvals_needed"] == 2
    assert (shown["blast_radius"]["brokers"], shown["blast_radius"]["brokers_total"]) == (1, 4)


def test_finished_execution_finishes_the_plan(
    plan: Plan, harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    execution = carried_out(harbour, agents, approved(plan, ines, jon), olga)
    assert plan.execution_id is None  # the instance of the fixture is as old as it is
    plan.refresh_from_db()
    assert (plan.state, plan.execution) == ("executed", execution)


@pytest.mark.parametrize(
    ("command", "state", "said"),
    [
        (execution_stop, "stopped", "was stopped"),
        (execution_roll_back, "rolled_back", "was rolled back"),
    ],
)
def test_broken_off_execution_makes_the_plan_stale(
    harbour: Harbour, ines: User, jon: User, olga: User, command: Any, state: str, said: str
) -> None:
    plan = make_plan(harbour.system, ines, [rate(None, 40.0)], [population(None, 5)])
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    execution = plan_execute(plan=approved(plan, ines, jon), actor=olga)
    command(execution=execution, actor=olga)
    for _ in range(8):
        agents_look(harbour, agents)
        executions_tick()
    plans_settle()
    execution.refresh_from_db()
    plan.refresh_from_db()
    assert (execution.state, plan.state) == (state, "stale")
    assert plan.stale_because.startswith(f"E-1 {said}.")


def test_one_plan_that_cannot_be_settled_does_not_keep_the_others(
    harbour: Harbour, ines: User, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    first = make_plan(harbour.system, ines, kind="a")
    second = make_plan(harbour.system, ines, kind="b")
    edit_model(harbour, ines)
    sound = settling.settle_row

    def broken(row: Plan, now: Any) -> None:
        if row.pk == first.pk:
            raise ValueError("broken")
        sound(row, now)

    monkeypatch.setattr(settling, "settle_row", broken)
    plans_settle()
    second.refresh_from_db()
    assert second.state == "stale"
    assert "cannot be settled" in caplog.text
