"""Why a class was refused, what is in force, and what in the model moved it, over REST."""

import pytest

from apps.allocations.models import Allocation
from apps.systems.services import entity_update
from apps.topology.models import Broker
from tests.factories.kinds import World
from tests.factories.quay import Quay
from tests.factories.runs import make_allocation

pytestmark = pytest.mark.django_db


def ask(api, allocation: Allocation, name: str):
    return api.get(
        f"/api/v1/allocations/{allocation.public_id}/explanation", {"consumer_class": name}
    )


def test_every_class_of_the_base_workload_is_explained_by_its_stored_prices(api, base_workload):
    allocation = make_allocation(base_workload)
    verdicts = set()
    for row in allocation.populations.all():
        body = ask(api, allocation, row.consumer_class).json()
        why = body["explanation"]
        verdicts.add(why["verdict"])
        assert (why["admitted"], why["wanted"]) == (row.admitted, row.wanted)
        assert why["value"] == pytest.approx(row.value_of_one)
        assert why["price"] == pytest.approx(row.price_of_one)
        if why["verdict"] == "costs_more":
            assert row.admitted == 0
            assert why["scale_at_margin"] > why["scale"]
            (need,) = why["needs"]
            assert need["price_at_margin"] < need["price"]
        if why["verdict"] == "pays":
            assert row.admitted == row.wanted
    assert {"costs_more", "pays"} <= verdicts
    assert body["has_prices"] is True


def test_what_would_admit_is_found_by_solving_again(api, base_workload):
    allocation = make_allocation(base_workload)
    path = f"/api/v1/allocations/{allocation.public_id}/trials"
    answer = api.post(path, {"consumer_class": "c8"}, format="json").json()
    assert answer["admitted_before"] == 0
    levers = {row["lever"]: row for row in answer["trials"]}
    assert levers["worth"]["admitted"] > 0
    assert levers["worth"]["after"] > 1
    assert levers["capacity"]["resource"] == "cpu"
    assert Allocation.objects.count() == 1
    unknown = api.post(path, {"consumer_class": "nobody"}, format="json")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_class")


def test_unknown_class_is_404_and_a_missing_name_400(api, world: World):
    allocation = make_allocation(world.system)
    answer = ask(api, allocation, "nobody")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_class")
    path = f"/api/v1/allocations/{allocation.public_id}/explanation"
    assert api.get(path).status_code == 400


def test_a_model_too_large_to_read_says_so(api, world: World, monkeypatch):
    allocation = make_allocation(world.system)
    monkeypatch.setattr("apps.allocations.selectors.problems.LARGEST_BYTES", 10)
    answer = ask(api, allocation, "world-class")
    assert (answer.status_code, answer.json()["code"]) == (409, "too_large_to_explain")


def test_bounds_are_stored_beside_the_trace(api, world: World):
    allocation = make_allocation(world.system)
    body = api.get(f"/api/v1/allocations/{allocation.public_id}").json()
    assert isinstance(body["bounds"], list)
    Allocation.objects.filter(pk=allocation.pk).update(bounds=[3.0, 2.0])
    body = api.get(f"/api/v1/allocations/{allocation.public_id}").json()
    assert body["bounds"] == [3.0, 2.0]


def test_comparison_names_what_changed_in_the_model(api, world: World):
    make_allocation(world.system)
    entity_update(
        instance=world.consumers, actor=None, expected_version=1, values={"population_max": 5}
    )
    broker = Broker.objects.get(system=world.system, name="world-b1")
    capacity = broker.capacities.get()
    broker.capacities.update(capacity=capacity.capacity * 2)
    after = make_allocation(world.system)
    body = api.get(f"/api/v1/allocations/{after.public_id}/comparison").json()
    assert body["causes_known"] is True
    first, second = body["causes"]
    assert (first["what"], first["name"], first["field"]) == ("node", "world-b1", "capacity")
    assert (first["before"], first["after"]) == (capacity.capacity, capacity.capacity * 2)
    assert (second["name"], second["field"], second["after"]) == (
        "world-class",
        "population_max",
        5.0,
    )
    assert body["causes_in_all"] == 2
    shares = [row["share"] for row in body["changes"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(body["changes_in_all"].values()) == len(shares) > 0
    for row in body["changes"]:
        assert row["before"] != row["after"]


def test_the_same_snapshot_has_no_causes_and_is_found_by_its_hash(api, world: World):
    first = make_allocation(world.system)
    second = make_allocation(world.system, seed=3)
    body = api.get(f"/api/v1/allocations/{second.public_id}/comparison").json()
    assert (body["causes"], body["causes_known"]) == ([], True)
    answer = api.get(
        "/api/v1/allocations", {"snapshot_hash": first.run.snapshot.content_hash}
    ).json()
    assert {row["id"] for row in answer["results"]} == {str(first.public_id), str(second.public_id)}
    none = api.get("/api/v1/allocations", {"snapshot_hash": "0" * 64}).json()
    assert none["count"] == 0


def test_causes_of_models_too_large_are_said_to_be_unknown(api, world: World, monkeypatch):
    make_allocation(world.system)
    entity_update(
        instance=world.consumers, actor=None, expected_version=1, values={"population_max": 5}
    )
    after = make_allocation(world.system)
    monkeypatch.setattr("apps.allocations.selectors.problems.LARGEST_BYTES", 10)
    body = api.get(f"/api/v1/allocations/{after.public_id}/comparison").json()
    assert (body["causes"], body["causes_known"]) == ([], False)


def test_one_compares_with_what_is_in_force_before_the_one_before(api, moored: Quay):
    in_force = Allocation.objects.get(system=moored.system)
    make_allocation(moored.system)
    latest = make_allocation(moored.system)
    body = api.get(f"/api/v1/allocations/{latest.public_id}").json()
    assert body["in_force"] == str(in_force.public_id) == body["compared_with"]
    compared = api.get(f"/api/v1/allocations/{latest.public_id}/comparison").json()
    assert compared["other"] == str(in_force.public_id)
    assert compared["other_in_force"] is True
    itself = api.get(f"/api/v1/allocations/{in_force.public_id}").json()
    assert (itself["in_force"], itself["compared_with"]) == (str(in_force.public_id), None)
