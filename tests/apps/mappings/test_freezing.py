"""What is frozen of a catalogue to map its flows, and what is refused before."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from apps.catalog.models import Group, Interest, Stream, Subscriber, Topic
from apps.common.errors import ApplicationError
from apps.executions.models import Setting
from apps.mappings.models import MappingSettings
from apps.mappings.selectors.problem import mappable, mapping_problem
from apps.mappings.services import mapping_request
from apps.mappings.services.computation import freeze
from apps.runs.services.computations import run_job_inputs
from apps.systems.models import System
from tests.factories import make_system, make_topic
from tests.factories.market import (
    GROUPS,
    SHAPE,
    STREAMS,
    Market,
    in_turn,
    make_market,
    put_in_force,
)
from weir.actions import target_key
from weir.codec.mapping import mapping_bytes, mapping_from_dict, mapping_from_json
from weir.model.mapping import NOWHERE, MappingProblem

pytestmark = pytest.mark.django_db


@pytest.fixture
def market() -> Market:
    return make_market()


def pin(market: Market) -> None:
    """Two topics, one of which nobody wants, and one stream that carries neither."""
    topics, streams = Topic.objects.filter(system=market.system), market.system.stream_set
    topics.filter(name=market.wanted[0]).update(pinned_stream=market.stream(5))
    topics.filter(name=market.unwanted[0]).update(pinned_stream=market.stream(0))
    streams.filter(number=6).update(pinned_group=market.group(2))


def limit(system: System, flow: str, rate_per_s: float, broker: str = "b1", **more: Any) -> None:
    """A rate of this flow is in force at the broker."""
    target = {"flow": flow, "broker": broker}
    value = {"rate_per_s": rate_per_s, "burst": 10.0}
    Setting.objects.create(
        **{
            **{"system": system, "kind": "set_flow_rate", "target": target},
            **{"target_key": target_key(target), "in_force": value, "desired": value},
            **more,
        }
    )


def row_by_row(system: System) -> MappingProblem:
    """The same problem, read object by object and checked by the parser of files."""
    topics = list(Topic.objects.filter(system=system))
    streams = list(Stream.objects.filter(system=system))
    in_force = {
        row.target["flow"]: row.in_force["rate_per_s"]
        for row in Setting.objects.filter(system=system, kind="set_flow_rate")
    }
    group_of = {str(s.number): s.group.number for s in streams if s.group}
    stream_of = {t.name: t.stream.number for t in topics if t.stream and t.stream.group}
    settings = MappingSettings.objects.filter(system=system).first() or MappingSettings()
    work = (settings.flow_move_work, settings.stream_move_work)
    return mapping_from_dict(
        {
            "flows": [
                {"id": t.name, "rate": in_force.get(t.name, t.rate_max_per_s)} for t in topics
            ],
            "users": [
                {"id": s.name, "flows": [row.topic.name for row in s.interests.all()]}
                for s in Subscriber.objects.filter(system=system)
            ],
            "max_streams": len(streams),
            "max_groups": Group.objects.filter(system=system).count(),
            "costs": {
                "transport": settings.transport,
                "messaging": settings.messaging,
                "aggregation": settings.aggregation,
            },
            "pins": {
                "flow_to_stream": {
                    t.name: t.pinned_stream.number for t in topics if t.pinned_stream
                },
                "stream_to_group": {
                    str(s.number): s.pinned_group.number for s in streams if s.pinned_group
                },
            },
            **({"previous": {"stream_of": stream_of, "group_of": group_of}} if stream_of else {}),
            "move_cost": work[0] / settings.horizon_s,
            "stream_move_cost": work[1] / settings.horizon_s,
            "moving": {
                "flow_work": work[0],
                "stream_work": work[1],
                "horizon_s": settings.horizon_s,
                "flows_per_s": settings.flows_per_s,
            },
        }
    )


def assert_same(one: MappingProblem, other: MappingProblem) -> None:
    """Every array too, with its type."""
    assert (one.flows, one.users) == (other.flows, other.users)
    assert (one.max_streams, one.max_groups) == (other.max_streams, other.max_groups)
    assert (one.weights, one.moving) == (other.weights, other.moving)
    assert (one.move_cost, one.stream_move_cost) == (other.move_cost, other.stream_move_cost)
    assert (one.former is None) == (other.former is None)
    pairs: list[tuple[Any, Any]] = [
        (one.rates_per_s, other.rates_per_s),
        (one.interests.starts, other.interests.starts),
        (one.interests.users, other.interests.users),
        (one.pinned_stream, other.pinned_stream),
        (one.pinned_group, other.pinned_group),
    ]
    if one.former is not None and other.former is not None:
        pairs += [
            (one.former.stream_of, other.former.stream_of),
            (one.former.group_of, other.former.group_of),
        ]
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


class TestProblem:
    def test_is_what_the_parser_of_files_makes_of_the_same_rows(self, market):
        assert_same(mapping_problem(market.system), row_by_row(market.system))
        in_turn(market)
        pin(market)
        limit(market.system, market.wanted[3], 17.5)
        MappingSettings.objects.create(
            system=market.system, transport=0.0, messaging=3.5, horizon_s=7.0, flow_move_work=1.0
        )
        # Names sort by code points, whatever the database sorts by; keys stand in another order.
        for topic, name in zip(
            Topic.objects.order_by("id")[:5], ["é", "a b", "B", "_", "Zürich/ü"], strict=True
        ):
            Topic.objects.filter(pk=topic.pk).update(name=name)
        for user, name in zip(Subscriber.objects.order_by("id")[:3], ["ß", "A", "z"], strict=True):
            Subscriber.objects.filter(pk=user.pk).update(name=name)
        Subscriber.objects.create(system=market.system, name="M wants nothing")
        assert_same(mapping_problem(market.system), row_by_row(market.system))

    def test_is_read_back_from_its_bytes(self, market):
        in_turn(market)
        pin(market)
        problem = mapping_problem(market.system)
        raw = mapping_bytes(problem)
        assert_same(mapping_from_json(raw), problem)
        assert mapping_bytes(mapping_from_json(raw)) == raw

    def test_has_nothing_of_another_system(self, market):
        before = mapping_bytes(mapping_problem(market.system))
        other = make_market("another", replace(SHAPE, flows=60, users=7))
        in_turn(other)
        pin(other)
        limit(other.system, market.wanted[0], 1.0)
        MappingSettings.objects.create(system=other.system, transport=77.0)
        assert mapping_bytes(mapping_problem(market.system)) == before
        assert_same(mapping_problem(other.system), row_by_row(other.system))

    def test_takes_a_handful_of_statements_however_much_there_is(
        self, market, django_assert_num_queries, django_assert_max_num_queries
    ):
        in_turn(market)
        pin(market)
        with django_assert_max_num_queries(13) as few:
            mapping_problem(market.system)
        Topic.objects.bulk_create(
            Topic(system=market.system, name=f"more-{n}", rate_max_per_s=1.0) for n in range(500)
        )
        topics = Topic.objects.filter(name__startswith="more-")
        users = Subscriber.objects.filter(system=market.system)
        Interest.objects.bulk_create(
            Interest(subscriber=user, topic=topic) for user in users for topic in topics
        )
        with django_assert_num_queries(len(few)):
            assert len(mapping_problem(market.system).interests.users) >= 500 * len(users)

    def test_has_the_rate_that_plans_let_pass(self, market):
        first, second, third = market.wanted[:3]
        limit(market.system, first, 12.5)
        limit(market.system, "gone", 1.0)
        # A flow that enters at two brokers has two gates.
        limit(market.system, second, 3.0)
        limit(market.system, second, 4.0, broker="b2")
        # Asked for and not in force yet; or of another kind.
        limit(market.system, third, 1.0, in_force=None)
        limit(market.system, third, 1.0, kind="set_bucket")
        problem = mapping_problem(market.system)
        rates = dict(zip(problem.flows, problem.rates_per_s.tolist(), strict=True))
        assert (rates[first], rates[second]) == (12.5, 7.0)
        assert rates[third] == market.topic(third).rate_max_per_s


class TestMapInForce:
    def test_is_none_where_no_topic_is_mapped(self, market):
        Stream.objects.update(group=market.group(0))
        assert mapping_problem(market.system).former is None

    def test_a_topic_in_a_stream_without_a_group_is_not_mapped(self, market):
        first, second = market.wanted[:2]
        put_in_force(market, {first: 0, second: 1}, {1: 2, 3: 0})
        former = mapping_problem(market.system).former
        assert former is not None
        flows = mapping_problem(market.system).flows
        mapped = {flows[at]: int(s) for at, s in enumerate(former.stream_of) if s != NOWHERE}
        assert mapped == {second: 1}
        # Streams that are in a group are known to be there, whether they carry anything or not.
        assert former.group_of.tolist() == [NOWHERE, 2, NOWHERE, 0, *[NOWHERE] * 4]
        put_in_force(market, {first: 0}, {1: 2})
        assert mapping_problem(market.system).former is None

    def test_has_topics_that_nobody_wants_any_more(self, market):
        put_in_force(market, {market.unwanted[0]: 4}, {4: 1})
        problem = mapping_problem(market.system)
        assert problem.former is not None
        at = problem.flows.index(market.unwanted[0])
        assert (problem.former.stream_of[at], problem.interests.audiences[at]) == (4, 0)


class TestCharges:
    def test_are_works_divided_by_the_horizon(self, market):
        MappingSettings.objects.create(
            system=market.system, flow_move_work=30.0, stream_move_work=90.0, horizon_s=60.0
        )
        problem = mapping_problem(market.system)
        assert (problem.move_cost, problem.stream_move_cost) == (0.5, 1.5)

    def test_next_to_nothing_is_nothing(self, market):
        MappingSettings.objects.create(
            system=market.system, flow_move_work=1e-30, stream_move_work=1e30, horizon_s=1e8
        )
        problem = mapping_problem(market.system)
        assert (problem.move_cost, problem.stream_move_cost) == (0.0, 1e22)
        assert_same(mapping_from_json(mapping_bytes(problem)), problem)


REFUSALS = [
    ((Interest, Topic), "market has no topics yet. Add the topics that streams shall carry."),
    (
        (Interest, Subscriber),
        "market has no subscribers yet. Add subscribers with the topics that they want.",
    ),
    (
        (Interest,),
        "No subscriber of market wants a topic. Give subscribers the topics they want.",
    ),
    (
        (Stream,),
        "market has no streams yet. Add streams, numbered from 0, to carry its topics.",
    ),
    ((Group,), "market has no groups yet. Add groups, numbered from 0, to carry its streams."),
]


@pytest.mark.parametrize(("models", "sentence"), REFUSALS)
def test_what_is_missing_is_refused_with_what_to_do(market, models, sentence):
    make_market("another")
    for model in models:
        rows = model.objects.all()
        owner = "topic__system" if model is Interest else "system"
        rows.filter(**{owner: market.system}).delete()
    with pytest.raises(ApplicationError) as caught:
        mapping_request(system=market.system, actor=None)
    error = caught.value
    assert (error.code, error.status, error.message) == ("nothing_to_map", 409, sentence)
    assert [(one.field, one.message) for one in error.errors] == [("system", sentence)]
    assert mappable(market.system)["because"] == sentence


@pytest.mark.parametrize(
    ("model", "numbers", "sentence"),
    [
        (
            Stream,
            {5: 199},
            "No stream has the number 5; streams are numbered from 0 without gaps. Add it, or give "
            "its number to stream 199.",
        ),
        (
            Stream,
            {0: 8},
            "No stream has the number 0; streams are numbered from 0 without gaps. Add it, or give "
            "its number to stream 8.",
        ),
        (
            Group,
            {1: 7, 2: 9},
            "No group has the number 1; groups are numbered from 0 without gaps. Add it, or give "
            "its number to group 9.",
        ),
    ],
)
def test_gaps_in_numbers_are_refused_with_the_first_missing(market, model, numbers, sentence):
    for number, other in numbers.items():
        model.objects.filter(number=number).update(number=other)
    with pytest.raises(ApplicationError) as caught:
        mapping_problem(market.system)
    assert (caught.value.code, caught.value.message) == ("nothing_to_map", sentence)
    assert mappable(market.system)["because"] == sentence


@pytest.mark.parametrize(
    ("rate_per_s", "why"), [(1e-40, "closer to 0 than 1e-30"), (1e40, "must lie within")]
)
def test_a_rate_that_cannot_be_computed_with_is_refused_at_its_topic(market, rate_per_s, why):
    Topic.objects.filter(name=market.wanted[1]).update(rate_max_per_s=rate_per_s)
    with pytest.raises(ApplicationError, match=why) as caught:
        mapping_problem(market.system)
    assert (caught.value.code, caught.value.status) == ("invalid_problem", 422)
    assert caught.value.errors[0].field == f"topics.{market.wanted[1]}.rate_max_per_s"


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"method": "magic"}, "method"),
        ({"parameters": {"effort": -1}}, "parameters.effort"),
        ({"parameters": {"speed": 1}}, "parameters"),
        ({"method": "flat", "parameters": {"effort": 1}}, "parameters"),
    ],
)
def test_methods_and_parameters_are_checked_before_anything_is_read(market, asked, field):
    Stream.objects.all().delete()
    with pytest.raises(ApplicationError) as caught:
        freeze(market.system, **asked)
    assert caught.value.errors[0].field.startswith(field)


class TestMappable:
    def test_counts_what_there_is(self, market):
        make_market("another")
        in_turn(market)
        put_in_force(market, {n: 0 for n in (*market.wanted[:4], market.unwanted[0])}, {0: 1})
        pin(market)
        problem = mapping_problem(market.system)
        assert mappable(market.system) == {
            "flows": 48,
            "wanted_flows": len(market.wanted),
            "mapped_flows": 4,
            "users": 9,
            "interests": len(problem.interests.users),
            "streams": STREAMS,
            "groups": GROUPS,
            "pinned_flows": 2,
            "pinned_streams": 1,
            "because": "",
        }

    def test_says_of_an_empty_system_that_it_has_nothing(self):
        system = make_system("empty")
        counts = mappable(system)
        assert counts.pop("because").startswith("empty has no topics yet.")
        assert set(counts.values()) == {0}
        make_topic(system)
        assert mappable(system)["because"].startswith("empty has no subscribers yet.")


class TestJobInputs:
    def inputs(self, market: Market, **asked: Any) -> dict[str, Any]:
        return dict(run_job_inputs(mapping_request(system=market.system, actor=None, **asked)))

    def test_a_curve_is_drawn_from_a_map_in_force_by_the_method_that_can(self, market):
        assert self.inputs(market) == {"compare": True}
        in_turn(market)
        assert self.inputs(market) == {"compare": True, "curve": True}
        assert self.inputs(market, method="flat") == {"compare": True}

    @pytest.mark.parametrize("name", ["previous", '"previous":{', '\\"previous'])
    def test_a_topic_of_that_name_is_no_map_in_force(self, market, name):
        pin(market)
        Topic.objects.filter(name=market.wanted[0]).update(name=name)
        assert self.inputs(market) == {"compare": True}


def test_the_same_catalogue_is_frozen_once(market):
    first = mapping_request(system=market.system, actor=None)
    second = mapping_request(system=market.system, actor=None, seed=5, note="again")
    assert first.snapshot == second.snapshot
    MappingSettings.objects.create(system=market.system, flows_per_s=41.0)
    third = mapping_request(system=market.system, actor=None)
    assert third.snapshot != first.snapshot
    assert third.snapshot.model_version == first.snapshot.model_version
    assert json.loads(bytes(third.snapshot.payload))["moving"]["flows_per_s"] == 41.0
