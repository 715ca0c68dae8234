"""Rates and populations: from the order to the proof, over HTTP and Postgres."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.common.errors import Conflict
from apps.executions.models import Execution, ExecutionAction, Setting
from apps.executions.selectors import in_force
from apps.executions.selectors.modelled import STRUCTURE
from apps.executions.services import (
    execution_pause,
    execution_resume,
    execution_roll_back,
    execution_stop,
    executions_tick,
)
from apps.executions.services.advance import execution_advance
from apps.executions.services.settings import settings_control
from apps.systems.models import System
from tests.factories.fleet import population, rate, start
from weir.actions import setting_key
from weir.errors import InvalidProblem

SPRING = {"rate_per_s": 90.0, "burst": 5.0}


def state(execution: Execution) -> str:
    execution.refresh_from_db()
    return execution.state


def actions(execution: Execution) -> list[str]:
    rows = ExecutionAction.objects.filter(step__execution=execution)
    return list(rows.order_by("step__index", "index").values_list("state", flat=True))


def time_out(execution: Execution) -> None:
    """Its deadlines have passed."""
    past = timezone.now() - timedelta(seconds=1)
    ExecutionAction.objects.filter(step__execution=execution).update(deadline_at=past)
    executions_tick()


def enforced(harbour):
    """Rates and limits in force."""
    settings = in_force(harbour.system).settings
    return {key: value for key, value in settings.items() if key[0] not in STRUCTURE}


def test_a_rate_is_asked_for_and_then_proved(harbour, agents):
    execution = start(harbour.system, [rate(None, 90.0)])
    assert state(execution) == "running"
    setting = Setting.objects.get(kind="set_flow_rate")
    assert (setting.in_force, setting.desired) == (None, SPRING)
    assert agents["a"].obey().gates["tides"].rate_per_s == 90.0
    assert state(execution) == "succeeded"
    setting.refresh_from_db()
    assert setting.in_force == SPRING


def test_what_an_agent_saw_before_it_was_asked_proves_nothing(harbour, agents):
    agents["a"].gates = {"tides": SPRING}
    agents["a"].poll_now()
    agents["a"].say(observed=agents["a"].observed())
    execution = start(harbour.system, [rate(None, 90.0)])
    executions_tick()
    assert state(execution) == "running"
    # However late it arrives: it names the document before.
    agents["a"].say(observed=agents["a"].observed())
    executions_tick()
    assert state(execution) == "running"
    agents["a"].poll_now()
    agents["a"].say(observed=agents["a"].observed())
    assert state(execution) == "succeeded"


def test_an_observation_that_was_overtaken_is_not_kept(harbour, agents):
    execution = start(harbour.system, [rate(None, 90.0)])
    agents["a"].poll_now()
    agents["a"].say(observed=agents["a"].observed())
    agents["a"].gates = {"tides": SPRING}
    overtaken = {"observed": agents["a"].observed(), "sequence": 1}
    agents["a"].say(**overtaken)
    assert state(execution) == "running"
    agents["a"].say(observed=agents["a"].observed())
    assert state(execution) == "succeeded"


def test_what_is_asked_for_again_is_sent_again(harbour, agents):
    """There and back: the document says what it said before, but later."""
    agents["a"].gates = {}
    before = agents["a"].poll_now()
    agents["a"].say(observed=agents["a"].observed())
    execution = start(harbour.system, [rate(None, 90.0)])
    time_out(execution)
    assert actions(execution) == ["aborting"]
    again = agents["a"].poll(seen=before.version)
    assert (again.gates, before.gates) == ({}, {})
    assert again.number > before.number
    agents["a"].say(observed=agents["a"].observed())
    assert actions(execution) == ["aborted"]


def test_another_value_is_no_proof(harbour, agents):
    execution = start(harbour.system, [rate(None, 90.0)])
    agents["a"].gates = {"tides": {"rate_per_s": 89.0, "burst": 5.0}}
    agents["a"].say(observed=agents["a"].observed())
    assert state(execution) == "running"


def test_the_second_step_begins_when_the_first_has_ended(harbour, agents):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)])
    assert agents["a"].poll_now().gates == {}
    assert actions(execution) == ["preparing", "pending"]
    assert agents["c"].obey().classes["gulls"].limit == 4
    assert actions(execution) == ["done", "preparing"]
    agents["a"].obey()
    assert state(execution) == "succeeded"


def test_the_pause_between_two_steps_is_kept(harbour, agents):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)], pace_s=60.0)
    agents["c"].obey()
    executions_tick()
    assert actions(execution) == ["done", "pending"]
    execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=61))
    assert actions(execution) == ["done", "preparing"]


def test_an_agent_that_never_shows_the_value_ends_the_execution(harbour, agents):
    execution = start(harbour.system, [rate(None, 90.0)], [population(None, 4)])
    agents["a"].say(observed=agents["a"].observed())
    time_out(execution)
    assert agents["a"].poll_now().gates == {}
    agents["a"].say(observed=agents["a"].observed())
    executions_tick()
    assert state(execution) == "failed"
    assert "a did not show the new value" in execution.failure
    assert actions(execution) == ["aborted", "aborted"]
    assert enforced(harbour) == {}


def test_what_is_not_delivered_is_not_done_and_says_why(harbour, agents):
    start(harbour.system, [population(None, 0)])
    agent = agents["c"]
    agent.obey()
    execution = start(harbour.system, [population(0, 4)])
    agent.obey(flow_failures={"tides": "the disk is full"})
    assert actions(execution) == ["preparing"]
    time_out(execution)
    assert actions(execution) == ["aborting"]
    agent.obey()
    assert state(execution) == "failed"
    assert "c did not show the new value within 15 s; c reports: the disk is full" in (
        execution.failure
    )
    assert list(enforced(harbour).values()) == [{"limit": 0}]


def test_a_class_that_cannot_be_limited_says_why(harbour, agents):
    execution = start(harbour.system, [population(None, 4)])
    agent = agents["c"]
    agent.poll_now()
    agent.served = {"gulls": "tides"}
    agent.say(observed=agent.observed(class_failures={"gulls": "the broker admits nobody"}))
    time_out(execution)
    agent.obey()
    assert state(execution) == "failed"
    assert "c reports: the broker admits nobody" in execution.failure


def test_a_failed_execution_leaves_what_was_done(harbour, agents):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)])
    agents["c"].obey()
    time_out(execution)
    time_out(execution)
    assert state(execution) == "failed"
    assert [v for v in enforced(harbour).values()] == [{"limit": 4}]


def test_pause_ends_the_running_step_and_begins_no_other(harbour, agents, admin):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)])
    execution_pause(execution=execution, actor=admin)
    assert state(execution) == "pausing"
    agents["c"].obey()
    assert state(execution) == "paused"
    assert actions(execution) == ["done", "pending"]
    execution_resume(execution=execution, actor=admin)
    assert actions(execution) == ["done", "preparing"]
    agents["a"].obey()
    assert state(execution) == "succeeded"


def test_stop_keeps_what_is_done(harbour, agents, admin):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)])
    execution_stop(execution=execution, actor=admin)
    agents["c"].obey()
    assert state(execution) == "stopped"
    assert actions(execution) == ["done", "aborted"]
    assert enforced(harbour) == {setting_key(population(None, 4)): {"limit": 4}}


def said_by(agent):
    """What the agent's document says, whenever it says it."""
    return replace(agent.poll_now(), number=0, asked=0, version="")


