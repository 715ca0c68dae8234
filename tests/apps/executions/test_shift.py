"""Links that move: votes, the point of no return, attempts, and those who never answer."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.executions.models import ActionReport, Execution, ExecutionAction
from apps.executions.selectors import edges_in_force, waiting_for
from apps.executions.services import execution_roll_back, executions_tick
from apps.executions.services.advance import execution_advance
from apps.systems.models import System
from apps.telemetry.models import Agent
from apps.topology.models import OverlayEdge
from apps.topology.services import overlay_in_force, overlay_rewire
from tests.factories.fleet import shift, start
from weir.coordination.wire import OrderPhase
from weir.model.plan import Action

ROW = frozenset({("a", "b"), ("b", "c"), ("c", "d")})
SHIFTED = frozenset({("a", "c"), ("b", "c"), ("c", "d")})


def the_action() -> ExecutionAction:
    return ExecutionAction.objects.order_by("step__index", "index").first()


def state(execution: Execution) -> str:
    execution.refresh_from_db()
    return execution.state


def vote(agents, phase="ready", brokers="abc", **members):
    for broker in brokers:
        agents[broker].answer(phase, f"wanted-by-{broker}", **members)


@pytest.fixture
def execution(harbour, agents) -> Execution:
    return start(harbour.system, [shift("a", "b", "c")])


def test_every_participant_is_ordered_to_prepare_and_nobody_else(execution, agents):
    for broker, role in (("a", "i"), ("b", "j"), ("c", "k")):
        (order,) = agents[broker].poll_now().orders
        assert (order.kind, order.phase, order.role) == ("shift_link", OrderPhase.PREPARE, role)
        assert (order.attempt, order.peers) == (1, {"i": "a", "j": "b", "k": "c"})
        assert order.addresses == {"a": "sim://a", "b": "sim://b", "c": "sim://c"}
        assert order.interests == {}
    assert agents["d"].poll_now().orders == ()


def test_edges_move_in_the_commit_and_not_before(execution, harbour, agents):
    vote(agents, brokers="ab")
    assert edges_in_force(harbour.system) == ROW
    assert waiting_for(the_action()) == ["c"]
    vote(agents, brokers="c")
    assert edges_in_force(harbour.system) == SHIFTED
    assert the_action().state == "committed"
    document = agents["a"].poll_now()
    assert sorted(document.neighbours) == ["c"]
    assert document.neighbours["c"].address == "sim://c"
    (order,) = document.orders
    assert order.phase is OrderPhase.COMMIT
    assert order.interests == {
        "i": ("wanted-by-a",),
        "j": ("wanted-by-b",),
        "k": ("wanted-by-c",),
    }
    assert state(execution) == "running"
    for broker, pause_s in (("a", 0.02), ("b", 0.05), ("c", 0.01)):
        agents[broker].answer("switched", pause_s=pause_s)
    assert state(execution) == "succeeded"
    assert the_action().pause_s == 0.05
    assert all(agent.poll_now().orders == () for agent in agents.values())


def test_the_swap_is_an_edit_of_the_model_with_its_edges_in_the_record(execution, harbour, agents):
    before = System.objects.get().model_version
    overlay = overlay_in_force(harbour.system)
    vote(agents)
    assert System.objects.get().model_version == before + 1
    assert overlay_in_force(harbour.system).version == overlay.version + 1
    (entry,) = AuditEntry.objects.filter(object_id=overlay.public_id, action="update")
    assert entry.before == {"edges": [{"a": "a", "b": "b"}]}
    assert entry.after == {"edges": [{"a": "a", "b": "c"}]}
    assert entry.reason == "E-1 of P-7: Shift link a-b to a-c"
    assert entry.model_version == before + 1


def test_the_same_report_twice_is_one(execution, harbour, agents):
    vote(agents, brokers="a")
    vote(agents, brokers="a")
    vote(agents, brokers="b")
    assert ActionReport.objects.count() == 2
    vote(agents, brokers="c")
    order = agents["a"].poll_now().orders[0]
    late = {"action": order.action, "attempt": 1, "phase": "ready", "interest": ["something else"]}
    assert agents["a"].say(late).status_code == 200
    assert ActionReport.objects.get(broker="a", phase="ready").interest == ["wanted-by-a"]
    assert the_action().interests["i"] == ["wanted-by-a"]


def test_a_refusal_aborts_and_the_next_attempt_has_the_next_number(execution, harbour, agents):
    vote(agents, brokers="a")
    agents["b"].answer("refused", detail="c cannot be reached")
    action = the_action()
    assert (action.state, action.detail) == ("aborting", "b refused: c cannot be reached")
    assert agents["a"].poll_now().orders[0].phase is OrderPhase.ABORT
    agents["a"].answer("released", pause_s=0.4)
    agents["c"].answer("released")
    action = the_action()
    assert (action.state, action.attempt) == ("preparing", 2)
    assert agents["c"].poll_now().orders[0].attempt == 2
    vote(agents)
    assert edges_in_force(harbour.system) == SHIFTED


def test_votes_of_an_earlier_attempt_count_for_nothing(execution, harbour, agents):
    old = agents["a"].poll_now().orders[0]
    vote(agents, brokers="c")
    agents["b"].answer("refused", detail="no")
    vote(agents, "released", brokers="ac")
    vote(agents, brokers="bc")
    agents["a"].say({"action": old.action, "attempt": 1, "phase": "ready", "interest": []})
    assert the_action().state == "preparing"
    assert waiting_for(the_action()) == ["a"]


def test_a_report_about_an_attempt_that_was_never_ordered_is_dropped(execution, agents):
    order = agents["a"].poll_now().orders[0]
    agents["a"].say({"action": order.action, "attempt": 2, "phase": "ready"})
    assert not ActionReport.objects.exists()


def test_a_report_from_a_broker_that_takes_no_part_is_dropped(execution, agents):
    order = agents["a"].poll_now().orders[0]
    answer = agents["d"].say({"action": order.action, "attempt": 1, "phase": "ready"})
    assert answer.status_code == 200
    assert not ActionReport.objects.exists()


def test_without_all_votes_in_time_it_aborts(execution, harbour, agents):
    vote(agents, brokers="ab")
    execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=3.5))
    action = the_action()
    assert (action.state, action.attempt) == ("aborting", 1)
    assert action.detail == "c did not get ready within 2.5 s"
    assert edges_in_force(harbour.system) == ROW


def test_after_the_last_attempt_the_execution_has_failed_and_the_old_tree_stands(
    execution, harbour, agents
):
    for _ in range(3):
        agents["b"].answer("refused", detail="no")
        vote(agents, "released", brokers="ac")
    assert state(execution) == "failed"
    assert "b refused: no" in execution.failure
    assert edges_in_force(harbour.system) == ROW
    assert all(agent.poll_now().orders == () for agent in agents.values())


def test_rollback_gives_back_the_same_tree(execution, harbour, agents, admin):
    rows = frozenset(OverlayEdge.objects.values_list("a__name", "b__name"))
    vote(agents)
    execution_roll_back(execution=execution, actor=admin)
    vote(agents, "switched")
    assert state(execution) == "rolling_back"
    (order,) = agents["a"].poll_now().orders
    assert order.peers == {"i": "a", "j": "c", "k": "b"}
    vote(agents)
    vote(agents, "switched")
    assert state(execution) == "rolled_back"
    assert edges_in_force(harbour.system) == ROW
    assert frozenset(OverlayEdge.objects.values_list("a__name", "b__name")) == rows


def test_two_shifts_that_share_a_broker_run_one_after_the_other(harbour, agents):
    # d hangs from c; both move to b, each along a link with c.
    start(harbour.system, [shift("d", "c", "b"), shift("a", "b", "c")])
    assert [len(agents[x].poll_now().orders) for x in "abcd"] == [0, 1, 1, 1]
    vote(agents, brokers="bcd")
    vote(agents, "switched", brokers="bcd")
    assert [len(agents[x].poll_now().orders) for x in "abcd"] == [1, 1, 1, 0]
    vote(agents)
    assert edges_in_force(harbour.system) == frozenset({("a", "c"), ("b", "c"), ("b", "d")})


def test_append_and_detach(harbour, agents):
    detach = Action(kind="detach_broker", target={"broker": "d", "from": "c"})
    append = Action(kind="append_broker", target={"broker": "d", "to": "a"})
    execution = start(harbour.system, [detach], [append])
    vote(agents, brokers="cd")
    assert edges_in_force(harbour.system) == ROW - {("c", "d")}
    vote(agents, "switched", brokers="cd")
    vote(agents, brokers="ad")
    vote(agents, "switched", brokers="ad")
    assert state(execution) == "succeeded"
    assert edges_in_force(harbour.system) == (ROW - {("c", "d")}) | {("a", "d")}


class TestNoAnswerAfterTheCommit:
    """There is no way back; the order stands until everybody has switched."""

    @pytest.fixture(autouse=True)
    def _buried(self, execution, agents):
        vote(agents)
        vote(agents, "switched", brokers="ab")
        Agent.objects.filter(broker__name="c").update(lease_until=timezone.now())
        execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=601))

    def test_a_person_is_asked_to_look(self, execution, harbour):
        assert state(execution) == "failed"
        assert "c did not confirm the switch and is silent" in execution.failure
        assert the_action().state == "dead"
        assert edges_in_force(harbour.system) == SHIFTED

    def test_the_order_stands_and_a_late_answer_still_finishes(self, execution, agents):
        (order,) = agents["c"].poll_now().orders
        assert order.phase is OrderPhase.COMMIT
        agents["c"].answer("switched")
        assert the_action().state == "done"
        assert agents["c"].poll_now().orders == ()
        assert state(execution) == "failed"


def test_an_overlay_edited_by_hand_under_a_shift_aborts_it(execution, harbour, agents):
    with transaction.atomic():
        overlay_rewire(
            overlay=overlay_in_force(harbour.system),
            rewire=lambda edges: {("a", "d"), ("b", "c"), ("c", "d")},
            reason="by hand",
        )
    vote(agents)
    action = the_action()
    assert action.state == "aborting"
    assert "The overlay was changed meanwhile" in action.detail
    assert "no link a-b" in action.detail
    vote(agents, "released")
    assert edges_in_force(harbour.system) == {("a", "d"), ("b", "c"), ("c", "d")}


def test_a_shift_of_a_link_that_is_not_there_does_not_begin(harbour, agents):
    with pytest.raises(Exception, match="no link a-d in the overlay"):
        start(harbour.system, [shift("a", "d", "c")])


def test_agents_that_are_away_are_not_waited_for_when_it_aborts(execution, harbour, agents):
    Agent.objects.update(lease_until=timezone.now())
    for _ in range(3):
        execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=4))
        ExecutionAction.objects.filter(state="preparing").update(deadline_at=timezone.now())
    executions_tick()
    assert state(execution) == "failed"
    assert "did not answer" in execution.failure
