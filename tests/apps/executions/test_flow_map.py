"""Moves of the map are carried out in the catalogue, with no broker, step by step and back."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.catalog.models import Stream, Topic
from apps.common.errors import Conflict
from apps.executions.models import Execution, ExecutionAction, Revision, Setting
from apps.executions.services import (
    execution_pause,
    execution_resume,
    execution_roll_back,
    execution_stop,
)
from apps.executions.services.advance import execution_advance
from tests.factories.fleet import rate, start
from tests.factories.market import Market, in_turn, make_market
from weir.actions import title
from weir.coordination.coordinator import Limits
from weir.model.plan import Action

pytestmark = pytest.mark.django_db


@pytest.fixture
def market() -> Market:
    market = make_market()
    in_turn(market)
    return market


def stream_name(market: Market, flow: str) -> str | None:
    stream = market.topic(flow).stream
    return None if stream is None else stream.name


def move(market: Market, flow: str, after: str | None) -> Action:
    before = stream_name(market, flow)
    return Action(
        kind="move_flow",
        target={"flow": flow},
        before=None if before is None else {"stream": before},
        after=None if after is None else {"stream": after},
    )


def other(market: Market, flow: str) -> str:
    """A stream that the flow is not in."""
    return next(
        name
        for name in Stream.objects.filter(system=market.system).values_list("name", flat=True)
        if name != stream_name(market, flow)
    )


def move_stream(before: str | None, after: str | None, stream: str) -> Action:
    return Action(
        kind="move_stream",
        target={"stream": stream},
        before=None if before is None else {"group": before},
        after=None if after is None else {"group": after},
    )


def fresh(execution: Execution) -> Execution:
    execution.refresh_from_db()
    return execution


def later(execution: Execution, seconds: float) -> Execution:
    execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=seconds))
    return fresh(execution)


def test_a_step_moves_everything_at_once_as_one_edit_of_the_model(market):
    flows = market.wanted[:5]
    versions = {flow: market.topic(flow).version for flow in flows}
    moves = [move(market, flow, other(market, flow)) for flow in flows]
    market.system.refresh_from_db()
    model_version = market.system.model_version
    execution = start(market.system, moves)
    assert execution.state == "succeeded"
    for action in moves:
        flow = action.target["flow"]
        assert stream_name(market, flow) == action.after["stream"]
        assert market.topic(flow).version == versions[flow] + 1
    market.system.refresh_from_db()
    assert market.system.model_version == model_version + 1


def test_each_move_is_on_record_with_the_plan_that_made_it(market):
    flow = market.wanted[0]
    action = move(market, flow, other(market, flow))
    start(market.system, [action])
    entry = AuditEntry.objects.filter(object_kind="topic", object_name=flow).latest("id")
    assert (entry.before, entry.after) == (action.before, action.after)
    assert entry.reason == f"E-1 of P-7: {title(action)}"
    assert entry.actor is None


def test_a_flow_comes_into_its_first_stream_and_out_of_its_last(market):
    flow = market.wanted[0]
    was = stream_name(market, flow)
    start(market.system, [move(market, flow, None)])
    assert stream_name(market, flow) is None
    execution = start(market.system, [move(market, flow, was)])
    assert execution.state == "succeeded"
    assert stream_name(market, flow) == was


def test_a_stream_moves_with_its_group_and_its_flows_stay_in_it(market):
    stream = market.stream(0)
    inside = set(stream.topics.values_list("name", flat=True))
    assert inside
    assert stream.group is not None
    goal = next(g for g in ("channel-0", "channel-1") if g != stream.group.name)
    execution = start(market.system, [move_stream(stream.group.name, goal, stream.name)])
    assert execution.state == "succeeded"
    moved = market.stream(0)
    assert moved.group is not None
    assert moved.group.name == goal
    assert set(moved.topics.values_list("name", flat=True)) == inside


def test_the_next_step_waits_for_the_pace(market):
    first, second = market.wanted[:2]
    steps = [[move(market, flow, other(market, flow))] for flow in (first, second)]
    execution = start(market.system, *steps, pace_s=5.0)
    assert stream_name(market, first) == steps[0][0].after["stream"]
    assert later(execution, 4.0).state == "running"
    assert stream_name(market, second) == steps[1][0].before["stream"]
    assert later(execution, 6.0).state == "succeeded"
    assert stream_name(market, second) == steps[1][0].after["stream"]


def test_a_pause_keeps_the_map_as_it_is_until_somebody_resumes(market, admin):
    steps = [[move(market, flow, other(market, flow))] for flow in market.wanted[:2]]
    execution = start(market.system, *steps, pace_s=5.0)
    execution_pause(execution=execution, actor=admin)
    assert later(execution, 60.0).state == "paused"
    assert stream_name(market, market.wanted[1]) == steps[1][0].before["stream"]
    execution_resume(execution=execution, actor=admin)
    assert later(execution, 60.0).state == "succeeded"


def test_rolled_back_the_map_is_what_it_was(market, admin):
    before = dict(Topic.objects.filter(system=market.system).values_list("name", "stream__name"))
    steps = [[move(market, flow, other(market, flow))] for flow in market.wanted[:3]]
    execution = start(market.system, *steps, pace_s=5.0)
    later(execution, 6.0)
    execution_roll_back(execution=execution, actor=admin, reason="Receivers complain.")
    assert later(execution, 7.0).state == "rolled_back"
    after = dict(Topic.objects.filter(system=market.system).values_list("name", "stream__name"))
    assert after == before


def test_stopped_it_leaves_what_was_moved(market, admin):
    steps = [[move(market, flow, other(market, flow))] for flow in market.wanted[:2]]
    execution = start(market.system, *steps, pace_s=5.0)
    execution_stop(execution=execution, actor=admin, reason="Enough.")
    assert later(execution, 60.0).state == "stopped"
    assert stream_name(market, market.wanted[0]) == steps[0][0].after["stream"]
    assert stream_name(market, market.wanted[1]) == steps[1][0].before["stream"]


def test_it_is_refused_where_the_map_is_another_than_it_starts_from(market):
    flow = market.wanted[0]
    action = move(market, flow, other(market, flow))
    start(market.system, [action])
    with pytest.raises(Conflict) as refusal:
        start(market.system, [action])
    assert refusal.value.code == "not_what_is_in_force"
    assert not Execution.objects.filter(number=2).exists()


@pytest.mark.parametrize("edit", ["moved", "renamed", "goal gone"])
def test_an_edit_on_the_way_fails_the_move_and_says_what_it_met(market, edit):
    first, second = market.wanted[:2]
    goal = next(
        row.name
        for row in Stream.objects.filter(system=market.system)
        if row.name not in (stream_name(market, first), stream_name(market, second))
    )
    steps = [[move(market, first, other(market, first))], [move(market, second, goal)]]
    execution = start(market.system, *steps, pace_s=5.0)
    topic = market.topic(second)
    if edit == "moved":
        Topic.objects.filter(pk=topic.pk).update(stream=None)
    elif edit == "renamed":
        Topic.objects.filter(pk=topic.pk).update(name="other")
    else:
        Stream.objects.filter(system=market.system, name=goal).update(name="elsewhere")
    failed = later(execution, 6.0)
    assert failed.state == "failed"
    reason = {
        "moved": f"{second} is in no stream by now",
        "renamed": f"there is no topic {second}",
        "goal gone": f'there is no stream "{goal}"',
    }[edit]
    assert "The map was changed meanwhile" in failed.failure
    assert reason in failed.failure
    states = ExecutionAction.objects.filter(step__execution=execution).order_by("step__index")
    assert [row.state for row in states] == ["done", "aborted"]
    assert stream_name(market, first) == steps[0][0].after["stream"]


def test_what_moves_before_the_move_that_fails_stays_and_is_rolled_back_with_it(market, admin):
    flows = market.wanted[:3]
    was = {flow: stream_name(market, flow) for flow in flows}
    steps = [
        [move(market, market.wanted[3], other(market, market.wanted[3]))],
        [move(market, flow, other(market, flow)) for flow in flows],
    ]
    execution = start(market.system, *steps, pace_s=5.0)
    Topic.objects.filter(system=market.system, name=flows[1]).update(stream=None)
    assert later(execution, 6.0).state == "failed"
    done = ExecutionAction.objects.filter(step__execution=execution, state="done")
    execution_roll_back(execution=execution, actor=admin, reason="Back.")
    assert later(execution, 7.0).state == "rolled_back"
    moved = {row.target["flow"] for row in done if row.step.index == 1}
    assert flows[1] not in moved
    assert {flow: stream_name(market, flow) for flow in moved} == {f: was[f] for f in moved}


@pytest.mark.parametrize("edit", ["moved", "renamed", "former stream gone"])
def test_what_somebody_has_changed_since_keeps_nothing_else_from_going_back(market, admin, edit):
    flows = market.wanted[:5]
    was = {flow: stream_name(market, flow) for flow in flows}
    steps = [
        [move(market, flow, other(market, flow)) for flow in flows[:2]],
        [move(market, flow, other(market, flow)) for flow in flows[2:]],
        [move(market, market.wanted[6], other(market, market.wanted[6]))],
    ]
    execution = start(market.system, *steps, pace_s=5.0)
    later(execution, 6.0)
    edited = flows[2]
    topics = Topic.objects.filter(system=market.system)
    if edit == "moved":
        topics.filter(name=edited).update(stream=None)
    elif edit == "renamed":
        topics.filter(name=edited).update(name="other")
    else:
        gone = Stream.objects.filter(system=market.system, name=was[edited])
        gone.update(name="elsewhere")
    execution_roll_back(execution=execution, actor=admin, reason="Back.")
    assert later(execution, 7.0).state == "rolled_back"
    for flow in flows:
        if was[flow] != was[edited]:
            assert stream_name(market, flow) == was[flow]
    undone = ExecutionAction.objects.filter(step__execution=execution, inverts__isnull=False)
    (left,) = [row for row in undone if row.target["flow"] == edited]
    assert left.detail.startswith("The map was changed meanwhile: ")
    entry = AuditEntry.objects.filter(object_kind="execution", action="settle").latest("id")
    assert "not taken back, because somebody has changed" in entry.reason
    assert edited in entry.reason


def test_no_agent_and_no_setting_hears_of_it(market):
    before = Revision.objects.filter(system=market.system).values_list("number", flat=True).first()
    flow = market.wanted[0]
    start(market.system, [move(market, flow, other(market, flow))])
    after = Revision.objects.filter(system=market.system).values_list("number", flat=True).first()
    assert after == before
    assert not Setting.objects.filter(system=market.system).exists()


def test_moves_go_on_beside_a_rate_that_waits_for_its_agent(harbour, agents):
    stream = Stream.objects.create(system=harbour.system, name="s-0", number=0)
    move_tides = Action(
        kind="move_flow", target={"flow": "tides"}, before=None, after={"stream": "s-0"}
    )
    execution = start(harbour.system, [move_tides, rate(None, 40.0)])
    assert fresh(execution).state == "running"
    harbour.topic.refresh_from_db()
    assert harbour.topic.stream == stream
    agents["a"].obey()
    assert fresh(execution).state == "succeeded"


def test_a_step_of_hundreds_of_moves_takes_as_many_statements_as_one_of_two(
    market, django_assert_max_num_queries
):
    flows = market.wanted
    few = [move(market, flow, other(market, flow)) for flow in flows[:2]]
    with django_assert_max_num_queries(200) as counted:
        start(market.system, few, max_parallel=100)
    many = [move(market, flow, other(market, flow)) for flow in flows[2:]]
    assert len(many) > 20
    with django_assert_max_num_queries(len(counted) + 4):
        start(market.system, many, max_parallel=100)


def test_limits_of_waiting_mean_nothing_to_it(market):
    flow = market.wanted[0]
    execution = start(market.system, [move(market, flow, other(market, flow))])
    execution_advance(execution.pk, limits=Limits(setting_timeout_s=0.0))
    assert fresh(execution).state == "succeeded"
