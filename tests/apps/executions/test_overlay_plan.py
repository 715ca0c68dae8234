"""A plan between two overlays that breaks off: what was done stands, and there is a way on and a
way back."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.evaluations.models import Candidate
from apps.evaluations.services import candidate_plan, plan_again_from_here
from apps.executions.models import Execution
from apps.executions.selectors import edges_in_force
from apps.executions.services import execution_roll_back
from apps.executions.services.advance import execution_advance
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_roll_back, plans_settle
from apps.telemetry.models import Agent
from tests.factories import make_user
from tests.factories.fleet import FakeAgent, Loop, enrol
from tests.factories.overlays import EDGES, GOAL, Row, goal_of, make_evaluation, make_row
from tests.factories.plans import approved
from weir.actions import InForce, inverse_steps, replay
from weir.coordination.wire import OrderPhase

FORMER = frozenset((pair[0], pair[1]) for pair in EDGES)
WANTED = frozenset((pair[0], pair[1]) for pair in GOAL)
SAID = {
    OrderPhase.PREPARE: "ready",
    OrderPhase.COMMIT: "switched",
    OrderPhase.ABORT: "released",
}
LATE_S = 3.0
"""After the time that participants have to get ready, before anybody's lease has ended."""
PATIENCE_S = 0.6
"""Of the attempts after the first; the third still waits less than LATE_S."""
OVER = frozenset({"succeeded", "failed", "rolled_back"})

Agents = Mapping[str, FakeAgent]


@pytest.fixture
def row(transactional_db: None) -> Row:
    return make_row()


@pytest.fixture
def agents(loop: Loop, row: Row) -> Agents:
    return {name: enrol(loop, broker).come() for name, broker in row.brokers.items()}


@pytest.fixture
def ines(transactional_db: None) -> User:
    return make_user("ines", Role.EDITOR)


@pytest.fixture
def candidate(row: Row, ines: User) -> Candidate:
    """e is the end of a row of five and shall hang on its other end: three shifts in turn."""
    return goal_of(make_evaluation(row, ines))


def begun(plan: Plan, ines: User) -> Execution:
    """Approved by somebody else and started by a third person."""
    name = f"{plan}".lower().replace(" ", "-")
    plan = approved(plan, ines, make_user(f"jon-{name}", Role.APPROVER))
    return plan_execute(plan=plan, actor=make_user(f"olga-{name}", Role.OPERATOR))


def carry_on(execution: Execution, agents: Agents, *, dead: Iterable[str] = ()) -> str:
    """Everybody but the dead answers until the execution has ended; the state it ended in."""
    silent = frozenset(dead)
    for _ in range(40):
        execution.refresh_from_db()
        if execution.state in OVER:
            plans_settle()
            return str(execution.state)
        heard = False
        for name, agent in agents.items():
            for order in agent.poll_now().orders if name not in silent else ():
                said = {"action": order.action, "attempt": order.attempt, "interest": []}
                agent.say({**said, "phase": SAID[order.phase]})
                heard = True
        if silent and heard:
            Agent.objects.filter(broker__name__in=silent).update(lease_until=timezone.now())
            execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=LATE_S))
    raise AssertionError(f"{execution} is still {execution.state}")


def first_step_done(execution: Execution, agents: Agents) -> None:
    """Exactly the first step, of one action, is carried out."""
    for phase in ("ready", "switched"):
        for agent in agents.values():
            if agent.poll_now().orders:
                agent.answer(phase)
    states = execution.steps.order_by("index").values_list("state", flat=True)
    assert list(states)[:2] == ["completed", "in_progress"]


@pytest.fixture
def broken_off(candidate: Candidate, agents: Agents, ines: User) -> Execution:
    """The agent of the broker in the middle dies in the second of three steps."""
    execution = begun(candidate_plan(candidate=candidate, actor=ines), ines)
    first_step_done(execution, agents)
    with override_settings(WEIR_PREPARE_TIMEOUT_S=PATIENCE_S):
        assert carry_on(execution, agents, dead="b") == "failed"
    return execution


def back(agents: Agents) -> None:
    """Whoever was dead has come again."""
    for agent in agents.values():
        agent.come()


def test_the_way_back_stands_before_the_first_step(candidate, row, ines):
    plan = candidate_plan(candidate=candidate, actor=ines)
    assert plan.state == "draft"
    assert replay(InForce(edges=FORMER), plan.content.steps).edges == WANTED
    reverse = inverse_steps(plan.content.steps)
    assert replay(InForce(edges=WANTED), reverse).edges == FORMER


def test_what_was_done_stands_and_the_overlay_is_a_tree(broken_off, row, agents):
    assert "b" in broken_off.failure
    assert edges_in_force(row.system) == FORMER - {("d", "e")} | {("c", "e")}
    assert [len(agents[name].poll_now().orders) for name in "acde"] == [0, 0, 0, 0]


def test_planning_again_from_there_reaches_the_same_overlay(
    broken_off, candidate, row, agents, ines
):
    back(agents)
    again = plan_again_from_here(candidate=candidate, actor=ines)
    assert sum(len(step.actions) for step in again.content.steps) == 2
    execution = begun(again, ines)
    assert carry_on(execution, agents) == "succeeded"
    assert edges_in_force(row.system) == WANTED

    again.refresh_from_db()
    # Each link that moved was an edit of the model: the inverse is of the model as it is now.
    way_back = plan_roll_back(plan=again, actor=ines)
    assert way_back.model_version > again.model_version
    assert carry_on(begun(way_back, ines), agents) == "succeeded"
    assert edges_in_force(row.system) == FORMER - {("d", "e")} | {("c", "e")}


def test_rolling_it_back_gives_the_former_overlay(broken_off, row, agents, admin):
    back(agents)
    execution_roll_back(execution=broken_off, actor=admin)
    assert carry_on(broken_off, agents) == "rolled_back"
    assert edges_in_force(row.system) == FORMER
