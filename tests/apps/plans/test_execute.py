"""What was approved is what is executed, or nothing is."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.models import Execution
from apps.executions.services import execution_start
from apps.executions.services.settings import settings_control
from apps.plans.models import Plan
from apps.plans.services import plan_dry_run, plan_execute, plan_reject
from apps.telemetry.models import Agent, Sample
from tests.factories.fleet import Harbour, population, rate, shift
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    edit_model,
    envelope,
    first_steps,
    make_plan,
    make_policy,
    submitted,
)
from weir.actions import setting_key
from weir.model.plan import Step


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    """Every broker's agent, live, having said what it sees."""
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    return agents


def refused(plan: Plan, olga: User) -> Conflict:
    with pytest.raises(Conflict) as caught:
        plan_execute(plan=plan, actor=olga)
    assert not Execution.objects.filter(subject_id=plan.public_id).exists()
    return caught.value


def states(plan: Plan) -> dict[str, str]:
    plan.refresh_from_db()
    return {
        check.name: check.state
        for check in plan_dry_run(plan=plan, actor=plan.author, tells=False)  # type: ignore[arg-type]
    }


def test_executes_what_was_approved(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    make_policy(harbour.system, pace_s=1.5, roll_back_pace_s=0.5, max_parallel_actions=3)
    execution = plan_execute(plan=approved(plan, ines, jon), actor=olga)
    plan.refresh_from_db()
    assert (plan.state, plan.execution, plan.expires_at) == ("executing", execution, None)
    assert (execution.subject_id, execution.subject_name) == (plan.public_id, "P-1")
    assert (execution.pace_s, execution.max_parallel) == (1.5, 3)
    assert execution.roll_back_pace_s == 0.5
    assert execution.started_by == olga
    (step,) = execution.steps.all()
    assert [row.action for row in step.actions.all()] == list(first_steps()[0])


@pytest.mark.parametrize("state", ["draft", "pending_review", "rejected"])
def test_executes_nothing_else(
    plan: Plan, agents: dict[str, Agent], ines: User, jon: User, olga: User, state: str
) -> None:
    if state != "draft":
        submitted(plan, ines)
    if state == "rejected":
        plan_reject(plan=plan, actor=jon, comment="No.")
    error = refused(plan, olga)
    assert error.code == ("not_approved" if state == "pending_review" else "not_in_this_state")


def test_edited_model_refuses_and_makes_it_stale(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    row = approved(plan, ines, jon)
    edit_model(harbour, ines)
    error = refused(row, olga)
    assert error.code == "plan_is_stale"
    assert "ines changed topic tides (rate_max_per_s)" in error.message
    row.refresh_from_db()
    assert row.state == "stale"
    assert row.events.last().command == "go_stale"  # type: ignore[union-attr]
    assert refused(row, olga).code == "plan_is_stale"


def test_something_else_in_force_refuses_and_makes_it_stale(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    other = make_plan(harbour.system, ines, [rate(None, 10.0)], kind="other")
    waiting = approved(plan, ines, jon)
    carried_out(harbour, agents, approved(other, ines, jon), olga)
    assert states(waiting)["before_in_force"] == "fail"
    error = refused(waiting, olga)
    assert error.code == "plan_is_stale"
    assert error.message == (
        "P-1 is stale. What is in force is no longer what the plan starts from. Set tides at a to "
        "40 msg/s, burst 5: its value before is nothing, but burst 5.0, rate_per_s 10.0 is in "
        "force. Make a new plan."
    )
    waiting.refresh_from_db()
    assert waiting.state == "stale"


def test_load_outside_the_envelope_refuses_and_makes_it_stale(
    agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    plan = approved(make_plan(harbour.system, ines, envelope=envelope(20.0, 40.0)), ines, jon)
    assert states(plan)["inside_envelope"] == "pass"
    Sample.objects.all().delete()
    agents_look(harbour, agents, offered=41.0)
    assert states(plan)["inside_envelope"] == "fail"
    error = refused(plan, olga)
    assert error.code == "plan_is_stale"
    assert "tides 41 msg/s, allowed 20 to 40" in error.message


def test_load_that_nobody_measures_is_unknown_and_forbids_nothing(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents_look(harbour, agents_come(harbour))
    plan = approved(make_plan(harbour.system, ines, envelope=envelope(20.0, 40.0)), ines, jon)
    assert states(plan)["inside_envelope"] == "unknown"
    assert plan_execute(plan=plan, actor=olga).pk


def test_closed_window_refuses_and_leaves_it_approved(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    deny = {"effect": "deny", "cron": "* * * * *", "duration_s": 3600, "timezone": "UTC"}
    row = approved(plan, ines, jon)
    make_policy(harbour.system, windows=[{**deny, "note": "frozen"}])
    error = refused(row, olga)
    assert error.code == "outside_window"
    assert '"frozen"' in error.message
    row.refresh_from_db()
    assert row.state == "approved"
    assert states(row)["window_open"] == "fail"


def test_silent_agent_refuses_and_leaves_it_approved(
    plan: Plan, harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    agents_look(harbour, agents_come(harbour, "a"))
    row = approved(plan, ines, jon)
    now = states(row)
    assert (now["agents_alive"], now["agents_agree"]) == ("fail", "unknown")
    error = refused(row, olga)
    assert error.code == "agents_silent"
    assert error.message == "There is no live agent at c. Start it, then execute again."
    row.refresh_from_db()
    assert row.state == "approved"


def test_one_execution_at_a_time(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    row = approved(plan, ines, jon)
    execution_start(
        system=harbour.system,
        actor=olga,
        subject_id=harbour.system.public_id,
        subject_name="P-9",
        subject_title="",
        steps=[Step(actions=(shift("d", "c", "b"),))],
        pace_s=0.0,
        max_parallel=1,
    )
    assert states(row)["system_idle"] == "fail"
    assert refused(row, olga).code == "system_is_busy"


def test_dry_run_touches_nothing(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User
) -> None:
    checks = plan_dry_run(plan=plan, actor=ines, tells=True)
    assert {check.name: check.state for check in checks} == {
        "model_unchanged": "pass",
        "before_in_force": "pass",
        "inside_envelope": "pass",
        "intermediate_states": "pass",
        "agents_alive": "pass",
        "agents_agree": "pass",
        "roll_back_ready": "warn",
        "system_idle": "pass",
        "window_open": "pass",
        "approvals": "warn",
    }
    details = {check.name: check.detail for check in checks}
    # What is in force now limits nothing: going back there is checked as the plan itself is.
    assert details["roll_back_ready"] == (
        "2 actions, 1 step, only with a reason of somebody who may approve: "
        "c would carry 200 % of its capacity in step 1"
    )
    assert details["agents_agree"] == "2 of 2 agents agree"
    assert not Execution.objects.exists()
    plan.refresh_from_db()
    assert plan.state == "draft"
    assert plan.events.last().title == "ran the checks, 8 of 10 pass"  # type: ignore[union-attr]


def test_agent_that_sees_something_else_is_named(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour
) -> None:
    agent = Agent.objects.get(broker__name="a")
    agent.observed = {**agent.observed, "gates": {"tides": {"rate_per_s": 1.0, "burst": 1.0}}}  # type: ignore[dict-item]
    agent.save()
    checks = {c.name: c for c in plan_dry_run(plan=plan, actor=plan.author, tells=False)}  # type: ignore[arg-type]
    assert checks["agents_agree"].state == "warn"
    assert checks["agents_agree"].detail == "something else is in force at a"


def test_step_that_overloads_a_broker_is_found(
    agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    # 40 msg/s for 5 gulls is 400 of 1000; 100 msg/s for 10 would be 2000.
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    give = [[rate(40.0, 100.0)], [population(5, 10)]]
    plan = make_plan(harbour.system, ines, *give)
    checks = {c.name: c for c in plan_dry_run(plan=plan, actor=ines, tells=False)}
    assert checks["intermediate_states"].state == "fail"
    assert "c would carry 200 % of its capacity in step 2" in checks["intermediate_states"].detail
    with pytest.raises(Conflict) as caught:
        submitted(plan, ines)
    assert caught.value.code == "would_overload"
    assert caught.value.message == (
        "P-2 cannot be sent for review: c would carry 200 % of its capacity in step 2. Somebody "
        "who may approve plans can accept that with a reason."
    )
    plan.refresh_from_db()
    assert plan.state == "draft"


def test_step_that_has_come_to_overload_a_broker_makes_it_stale(
    agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    plan = approved(make_plan(harbour.system, ines, [population(5, 10)]), ines, jon)
    other = make_plan(harbour.system, ines, [rate(40.0, 100.0)], kind="other")
    carried_out(harbour, agents, approved(other, ines, jon), olga)
    error = refused(plan, olga)
    assert error.code == "plan_is_stale"
    assert "c would carry 200 % of its capacity in step 1" in error.message


def test_actions_of_one_step_count_together(
    agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    """A higher rate and fewer consumers fit one after the other, but not in any order."""
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    together = make_plan(harbour.system, ines, [rate(40.0, 110.0), population(5, 2)])
    assert states(together)["intermediate_states"] == "fail"
    in_order = make_plan(harbour.system, ines, [population(5, 2)], [rate(40.0, 110.0)])
    assert states(in_order)["intermediate_states"] == "pass"


def test_shift_that_no_longer_fits_the_overlay_makes_it_stale(
    agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    plan = make_plan(harbour.system, ines, [shift("d", "c", "b")], [shift("a", "b", "d")])
    now = states(plan)
    assert (now["before_in_force"], now["intermediate_states"]) == ("pass", "pass")
    other = make_plan(harbour.system, ines, [shift("a", "c", "d")], kind="other")
    assert states(other)["before_in_force"] == "fail"
    row = approved(other, ines, jon)
    assert refused(row, olga).code == "plan_is_stale"


def test_executed_plan_is_not_executed_again(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    with pytest.raises(Conflict) as caught:
        plan_execute(plan=plan, actor=olga)
    assert caught.value.code == "not_in_this_state"
    assert Execution.objects.count() == 1


def test_rate_controller_may_have_moved_a_rate_since(
    plan: Plan, agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    value = {"rate_per_s": 44.0, "burst": 5.0}
    key = setting_key(rate(40.0, 50.0))
    in_force = {"rate_per_s": 40.0, "burst": 5.0}
    settings_control(system=harbour.system, values={key: value}, approved={key: in_force})
    agent = Agent.objects.get(broker__name="a")
    agent.observed = {**agent.observed, "gates": {"tides": value}}  # type: ignore[dict-item]
    agent.save()
    following = make_plan(harbour.system, ines, [rate(40.0, 50.0)])
    assert states(following)["agents_agree"] == "pass"


def test_expires_at_is_when_the_approval_lapses(plan: Plan, ines: User, jon: User) -> None:
    row: Any = approved(plan, ines, jon)
    assert row.expires_at - timezone.now() > timedelta(hours=23)


def test_plan_that_leaves_an_overload_of_today_is_warned_of_not_refused(
    agents: dict[str, Agent], harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    """Nothing is limited: 100 msg/s for 10 gulls may load c twofold, before and after."""
    plan = approved(make_plan(harbour.system, ines, [rate(None, 90.0)]), ines, jon)
    checks = {c.name: c for c in plan_dry_run(plan=plan, actor=ines, tells=False)}
    assert checks["intermediate_states"].state == "warn"
    assert checks["intermediate_states"].detail == "1 step, at most 180 % at c after step 1"
    assert plan_execute(plan=plan, actor=olga).pk
