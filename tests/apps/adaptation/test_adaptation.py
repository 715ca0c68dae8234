"""Parts follow the traffic: smaller ones are confirmed before others grow, whatever happens in
between, and people stop it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.adaptation.models import KEEP_DECISIONS, Adaptation, Decision
from apps.adaptation.services import adaptation_resume, adaptation_stop, adaptation_tick
from apps.audit.models import AuditEntry
from apps.executions.models import ExecutionAction, Revision, Setting
from apps.executions.services import execution_roll_back, executions_tick
from apps.executions.services.restored import restored_adopt
from apps.policies.services import automatic_resume, automatic_stop
from apps.telemetry.models import Agent
from apps.telemetry.services import agent_revoke
from tests.apps.adaptation.conftest import CONTRACT, NOTHING, ORDER, PART, Estuary
from tests.factories.fleet import make_harbour, start
from tests.factories.plans import make_policy
from weir.model.plan import Action

SIZES = {"rate_per_s": 10.0, "size": 5.0}


def part(at: str, before: dict[str, Any], after: dict[str, Any] | None) -> Action:
    target = {"flow": "tides", "broker": at}
    return Action(kind="set_bucket", target=target, before=before, after=after)


def whole(estuary: Estuary, member: str) -> float:
    return sum(estuary.asked(broker)[member] for broker in "abcd")


def test_parts_shrink_are_confirmed_and_then_others_grow(estuary):
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.tick()
    assert estuary.decision.state == "shrinking"
    assert estuary.asked("a")["rate_per_s"] == 10.0
    assert estuary.asked("b")["rate_per_s"] < 10.0 > estuary.asked("c")["rate_per_s"]
    estuary.obey("b")
    estuary.tick()
    assert estuary.asked("a")["rate_per_s"] == 10.0, "c has not confirmed"
    estuary.obey("c")
    estuary.tick()
    assert estuary.decision.state == "growing"
    assert estuary.asked("a")["rate_per_s"] > 15.0
    for member, contract in CONTRACT.items():
        assert whole(estuary, member) == pytest.approx(contract, rel=1e-9)
    estuary.obey("a")
    estuary.tick()
    assert estuary.decision.state == "done"
    assert "a" in estuary.decision.sentence
    estuary.assert_contract_is_kept()
    assert estuary.row("a").in_force == PART, "what was approved stays in force"
    assert estuary.row("d").in_force == NOTHING
    assert estuary.row("d").controlled is None


def test_an_older_observation_confirms_nothing(estuary):
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.tick()
    number = Revision.objects.get(system=estuary.system).number
    estuary.obey("bc")
    Agent.objects.filter(broker__name="c").update(
        observed={**Agent.objects.get(broker__name="c").observed, "number": number - 1}
    )
    estuary.tick()
    assert estuary.decision.state == "shrinking"
    estuary.obey("c")
    estuary.tick()
    assert estuary.decision.state == "growing"


def test_what_dies_in_a_step_has_done_nothing_and_the_next_one_goes_on(estuary):
    estuary.measure(a=24.0, b=3.0, c=3.0)
    for state in ("shrinking", "growing", "done"):
        before = (list(Decision.objects.values("state")), estuary.rates())
        with transaction.atomic():
            estuary.tick()
            assert estuary.decision.state == state
            transaction.set_rollback(True)
        assert (list(Decision.objects.values("state")), estuary.rates()) == before
        estuary.tick()
        assert estuary.decision.state == state
        estuary.obey("abc")
    assert Decision.objects.count() == 1


def test_another_coordinator_decides_nothing_meanwhile(estuary, other_process):
    estuary.measure(a=24.0, b=3.0, c=3.0)
    other_process.execute("SELECT pg_try_advisory_lock(%s)", [int.from_bytes(b"weirpart")])
    assert adaptation_tick() == 0
    assert not Decision.objects.exists()


class TestStopping:
    def test_stop_restores_in_two_phases_and_holds(self, shifted, admin):
        adaptation_stop(topic=shifted.topic, actor=admin, note="Load test")
        shifted.tick()
        assert (shifted.decision.cause, shifted.decision.state) == ("restore", "shrinking")
        assert shifted.rates()["a"] == 10.0
        assert shifted.rates()["b"] < 10.0, "a has not confirmed yet"
        shifted.obey("a")
        shifted.tick()
        assert shifted.rates() == dict.fromkeys("abc", 10.0)
        shifted.follow(2)
        assert shifted.decision.state == "done"
        shifted.later(60)
        shifted.follow(2)
        assert shifted.rates() == dict.fromkeys("abc", 10.0)
        assert not Setting.objects.filter(controlled__isnull=False).exists()
        entry = AuditEntry.objects.get(action="stop_adaptation")
        assert (entry.object_name, entry.reason) == ("tides", "Load test")

    def test_it_holds_until_somebody_resumes_or_the_order_has_ended(self, shifted, admin):
        adaptation_stop(topic=shifted.topic, actor=admin)
        shifted.follow(4)
        adaptation_resume(topic=shifted.topic, actor=admin)
        shifted.later(60)
        shifted.follow()
        assert shifted.rates()["a"] > 15.0
        adaptation_stop(topic=shifted.topic, actor=admin)
        shifted.follow(4)
        assert shifted.rates() == dict.fromkeys("abc", 10.0)
        shifted.order({**ORDER, "window_s": 8.0})
        shifted.later(60)
        shifted.measure(a=24.0, b=3.0, c=3.0)
        shifted.follow()
        assert shifted.rates() == dict.fromkeys("abc", 10.0), "a plan lifts nobody's stop"
        shifted.order(None)
        shifted.follow(2)
        shifted.order(ORDER)
        shifted.later(60)
        shifted.measure(a=24.0, b=3.0, c=3.0)
        shifted.follow()
        assert shifted.rates()["a"] > 15.0

    def test_it_holds_whatever_the_clock_of_who_takes_it_says(self, shifted, admin):
        adaptation_stop(topic=shifted.topic, actor=admin)
        Adaptation.objects.update(stopped_at=timezone.now() - timedelta(days=1))
        shifted.follow(4)
        assert shifted.rates() == dict.fromkeys("abc", 10.0)

    def test_the_end_of_the_order_restores(self, shifted):
        shifted.order(None)
        shifted.follow(4)
        assert shifted.rates() == dict.fromkeys("abc", 10.0)
        assert (shifted.decision.cause, shifted.decision.state) == ("restore", "done")

    def test_in_the_middle_of_a_decision(self, estuary, admin):
        estuary.measure(a=24.0, b=3.0, c=3.0)
        estuary.tick()
        adaptation_stop(topic=estuary.topic, actor=admin)
        estuary.follow(4)
        first = Decision.objects.last()
        assert (first.state, "stopped" in first.because) == ("given_up", True)
        assert estuary.rates() == dict.fromkeys("abc", 10.0)

    def test_the_end_of_the_topic_restores(self, shifted):
        """Nobody could stop the adaptation of a topic that is not there."""
        shifted.topic.delete()
        shifted.measure(a=3.0, b=24.0, c=3.0)
        shifted.later(60)
        shifted.follow(5)
        assert shifted.rates() == dict.fromkeys("abc", 10.0)
        assert (shifted.decision.cause, shifted.decision.state) == ("restore", "done")
        assert "no longer in the model" in shifted.decision.sentence

    def test_a_broker_that_may_hold_more_is_waited_for(self, shifted, admin):
        shifted.fall_silent("a")
        adaptation_stop(topic=shifted.topic, actor=admin)
        shifted.tick()
        shifted.later(6)
        shifted.tick()
        assert shifted.rates()["b"] < 10.0
        assert "the agent of a is silent" in shifted.decision.because
        shifted.follow(3)
        assert shifted.rates() == dict.fromkeys("abc", 10.0)


class TestExecutions:
    def move(self, estuary: Estuary) -> Any:
        """A placement gives b more and c less; what a has in force stays."""
        less, more = {**PART, **half(0.5)}, {**PART, **half(1.5)}
        return start(estuary.system, [part("c", PART, less)], [part("b", PART, more)])

    def test_a_plan_of_other_parts_keeps_the_contract_and_succeeds(self, shifted):
        execution = self.move(shifted)
        assert shifted.rates()["a"] == 10.0, "capped in the transaction of the plan's own step"
        shifted.obey("c")
        assert shifted.rates()["b"] < 10.0
        shifted.follow(8)
        execution.refresh_from_db()
        assert execution.state == "succeeded", execution.failure
        shifted.later(60)
        shifted.follow()
        assert shifted.rates()["a"] > 15.0, "parts follow the traffic again"
        shifted.assert_contract_is_kept()
        assert whole(shifted, "rate_per_s") == pytest.approx(30.0, rel=1e-9)

    def test_a_part_grows_once_all_have_confirmed_whoever_is_late(self, shifted):
        execution = self.move(shifted)
        shifted.obey("bc")
        for _ in range(3):
            shifted.tick()
            shifted.obey("bc")
            assert shifted.rates()["b"] < 10.0, "a may still hold its larger part"
            shifted.assert_contract_is_kept()
        shifted.follow(8)
        execution.refresh_from_db()
        assert execution.state == "succeeded", execution.failure

    def test_taken_back_in_the_middle_the_contract_is_kept(self, shifted, admin):
        execution = self.move(shifted)
        shifted.obey("c")
        execution_roll_back(execution=execution, actor=admin)
        shifted.follow(10)
        execution.refresh_from_db()
        assert execution.state == "rolled_back", execution.failure
        shifted.later(60)
        shifted.follow()
        assert {row.in_force["rate_per_s"] for row in map(shifted.row, "abc")} == {10.0}

    def test_a_plan_that_ends_a_part_lowers_the_contract(self, shifted):
        execution = start(shifted.system, [part("b", PART, None)])
        shifted.order({**ORDER, "brokers": ["a", "c"]})
        shifted.fall_silent("a")
        for _ in range(3):
            shifted.tick()
            shifted.obey("bc")
            shifted.fall_silent("a")
            shifted.assert_contract_is_kept()
        execution.refresh_from_db()
        assert execution.state == "succeeded"
        assert shifted.rates()["c"] < 10.0, "a may hold its larger part of the larger contract"
        shifted.follow(4)
        shifted.later(60)
        shifted.follow(4)
        assert whole(shifted, "rate_per_s") == pytest.approx(20.0, rel=1e-9)
        shifted.assert_contract_is_kept(2 / 3)

    def test_the_failure_says_for_whom_a_part_waits(self, shifted):
        more = {**PART, **half(1.5)}
        execution = start(shifted.system, [part("b", PART, more)])
        action = ExecutionAction.objects.get(step__execution=execution)
        action.deadline_at = timezone.now() - timedelta(seconds=1)
        action.save()
        executions_tick()
        action.refresh_from_db()
        assert action.state == "aborting"
        assert "no part of tides grows before a has confirmed a smaller one" in action.detail


def half(factor: float) -> dict[str, float]:
    return {member: factor * value for member, value in SIZES.items()}


class TestSilence:
    def test_the_part_of_a_silent_broker_stays_and_others_share_the_rest(self, estuary):
        estuary.measure(a=24.0, b=3.0)
        estuary.fall_silent("c")
        for _ in range(4):
            estuary.tick()
            estuary.obey("ab")
            estuary.assert_contract_is_kept()
            estuary.fall_silent("c")
        assert estuary.asked("c") == SIZES
        assert estuary.rates()["a"] > 12.0
        assert whole(estuary, "rate_per_s") == pytest.approx(30.0, rel=1e-9)

    def test_a_decision_that_waits_for_it_is_given_up_and_the_rest_is_shared_anew(self, estuary):
        estuary.measure(a=24.0, b=3.0, c=3.0)
        estuary.tick()
        estuary.obey("b")
        estuary.fall_silent("c")
        estuary.tick()
        assert estuary.decision.state == "shrinking"
        estuary.later(6)
        estuary.tick()
        assert estuary.decision.state == "given_up"
        assert "the agent of c is silent" in estuary.decision.because
        estuary.later(2)
        for _ in range(4):
            estuary.tick()
            estuary.obey("ab")
            estuary.assert_contract_is_kept()
        assert estuary.row("c").may_hold == SIZES
        assert estuary.rates()["a"] + estuary.rates()["b"] == pytest.approx(20.0, rel=1e-9)
        estuary.measure(a=24.0, b=3.0, c=3.0)
        estuary.obey("c")
        estuary.later(60)
        estuary.follow()
        assert whole(estuary, "rate_per_s") == pytest.approx(30.0, rel=1e-9)

    def test_the_part_of_a_broker_that_never_confirms_stays_and_others_share_the_rest(
        self, estuary, api
    ):
        """Its agent is live, and measures."""
        for _ in range(8):
            estuary.measure(a=3.0, b=3.0, c=24.0)
            estuary.tick()
            for broker in "bc":
                estuary.obey(broker)
                estuary.assert_contract_is_kept()
            estuary.later(6)
        assert estuary.row("a").may_hold == SIZES
        assert estuary.rates()["b"] < 5.0
        assert estuary.rates()["b"] + estuary.rates()["c"] == pytest.approx(20.0, rel=1e-9)
        given_up = Decision.objects.filter(state="given_up")
        assert [row.because for row in given_up] == ["a has not confirmed the smaller part."]
        estuary.later(60)
        body = api.get(f"/api/v1/topics/{estuary.topic.public_id}/adaptation").json()
        assert (body["state"], "a does not confirm" in body["because"]) == ("running", True)
        estuary.measure(a=3.0, b=3.0, c=24.0)
        estuary.follow()
        assert whole(estuary, "rate_per_s") == pytest.approx(30.0, rel=1e-9)
        assert estuary.rates()["c"] > 20.0

    def test_nothing_moves_where_nobody_reports(self, shifted, api):
        before = shifted.rates()
        shifted.measure()
        shifted.later(60)
        shifted.follow(2)
        assert shifted.rates() == before
        body = api.get(f"/api/v1/topics/{shifted.topic.public_id}/adaptation").json()
        assert (body["state"], "No agent" in body["because"]) == ("held", True)


class TestWindows:
    CLOSED = ({"effect": "deny", "cron": "* * * * *", "duration_s": 3600},)

    def close(self, estuary: Estuary) -> None:
        make_policy(estuary.system, windows=list(self.CLOSED))

    def test_parts_stay_where_they_are(self, shifted):
        self.close(shifted)
        before = shifted.rates()
        shifted.measure(a=3.0, b=24.0, c=3.0)
        shifted.later(60)
        shifted.follow(2)
        assert shifted.rates() == before

    def test_parts_stay_while_everything_automatic_is_stopped(self, shifted, admin, api):
        stop = automatic_stop(actor=admin, reason="Load test")
        before = shifted.rates()
        shifted.measure(a=3.0, b=24.0, c=3.0)
        shifted.later(60)
        shifted.follow(2)
        assert shifted.rates() == before
        body = api.get(f"/api/v1/topics/{shifted.topic.public_id}/adaptation").json()
        assert (body["state"], body["because"]) == ("held", stop.text)
        automatic_resume(stop=stop, actor=admin)
        shifted.measure(a=3.0, b=24.0, c=3.0)
        shifted.later(60)
        shifted.follow(2)
        assert shifted.rates() != before

    def test_who_stops_an_adaptation_need_not_wait_for_an_open_window(self, shifted, admin):
        self.close(shifted)
        adaptation_stop(topic=shifted.topic, actor=admin)
        shifted.follow(4)
        assert shifted.rates() == dict.fromkeys("abc", 10.0)

    def test_what_has_begun_is_finished(self, estuary):
        estuary.measure(a=24.0, b=3.0, c=3.0)
        estuary.tick()
        self.close(estuary)
        estuary.follow(3)
        assert estuary.decision.state == "done"
        assert whole(estuary, "rate_per_s") == pytest.approx(30.0, rel=1e-9)

    def test_what_was_given_up_is_made_whole(self, estuary):
        estuary.measure(a=24.0, b=3.0, c=3.0)
        estuary.tick()
        self.close(estuary)
        estuary.later(6)
        estuary.tick()
        assert estuary.decision.state == "given_up"
        estuary.later(2)
        estuary.follow(4)
        assert whole(estuary, "rate_per_s") == pytest.approx(30.0, rel=1e-9)


def test_one_broken_order_does_not_stop_other_flows(estuary, caplog):
    estuary.put("adapt_parts", {"window_s": "long"}, flow="aaa")
    estuary.put("set_bucket", PART, flow="aaa", broker="a")
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.tick()
    assert estuary.decision.flow == "tides"
    assert "the parts of aaa of estuary cannot be adapted" in caplog.text


def test_after_the_database_was_restored_nothing_counts_before_brokers_confirm(estuary, admin):
    Agent.objects.filter(broker__name="a").update(obeyed_number=500)
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.tick()
    assert not Decision.objects.exists()
    restored_adopt(system=estuary.system, actor=admin, reason="a backup")
    estuary.tick()
    assert not Decision.objects.exists(), "a may hold anything"
    estuary.obey("abc")
    estuary.tick()
    assert not Decision.objects.exists(), "so may d"
    estuary.obey("d")
    estuary.tick()
    assert estuary.decision.state == "shrinking"


def test_a_broker_without_an_agent_is_not_doubted(estuary, admin):
    """Nobody would ever end the doubt."""
    agent_revoke(agent=estuary.agents["d"], actor=admin)
    Agent.objects.filter(broker__name="a").update(obeyed_number=500)
    restored_adopt(system=estuary.system, actor=admin, reason="a backup")
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.obey("abc")
    estuary.tick()
    assert estuary.decision.state == "shrinking"


@pytest.mark.parametrize("state", ["shrinking", "growing", "done"])
def test_a_clock_that_is_set_back_holds_nothing_up(estuary, state):
    estuary.measure(a=24.0, b=3.0, c=3.0)
    while not Decision.objects.filter(state=state).exists():
        estuary.tick()
        if state != "shrinking":
            estuary.obey("abc" if state == "done" else "bc")
    estuary.later(-7200)
    estuary.measure(a=3.0, b=24.0, c=3.0)
    estuary.follow(8)
    assert estuary.rates()["b"] > 15.0
    assert whole(estuary, "rate_per_s") == pytest.approx(30.0, rel=1e-9)


def test_a_decision_waits_for_no_execution_that_begins(transactional_db):
    """It holds parts, which the execution may be about to lock."""
    harbour = make_harbour()

    def decide() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
            now = timezone.now()
            Decision.objects.create(
                system=harbour.system, flow="tides", at=now, cause="shift", actions=[]
            )
        finally:
            connection.close()

    target = {"flow": "tides"}
    with transaction.atomic(), ThreadPoolExecutor() as other:
        start(harbour.system, [Action(kind="adapt_parts", target=target, before=None, after=ORDER)])
        other.submit(decide).result()


def test_old_decisions_are_forgotten(estuary):
    now = timezone.now()
    Decision.objects.bulk_create(
        Decision(
            system=estuary.system,
            flow="tides",
            at=now - 2 * timedelta(hours=1),
            ended_at=now,
            cause="shift",
            sentence="",
            state="done",
            actions=[],
        )
        for _ in range(KEEP_DECISIONS + 5)
    )
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.tick()
    assert Decision.objects.count() == KEEP_DECISIONS
