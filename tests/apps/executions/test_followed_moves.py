"""A move of the map is done once the brokers that send its flows have followed."""

import random
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.catalog.models import Topic
from apps.executions.models import Execution, ExecutionAction, Revision, Setting
from apps.executions.services import execution_roll_back
from apps.executions.services.advance import execution_advance
from apps.executions.services.documents import facts_of
from apps.systems.services import entity_update
from apps.telemetry.models import Agent
from apps.telemetry.services import agent_revoke
from tests.factories import make_user
from tests.factories.fleet import FakeAgent, document_for, enrol, start
from tests.factories.map_followers import (
    Exchange,
    Follower,
    handed,
    make_exchange,
    move,
    move_stream,
)
from weir.coordination.wire import HandOverPhase, StreamPlace, document_from_dict, to_dict
from weir.model.plan import Action

pytestmark = pytest.mark.django_db

PREPARING, DRAINING, DONE = HandOverPhase
GOLD = ("gold", "s-1", "s-2")


@pytest.fixture
def exchange() -> Exchange:
    return make_exchange()


@pytest.fixture
def agents(exchange) -> dict[str, Follower]:
    """Every broker's agent, come, and having followed the map as it is."""
    agents = {name: Follower(broker).come() for name, broker in exchange.brokers.items()}
    for agent in agents.values():
        agent.follow()
    return agents


def fresh(execution: Execution) -> Execution:
    execution.refresh_from_db()
    return execution


def advance(execution: Execution, seconds: float = 0.0) -> Execution:
    """What follows so much later, within the agents' leases."""
    execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=seconds))
    return fresh(execution)


def past_the_deadline(execution: Execution) -> Execution:
    """What follows after 15 s during which the agents went on reporting."""
    ExecutionAction.objects.filter(state="committed").update(
        deadline_at=timezone.now() - timedelta(seconds=1)
    )
    return advance(execution)


def rows(execution: Execution) -> list[ExecutionAction]:
    return list(ExecutionAction.objects.filter(step__execution=execution).order_by("id"))


def row(execution: Execution) -> ExecutionAction:
    (only,) = rows(execution)
    return only


def stream_of(exchange: Exchange, flow: str) -> str | None:
    stream = Topic.objects.get(system=exchange.system, name=flow).stream
    return None if stream is None else stream.name


def shown(api: Any, execution: Execution) -> list[dict[str, Any]]:
    body = api.get(f"/api/v1/executions/{execution.public_id}").json()
    return [action for step in body["steps"] for action in step["actions"]]


def make_reliable(*flows: str) -> None:
    """Have these flows carried as reliable ones."""
    value = {"delivery": "reliable", "broker": ""}
    rows = Setting.objects.filter(kind="carry_flow", target__flow__in=flows)
    assert rows.update(desired=value, in_force=value) == len(flows)


def edit(exchange: Exchange, flow: str, stream: str | None) -> None:
    topic = Topic.objects.get(system=exchange.system, name=flow)
    entity_update(
        instance=topic,
        actor=None,
        expected_version=topic.version,
        values={"stream": None if stream is None else exchange.streams[stream]},
    )