def test_rollback_restores_exactly_what_was_in_force(harbour, agents, admin):
    first = start(harbour.system, [rate(None, 70.0)])
    agents["a"].obey()
    assert state(first) == "succeeded"
    before = in_force(harbour.system)
    plain = {name: said_by(agent) for name, agent in agents.items()}

    execution = start(harbour.system, [rate(70.0, 60.0), population(None, 4)], [population(4, 6)])
    agents["a"].obey()
    agents["c"].obey()
    assert in_force(harbour.system) != before
    execution_roll_back(execution=execution, actor=admin)
    assert state(execution) == "rolling_back"
    for _ in range(3):
        for agent in (agents["a"], agents["c"]):
            agent.obey()
    assert state(execution) == "rolled_back"
    assert in_force(harbour.system) == before
    # Null again, not a number that happens to be large: nobody is limited any more.
    assert Setting.objects.get(kind="set_population").in_force is None
    assert {name: said_by(agent) for name, agent in agents.items()} == plain


@pytest.mark.parametrize(
    ("roll_back_pace_s", "then"), [(0.0, "rolled_back"), (60.0, "rolling_back")]
)
def test_rolling_back_keeps_its_own_pause_and_not_that_of_the_plan(
    harbour, agents, admin, roll_back_pace_s, then
):
    steps = [population(None, 4)], [rate(None, 90.0)]
    execution = start(harbour.system, *steps, pace_s=60.0, roll_back_pace_s=roll_back_pace_s)
    agents["c"].obey()
    execution_roll_back(execution=execution, actor=admin)
    agents["c"].obey()
    assert state(execution) == then


def test_a_stopped_execution_can_be_rolled_back_later(harbour, agents, admin):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)])
    execution_stop(execution=execution, actor=admin)
    agents["c"].obey()
    execution_roll_back(execution=execution, actor=admin)
    agents["c"].obey()
    assert state(execution) == "rolled_back"
    assert enforced(harbour) == {}
    assert execution.ended_at is not None


