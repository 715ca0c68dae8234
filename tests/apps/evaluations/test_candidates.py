"""What an evaluation's run answers, kept as candidates; plans made of them; planning on."""

import json

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.evaluations.models import Candidate, CandidateKind, Evaluation
from apps.evaluations.services import candidate_plan, evaluation_request, plan_again_from_here
from apps.executions.models import Execution
from apps.executions.selectors import edges_in_force, in_force
from apps.executions.services import execution_stop
from apps.plans.models import Plan
from apps.plans.services import plan_approve, plan_execute, plan_roll_back, plan_submit
from apps.runs.services import CancelWasAsked, run_cancel
from apps.runs.services.computations import run_again, run_job_inputs, run_store
from apps.systems.services import entity_update
from apps.telemetry.models import Agent
from apps.topology.services import edges_of, overlay_rewire
from tests.factories import make_broker, make_user
from tests.factories.overlays import (
    GOAL,
    Row,
    agents_say,
    goal_of,
    kernel_answer,
    make_evaluation,
    make_row,
    make_tree,
    one_step,
)
from tests.factories.plans import agents_come
from tests.factories.runs import claim
from weir import actions
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.plans import PlanState
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db
SHORT = frozenset((min(pair), max(pair)) for pair in GOAL)


@pytest.fixture
def row() -> Row:
    return make_row()


@pytest.fixture
def evaluation(row: Row, admin) -> Evaluation:
    return make_evaluation(row, admin)


def test_doing_nothing_is_among_the_candidates_and_the_goal_wins(evaluation):
    candidates = {each.kind: each for each in Candidate.objects.filter(evaluation=evaluation)}
    today, goal = candidates[CandidateKind.TODAY], candidates[CandidateKind.GOAL]
    assert (today.traffic_per_s, goal.traffic_per_s) == (pytest.approx(410), pytest.approx(110))
    assert (today.actions, today.net_benefit, today.chosen) == (0, 0.0, False)
    assert (goal.chosen, goal.rank, today.rank) == (True, 1, 2)
    assert goal.net_benefit == pytest.approx(
        goal.saved_per_s * evaluation.horizon_s - goal.transformation_cost
    )
    assert goal.net_benefit > 0
    assert evaluation.why


def test_candidate_shows_every_state_on_the_way(evaluation):
    goal = goal_of(evaluation)
    assert (goal.actions, goal.lower_bound_actions, goal.steps_count) == (3, 3, 3)
    traffic = [moment["traffic_per_s"] for moment in goal.moments]
    assert traffic == pytest.approx([410, 310, 210, 110])
    assert goal.moments[1]["removed"] == [["d", "e"]]
    assert goal.moments[-1]["added"] == [["a", "e"]]
    assert goal.disturbed_subscribers == 10  # `news` pauses, `local` crosses no moving link
    links = {(link["a"], link["b"]): link for link in goal.links}
    carried = {}
    for moment in goal.moments:
        for pair in moment["removed"]:
            carried.pop(tuple(pair), None)
        carried |= {(row["a"], row["b"]): row["traffic_per_s"] for row in moment["links"]}
        assert sum(carried.values()) == pytest.approx(moment["traffic_per_s"])
    assert carried == pytest.approx({pair: row["traffic_per_s"] for pair, row in links.items()})
    handles = {row["broker"]: row["handled_per_s"] for m in goal.moments for row in m["brokers"]}
    assert handles == pytest.approx({row["broker"]: row["then_per_s"] for row in goal.brokers})
    assert links["a", "b"]["measured"]
    assert not links["a", "e"]["measured"]