class TestWaiting:
    def test_a_move_is_done_when_all_who_send_the_flow_have_followed(self, exchange, agents, api):
        execution = start(exchange.system, [move(*GOLD)])
        assert (execution.state, stream_of(exchange, "gold")) == ("running", "s-2")
        assert row(execution).state == "committed"
        assert [a["waiting_for"] for a in shown(api, execution)] == [["a", "b"]]
        agents["a"].follow()
        assert (fresh(execution).state, row(execution).state) == ("running", "committed")
        assert [a["waiting_for"] for a in shown(api, execution)] == [["b"]]
        agents["b"].follow(gold=handed(DONE))
        assert (fresh(execution).state, row(execution).state) == ("succeeded", "done")
        assert [a["waiting_for"] for a in shown(api, execution)] == [[]]
        assert row(execution).detail == ""

    def test_reliable_flows_are_waited_for_as_well(self, exchange, agents):
        make_reliable("gold")
        execution = start(exchange.system, [move(*GOLD)])
        assert row(execution).interests == {"a": ["gold"], "b": ["gold"]}
        agents["a"].follow()
        agents["b"].follow(gold=handed(PREPARING))
        assert fresh(execution).state == "running"
        agents["b"].follow(gold=handed(DONE))
        assert fresh(execution).state == "succeeded"

    def test_the_next_step_begins_only_then(self, exchange, agents):
        execution = start(exchange.system, [move(*GOLD)], [move("silver", "s-1", "s-2")])
        advance(execution, 5)
        assert stream_of(exchange, "silver") == "s-1"
        agents["a"].follow()
        agents["b"].follow()
        assert stream_of(exchange, "silver") == "s-2"
        assert fresh(execution).state == "running"
        agents["b"].follow()
        assert fresh(execution).state == "succeeded"

    def test_what_was_seen_by_an_older_document_proves_nothing(self, exchange, agents):
        stale = {**agents["a"].sees(), "hand_overs": {}}
        execution = start(exchange.system, [move(*GOLD)])
        agents["b"].follow()
        agents["a"].say({**stale, "problems": ["It rains."]})
        assert fresh(execution).state == "running"
        agents["a"].follow()
        assert fresh(execution).state == "succeeded"

    @pytest.mark.parametrize(
        "under_way",
        [
            handed(PREPARING),
            handed(DRAINING),
            handed(DONE, next=StreamPlace(group=12, stream=2)),
        ],
        ids=["preparing", "draining", "next"],
    )
    def test_a_hand_over_under_way_keeps_it_waiting(self, exchange, agents, under_way):
        execution = start(exchange.system, [move(*GOLD)])
        agents["b"].follow()
        agents["a"].follow(gold=under_way)
        assert fresh(execution).state == "running"
        agents["a"].follow(gold=handed(DONE))
        assert fresh(execution).state == "succeeded"

    def test_a_hand_over_of_another_flow_keeps_nobody_waiting(self, exchange, agents):
        execution = start(exchange.system, [move(*GOLD)])
        agents["a"].follow()
        agents["b"].follow(tin=handed(PREPARING))
        assert fresh(execution).state == "succeeded"

    def test_a_stream_waits_for_whoever_sends_one_of_its_flows(self, exchange, agents):
        execution = start(exchange.system, [move_stream("s-1", "g-1", "g-2")])
        assert row(execution).interests == {"a": ["gold"], "b": ["gold", "silver"]}
        agents["a"].follow()
        agents["b"].follow(silver=handed(DRAINING, to=1))
        assert fresh(execution).state == "running"
        agents["b"].follow()
        assert fresh(execution).state == "succeeded"

    def test_a_flow_waits_for_its_first_and_its_last_place(self, exchange, agents):
        into = start(exchange.system, [move("lead", None, "s-1")])
        assert (into.state, row(into).interests) == ("running", {"a": ["lead"]})
        agents["a"].follow()
        out = start(exchange.system, [move("lead", "s-1", None)])
        assert (fresh(into).state, out.state) == ("succeeded", "running")
        assert row(out).interests == {"a": ["lead"]}
        agents["a"].follow()
        assert fresh(out).state == "succeeded"

    def test_who_names_no_broker_is_followed_nowhere(self, exchange, agents):
        amy = exchange.subscribers["amy"]
        amy.refresh_from_db()
        entity_update(
            instance=amy, actor=None, expected_version=amy.version, values={"broker": None}
        )
        execution = start(exchange.system, [move(*GOLD)])
        assert set(row(execution).interests) == {"b"}

    def test_moves_of_one_step_wait_each_for_its_own(self, exchange, agents):
        execution = start(exchange.system, [move(*GOLD), move("tin", "s-2", "s-1")])
        agents["b"].follow(tin=handed(PREPARING, to=1))
        assert [each.state for each in rows(execution)] == ["committed", "committed"]
        agents["a"].follow()
        assert [each.state for each in rows(execution)] == ["done", "committed"]
        agents["b"].follow()
        assert fresh(execution).state == "succeeded"

    def test_a_move_and_an_edit_back_are_followed_by_what_is_read_as_another_document(
        self, exchange, agents
    ):
        versions = {name: document_for(agent.row).version for name, agent in agents.items()}
        execution = start(exchange.system, [move(*GOLD)])
        edit(exchange, "gold", "s-1")
        for name in "ab":
            document = document_for(agents[name].row)
            assert document.places["gold"].stream == 1
            assert document.version != versions[name]
            assert document.number >= row(execution).asked_number
            agents[name].follow()
        assert document_for(agents["c"].row).version == versions["c"]
        assert fresh(execution).state == "succeeded"


