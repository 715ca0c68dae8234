"""Meridian's tape, the topic of the demo whose publishers are to be placed."""

import json
from typing import Any

import pytest

from apps.catalog.models import Publisher, Topic
from apps.catalog.selectors import system_problem
from apps.catalog.selectors.request_response import common_range, functions_of, range_problems
from apps.demo.services import meridian
from apps.placements.services import placement_request
from tests.factories.kinds import KINDS
from tests.factories.streets import kernel_answer

pytestmark = pytest.mark.django_db
FLEET_PER_S = {
    "fleet.trucks": 80.5,
    "fleet.ships": 108.8,
    "fleet.rail": 112.8,
    "fleet.drones": 125.8,
}
QUOTES_PER_S = [158.6, 147.5, 246.4, 148.1, 226.9, 109.8]


def test_few_brokers_are_too_slow_and_many_split_the_bucket_too_far() -> None:
    system = meridian.load()
    topic = Topic.objects.get(system=system, name=meridian.TAPE)
    run = placement_request(system=system, actor=None, topic=topic)
    outcome = json.loads(kernel_answer(run))
    target = outcome["contract"]["slo_p99_s"]
    curve = {row["brokers"]: row for row in outcome["curve"]}
    assert [count for count, row in curve.items() if row["chosen"]] == [2]
    assert curve[2]["meets"]
    assert set(curve[2]["names"]) != set(meridian.TAPE_HOMES)
    assert not curve[1]["fits"]
    assert outcome["today"]["processing_p99_s"] > target
    assert curve[4]["processing_p99_s"] < target < curve[4]["p99_s"]
    assert outcome["today"]["meets"] is False
    assert 0 < outcome["moved"] < outcome["publishers"] == meridian.TAPE_HANDLERS
    groups = [row for row in outcome["groups"] if row["name"] is not None]
    assert len(groups) == len(meridian.VENUES)
    assert all(row["within_one"] for row in groups)


def test_the_tape_takes_nothing_from_other_topics() -> None:
    problem = system_problem(meridian.load())
    (tape,) = [flow for flow in problem["flows"] if flow["id"] == meridian.TAPE]
    assert not tape["node_costs"]
    assert not tape["link_costs"]
    assert all(row["flow"] != meridian.TAPE for row in problem["classes"])
    assert len(problem["flows"]) == 41


def test_what_was_drawn_before_the_tape_stays() -> None:
    system = meridian.load()
    rates = Publisher.objects.filter(system=system, topic__name="quotes.london")
    assert list(rates.order_by("name").values_list("rate_per_s", flat=True)) == QUOTES_PER_S
    fleet = Publisher.objects.filter(system=system, topic__name__startswith="fleet.")
    assert dict(fleet.values_list("topic__name", "rate_per_s")) == FLEET_PER_S


def test_its_data_satisfy_its_own_rules() -> None:
    system = meridian.load()
    for topic in Topic.objects.filter(system=system):
        rates = {"rate_min": topic.rate_min_per_s, "rate_max": topic.rate_max_per_s}
        if topic.pattern == "request_response":
            assert not range_problems(common_range(functions_of(topic)), **rates)


def test_every_table_reads_back_as_nothing_differs(api: Any) -> None:
    system = str(meridian.load().public_id)
    for kind in KINDS:
        if kind.path == "overlays":
            continue
        table = api.get(f"/api/v1/{kind.path}/export", {"system": system}).content
        address = f"/api/v1/{kind.path}/import?system={system}&dry_run=true"
        answer = api.generic("POST", address, table, content_type="text/csv")
        assert answer.status_code == 200, answer.content
        body = answer.json()
        assert (body["created"], body["changed"]) == (0, 0), kind.path
        assert body["unchanged"] == len(table.splitlines()) - 1 > 0, kind.path
