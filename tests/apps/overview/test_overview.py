"""Every system at a glance: what is measured, what is in force, and what is only proposed."""

from typing import Any

import pytest
from django.utils import timezone

from apps.allocations.models import Allocation
from apps.systems.services import entity_update
from apps.telemetry.models import Sample
from tests.factories.backlogs import waits
from tests.factories.fleet import make_harbour
from tests.factories.kinds import World, make_world
from tests.factories.overlays import Row, make_row
from tests.factories.quay import Quay
from tests.factories.runs import make_allocation, make_run

pytestmark = pytest.mark.django_db


def seen(api: Any, system: Any) -> dict[str, Any]:
    rows = api.get("/api/v1/overview").json()["results"]
    return next(row for row in rows if row["id"] == str(system.public_id))


def test_overview_shows_every_system_at_a_glance(api, world: World):
    empty = make_world("empty").system
    allocation = make_allocation(world.system)
    make_run(world.system)
    entity_update(
        instance=world.topic, actor=None, expected_version=1, values={"rate_max_per_s": 9.0}
    )
    by_name = {row["name"]: row for row in api.get("/api/v1/overview").json()["results"]}
    row = by_name[world.system.name]
    assert (row["brokers"], row["topics"], row["consumer_classes"]) == (2, 1, 1)
    assert row["active_runs"] == 1
    assert row["latest_run"]["state"] == "queued"
    assert row["latest_allocation"]["id"] == str(allocation.public_id)
    assert row["model_moved"] is True
    assert row["node_loads"][0]["name"] == "world-b1"
    assert row["allocation_in_force"] is None
    assert row["loads"]["basis"] == "proposed"
    assert "a proposal: nothing of it is in force" in row["loads"]["detail"]
    assert by_name[empty.name]["latest_allocation"] is None
    assert by_name[empty.name]["model_moved"] is False
    assert by_name[empty.name]["loads"]["basis"] == "none"


def test_what_is_in_force_stays_the_truth_beside_a_new_proposal(api, moored: Quay):
    stands = seen(api, moored.system)
    assert stands["loads"]["basis"] == "in_force"
    assert stands["allocation_in_force"]["id"] == stands["latest_allocation"]["id"]
    entity_update(
        instance=moored.brokers["b1"],
        actor=None,
        expected_version=moored.brokers["b1"].version,
        values={},
        children={"capacities": [{"resource": "cpu", "capacity": 100.0}]},
    )
    proposal = make_allocation(moored.system)
    row = seen(api, moored.system)
    assert row["latest_allocation"]["id"] == str(proposal.public_id)
    assert row["allocation_in_force"]["id"] == stands["allocation_in_force"]["id"]
    assert (row["loads"], row["node_loads"]) == (stands["loads"], stands["node_loads"])


def test_of_several_methods_on_one_snapshot_the_best_is_the_proposal(api, world: World):
    best = make_allocation(world.system, method="certified")
    worse = make_allocation(
        world.system, method="lrgp", parameters={"max_iterations": 1}, cold=True
    )
    assert worse.number > best.number
    Allocation.objects.filter(pk=worse.pk).update(utility=best.utility - 1)
    assert seen(api, world.system)["latest_allocation"]["id"] == str(best.public_id)


def measure(row: Row, rate: float) -> None:
    told = {
        "a": {"flows": {"news": {"passed_per_s": rate}}},
        "e": {"classes": {"readers-news": {"admitted": 10, "delivered_per_s": 10 * rate}}},
    }
    for name, broker in row.brokers.items():
        payload = {"interval_s": 1.0, **told.get(name, {})}
        Sample.objects.create(broker=broker, at=timezone.now(), payload=payload)


def test_measured_loads_are_those_of_the_topology_page(api):
    row = make_row()
    make_allocation(row.system)
    assert seen(api, row.system)["loads"]["basis"] == "proposed"
    measure(row, 500.0)
    row_seen = seen(api, row.system)
    assert (row_seen["loads"]["basis"], row_seen["loads"]["allocation"]) == ("measured", None)
    traffic = api.get(f"/api/v1/systems/{row.system.public_id}/traffic").json()
    assert {load["name"]: load["utilisation"] for load in row_seen["node_loads"]} == {
        broker["broker"]: broker["handled_per_s"] / broker["capacity_per_s"]
        for broker in traffic["brokers"]
        if broker["capacity_per_s"]
    }
    assert row_seen["node_loads"][0]["utilisation"] > 0


def test_a_broker_that_falls_silent_leaves_nothing_measured(api):
    row = make_row()
    measure(row, 500.0)
    Sample.objects.filter(broker=row.brokers["c"]).delete()
    assert seen(api, row.system)["loads"]["basis"] == "none"


def test_reliable_topics_that_will_be_full_are_shown_and_steady_ones_are_not(api):
    harbour, steady = make_harbour(), make_harbour("quay")
    waits(harbour.brokers["a"], most_messages=100_000)
    waits(steady.brokers["a"], [5_000] * 12, most_messages=100_000)
    (row,) = seen(api, harbour.system)["backlogs"]
    assert (row["topic"], row["topic_id"]) == ("tides", str(harbour.topic.public_id))
    assert (row["waiting"], row["growth"], row["limit"]) == (11_287, "alarm", "messages")
    assert row["sentence"].endswith("full in 15 minutes (100,000 messages).")
    assert seen(api, steady.system)["backlogs"] == []