class TestNobodyIsAwaited:
    def done_at_once(self, exchange: Exchange, *steps: list[Action]) -> Execution:
        execution = start(exchange.system, *steps)
        assert execution.state == "succeeded"
        return execution

    @pytest.mark.parametrize(
        "action",
        [
            move("lead", None, "s-3"),
            move_stream("s-3", None, "g-1"),
        ],
    )
    def test_where_no_document_differs(self, exchange, agents, action):
        before = {name: document_for(agent.row).version for name, agent in agents.items()}
        self.done_at_once(exchange, [action])
        after = {name: document_for(agent.row).version for name, agent in agents.items()}
        assert after == before

    def test_where_flow_and_stream_change_places_and_the_flow_stays_unsent(self, exchange, agents):
        edit(exchange, "gold", "s-3")
        for agent in agents.values():
            agent.follow()
        self.done_at_once(exchange, [move("gold", "s-3", None), move_stream("s-3", None, "g-1")])

    def test_of_a_flow_that_is_not_carried(self, exchange, agents):
        Setting.objects.filter(kind="carry_flow", target__flow="gold").delete()
        self.done_at_once(exchange, [move(*GOLD)])

    def test_where_agents_are_older(self, exchange):
        for broker in exchange.brokers.values():
            agent = Follower(broker).come()
            agent.say(agent.sees())
        self.done_at_once(exchange, [move(*GOLD)])

    def test_where_one_agent_is_older_the_others_are(self, exchange, agents):
        agents["b"].say(agents["b"].sees())
        execution = start(exchange.system, [move(*GOLD)])
        assert execution.state == "running"
        agents["a"].follow()
        assert fresh(execution).state == "succeeded"

    def test_where_an_agent_was_revoked(self, exchange, agents):
        agent_revoke(agent=agents["b"].row, actor=None)
        execution = start(exchange.system, [move(*GOLD)])
        assert set(row(execution).interests) == {"a"}
        agents["a"].follow()
        assert fresh(execution).state == "succeeded"

    def test_a_silent_agent_is_named_and_follows_later(self, exchange, agents):
        agents["a"].fall_silent()
        execution = start(exchange.system, [move(*GOLD)])
        assert execution.state == "running"
        agents["b"].follow()
        assert fresh(execution).state == "succeeded"
        assert row(execution).detail == "a is silent and will follow later"
        assert document_for(agents["a"].row).places["gold"].stream == 2

    def test_who_falls_silent_on_the_way_is_waited_for_no_longer(self, exchange, agents):
        execution = start(exchange.system, [move(*GOLD)])
        agents["a"].follow()
        agents["b"].fall_silent()
        assert advance(execution).state == "succeeded"

    def test_dozens_of_steps_that_concern_nobody_come_to_rest(self, exchange, agents):
        there, back = move("lead", None, "s-3"), move("lead", "s-3", None)
        self.done_at_once(exchange, *([there], [back]) * 20)

    def test_without_agents_nothing_is_asked_of_the_database(self, exchange):
        number = Revision.objects.get(system=exchange.system).number
        with CaptureQueriesContext(connection) as captured:
            self.done_at_once(exchange, [move(*GOLD), move_stream("s-2", "g-2", "g-1")])
        assert not [q for q in captured.captured_queries if "catalog_interest" in q["sql"]]
        assert not Setting.objects.filter(kind="follow_map").exists()
        assert Revision.objects.get(system=exchange.system).number == number