def test_lists_and_details_over_rest(api, evaluation):
    path = f"/api/v1/overlay-candidates?evaluation={evaluation.public_id}"
    listed = api.get(path).json()["results"]
    assert [each["kind"] for each in listed] == ["goal", "today"]
    assert "edges" not in listed[0]
    assert [each["allowed_commands"] for each in listed] == [["plan"], []]
    detail = api.get(f"/api/v1/overlay-candidates/{listed[0]['id']}").json()
    assert detail["steps"][0] == [{"op": "shift", "broker": "e", "from": "d", "to": "c"}]
    assert detail["edges_before"] == [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]]
    shown = api.get(f"/api/v1/overlay-evaluations/{evaluation.public_id}").json()
    assert (shown["state"], shown["candidates_count"]) == ("succeeded", 2)
    assert shown["chosen"] == listed[0]["id"]


def test_answer_to_another_snapshot_is_not_kept(row, admin):
    run = claim(evaluation_request(system=row.system, actor=admin, goals=[row.goal]).run)
    foreign = {**json.loads(kernel_answer(run)), "problem_hash": "00" * 32}
    with pytest.raises(ValueError, match="answer to 0000"):
        run_store(run, json.dumps(foreign).encode())
    assert not Candidate.objects.exists()


def test_plan_that_the_validator_refuses_is_not_kept(row, admin):
    run = claim(evaluation_request(system=row.system, actor=admin, goals=[row.goal]).run)
    answer = json.loads(kernel_answer(run))
    for each in answer["rows"]:
        if each["plan"]:
            each["plan"]["steps"].reverse()
    with pytest.raises(Exception, match="is not valid"):
        run_store(run, json.dumps(answer).encode())
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_run_repeated_in_the_list_of_runs_finds_its_evaluation(evaluation, admin):
    again = claim(run_again(run=evaluation.run, actor=admin))
    assert run_job_inputs(again) == {}
    assert not Candidate.objects.filter(evaluation=evaluation).exists()
    run_store(again, kernel_answer(again))
    assert Candidate.objects.filter(evaluation=evaluation).count() == 2


def test_methods_design_candidates_of_their_own(row):
    evaluation = make_evaluation(row, goals=[], methods=None)
    best = Candidate.objects.get(evaluation=evaluation, chosen=True)
    assert best.kind == CandidateKind.METHOD
    assert best.traffic_per_s == pytest.approx(110)
    assert best.net_benefit > 0


def test_brokers_that_come_and_go_are_appended_and_detached(row):
    everybody = {**row.brokers, "f": make_broker(row.system, "f")}
    goal = make_tree(row.system, everybody, "moved", ("ab", "bc", "cf", "fe"), purpose="goal")
    row.fresh()
    evaluation = make_evaluation(row, goals=[goal])
    steps = goal_of(evaluation).steps
    ops = [move["op"] for step in steps for move in step]
    assert {"append", "detach"} <= set(ops)
    plan = candidate_plan(candidate=goal_of(evaluation), actor=None)
    kinds = [action.kind for step in plan.content.steps for action in step.actions]
    assert {"append_broker", "detach_broker"} <= set(kinds)


def test_plan_says_what_changes_why_and_what_it_promises(api, evaluation):
    answer = api.post(
        f"/api/v1/overlay-candidates/{goal_of(evaluation).public_id}/plan", {}, format="json"
    )
    assert answer.status_code == 201, answer.json()
    body = answer.json()
    assert answer.headers["Location"] == f"/api/v1/plans/{body['id']}"
    assert (body["kind"], body["source"]["kind"]) == ("overlay", "overlay_candidate")
    assert body["title"] == "Overlay of O-1: 1 link moves, 3 actions"
    assert len(body["steps"]) == 3
    assert body["steps"][0]["actions"][0]["kind"] == "shift_link"
    assert "msg/s" in body["steps"][0]["actions"][0]["effect"]
    promise = {each["name"]: each for each in body["promise"]}
    assert promise["traffic on links"]["before"] == pytest.approx(410)
    assert promise["traffic on links"]["after"] == pytest.approx(110)
    assert promise["messages in flight"]["after"] == pytest.approx(0.04 * 100 + 0.01 * 10)
    pause_s = evaluation.shift_pause_s
    assert promise["longest pause"] == {
        "name": "longest pause",
        "unit": "s",
        "before": None,
        "after": pause_s,
    }
    assert "net benefit" in " ".join(body["why"])
    assert {bound["name"] for bound in body["envelope"]} == {"news", "local"}
    checks = {check["name"]: check["state"] for check in body["checks"]}
    assert (checks["roll_back_ready"], checks["intermediate_states"]) == ("pass", "pass")
    assert body["blast_radius"]["links"] == 3
    detail = api.get(f"/api/v1/overlay-candidates/{goal_of(evaluation).public_id}").json()
    assert [each["name"] for each in detail["plans"]] == [body["name"]]


