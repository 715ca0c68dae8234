"""What a placement freezes of the catalogue, and what it refuses."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.audit.models import AuditEntry
from apps.catalog.models import Publisher, Slo, Topic
from apps.common.errors import ApplicationError
from apps.executions.models import Setting
from apps.placements.services import placement_request
from apps.runs.models import OPENED, Run
from apps.runs.services.computations import run_again
from apps.systems.services import entity_create
from apps.topology.models import Broker
from tests.factories.streets import Streets, make_streets, placed
from weir.actions import target_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def streets() -> Streets:
    return make_streets()


def frozen(streets: Streets, **asked: Any) -> dict[str, Any]:
    run = placement_request(system=streets.system, actor=None, topic=streets.topic, **asked)
    plain: dict[str, Any] = json.loads(bytes(run.snapshot.payload))
    return plain


def refusal(streets: Streets, **asked: Any) -> ApplicationError:
    with pytest.raises(ApplicationError) as caught:
        frozen(streets, **asked)
    assert not Run.objects.exists()
    return caught.value


def test_contract_is_that_of_the_topic_and_its_tightest_p99_target(streets):
    assert frozen(streets)["topic"] == {
        "id": "sensors",
        "rate": 600.0,
        "token_rate": 700.0,
        "bucket": 40.0,
        "batch": 1,
        "slo_p99_s": 0.05,
    }


def test_a_recorded_bucket_is_frozen_where_the_topic_has_one(streets):
    assert "recorded_bucket" not in frozen(streets)["topic"]
    Topic.objects.filter(pk=streets.topic.pk).update(recorded_bucket=20.5)
    assert frozen(streets)["topic"]["recorded_bucket"] == 20.5


def test_a_topic_that_is_less_bursty_by_its_recording_takes_fewer_brokers(streets):
    Publisher.objects.filter(topic=streets.topic).update(broker=None)
    for name, rate in (("b1", 1300.0), ("b2", 1000.0), ("b3", 1000.0)):
        Broker.objects.filter(name=name).update(publish_rate_max_per_s=rate)
    Slo.objects.filter(name="tight").update(target=0.0375)
    topics = Topic.objects.filter(pk=streets.topic.pk)
    topics.update(batch=4, token_bucket=150.0)
    at_random = placed(streets).placement
    assert (at_random.brokers, at_random.outcome["contract"]["recorded_bucket"]) == (2, None)
    topics.update(recorded_bucket=20.0)
    recorded = placed(streets).placement
    assert (recorded.brokers, recorded.outcome["contract"]["recorded_bucket"]) == (1, 20.0)
    assert at_random.meets
    assert recorded.meets


def listed(streets: Streets, flow: str, **lists: list[str]) -> None:
    """Brokers let in these publishers, as lists in force say."""
    for broker, names in lists.items():
        target = {"flow": flow, "broker": broker}
        Setting.objects.create(
            system=streets.system,
            kind="assign_publishers",
            target=target,
            target_key=target_key(target),
            in_force={"publishers": names},
            desired={"publishers": []},
        )


def test_publishers_are_where_lists_in_force_have_them(streets):
    Publisher.objects.filter(system=streets.system, name="s01").update(pinned=True)
    listed(streets, "sensors", b2=["s01", "s02"], b3=["s12"])
    plain = frozen(streets)
    assert plain["previous"] == {"s01": "b2", "s02": "b2", "s12": "b3"}
    assert plain["pins"] == {"s01": "b1"}, "where it shall be, not where it is"
    listed(streets, "other", b3=["o1"])
    brokers = {row["id"]: row["allocated_rate"] for row in frozen(streets)["brokers"]}
    assert brokers == {"b1": 0.0, "b2": 0.0, "b3": 300.0}


def test_the_tightest_target_of_the_mean_is_frozen_where_there_is_one(streets):
    for name, target in (("loose mean", 0.02), ("tight mean", 0.01)):
        values = {"name": name, "topic": streets.topic, "quantity": "delay_mean_s"}
        entity_create(
            model=Slo, system=streets.system, actor=None, values={**values, "target": target}
        )
    topic = frozen(streets)["topic"]
    assert (topic["slo_mean_s"], topic["slo_p99_s"]) == (0.01, 0.05)


def test_topic_without_a_p99_target_promises_nothing(streets):
    Slo.objects.filter(quantity="delay_p99_s").delete()
    assert frozen(streets)["topic"]["slo_p99_s"] is None


def test_brokers_are_those_with_a_publish_rate_less_what_other_topics_send(streets):
    brokers = {row.pop("id"): row for row in frozen(streets)["brokers"]}
    assert brokers == {
        "b1": {"max_rate": 1000.0, "allocated_rate": 300.0, "drained": False},
        "b2": {"max_rate": 1000.0, "allocated_rate": 0.0, "drained": False},
        "b3": {"max_rate": 800.0, "allocated_rate": 0.0, "drained": False},
    }


def test_what_other_topics_send_adds_up_in_any_order(streets):
    for name in "abc":
        entity_create(
            model=Publisher,
            system=streets.system,
            actor=None,
            values={
                "name": name,
                "topic": streets.other,
                "broker": streets.brokers["b3"],
                "rate_per_s": 0.1,
            },
        )
    rows = {row["id"]: row["allocated_rate"] for row in frozen(streets)["brokers"]}
    assert rows["b3"] == 0.3
    assert 0.1 + 0.1 + 0.1 != 0.3


def test_publishers_have_their_rate_their_group_and_their_broker_of_today(streets):
    plain = frozen(streets)
    groups = {row["id"]: row["group"] for row in plain["publishers"]}
    assert [name for name, group in groups.items() if group == "on the hour"] == [
        *("s01", "s02", "s03", "s04")
    ]
    assert groups["s05"] is None
    assert {row["rate"] for row in plain["publishers"]} == {50.0}
    assert plain["previous"]["s01"] == "b1"
    assert plain["previous"]["s09"] == "b2"


def test_publishers_without_a_rate_take_no_part(streets):
    assert "silent" not in {row["id"] for row in frozen(streets)["publishers"]}


def test_broker_without_a_publish_rate_counts_as_no_broker(streets):
    previous = frozen(streets)["previous"]
    assert "s11" not in previous
    assert "s12" not in previous


def test_pinned_publishers_stay_pinned(streets):
    Publisher.objects.filter(name="s09").update(pinned=True)
    assert frozen(streets)["pins"] == {"s09": "b2"}


def test_drained_brokers_are_marked(streets):
    brokers = frozen(streets, drained_brokers=[streets.brokers["b2"]])["brokers"]
    assert [row["id"] for row in brokers if row["drained"]] == ["b2"]


def test_the_same_catalogue_freezes_to_the_same_bytes_in_few_queries(streets):
    first = placement_request(system=streets.system, actor=None, topic=streets.topic)
    with CaptureQueriesContext(connection) as queries:
        second = placement_request(system=streets.system, actor=None, topic=streets.topic)
    assert second.snapshot == first.snapshot
    reads = [q["sql"] for q in queries if "catalog_" in q["sql"] or "topology_" in q["sql"]]
    assert len(reads) == 5


def test_the_reason_begins_the_history_and_a_rerun_keeps_it(streets, admin):
    run = placed(streets, admin, note="Before the quarter's end")
    assert run.events.get(command=OPENED).note == "Before the quarter's end"
    assert run.placement.note == "Before the quarter's end"
    entry = AuditEntry.objects.get(object_kind="run", object_id=run.public_id)
    assert entry.reason == "Before the quarter's end"
    again = run_again(run=run, actor=admin)
    assert again.events.get(command=OPENED).note == "Before the quarter's end"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"token_rate_per_s": None, "token_bucket": None}, "Give sensors a token rate and a burst"),
        ({"token_rate_per_s": 0.0}, "Give sensors a token rate above 0"),
        ({"token_bucket": 0.5}, "Give sensors a burst of at least 1 message, not 0.5"),
    ],
)
def test_topic_without_a_usable_token_bucket_is_refused(streets, values, message):
    Topic.objects.filter(pk=streets.topic.pk).update(**values)
    error = refusal(streets)
    assert (error.code, error.errors[0].field) == ("nothing_to_place", "topic")
    assert message in error.message


def test_topic_that_sends_more_than_its_tokens_has_no_bound(streets):
    Topic.objects.filter(pk=streets.topic.pk).update(token_rate_per_s=600.0)
    placement = placed(streets).placement
    assert (placement.p99_s, placement.penalty_s, placement.meets) == (None, None, False)


def test_topic_that_was_deleted_meanwhile_is_refused(streets):
    Topic.objects.filter(pk=streets.topic.pk).delete()
    error = refusal(streets)
    assert (error.errors[0].field, error.message) == (
        "topic",
        "sensors was deleted. Choose another topic.",
    )


def test_topic_of_another_system_is_refused(streets):
    other = make_streets("lanes")
    with pytest.raises(ApplicationError, match="Choose another topic"):
        placement_request(system=streets.system, actor=None, topic=other.topic)


def test_topic_without_publishers_is_refused(streets):
    Publisher.objects.filter(topic=streets.topic).update(rate_per_s=0.0)
    assert "No publisher of sensors has a rate" in refusal(streets).message
    Publisher.objects.filter(topic=streets.topic).delete()
    error = refusal(streets)
    assert error.errors[0].field == "topic"
    assert "sensors has no publishers. Add" in error.message


def test_system_without_publish_rates_is_refused(streets):
    Broker.objects.update(publish_rate_max_per_s=None)
    error = refusal(streets)
    assert (error.code, error.errors[0].field) == ("nothing_to_place", "system")
    assert "Give each broker" in error.message


def test_pin_to_a_broker_without_a_publish_rate_is_refused(streets):
    Publisher.objects.filter(name="s11").update(pinned=True)
    error = refusal(streets)
    assert error.errors[0].field == "publishers.s11.pinned"
    assert error.message == (
        "s11 is pinned to b4, which has no publish rate. Give b4 one, or unpin s11."
    )


def test_draining_a_broker_with_pins_is_refused(streets):
    Publisher.objects.filter(name__in=["s09", "s10"]).update(pinned=True)
    error = refusal(streets, drained_brokers=[streets.brokers["b2"]])
    assert error.errors[0].field == "drained_brokers"
    assert error.message.startswith("s09, s10: pinned to b2, which shall be drained.")


def test_draining_a_broker_without_a_publish_rate_is_refused(streets):
    error = refusal(streets, drained_brokers=[streets.brokers["b4"]])
    assert error.errors[0].field == "drained_brokers"
    assert "b4" in error.message


@pytest.mark.parametrize(
    ("asked", "field"),
    [({"method": "magic"}, "method"), ({"parameters": {"stay": "perhaps"}}, "parameters.stay")],
)
def test_unknown_methods_and_parameters_are_refused(streets, asked, field):
    assert refusal(streets, **asked).errors[0].field == field


def test_rates_that_the_kernel_cannot_compute_with_are_refused(streets):
    Publisher.objects.filter(name="s01").update(rate_per_s=1e-200)
    error = refusal(streets)
    assert (error.code, error.status) == ("invalid_problem", 422)


def test_rates_that_no_sum_can_hold_are_refused(streets):
    Publisher.objects.filter(topic=streets.topic).update(rate_per_s=1e308)
    error = refusal(streets)
    assert (error.code, error.status) == ("invalid_problem", 422)
    assert error.errors[0].field == "publishers"