class TestGivenUp:
    @pytest.fixture
    def dead(self, exchange, agents) -> Execution:
        execution = start(exchange.system, [move(*GOLD)], [move("silver", "s-1", "s-2")])
        agents["b"].follow()
        agents["a"].follow(gold=handed(PREPARING))
        return past_the_deadline(execution)

    def test_past_the_deadline_it_is_buried_and_says_why(self, exchange, dead, api):
        first, second = rows(dead)
        assert (dead.state, first.state, second.state) == ("failed", "dead", "aborted")
        reason = (
            "a did not follow within 15 s; a reports: gold goes from stream 1 to 2 (preparing); "
            "the change itself is in force"
        )
        assert first.detail == reason
        assert reason in dead.failure
        assert stream_of(exchange, "gold") == "s-2"
        assert shown(api, dead)[0]["waiting_for"] == ["a"]

    def test_not_a_moment_earlier(self, exchange, agents):
        execution = start(exchange.system, [move(*GOLD)])
        deadline = row(execution).deadline_at
        Agent.objects.update(lease_until=deadline + timedelta(seconds=1))
        execution_advance(execution.pk, now=deadline - timedelta(milliseconds=1))
        assert row(execution).state == "committed"
        assert timedelta(seconds=14) < deadline - row(execution).started_at < timedelta(seconds=16)

    def test_what_never_took_over_the_document_is_said(self, exchange, agents):
        execution = past_the_deadline(start(exchange.system, [move(*GOLD)]))
        assert row(execution).detail == (
            "a and b did not follow within 15 s; a reports: it has not taken over the new places "
            "yet; b reports: it has not taken over the new places yet; the change itself is in "
            "force"
        )

    def test_it_is_finished_once_it_has_followed(self, exchange, agents, dead):
        agents["a"].follow(gold=handed(DRAINING))
        assert rows(dead)[0].state == "dead"
        agents["a"].follow(gold=handed(DONE))
        assert (rows(dead)[0].state, rows(dead)[0].detail) == ("done", "")
        assert fresh(dead).state == "failed"

    def test_silence_does_not_finish_it(self, agents, dead):
        agents["a"].fall_silent()
        advance(dead)
        assert rows(dead)[0].state == "dead"

    def test_it_is_taken_back_like_any_other(self, exchange, agents, dead):
        olga = make_user("olga", Role.OPERATOR)
        execution = execution_roll_back(execution=dead, actor=olga, reason="Back.")
        assert (execution.state, stream_of(exchange, "gold")) == ("rolling_back", "s-1")
        agents["b"].follow()
        agents["a"].follow(gold=handed(DRAINING))
        assert fresh(execution).state == "rolling_back"
        agents["a"].follow()
        assert fresh(execution).state == "rolled_back"
        assert [each.state for each in rows(execution)] == ["done", "aborted", "done"]


class TestTakenBack:
    def test_a_rollback_waits_for_its_followers_too(self, exchange, agents, api):
        execution = start(exchange.system, [move(*GOLD)], [move("tin", "s-2", "s-1")])
        agents["a"].follow()
        agents["b"].follow()
        olga = make_user("olga", Role.OPERATOR)
        execution_roll_back(execution=fresh(execution), actor=olga, reason="Back.")
        assert stream_of(exchange, "gold") == "s-2", "its step has to end first"
        agents["b"].follow()
        assert stream_of(exchange, "tin") == "s-2"
        assert fresh(execution).state == "rolling_back"
        agents["b"].follow()
        assert stream_of(exchange, "gold") == "s-1"
        assert shown(api, execution)[-1]["waiting_for"] == ["a", "b"]
        agents["a"].follow()
        agents["b"].follow()
        assert fresh(execution).state == "rolled_back"

    def test_a_silent_follower_is_not_counted_among_what_somebody_has_changed(
        self, exchange, agents
    ):
        then = [move("silver", "s-1", "s-2")]
        execution = start(exchange.system, [move(*GOLD)], then, pace_s=3600.0)
        for name in "ab":
            agents[name].follow()
            agents[name].fall_silent()
        olga = make_user("olga", Role.OPERATOR)
        execution = execution_roll_back(execution=fresh(execution), actor=olga, reason="Back.")
        assert execution.state == "rolled_back"
        assert rows(execution)[-1].detail == "a and b are silent and will follow later"
        settled = AuditEntry.objects.filter(object_kind="execution", action="settle").latest("id")
        assert "not taken back" not in settled.reason


