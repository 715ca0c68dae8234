"""The whole life of a plan in ServiceNow: opened, approved, carried out, closed."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.models import Execution
from apps.executions.services import executions_tick
from apps.integrations.models import Change, Connection, Message
from apps.integrations.services import changes_follow
from apps.plans.models import Plan, Verification
from apps.plans.services import (
    plan_execute,
    plan_reject,
    plan_set_ticket,
    plan_submit,
    plan_withdraw,
    plans_settle,
)
from apps.telemetry.models import Agent
from tests.apps.integrations.conftest import tick
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    edit_model,
    make_plan,
    submitted,
)


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    return agents


@pytest.fixture
def plan(harbour: Harbour, ines: User) -> Plan:
    """Two steps: the tides are limited, then five gulls let in."""
    return make_plan(harbour.system, ines, [rate(None, 40.0)], [population(None, 5)])


def refused(plan: Plan, olga: User) -> Conflict:
    with pytest.raises(Conflict) as caught:
        plan_execute(plan=plan, actor=olga)
    return caught.value


def work_through(harbour: Harbour, agents: dict[str, Agent], execution: Execution) -> None:
    """The execution, to its end; the plan is told."""
    for _ in range(10):
        agents_look(harbour, agents)
        executions_tick()
    execution.refresh_from_db()
    assert execution.state == "succeeded"
    plans_settle()


def judged(plan: Plan, **verdict: Any) -> None:
    """The effect of the plan was measured."""
    values = {"judged": "helped", "because": "The utility rose.", "judged_at": timezone.now()}
    Verification.objects.update_or_create(plan=plan, defaults={**values, **verdict})


def test_plan_opens_waits_is_carried_out_and_closed(
    connection: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    tick(connection)
    assert servicenow.rows == {}
    approved(plan, ines, jon)
    assert refused(plan, olga).code == "change_not_approved"
    tick(connection)
    row = servicenow.only()
    change = plan.changes.get()
    assert (row["correlation_id"], row["type"]) == (change.key, "normal")
    assert row["short_description"] == "P-1 Spring tide (harbour)"
    assert "tides at a: no limit -> 40 msg/s" in row["description"]
    assert "will be disconnected" in row["description"] or "is connected" in row["description"]
    assert "Step 2 of 2:" in row["implementation_plan"]
    assert "Step 1 of 2:" in row["backout_plan"]
    assert row["justification"].startswith("Broker c is full.")
    assert row["assignment_group"] == "Messaging"
    assert servicenow.history[row["sys_id"]] == ["New", "Assess"]
    assert plan.events.last().title == "opened change CHG0030052"  # type: ignore[union-attr]

    tick(connection)
    error = refused(plan, olga)
    assert error.code == "change_not_approved"
    assert error.message == "Change CHG0030052 is not approved yet (state Assess)."

    servicenow.approve()
    tick(connection)
    assert plan.events.last().title == "change CHG0030052 was approved"  # type: ignore[union-attr]
    execution = plan_execute(plan=plan, actor=olga)
    tick(connection)
    assert row["state"] == "-1"
    work_through(harbour, agents, execution)
    tick(connection)
    assert row["state"] == "-1", "closed before the effect is known"
    judged(plan)
    tick(connection)
    assert servicenow.history[row["sys_id"]] == [
        *("New", "Assess", "Scheduled", "Implement", "Review", "Closed")
    ]
    assert row["close_code"] == "successful"
    assert row["close_notes"].startswith("P-1 was carried out (E-1).\nEffect: helped. ")
    started, steps = servicenow.only_notes()
    assert started.startswith("olga started E-1 of P-1.\n[weir ")
    lines = steps.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == ["Step 1 of 2", "Step 2 of 2"]
    change.refresh_from_db()
    assert (change.state, change.ending) == ("closed", "succeeded")
    assert not Message.objects.filter(sent_at=None).exists()
    tick(connection)
    assert len(servicenow.rows) == 1


@pytest.mark.parametrize("way", ["withdraw", "reject", "stale"])
def test_plan_that_is_given_up_cancels_its_change(
    connection: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    harbour: Harbour,
    ines: User,
    jon: User,
    way: str,
) -> None:
    submitted(plan, ines)
    tick(connection)
    if way == "withdraw":
        plan_withdraw(plan=plan, actor=ines, reason="Not this week.")
    elif way == "reject":
        plan_reject(plan=plan, actor=jon, comment="Not this week.")
        # An edit that comes after it does not become the reason.
        plan_set_ticket(plan=plan, actor=ines, change_ticket="CHG-1")
    else:
        edit_model(harbour, ines)
        plans_settle()
    tick(connection)
    row = servicenow.only()
    assert row["state"] == "4"
    (note,) = servicenow.only_notes()
    expected = {"withdraw": "was taken back", "reject": "is rejected", "stale": "is stale"}
    assert expected[way] in note
    assert ("Not this week." in note) or way == "stale"
    assert plan.changes.get().ending == "cancelled"


def test_plan_that_is_sent_again_opens_another_change(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, ines: User
) -> None:
    for number in (1, 2):
        submitted(plan, ines)
        tick(connection)
        assert len(servicenow.rows) == number
        plan_withdraw(plan=plan, actor=ines)
        tick(connection)
    assert [row["state"] for row in servicenow.rows.values()] == ["4", "4"]
    assert len({row["correlation_id"] for row in servicenow.rows.values()}) == 2


def test_plan_taken_back_before_anything_was_sent_opens_nothing(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    changes_follow()
    plan_withdraw(plan=plan, actor=ines)
    tick(connection)
    assert servicenow.requests == []
    assert plan.changes.get().state == "closed"


def test_refused_change_keeps_the_plan_from_executing(
    connection: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    ines: User,
    jon: User,
    olga: User,
) -> None:
    approved(plan, ines, jon)
    tick(connection)
    servicenow.reject()
    tick(connection)
    assert refused(plan, olga).message == "Change CHG0030052 was not approved (state New)."
    plan.refresh_from_db()
    assert plan.state == "approved"


def test_approval_read_long_ago_no_longer_counts(
    connection: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    ines: User,
    jon: User,
    olga: User,
) -> None:
    approved(plan, ines, jon)
    tick(connection)
    servicenow.approve()
    tick(connection)
    Change.objects.update(looked_at=timezone.now() - timedelta(minutes=6))
    assert "has not been read for long" in refused(plan, olga).message
    servicenow.only()["approval"] = "requested"
    tick(connection)
    assert "is not approved yet" in refused(plan, olga).message


def test_window_of_the_change_gates_executing(
    connection: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    ines: User,
    jon: User,
    olga: User,
) -> None:
    Connection.objects.update(window_from_change=True)
    approved(plan, ines, jon)
    tick(connection)
    servicenow.approve()
    row = servicenow.only()
    row.update(start_date="2031-01-01 10:00:00", end_date="2031-01-01 12:00:00")
    tick(connection)
    error = refused(plan, olga)
    assert error.code == "outside_change_window"
    assert error.message == (
        "Change CHG0030052 is planned from 2031-01-01 10:00 UTC to 2031-01-01 12:00 UTC."
    )
    now = timezone.now()
    row["start_date"] = f"{now - timedelta(hours=1):%Y-%m-%d %H:%M:%S}"
    row["end_date"] = f"{now + timedelta(hours=1):%Y-%m-%d %H:%M:%S}"
    tick(connection)
    assert plan_execute(plan=plan, actor=olga).pk


@pytest.mark.parametrize("off", ["approval_needed", "enabled", "other_system"])
def test_plan_is_not_held_where_nothing_is_asked(
    connection: Connection,
    plan: Plan,
    agents: dict[str, Agent],
    ines: User,
    jon: User,
    olga: User,
    off: str,
) -> None:
    if off == "other_system":
        connection.connected.all().delete()
    else:
        Connection.objects.update(**{off: False})
    assert plan_execute(plan=approved(plan, ines, jon), actor=olga).pk


def test_execution_that_fails_closes_its_change_as_unsuccessful(
    connection: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    from apps.executions.services import execution_stop

    approved(plan, ines, jon)
    tick(connection)
    servicenow.approve()
    tick(connection)
    execution = plan_execute(plan=plan, actor=olga)
    execution_stop(execution=execution, actor=olga)
    for _ in range(4):
        agents_look(harbour, agents)
        executions_tick()
    plans_settle()
    tick(connection)
    row = servicenow.only()
    assert (row["state"], row["close_code"]) == ("3", "unsuccessful")
    assert row["close_notes"].startswith("P-1 was stopped (E-1).")


def test_draft_says_that_its_change_is_opened_later(
    connection: Connection, plan: Plan, ines: User
) -> None:
    from apps.plans.services import plan_dry_run

    (check,) = [
        one
        for one in plan_dry_run(plan=plan, actor=ines, tells=False)
        if one.name == "change_approved"
    ]
    assert (check.state, check.detail) == ("warn", "opened when the plan is sent for review")
    plan_submit(plan=plan, actor=ines)
    (check,) = [
        one
        for one in plan_dry_run(plan=plan, actor=ines, tells=False)
        if one.name == "change_approved"
    ]
    assert check.state == "fail"
