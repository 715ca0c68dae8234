"""A map becomes a plan of moves: what it moves, in which steps, at which price, and what it is
refused for."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.catalog.models import Stream, Topic
from apps.common.errors import ApplicationError, Conflict
from apps.executions.models import Execution
from apps.executions.services.advance import execution_advance
from apps.mappings.models import Mapping
from apps.mappings.selectors.in_force import map_in_force
from apps.mappings.services import propose
from apps.mappings.services.computation import plan as plan_by_rule
from apps.mappings.services.propose import mapping_plan
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_roll_back, plans_settle
from apps.systems.services import entity_update
from tests.factories import make_user
from tests.factories.market import (
    Market,
    in_turn,
    kernel_answer,
    make_market,
    map_market,
    maps_of,
    point_that_moves,
    recounted,
    set_weights,
)
from tests.factories.plans import approved
from weir.model.mapping import NOWHERE
from weir.model.plan import Action

pytestmark = pytest.mark.django_db
Places = dict[str, str | None]


@pytest.fixture
def market() -> Market:
    market = make_market()
    in_turn(market)
    return market


@pytest.fixture
def mapping(market: Market) -> Mapping:
    return map_market(market)


@pytest.fixture
def ines():
    return make_user("ines", Role.EDITOR)


@pytest.fixture
def jon():
    return make_user("jon", Role.APPROVER)


@pytest.fixture
def olga():
    return make_user("olga", Role.OPERATOR)


def places(market: Market) -> tuple[Places, Places]:
    """The stream of each topic and the group of each stream, by name."""
    topics = Topic.objects.filter(system=market.system)
    streams = Stream.objects.filter(system=market.system)
    return (
        dict(topics.values_list("name", "stream__name")),
        dict(streams.values_list("name", "group__name")),
    )


def wanted_places(mapping: Mapping, at: int) -> tuple[Places, Places]:
    """Where one map has each flow, and each stream that it uses."""
    problem, maps = maps_of(mapping, json.loads(bytes(mapping.run.result.payload)))
    chosen = maps[at]
    flows = {
        flow: None if stream == NOWHERE else f"session-{stream}"
        for flow, stream in zip(problem.flows, chosen.stream_of.tolist(), strict=True)
    }
    used = {stream for stream in chosen.stream_of.tolist() if stream != NOWHERE}
    groups = chosen.group_of.tolist()
    return flows, {f"session-{stream}": f"channel-{groups[stream]}" for stream in used}


def actions_of(plan: Plan) -> list[Action]:
    return [action for step in plan.content.steps for action in step.actions]


def carried_out(plan: Plan, ines: Any, jon: Any, olga: Any) -> Execution:
    execution = plan_execute(plan=approved(plan, ines, jon), actor=olga)
    for turn in range(200):
        execution_advance(execution.pk, now=timezone.now() + timedelta(days=turn))
        execution.refresh_from_db()
        if execution.state != "running":
            break
    plans_settle()
    plan.refresh_from_db()
    return execution


class TestPlan:
    def test_moves_exactly_what_differs(self, market, mapping, ines):
        at = point_that_moves(mapping)
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(at))
        (flows, streams), (to_flows, to_streams) = places(market), wanted_places(mapping, at)
        expected = {
            ("move_flow", name, flows[name], to_flows[name])
            for name in flows
            if flows[name] != to_flows[name]
        } | {
            ("move_stream", name, streams[name], group)
            for name, group in to_streams.items()
            if streams[name] != group
        }
        moves = [
            (
                action.kind,
                next(iter(action.target.values())),
                None if action.before is None else next(iter(action.before.values())),
                None if action.after is None else next(iter(action.after.values())),
            )
            for action in actions_of(plan)
        ]
        assert len(moves) == len(set(moves))
        assert set(moves) == expected
        assert len(expected) > 5

    def test_has_as_many_moves_as_the_mapping_says(self, market, ines):
        lost, given_up = market.wanted[:4], market.unwanted[:3]
        topics = Topic.objects.filter(system=market.system)
        topics.filter(name__in=lost).update(stream=None)
        topics.filter(name__in=given_up).update(stream=market.stream(1))
        Stream.objects.filter(system=market.system, number=7).update(group=None)
        topics.filter(stream=market.stream(7)).update(stream=None)
        mapping = map_market(market)
        for at, point in enumerate(mapping.outcome["points"]):
            plan = mapping_plan(mapping=mapping, actor=ines, map=str(at))
            kinds = [action.kind for action in actions_of(plan)]
            flows = point["moved"] + point["placed"] + point["retired"]
            streams = point["moved_streams"] + point["opened_streams"]
            assert (kinds.count("move_flow"), kinds.count("move_stream")) == (flows, streams)
            assert (point["placed"] >= 4, point["retired"]) == (True, 3)

    def test_is_the_proposed_map_where_none_is_named(self, mapping, ines):
        plan = mapping_plan(mapping=mapping, actor=ines)
        (promise,) = plan.content.promise
        assert promise.after == mapping.cost
        assert promise.before == mapping.former_cost
        assert (promise.name, promise.unit) == ("Cost of unwanted traffic", "work/s")
        assert (plan.kind, plan.source_kind, plan.source_name) == ("mapping", "mapping", "M-1")
        assert plan.run == mapping.run
        assert plan.snapshot_hash == mapping.run.snapshot.content_hash

    def test_keeps_the_pace_of_the_settings(self, market, mapping, ines):
        set_weights(market, flows_per_s=2.5)
        at = str(point_that_moves(mapping))
        usual = mapping_plan(mapping=mapping, actor=ines, map=at).content
        assert {len(step.actions) for step in usual.steps[:-1]} == {3}
        assert usual.pace_s == pytest.approx(1.2)
        wide = mapping_plan(mapping=mapping, actor=ines, map=at, moves_per_step=5).content
        assert {len(step.actions) for step in wide.steps[:-1]} == {5}
        assert len(wide.steps[-1].actions) <= 5
        assert wide.pace_s == pytest.approx(2.0)

    def test_slow_pace_moves_one_at_a_time(self, market, mapping, ines):
        set_weights(market, flows_per_s=0.001)
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(point_that_moves(mapping)))
        assert {len(step.actions) for step in plan.content.steps} == {1}
        assert plan.content.pace_s == pytest.approx(1000.0)

    def test_carries_a_price_at_each_move(self, mapping, ines):
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(point_that_moves(mapping)))
        for action in actions_of(plan):
            assert "receivers" in action.effect
            assert action.effect.endswith(".")
        assert plan.content.why[0].startswith("Unwanted traffic costs receivers ")

    def test_counts_as_touched_what_moves_with_its_stream(self, market, mapping, ines):
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(point_that_moves(mapping)))
        moved = {a.target["flow"] for a in actions_of(plan) if a.kind == "move_flow"}
        streams = {a.target["stream"] for a in actions_of(plan) if a.kind == "move_stream"}
        along = {flow for flow, stream in places(market)[0].items() if stream in streams}
        assert plan.blast_radius["topics"] == len(moved | along)
        assert plan.blast_radius["brokers"] == 0


class TestFirstMap:
    def test_places_everything_that_is_wanted(self, ines, jon, olga):
        market = make_market()
        mapping = map_market(market)
        plan = mapping_plan(mapping=mapping, actor=ines)
        assert carried_out(plan, ines, jon, olga).state == "succeeded"
        flows = places(market)[0]
        assert {name for name, stream in flows.items() if stream} == set(market.wanted)
        assert map_in_force(market.system)["costs"]["cost"] == mapping.cost

    def test_gives_a_stream_its_group_before_a_topic_enters_it(self, ines):
        plan = mapping_plan(mapping=map_market(make_market()), actor=ines)
        ready: set[str] = set()
        for action in actions_of(plan):
            assert action.after is not None
            if action.kind == "move_stream":
                ready.add(action.target["stream"])
            else:
                assert action.after["stream"] in ready


class TestOnTheWay:
    def test_the_map_in_force_costs_what_was_promised_at_its_end(
        self, market, mapping, ines, jon, olga
    ):
        before = map_in_force(market.system)
        assert before["costs"]["cost"] == mapping.former_cost
        at = point_that_moves(mapping)
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(at))
        assert carried_out(plan, ines, jon, olga).state == "succeeded"
        market.system.refresh_from_db()
        after = map_in_force(market.system)
        assert after["costs"]["cost"] == mapping.outcome["points"][at]["cost"]
        assert after["model_version"] == market.system.model_version > before["model_version"]
        flows, streams = wanted_places(mapping, at)
        assert places(market)[0] == flows
        assert streams.items() <= places(market)[1].items()

    def test_every_step_costs_what_an_independent_count_says(
        self, market, mapping, ines, jon, olga
    ):
        at = point_that_moves(mapping)
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(at), moves_per_step=3)
        execution = plan_execute(plan=approved(plan, ines, jon), actor=olga)
        costs = []
        for turn in range(200):
            figures = map_in_force(market.system)
            costs.append(figures["costs"]["cost"])
            assert costs[-1] == recounted(market)
            execution_advance(execution.pk, now=timezone.now() + timedelta(days=turn + 1))
            execution.refresh_from_db()
            if execution.state != "running":
                break
        assert execution.state == "succeeded"
        assert len(set(costs)) > 3

    def test_it_is_taken_back_by_a_plan(self, market, mapping, ines, jon, olga):
        before = places(market)
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(point_that_moves(mapping)))
        carried_out(plan, ines, jon, olga)
        assert places(market) != before
        back = plan_roll_back(plan=plan, actor=ines, reason="Receivers lag.")
        assert back.content.pace_s == 0.0, "rolling back does not wait"
        assert carried_out(back, ines, jon, olga).state == "succeeded"
        assert places(market) == before

    def test_the_plan_back_leaves_what_somebody_has_moved_since(
        self, market, mapping, ines, jon, olga
    ):
        before = places(market)[0]
        plan = mapping_plan(mapping=mapping, actor=ines, map=str(point_that_moves(mapping)))
        carried_out(plan, ines, jon, olga)
        edited = next(a.target["flow"] for a in actions_of(plan) if a.kind == "move_flow")
        Topic.objects.filter(system=market.system, name=edited).update(stream=None)
        back = plan_roll_back(plan=plan, actor=ines)
        assert len(actions_of(back)) == len(actions_of(plan)) - 1
        assert f"1 move stays, because somebody has changed it since: {edited}." in back.content.why
        assert carried_out(back, ines, jon, olga).state == "succeeded"
        assert places(market)[0] == {**before, edited: None}

    def test_the_plan_back_says_who_loses_what_it_brought(self, ines, jon, olga):
        market = make_market()
        plan = mapping_plan(mapping=map_market(market), actor=ines)
        carried_out(plan, ines, jon, olga)
        back = plan_roll_back(plan=plan, actor=ines)
        many = len(market.wanted)
        assert back.content.why[1] == (
            f"{many} topics leave their streams: whoever wants them gets nothing of them then."
        )
        flows = [a for a in actions_of(back) if a.kind == "move_flow"]
        assert all("can receive it no longer" in action.effect for action in flows)

    def test_the_longer_pace_counts(self, market, mapping, ines, jon, olga):
        set_weights(market, flows_per_s=1.0)
        at = str(point_that_moves(mapping))
        plan = mapping_plan(mapping=mapping, actor=ines, map=at, moves_per_step=4)
        execution = plan_execute(plan=approved(plan, ines, jon), actor=olga)
        assert execution.pace_s == 4.0


def test_prices_are_those_of_now(market, mapping, ines):
    set_weights(market, messaging=20.0, transport=30.0)
    plan = mapping_plan(mapping=mapping, actor=ines, map=str(point_that_moves(mapping)))
    (promise,) = plan.content.promise
    assert promise.before == map_in_force(market.system)["costs"]["cost"] == recounted(market)
    assert promise.before > 2 * mapping.former_cost


class TestRefused:
    def refused(self, mapping: Mapping, **values: Any) -> ApplicationError:
        with pytest.raises(ApplicationError) as refusal:
            mapping_plan(mapping=mapping, actor=None, **values)
        assert not Plan.objects.exists()
        return refusal.value

    @pytest.mark.parametrize("name", ["in_force", "99", "-1", "anew", "1.0"])
    def test_a_map_that_cannot_be_chosen(self, mapping, name):
        error = self.refused(mapping, map=name)
        assert [each.field for each in error.errors] == ["map"]

    def test_more_moves_than_a_plan_takes(self, mapping, monkeypatch):
        monkeypatch.setattr(propose, "MOST_MOVES", 4)
        error = self.refused(mapping, map=str(point_that_moves(mapping)))
        assert [each.field for each in error.errors] == ["map"]
        assert "at most 4 moves" in error.message

    def test_a_pause_of_more_than_a_day(self, market, mapping):
        set_weights(market, flows_per_s=0.001)
        error = self.refused(mapping, moves_per_step=87)
        assert [each.field for each in error.errors] == ["moves_per_step"]
        assert "Give at most 86." in error.message

    def test_another_model_than_it_was_computed_on(self, market, mapping):
        topic = market.topic(market.wanted[0])
        entity_update(
            instance=topic,
            actor=None,
            expected_version=topic.version,
            values={"rate_max_per_s": topic.rate_max_per_s + 1.0},
        )
        assert self.refused(mapping).code == "plan_is_stale"

    def test_a_map_that_is_in_force_already(self, market, mapping, ines, jon, olga):
        carried_out(mapping_plan(mapping=mapping, actor=ines), ines, jon, olga)
        again = map_market(market)
        with pytest.raises(Conflict) as refusal:
            mapping_plan(mapping=again, actor=ines, map="0")
        assert refusal.value.code == "nothing_to_change"

    def test_carrying_out_what_somebody_has_moved_meanwhile(self, market, mapping, ines, jon, olga):
        plan = approved(
            mapping_plan(mapping=mapping, actor=ines, map=str(point_that_moves(mapping))),
            ines,
            jon,
        )
        flow = next(a.target["flow"] for a in actions_of(plan) if a.kind == "move_flow")
        Topic.objects.filter(system=market.system, name=flow).update(stream=None)
        with pytest.raises(Conflict) as refusal:
            plan_execute(plan=plan, actor=olga)
        assert refusal.value.code == "plan_is_stale"
        assert flow in refusal.value.message


class TestByRule:
    def rule(self, mapping: Mapping, actor: Any) -> Plan:
        return plan_by_rule(
            mapping, actor=actor, answerable=None, least_benefit=0.0, asked_by="nightly"
        )

    def test_what_pays_within_the_horizon_becomes_a_plan(self, mapping, ines):
        assert self.rule(mapping, ines).kind == "mapping"

    @pytest.mark.parametrize(
        ("pays_after_s", "words"), [(None, "never"), (7200.0, "after 2 hours")]
    )
    def test_what_does_not_is_left(self, mapping, ines, pays_after_s, words):
        proposed = mapping.outcome["proposed"]
        assert proposed > 0, "else nothing is chosen"
        mapping.outcome["points"][proposed]["pays_after_s"] = pays_after_s
        with pytest.raises(Conflict) as refusal:
            self.rule(mapping, ines)
        assert refusal.value.code == "nothing_to_change"
        assert words in refusal.value.message


def test_a_run_that_found_the_same_map_has_the_same_plan(market, mapping, ines):
    """The order of moves is the same wherever it is computed."""
    other = map_market(market)
    assert kernel_answer(mapping.run) == kernel_answer(other.run)
    at = str(point_that_moves(mapping))
    first = mapping_plan(mapping=mapping, actor=ines, map=at).content.steps
    second = mapping_plan(mapping=other, actor=ines, map=at).content.steps
    assert first == second
