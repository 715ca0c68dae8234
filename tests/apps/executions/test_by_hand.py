"""What people decide, here and at agents: the database follows, and what may be decided is said."""

import uuid

import pytest

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.executions.models import Execution, ExecutionAction
from apps.executions.selectors import edges_in_force
from tests.factories.fleet import shift, start
from weir.coordination.wire import OrderPhase

ROW = frozenset({("a", "b"), ("b", "c"), ("c", "d")})
SHIFTED = frozenset({("a", "c"), ("b", "c"), ("c", "d")})
HAND = {"by_hand": "Weir is gone", "interests": {"i": ["tides"], "j": [], "k": []}}


def the_action() -> ExecutionAction:
    return ExecutionAction.objects.get()


def say(agents, phase, brokers="abc", attempt=1, **members):
    """Reports of whatever attempt, as agents repeat them."""
    for broker in brokers:
        report = {"action": str(the_action().public_id), "attempt": attempt, "phase": phase}
        assert agents[broker].say({**report, **members}).status_code == 200


@pytest.fixture
def execution(harbour, agents) -> Execution:
    return start(harbour.system, [shift("a", "b", "c")])


def test_a_switch_by_hand_swaps_the_edge_and_is_in_the_audit(execution, harbour, agents):
    say(agents, "switched", "a", **HAND)
    assert edges_in_force(harbour.system) == SHIFTED
    (order,) = agents["b"].poll_now().orders
    assert (order.phase, order.interests["i"]) == (OrderPhase.COMMIT, ("tides",))
    (entry,) = AuditEntry.objects.filter(action="adopt_outcome")
    assert "a switched by hand (Weir is gone)" in entry.reason
    say(agents, "switched", "bc", **HAND)
    # The order stays until everybody has heard that the database follows.
    assert the_action().state == "committed"
    assert agents["a"].poll_now().orders
    say(agents, "switched")
    execution.refresh_from_db()
    assert (execution.state, the_action().state) == ("succeeded", "done")
    (entry,) = AuditEntry.objects.filter(action="step_completed")
    assert entry.reason == "Step 1 was completed."


def test_a_switch_of_an_attempt_that_was_called_off_is_adopted(execution, harbour, agents):
    agents["b"].answer("refused", detail="c cannot be reached")
    say(agents, "released", "ac")
    assert the_action().attempt == 2
    say(agents, "switched", "abc", attempt=1, **HAND)
    assert edges_in_force(harbour.system) == SHIFTED
    assert the_action().state == "committed"
    say(agents, "switched", "abc", attempt=2)
    assert the_action().state == "done"


def test_a_commit_that_all_released_by_hand_is_taken_back(execution, harbour, agents):
    for broker in "abc":
        agents[broker].answer("ready", "tides")
    assert edges_in_force(harbour.system) == SHIFTED
    say(agents, "released", "abc", by_hand="Weir is gone")
    assert edges_in_force(harbour.system) == ROW
    assert the_action().state == "aborted"
    execution.refresh_from_db()
    assert execution.state == "failed"
    assert "released it by hand (Weir is gone)" in execution.failure
    assert AuditEntry.objects.filter(action="revert_outcome").count() == 1


def test_hands_that_contradict_are_named_until_a_person_orders_the_switch(
    execution, harbour, agents, api
):
    for broker in "abc":
        agents[broker].answer("ready", "tides")
    say(agents, "released", "a", by_hand="Weir is gone")
    say(agents, "switched", "bc")
    action = the_action()
    assert action.state == "dead"
    assert "b switched, a released it by hand (Weir is gone)" in action.detail
    answer = decide(api, execution, "commit")
    assert answer.status_code == 200, answer.text
    (order,) = agents["a"].poll_now().orders
    assert (order.phase, order.attempt) == (OrderPhase.COMMIT, 2)
    say(agents, "switched", "abc", attempt=2)
    assert the_action().state == "done"
    assert edges_in_force(harbour.system) == SHIFTED


# --- on the page of the execution


def decide(api, execution, outcome, *, confirmed=True, action=None, reason="b is on fire"):
    name = action or the_action().public_id
    return api.post(
        f"/api/v1/executions/{execution.public_id}/actions/{name}/decide",
        {"outcome": outcome, "reason": reason, "confirmed": confirmed},
        format="json",
    )


def shown(api, execution):
    body = api.get(f"/api/v1/executions/{execution.public_id}").json()
    return body["steps"][0]["actions"][0]


def test_what_is_being_prepared_is_called_off_and_not_tried_again(execution, agents, api):
    agents["a"].answer("ready", "tides")
    action = shown(api, execution)
    assert [(a["broker"], a["phase"]) for a in action["answers"]] == [("a", "ready")]
    assert action["waiting_for"] == ["b", "c"]
    assert action["moved_at"]
    assert [d["outcome"] for d in action["decisions"]] == ["abort"]
    assert "Nothing has changed yet" in action["decisions"][0]["risk"]
    assert decide(api, execution, "abort").status_code == 200
    assert agents["a"].poll_now().orders[0].phase is OrderPhase.ABORT
    say(agents, "released")
    execution.refresh_from_db()
    assert (execution.state, the_action().attempt) == ("failed", 1)
    (entry,) = AuditEntry.objects.filter(action="decide")
    assert "abort Shift link a-b to a-c: b is on fire" in entry.reason
    assert shown(api, execution)["decisions"] == []


def test_a_commit_that_somebody_does_not_answer_is_no_longer_waited_for(execution, agents, api):
    for broker in "abc":
        agents[broker].answer("ready", "tides")
    say(agents, "switched", "ab")
    (decision,) = shown(api, execution)["decisions"]
    assert decision["outcome"] == "bury"
    assert "c stays paused or unreachable" in decision["risk"]
    assert decide(api, execution, "abort").status_code == 409
    assert decide(api, execution, "bury").status_code == 200
    assert the_action().state == "dead"
    # Its order stays, and a late answer still finishes it.
    assert agents["c"].poll_now().orders[0].phase is OrderPhase.COMMIT
    say(agents, "switched", "c")
    assert the_action().state == "done"


def test_nobody_decides_by_accident(execution, api):
    answer = decide(api, execution, "abort", confirmed=False)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "confirmed"
    assert decide(api, execution, "abort", reason="no").status_code == 400
    assert decide(api, execution, "abort", action=uuid.uuid4()).status_code == 404
    assert the_action().state == "preparing"


@pytest.mark.parametrize("role", list(Role))
def test_only_operators_decide(execution, as_role, role):
    client = as_role(role)
    may = role is Role.OPERATOR
    assert bool(shown(client, execution)["decisions"]) is may
    assert decide(client, execution, "abort").status_code == (200 if may else 403)


@pytest.mark.parametrize(
    "wrong", [{"by_hand": 3}, {"interests": []}, {"interests": {"i": "tides"}}]
)
def test_what_is_no_report_of_a_decision_is_refused(execution, agents, wrong):
    report = {"action": str(the_action().public_id), "attempt": 1, "phase": "switched"}
    assert agents["a"].say({**report, **wrong}).status_code == 400
    assert the_action().state == "preparing"
