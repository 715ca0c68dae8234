"""Quarry, the demo whose instruments share streams: its map in force is worth changing."""

import json

import numpy as np
import pytest

from apps.catalog.models import Group, Interest, Stream, Subscriber, Topic
from apps.demo.services import quarry
from apps.mappings.models import Mapping
from apps.mappings.selectors.problem import mapping_problem
from apps.mappings.services import mapping_request
from apps.mappings.services.computation import job_inputs
from apps.runs.services.computations import run_store
from tests.factories.runs import claim
from weir.clustering.answer import answer
from weir.clustering.cost import filtering_cost, random_cost
from weir.clustering.loads import fan_out
from weir.kernel import Call

pytestmark = pytest.mark.django_db


def test_market_is_small_enough_to_watch() -> None:
    problem = quarry.market().problem
    assert len(problem.flows) == 720
    assert 3.5 < fan_out(problem) < 4.5
    wanted = np.diff(problem.interests.by_user[0])
    assert wanted.min() == 6
    assert wanted.max() == 40


def test_catalogue_is_the_market() -> None:
    market = quarry.market()
    system = quarry.load()
    assert Topic.objects.filter(system=system).count() == 720
    assert Stream.objects.filter(system=system).count() == quarry.STREAMS
    assert Group.objects.filter(system=system).count() == quarry.GROUPS
    assert Subscriber.objects.filter(system=system).count() == 60
    wanted = len(market.problem.interests.users)
    assert Interest.objects.filter(topic__system=system).count() == wanted
    problem = mapping_problem(system)
    place = {name: at for at, name in enumerate(market.topics)}
    there = np.array([place[name] for name in problem.flows])
    assert (market.problem.interests.audiences[there] == problem.interests.audiences).all()
    assert problem.former is not None
    assert (problem.former.stream_of == market.flow_map.stream_of[there]).all()
    assert problem.rates_per_s == pytest.approx(market.problem.rates_per_s[there], abs=5e-4)


def test_map_in_force_is_good_and_has_aged() -> None:
    """Better than a random one, and worth changing; pins are where flows are already."""
    system = quarry.load()
    run = mapping_request(system=system, actor=None)
    payload = answer(
        bytes(run.snapshot.payload),
        Call(method=run.method, parameters={}, seed=0, inputs=job_inputs(run, None)),
    )
    run_store(claim(run), payload)
    mapping = Mapping.objects.get()
    problem = mapping_problem(system)
    assert problem.former is not None
    cost = filtering_cost(problem, problem.former.stream_of, problem.former.group_of).total
    assert mapping.former_cost == cost
    assert cost < 0.7 * random_cost(problem)
    assert mapping.cost < 0.9 * cost
    points = mapping.outcome["points"]
    assert len(points) >= 8
    assert 0 < mapping.outcome["proposed"] < len(points)
    moved = mapping.moved
    assert 0.1 < moved / mapping.wanted_flows < 0.7
    assert {pin["kind"] for pin in mapping.outcome["pins"]} == {"flow", "stream"}
    stream_of = json.loads(payload)["stream_of"]
    for topic in Topic.objects.filter(system=system, pinned_stream__isnull=False):
        assert topic.pinned_stream == topic.stream
        assert topic.stream is not None
        assert stream_of.get(topic.name, topic.stream.number) == topic.stream.number
