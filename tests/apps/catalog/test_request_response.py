"""Rates of request-response topics against latency targets: refused at the field, suggested."""

import pytest

from apps.catalog.models import ConsumerClass, Topic, UtilityFunction
from apps.systems.services import entity_create
from tests.apps.catalog.test_utility_curves import PAPER
from tests.factories import make_broker, make_system, make_topic, make_utility

pytestmark = pytest.mark.django_db


@pytest.fixture
def system():
    return make_system()


def make_target(system, name="quick", **change):
    return entity_create(
        model=UtilityFunction,
        system=system,
        actor=None,
        values={"name": name, "kind": "latency", "parameters": {**PAPER, **change}},
    )


def make_asked(system, low=33.34, high=203.7, pattern="request_response"):
    return make_topic(system, "quotes", pattern=pattern, rate_min_per_s=low, rate_max_per_s=high)


def add_class(api, system, topic, utility, name="desks"):
    broker = make_broker(system, f"b-{name}")
    body = {
        "system": str(system.public_id),
        "name": name,
        "topic": str(topic.public_id),
        "broker": str(broker.public_id),
        "utility": str(utility.public_id),
        "population_max": 20,
    }
    return api.post("/api/v1/consumer-classes", body, format="json")


def edit(api, topic, **values):
    row = Topic.objects.get(pk=topic.pk)
    return api.patch(
        f"/api/v1/topics/{row.public_id}",
        values,
        format="json",
        headers={"If-Match": f'"{row.version}"'},
    )


def rate_range(api, topic):
    return api.get(f"/api/v1/topics/{topic.public_id}/rate-range").json()


def test_range_of_the_papers_example_is_derived(api, system):
    topic = make_asked(system)
    assert add_class(api, system, topic, make_target(system)).status_code == 201
    body = rate_range(api, topic)
    assert body["derived"]["rate_min_per_s"] == pytest.approx(33.3333, abs=1e-3)
    assert body["derived"]["rate_max_per_s"] == pytest.approx(203.7037, abs=1e-3)
    assert body["problems"] == []


@pytest.mark.parametrize(
    ("values", "field", "suggested"),
    [
        ({"rate_min_per_s": 10}, "rate_min_per_s", "33.34"),
        ({"rate_max_per_s": 1000}, "rate_max_per_s", "203.7"),
    ],
)
def test_rate_outside_is_refused_at_its_field_with_a_rate_that_is_taken(
    api, system, values, field, suggested
):
    topic = make_asked(system)
    add_class(api, system, topic, make_target(system))
    refused = edit(api, topic, **values)
    assert refused.status_code == 400
    error = refused.json()["errors"][0]
    assert error["field"] == field
    assert f"Set it to {suggested}." in error["message"]
    assert edit(api, topic, **{field: float(suggested)}).status_code == 200


def test_class_with_a_target_needs_a_topic_within_its_range(api, system):
    topic = make_asked(system, low=1, high=1000)
    refused = add_class(api, system, topic, make_target(system))
    assert refused.status_code == 400
    error = refused.json()["errors"][0]
    assert error["field"] == "utility"
    assert "33.33 to 203.7 msg/s" in error["message"]
    assert "Set the topic's rates to 33.34 and 203.7 first." in error["message"]
    assert not ConsumerClass.objects.exists()


def test_rounded_rates_count_as_inside(api, system):
    topic = make_asked(system, low=33.33, high=203.704)
    assert add_class(api, system, topic, make_target(system)).status_code == 201


def test_other_patterns_and_other_kinds_are_free(api, system):
    one_way = make_asked(system, low=1, high=1000, pattern="one_to_many")
    assert add_class(api, system, one_way, make_target(system)).status_code == 201
    assert rate_range(api, one_way)["problems"] == []
    refused = edit(api, one_way, pattern="request_response")
    assert {error["field"] for error in refused.json()["errors"]} == {
        "rate_min_per_s",
        "rate_max_per_s",
    }


def test_topic_without_a_target_has_no_range(api, system):
    topic = make_asked(system, low=1, high=1000)
    assert add_class(api, system, topic, make_utility(system)).status_code == 201
    assert rate_range(api, topic) == {"derived": None, "problems": []}


def test_several_targets_leave_what_all_of_them_know(api, system):
    topic = make_asked(system, low=50, high=100)
    add_class(api, system, topic, make_target(system), "desks")
    add_class(api, system, topic, make_target(system, "slow", think_s=0.2), "clerks")
    derived = rate_range(api, topic)["derived"]
    assert derived["rate_min_per_s"] == pytest.approx(20 / 0.6)
    assert derived["rate_max_per_s"] == pytest.approx(1.1 * 20 / 0.208)


def test_description_of_a_topic_outside_can_still_be_edited(api, system):
    topic = make_asked(system)
    target = make_target(system)
    add_class(api, system, topic, target)
    UtilityFunction.objects.filter(pk=target.pk).update(parameters={**PAPER, "senders": 2})
    assert len(rate_range(api, topic)["problems"]) == 1
    assert edit(api, topic, description="asked by desks").status_code == 200


def test_targets_that_exclude_each_other_are_named(api, system):
    topic = make_asked(system, low=50, high=100)
    add_class(api, system, topic, make_target(system), "desks")
    other = make_target(system, "few")
    add_class(api, system, topic, other, "clerks")
    UtilityFunction.objects.filter(pk=other.pk).update(parameters={**PAPER, "senders": 2})
    assert "exclude each other" in rate_range(api, topic)["problems"][0]["message"]