def test_viewer_makes_no_plan(as_role, evaluation):
    viewer = as_role(Role.VIEWER)
    path = f"/api/v1/overlay-candidates/{goal_of(evaluation).public_id}/plan"
    assert viewer.post(path, {}, format="json").status_code == 403


def test_candidate_of_a_model_that_moved_is_refused(row, evaluation):
    broker = row.brokers["a"]
    entity_update(instance=broker, actor=None, expected_version=1, values={"region": "moved"})
    with pytest.raises(Conflict) as refusal:
        candidate_plan(candidate=goal_of(evaluation), actor=None)
    assert refusal.value.code == "plan_is_stale"
    assert "Evaluate again" in refusal.value.message


def test_today_is_nothing_to_plan(evaluation):
    today = Candidate.objects.get(evaluation=evaluation, kind="today")
    with pytest.raises(Conflict) as refusal:
        candidate_plan(candidate=today, actor=None)
    assert refusal.value.code == "nothing_to_change"


def test_goal_that_is_today_is_nothing_to_plan(row):
    same = make_tree(row.system, row.brokers, "same", ("ab", "bc", "cd", "de"), purpose="goal")
    row.fresh()
    with pytest.raises(Conflict) as refusal:
        candidate_plan(candidate=goal_of(make_evaluation(row, goals=[same])), actor=None)
    assert (refusal.value.code, "in force already" in refusal.value.message) == (
        "nothing_to_change",
        True,
    )


def test_composites_become_shifts_that_agents_carry_out(row):
    prices = {"action_costs": {"move": 1.5, "exchange": 2.0}}
    evaluation = make_evaluation(row, options=prices)
    goal = goal_of(evaluation)
    ops = {move["op"] for step in goal.steps for move in step}
    plan = candidate_plan(candidate=goal, actor=None)
    kinds = {action.kind for step in plan.content.steps for action in step.actions}
    assert kinds == {"shift_link"}
    after = actions.replay(in_force(row.system), plan.content.steps)
    assert after.edges == SHORT
    assert ops <= {"shift", "move", "exchange"}


def test_steps_that_may_share_brokers_are_packed_apart_for_agents(row):
    far = make_tree(row.system, row.brokers, "far", ("ab", "ac", "ad", "ae"), purpose="goal")
    row.fresh()
    evaluation = make_evaluation(row, goals=[far], options={"parallel": "paper"})
    plan = candidate_plan(candidate=goal_of(evaluation), actor=None)
    for step in plan.content.steps:
        brokers = [broker for action in step.actions for broker in actions.brokers(action)]
        assert len(brokers) == len(set(brokers))
    after = actions.replay(in_force(row.system), plan.content.steps)
    assert after.edges == edges_of(far)


def test_inverse_is_ready_before_the_first_step_and_after_each_one(row, evaluation):
    plan = candidate_plan(candidate=goal_of(evaluation), actor=None)
    state = in_force(row.system)
    start = state.edges
    steps = plan.content.steps
    for done in range(len(steps) + 1):
        there = actions.replay(state, steps[:done])
        back = actions.replay(there, actions.inverse_steps(steps[:done])) if done else there
        assert back.edges == start