@pytest.mark.parametrize("seed", range(6))
def test_exactly_those_whose_places_change_have_to_follow(exchange, agents, seed):
    """The documents themselves say whom a step of moves concerns."""
    chance = random.Random(seed)
    make_reliable(*chance.sample(["gold", "silver", "tin", "lead"], chance.randint(0, 4)))
    for _ in range(3):
        before = places(exchange)
        actions = []
        for flow in chance.sample(["gold", "silver", "tin", "lead"], chance.randint(0, 3)):
            present = stream_of(exchange, flow)
            goal = chance.choice([s for s in ("s-1", "s-2", "s-3", None) if s != present])
            actions.append(move(flow, present, goal))
        stream = exchange.streams[chance.choice(["s-1", "s-2", "s-3"])]
        stream.refresh_from_db()
        present = None if stream.group is None else stream.group.name
        goal = chance.choice([g for g in ("g-1", "g-2", None) if g != present])
        actions.append(move_stream(stream.name, present, goal))
        execution = start(exchange.system, actions)
        after = places(exchange)
        differ = {
            (broker, flow)
            for broker in "abc"
            for flow in exchange.topics
            if before[broker].get(flow) != after[broker].get(flow)
        }
        recorded = {
            (broker, flow)
            for each in rows(execution)
            for broker, flows in each.interests.items()
            for flow in flows
        }
        assert recorded == differ
        for agent in agents.values():
            agent.follow()
        assert fresh(execution).state == "succeeded"


def places(exchange: Exchange) -> dict[str, Any]:
    look = facts_of(exchange.system.pk)
    assert look is not None
    return {broker: dict(look[1].places.get(broker, {})) for broker in "abc"}


def test_a_step_of_many_moves_takes_as_many_statements_as_one_of_one(exchange, agents):
    def statements(*actions: Action) -> int:
        with CaptureQueriesContext(connection) as captured:
            start(exchange.system, actions)
        for agent in agents.values():
            agent.follow()
        return len(captured)

    few = statements(move(*GOLD))
    assert statements(move("gold", "s-2", "s-1"), move("silver", "s-1", "s-2")) == few


class TestOverHttp:
    """The same as agents see it, that wait for documents."""

    @pytest.fixture
    def http(self, loop, exchange) -> dict[str, FakeAgent]:
        agents = {name: enrol(loop, exchange.brokers[name]).come() for name in "ab"}
        for agent in agents.values():
            agent.obey(hand_overs={})
        return agents

    def test_an_edit_of_the_map_reaches_who_waits_and_is_concerned(self, http, exchange):
        for agent in http.values():
            agent.poll_now()
        a, b = http["a"].asking(), http["b"].asking()
        edit(exchange, "tin", "s-1")
        places = document_from_dict(b.result(10).json()).places
        assert places["tin"] == StreamPlace(group=11, stream=1)
        assert not a.done(), "nobody at a wants it"
        edit(exchange, "gold", None)
        assert document_from_dict(a.result(10).json()).places == {}

    def test_a_move_is_obeyed_and_confirmed(self, http, exchange):
        for agent in http.values():
            agent.poll_now()
        waiting = {name: agent.asking() for name, agent in http.items()}
        execution = start(exchange.system, [move(*GOLD)])
        for name, polled in waiting.items():
            document = document_from_dict(polled.result(10).json())
            assert document.places["gold"] == StreamPlace(group=12, stream=2)
            assert document.number >= row(execution).asked_number
            http[name].obey(hand_overs={"gold": to_dict(handed(DRAINING))})
        assert fresh(execution).state == "running"
        for agent in http.values():
            agent.obey(hand_overs={})
        assert fresh(execution).state == "succeeded"
