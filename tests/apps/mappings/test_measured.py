"""What the map in force makes receivers filter at measured rates: now, over the day, and as a
trigger."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.catalog.models import Topic
from apps.executions.services.advance import execution_advance
from apps.mappings.models import FilteringCell, MappingSettings
from apps.mappings.selectors.measured import (
    FilteringCosts,
    filtering_drift,
    filtering_now,
    filtering_of_day,
)
from apps.mappings.selectors.problem import mapping_problem
from apps.mappings.selectors.settings import settings_of
from apps.mappings.services.filtering import filtering_roll
from apps.mappings.services.propose import mapping_plan
from apps.mappings.services.settings import settings_update
from apps.plans.domain.parts import Carried, Kept, Quantity, judge_carried
from apps.plans.services import plan_execute, plan_roll_back, plans_settle
from apps.recomputation.models import Firing
from apps.recomputation.services import recomputation_tick, trigger_create
from apps.telemetry.models import Sample
from apps.topology.models import Broker
from tests.factories import make_broker, make_user
from tests.factories.market import Market, in_turn, make_market, map_market
from tests.factories.plans import approved
from weir.clustering.cost import filtering_cost, map_in_force

pytestmark = pytest.mark.django_db


@pytest.fixture
def market() -> Market:
    market = make_market()
    in_turn(market)
    return market


@pytest.fixture
def broker(market: Market) -> Broker:
    return make_broker(market.system, "b1")


def sample(
    broker: Broker, rates: dict[str, float], ago_s: float = 2.0, interval_s: float = 1.0
) -> None:
    """An agent measured these rates of what its gates passed."""
    Sample.objects.create(
        broker=broker,
        at=timezone.now() - timedelta(seconds=ago_s),
        payload={
            "interval_s": interval_s,
            "flows": {
                flow: {"offered_per_s": 2 * rate, "passed_per_s": rate, "shed_per_s": rate}
                for flow, rate in rates.items()
            },
            "links": {},
            "classes": {},
        },
    )


def declared(market: Market, times: float = 1.0) -> dict[str, float]:
    """The rates of the model, so many times."""
    rows = Topic.objects.filter(system=market.system).values_list("name", "rate_max_per_s")
    return {name: times * rate for name, rate in rows}


def cost_of(market: Market, rates: dict[str, float]) -> float:
    problem = mapping_problem(market.system)
    flow_map = map_in_force(problem)
    assert flow_map is not None
    object.__setattr__(problem, "rates_per_s", np.array([rates.get(f, 0.0) for f in problem.flows]))
    return filtering_cost(problem, flow_map.stream_of, flow_map.group_of).total


def an_hour_ago() -> datetime:
    """A time whose minute may be set: it stays in the past, where samples of now are recent."""
    return timezone.now() - timedelta(hours=1)


def drift(market: Market) -> Any:
    return filtering_drift(market.system)


class TestNow:
    def test_is_the_cost_at_what_the_gates_passed(self, market, broker):
        rates = {name: rate for name, rate in declared(market, 0.25).items() if "m1" in name}
        sample(broker, rates)
        now = filtering_now(market.system)
        assert not isinstance(now, str)
        assert now.costs["cost"] == cost_of(market, rates)
        wanted = {
            name: Topic.objects.get(system=market.system, name=name).interests.count()
            for name in rates
        }
        expected = sum(rate * wanted[name] for name, rate in rates.items())
        assert now.wanted_per_s == pytest.approx(expected, rel=1e-12)

    def test_wants_nothing_that_nobody_receives(self, market, broker):
        kept = market.wanted[0]
        topics = Topic.objects.filter(system=market.system)
        topics.exclude(name=kept).update(stream=None)
        sample(broker, declared(market))
        now = filtering_now(market.system)
        assert not isinstance(now, str)
        topic = topics.get(name=kept)
        assert now.wanted_per_s == topic.rate_max_per_s * topic.interests.count()

    def test_adds_up_what_several_brokers_pass(self, market, broker):
        other = make_broker(market.system, "b2")
        rates = declared(market)
        sample(broker, {name: rate / 4 for name, rate in rates.items()})
        sample(other, {name: 3 * rate / 4 for name, rate in rates.items()})
        now = filtering_now(market.system)
        assert not isinstance(now, str)
        assert now.costs["cost"] == pytest.approx(cost_of(market, rates), rel=1e-9)

    def test_is_unknown_where_nobody_measures(self, market, broker):
        assert filtering_now(market.system) == "No agent of market measures what its topics send."
        sample(broker, declared(market), ago_s=600.0)
        assert isinstance(filtering_now(market.system), str)

    def test_is_unknown_without_a_map(self):
        market = make_market("bare")
        sample(make_broker(market.system, "b1"), declared(market))
        assert filtering_now(market.system) == ("No topic of bare is in a stream with a group yet.")


class TestInForce:
    def read(self, api: Any, market: Market) -> Any:
        answer = api.get("/api/v1/map-in-force", {"system": str(market.system.public_id)})
        assert answer.status_code == 200, answer.content
        return answer.json()

    def test_has_what_is_measured_beside_what_the_model_says(self, api, market, broker):
        sample(broker, declared(market, 0.5))
        body = self.read(api, market)
        assert body["measured"]["cost"] == cost_of(market, declared(market, 0.5))
        assert body["costs"]["cost"] == cost_of(market, declared(market))
        assert body["measured"]["wanted_per_s"] > 0

    def test_goes_by_the_last_seconds_alone(self, api, market, broker):
        sample(broker, declared(market, 4.0), ago_s=30.0)
        sample(broker, declared(market))
        assert self.read(api, market)["measured"]["cost"] == cost_of(market, declared(market))

    def test_follows_a_move_at_once(self, api, market, broker):
        sample(broker, declared(market))
        before = self.read(api, market)["measured"]["cost"]
        topics = Topic.objects.filter(system=market.system)
        # Everything in one stream: whoever wants anything is handed all of it.
        topics.update(stream=topics.get(name=market.wanted[0]).stream)
        market.system.model_version += 1
        market.system.save()
        after = self.read(api, market)["measured"]
        assert after["cost"] == cost_of(market, declared(market)) > before
        assert after["dropped_per_s"] == 0.0

    def test_has_none_where_nobody_measures_or_no_map_is(self, api, market, broker):
        assert self.read(api, market)["measured"] is None
        bare = make_market("bare")
        sample(make_broker(bare.system, "b1"), declared(bare))
        assert self.read(api, bare)["measured"] is None


class TestDrift:
    def test_is_nothing_where_traffic_is_as_it_was_mapped_whatever_the_volume(self, market, broker):
        map_market(market)
        map_market(market)
        for times in (1.0, 0.1):
            Sample.objects.all().delete()
            sample(broker, declared(market, times))
            assert drift(market).value == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize("place", ["", "fewest", "most"])
    def test_goes_by_the_map_whose_plan_was_carried_out(self, market, broker, admin, place):
        mapping = map_market(market)
        points = mapping.outcome["points"]
        assert len(points) > 3
        place = {"fewest": "1", "most": str(len(points) - 1)}.get(place, place)
        sample(broker, declared(market))
        plan = mapping_plan(mapping=mapping, actor=admin, map=place)
        people = make_user("ines", Role.EDITOR), make_user("jon", Role.APPROVER)
        self.carry_out(plan, admin, people)
        assert plan.state == "executed"
        assert drift(market).value == pytest.approx(0.0, abs=1e-9)
        # More traffic, of the same kinds: filtering costs no more for each message.
        Sample.objects.all().delete()
        sample(broker, declared(market, 3.0))
        assert drift(market).value == pytest.approx(0.0, abs=1e-9)
        back = plan_roll_back(plan=plan, actor=people[0], reason="Back.")
        self.carry_out(back, admin, people)
        assert drift(market).value == pytest.approx(0.0, abs=1e-9)

    def test_what_a_plan_promised_is_what_receivers_filter_less(self, market, broker, admin):
        """Read by its map and by the one before it, before, midway and after; and rolled back."""
        mapping = map_market(market)
        plan = mapping_plan(mapping=mapping, actor=admin)
        (promise,) = plan.content.promise
        rates = [declared(market, times) for times in (1.0, 0.5)]
        costs = FilteringCosts().costs
        then, now = (costs(plan, rates, was=was) for was in (True, False))
        people = make_user("ines", Role.EDITOR), make_user("jon", Role.APPROVER)
        execution = plan_execute(plan=approved(plan, *people), actor=admin)
        for at_once in (True, False):
            if at_once:
                execution_advance(execution.pk, now=timezone.now() + timedelta(days=1))
            else:
                self.advance(execution, plan)
            assert costs(plan, rates, was=True) == then
            assert costs(plan, rates, was=False) == now
        # What is in force now, by another way.
        assert now.amounts[0] == pytest.approx(cost_of(market, rates[0]))
        # Every map of a mapping carries all that is wanted.
        assert now.came == pytest.approx(then.came)
        assert then.amounts[0] == pytest.approx(promise.before)
        for before, after in zip(then.amounts, now.amounts, strict=True):
            assert after / before == pytest.approx(promise.after / promise.before)
        part = judge_carried(
            Quantity.FILTERING,
            (promise.before, promise.after),
            Carried(amounts=then.amounts[:1] * 6, came=then.came[:1] * 6, basis=then.basis),
            Carried(amounts=now.amounts[1:] * 6, came=now.came[1:] * 6, basis=now.basis),
        )
        assert part.kept is Kept.KEPT
        back = plan_roll_back(plan=plan, actor=people[0], reason="Back.")
        self.carry_out(back, admin, people)
        assert costs(back, rates, was=False).amounts == pytest.approx(then.amounts)
        assert costs(back, rates, was=True).amounts == pytest.approx(now.amounts)

    def test_says_that_no_map_was_in_force_before_the_first(self, admin):
        market = make_market()
        make_broker(market.system, "b1")
        plan = mapping_plan(mapping=map_market(market), actor=admin)
        people = make_user("ines", Role.EDITOR), make_user("jon", Role.APPROVER)
        because = "No map was in force before it began, so no change can be compared."
        rates = [declared(market)]
        assert FilteringCosts().costs(plan, rates, was=True).because == because
        self.carry_out(plan, admin, people)
        before, after = (FilteringCosts().costs(plan, rates, was=was) for was in (True, False))
        assert (before.because, list(before.amounts)) == (because, [])
        assert (after.because, len(after.amounts)) == ("", 1)

    def test_weights_that_are_edited_make_another_basis(self, market, broker, admin):
        plan = mapping_plan(mapping=map_market(market), actor=admin)
        before = FilteringCosts().costs(plan, [], was=True).basis
        row = settings_of(market.system)
        values = {"transport": 9.0}
        settings_update(settings=row, values=values, actor=admin, expected_version=row.version)
        assert FilteringCosts().costs(plan, [], was=True).basis != before

    def carry_out(self, plan, admin, people) -> None:
        self.advance(plan_execute(plan=approved(plan, *people), actor=admin), plan)

    def advance(self, execution, plan) -> None:
        for day in range(1, 50):
            execution_advance(execution.pk, now=timezone.now() + timedelta(days=day))
        plans_settle()
        plan.refresh_from_db()

    def test_cannot_be_told_by_other_weights(self, market, broker):
        map_market(market)
        sample(broker, declared(market))
        MappingSettings.objects.update_or_create(system=market.system, defaults={"messaging": 5.0})
        assert drift(market).value is None
        assert (
            drift(market).detail == "The weights are others than those of M-1. Map the flows again."
        )

    def test_rises_with_traffic_that_the_map_was_not_made_for(self, market, broker):
        map_market(market)
        sample(broker, declared(market))
        before = drift(market).value
        Sample.objects.all().delete()
        # The topic that most receivers filter becomes a hundred times as busy.
        rates = declared(market)
        busiest = max(market.wanted, key=lambda name: cost_of(market, {name: 1.0}))
        rates[busiest] *= 100
        sample(broker, rates)
        assert drift(market).value > before

    def test_says_why_it_cannot_be_told(self, market, broker):
        assert drift(market).value is None
        assert drift(market).detail == "Its flows were not mapped yet."
        map_market(market)
        assert drift(market).detail == "No agent of market measures what its topics send."
        sample(broker, dict.fromkeys(market.wanted, 0.0))
        assert drift(market).detail == "Nothing that somebody wants is sent now."
        assert drift(market).value is None

    def test_of_a_mapping_from_before_it_was_kept_nothing_is_told(self, market, broker):
        mapping = map_market(market)
        del mapping.outcome["wanted_per_s"]
        mapping.save()
        sample(broker, declared(market))
        assert drift(market).value is None
        assert drift(market).detail.startswith("M-1 was made before its traffic was kept")

    def test_without_a_map_when_it_was_made_nothing_is_told(self):
        market = make_market("bare")
        map_market(market)
        assert drift(market).detail == "No map was in force when M-1 was made."

    def test_a_trigger_maps_again(self, market, broker, admin):
        map_market(market)
        # What most receivers filter becomes busier than all that they want.
        rates = declared(market)
        busiest = max(market.wanted, key=lambda name: cost_of(market, {name: 1.0}))
        rates[busiest] *= 100
        sample(broker, rates)
        share = drift(market).value
        assert share > 0.01
        trigger_create(
            system=market.system,
            actor=admin,
            values={
                "name": "drifted",
                "kind": "filtering_drift",
                "threshold": share / 2,
                "for_s": 0.0,
                "subject": "mapping",
                "then": "draft",
            },
        )
        recomputation_tick()
        firing = Firing.objects.get()
        assert firing.subject == "mapping"
        assert "work per wanted message" in firing.why


class TestDay:
    def test_a_quarter_is_the_mean_of_its_minutes(self, market, broker):
        start = an_hour_ago().replace(minute=16, second=0, microsecond=0)
        expected = []
        for minute, times in enumerate((1.0, 3.0, 0.5)):
            Sample.objects.all().delete()
            sample(broker, declared(market, times))
            expected.append(cost_of(market, declared(market, times)))
            filtering_roll(start + timedelta(minutes=minute))
        cell = FilteringCell.objects.get()
        assert cell.cost == pytest.approx(sum(expected) / 3, rel=1e-9)
        assert cell.cost == pytest.approx(cell.transport_cost + cell.messaging_cost)
        assert cell.measured_s == 180.0
        assert cell.at == start.replace(minute=15, second=0)

    def test_a_new_quarter_begins_a_new_cell(self, market, broker):
        start = an_hour_ago().replace(minute=15, second=10, microsecond=0)
        sample(broker, declared(market))
        # Of the first minute fifty seconds are of the quarter before.
        for minute in (0, 1, 2):
            filtering_roll(start + timedelta(minutes=minute))
        cells = FilteringCell.objects.values_list("at", "measured_s")
        assert [(at.minute, seconds) for at, seconds in cells] == [(0, 60.0), (15, 120.0)]

    def test_who_comes_twice_counts_once(self, market, broker):
        sample(broker, declared(market))
        at = timezone.now()
        for seconds in (0, 0, 1, 30, 54):
            filtering_roll(at + timedelta(seconds=seconds))
        assert FilteringCell.objects.get().measured_s == 60.0

    def test_what_nobody_measured_is_no_cell(self, market, broker):
        filtering_roll()
        sample(broker, declared(market), ago_s=300.0)
        filtering_roll()
        assert not FilteringCell.objects.exists()

    def test_the_oldest_go(self, market, broker):
        sample(broker, declared(market))
        at = timezone.now()
        filtering_roll(at)
        filtering_roll(at + timedelta(days=9))
        assert not FilteringCell.objects.filter(at__lte=at).exists()

    def test_one_system_that_fails_does_not_keep_others(self, market, broker, monkeypatch):
        other = make_market("other")
        in_turn(other)
        sample(make_broker(other.system, "b9"), declared(other))
        sample(broker, declared(market))
        # A rate that nobody can compute with.
        Sample.objects.filter(broker=broker).update(
            payload={"interval_s": 1.0, "flows": {market.wanted[0]: {"passed_per_s": "many"}}}
        )
        filtering_roll()
        assert [cell.system for cell in FilteringCell.objects.all()] == [other.system]

    def test_over_the_api(self, api, market, broker):
        query = {"system": str(market.system.public_id)}
        body = api.get("/api/v1/filtering", query).json()
        assert body["cells"] == []
        assert "No agent of market measured" in body["because"]
        sample(broker, declared(market))
        filtering_roll()
        body = api.get("/api/v1/filtering", query).json()
        assert body["because"] == ""
        (cell,) = body["cells"]
        assert cell["cost"] == cost_of(market, declared(market))
        assert filtering_of_day(market.system, timezone.now() + timedelta(days=2))["cells"] == []