def test_a_stopped_execution_cannot_come_back_while_another_runs(harbour, agents, admin):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)])
    execution_stop(execution=execution, actor=admin)
    agents["c"].obey()
    start(harbour.system, [rate(None, 80.0)])
    with pytest.raises(Conflict, match="one execution at a time") as refused:
        execution_roll_back(execution=execution, actor=admin)
    assert refused.value.code == "system_is_busy"


def test_one_execution_at_a_time(harbour, agents):
    start(harbour.system, [rate(None, 90.0)])
    with pytest.raises(Conflict, match="E-1 of P-7 is still running"):
        start(harbour.system, [rate(None, 80.0)])


def test_a_plan_that_is_not_about_what_is_in_force_does_not_begin(harbour, agents):
    with pytest.raises(Conflict) as refused:
        start(harbour.system, [rate(50.0, 80.0)])
    assert refused.value.code == "not_what_is_in_force"
    assert "nothing is in force" in refused.value.message
    assert not Execution.objects.exists()


def test_an_action_without_sense_is_refused_by_name(harbour, agents):
    with pytest.raises(InvalidProblem) as refused:
        start(harbour.system, [rate(None, 80.0)], [rate(80.0, -1.0)])
    assert refused.value.path == "steps[1].actions[0].after.rate_per_s"


def test_commands_that_do_not_fit_are_refused(harbour, agents, admin):
    execution = start(harbour.system, [rate(None, 90.0)])
    with pytest.raises(Conflict, match="cannot resume") as refused:
        execution_resume(execution=execution, actor=admin)
    assert refused.value.code == "not_possible_now"
    assert state(execution) == "running"


def test_every_move_is_in_the_record(harbour, agents, admin):
    execution = start(harbour.system, [population(None, 4)], [rate(None, 90.0)], actor=admin)
    execution_pause(execution=execution, actor=admin)
    agents["c"].obey()
    execution_resume(execution=execution, actor=admin)
    agents["a"].obey()
    told = AuditEntry.objects.filter(object_id=execution.public_id).order_by("id")
    assert [(e.action, e.actor_name) for e in told] == [
        ("open", admin.display_name),
        ("start", "Weir"),
        ("pause", admin.display_name),
        ("step_completed", "Weir"),
        ("settle", "Weir"),
        ("resume", admin.display_name),
        ("step_completed", "Weir"),
        ("succeed", "Weir"),
    ]


def test_settings_do_not_move_the_model(harbour, agents):
    start(harbour.system, [rate(None, 90.0)])
    agents["a"].obey()
    version = harbour.system.model_version
    assert System.objects.get().model_version >= version
    now = System.objects.get().model_version
    start(harbour.system, [rate(90.0, 95.0)])
    agents["a"].obey()
    assert System.objects.get().model_version == now


class TestController:
    """Values between two plans."""

    KEY = setting_key(rate(None, 90.0))

    @pytest.fixture(autouse=True)
    def _in_force(self, harbour, agents):
        start(harbour.system, [rate(None, 90.0)])
        agents["a"].obey()

    def control(self, harbour, value) -> int:
        return settings_control(
            system=harbour.system, values={self.KEY: value}, approved={self.KEY: SPRING}
        )

    def test_an_agent_reads_it_instead_of_the_plans_value(self, harbour, agents):
        value = {"rate_per_s": 80.0, "burst": 5.0}
        assert self.control(harbour, value) == 1
        assert self.control(harbour, value) == 0
        assert agents["a"].poll().gates["tides"].rate_per_s == 80.0
        assert Setting.objects.get(kind="set_flow_rate").in_force == SPRING
        assert self.control(harbour, None) == 1
        assert agents["a"].poll().gates["tides"].rate_per_s == 90.0

    def test_a_value_that_was_computed_for_another_plan_is_not_asked_for(self, harbour):
        value = {"rate_per_s": 80.0, "burst": 5.0}
        for approved in ({}, {self.KEY: {"rate_per_s": 70.0, "burst": 5.0}}):
            values = {self.KEY: value}
            assert not settings_control(system=harbour.system, values=values, approved=approved)
        assert Setting.objects.get(kind="set_flow_rate").controlled is None
        assert settings_control(
            system=harbour.system, values={self.KEY: value}, approved={self.KEY: SPRING}
        )
        # To end it, nothing needs to have been computed.
        assert settings_control(system=harbour.system, values={self.KEY: None}, approved={}) == 1

    def test_the_next_plan_snaps_it_away(self, harbour, agents):
        value = {"rate_per_s": 80.0, "burst": 5.0}
        self.control(harbour, value)
        execution = start(harbour.system, [rate(90.0, 100.0)])
        assert agents["a"].poll().gates["tides"].rate_per_s == 100.0
        # While it is being changed the controller keeps its hands off.
        assert self.control(harbour, value) == 0
        agents["a"].obey()
        assert state(execution) == "succeeded"
        assert Setting.objects.get(kind="set_flow_rate").controlled is None