def under_way(row: Row, evaluation: Evaluation) -> tuple[Execution, dict[str, Agent]]:
    """The goal's plan, approved and begun, and the agents that carry it out."""
    author = make_user("author", Role.EDITOR)
    operator = make_user("operator", Role.APPROVER, Role.OPERATOR)
    plan = candidate_plan(candidate=goal_of(evaluation), actor=author)
    plan = plan_submit(plan=plan, actor=author)
    plan = plan_approve(plan=plan, actor=operator, content_hash=plan.content_hash)
    agents = agents_come(row)  # type: ignore[arg-type]
    return plan_execute(plan=plan, actor=operator), agents


def broken_off(row: Row, evaluation: Evaluation, admin: User) -> Execution:
    """An execution whose first shift was done before somebody stopped it."""
    execution, agents = under_way(row, evaluation)
    one_step(agents, execution)
    execution_stop(execution=execution, actor=admin)
    agents_say(agents, execution, "ready")
    agents_say(agents, execution, "switched")
    assert execution.state == ExecutionState.STOPPED
    return execution


def test_agents_carry_it_out_and_the_inverse_leads_back(row, evaluation, admin):
    start = edges_in_force(row.system)
    execution, agents = under_way(row, evaluation)
    for _ in range(3):
        assert len(edges_in_force(row.system)) == 4
        one_step(agents, execution)
    assert execution.state == ExecutionState.SUCCEEDED
    assert edges_in_force(row.system) == SHORT
    plan = Plan.objects.get()
    assert plan.state == PlanState.EXECUTED
    undo = plan_roll_back(plan=plan, actor=admin)
    assert actions.replay(in_force(row.system), undo.content.steps).edges == start


def test_plans_on_from_where_a_stopped_execution_left_it(api, row, evaluation, admin):
    broken_off(row, evaluation, admin)
    assert Plan.objects.get().state == PlanState.STALE
    path = f"/api/v1/overlay-candidates/{goal_of(evaluation).public_id}"
    assert api.get(path).json()["allowed_commands"] == ["plan_again"]
    answer = api.post(f"{path}/plan-again", {}, format="json")
    assert answer.status_code == 201, answer.json()
    plan = Plan.objects.get(public_id=answer.json()["id"])
    assert sum(len(step.actions) for step in plan.content.steps) == 1
    assert actions.replay(in_force(row.system), plan.content.steps).edges == SHORT
    assert plan.title == "Go on to Goal topology short"


def test_plans_on_from_where_a_failed_step_left_it(row, evaluation, admin):
    execution, agents = under_way(row, evaluation)
    one_step(agents, execution)
    for _ in range(20):
        if execution.state == ExecutionState.FAILED:
            break
        agents_say(agents, execution, "refused")
    assert execution.state == ExecutionState.FAILED
    plan = plan_again_from_here(candidate=goal_of(evaluation), actor=admin)
    assert sum(len(step.actions) for step in plan.content.steps) == 2
    assert actions.replay(in_force(row.system), plan.content.steps).edges == SHORT


def test_no_plan_from_here_while_an_execution_is_under_way(row, evaluation, admin):
    under_way(row, evaluation)
    with pytest.raises(Conflict) as refusal:
        plan_again_from_here(candidate=goal_of(evaluation), actor=admin)
    assert refusal.value.code == "system_is_busy"


def test_nothing_is_left_where_the_goal_is_reached(row, evaluation, admin):
    overlay_rewire(overlay=row.overlay, rewire=lambda _: SHORT, reason="it is there")
    assert edges_in_force(row.system) == SHORT
    with pytest.raises(Conflict) as refusal:
        plan_again_from_here(candidate=goal_of(evaluation), actor=admin)
    assert refusal.value.code == "nothing_to_change"


def test_cancelled_evaluation_keeps_no_answer(row, admin):
    evaluation = evaluation_request(system=row.system, actor=admin, goals=[row.goal])
    run = claim(evaluation.run)
    run_cancel(run=run, actor=admin)
    with pytest.raises(CancelWasAsked):
        run_store(run, kernel_answer(run))
    assert not Candidate.objects.exists()
