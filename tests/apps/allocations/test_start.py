"""A replan begins where the last allocation left off, and can be computed again all the same."""

import json
from typing import Any

import pytest

from apps.allocations.services import allocation_request
from apps.demo.services.base_workload import CAPACITY
from apps.runs.models import Run, RunResult
from apps.runs.services.computations import run_again, run_job_inputs
from apps.systems.services import entity_update, system_delete
from apps.topology.models import Broker
from tests.factories import make_system
from tests.factories.runs import kernel_answer, make_allocation, make_run

pytestmark = pytest.mark.django_db


def test_the_first_run_begins_cold(base_workload):
    run = allocation_request(system=base_workload, actor=None)
    assert run.starts_from is None
    assert run_job_inputs(run) == {}


def test_the_next_run_begins_at_the_prices_of_the_last_allocation(base_workload):
    first = make_allocation(base_workload)
    run = allocation_request(system=base_workload, actor=None)
    assert run.starts_from == first.run
    start = run_job_inputs(run)["start"]
    answer = json.loads(bytes(RunResult.objects.get(run=first.run).payload))
    assert start["node_prices"] == answer["node_prices"]
    assert start["rates"] == answer["rates"]
    assert start["populations"] == answer["populations"]


@pytest.mark.parametrize("method", ["certified", "lrgp"])
def test_after_a_change_a_replan_needs_fewer_iterations_than_a_cold_run(base_workload, method):
    make_allocation(base_workload, method=method)
    broker = Broker.objects.filter(system=base_workload).order_by("name").first()
    entity_update(
        instance=broker,
        actor=None,
        expected_version=broker.version,
        values={},
        children={"capacities": [{"resource": "cpu", "capacity": 0.95 * CAPACITY}]},
    )
    warm, cold = (
        json.loads(kernel_answer(make_run(base_workload, method=method, cold=cold)))
        for cold in (False, True)
    )
    best = max(warm["utility"], cold["utility"])
    assert warm["utility"] >= cold["utility"] * (1 - 1e-5)
    assert warm["iterations"] < cold["iterations"]
    for share in (0.999, 0.9999):
        assert 2 * reached(warm, share * best) < reached(cold, share * best)


def reached(answer: Any, utility: float) -> int:
    """The iteration that first had so much utility."""
    return next(number for number, now in enumerate(answer["trace"], 1) if now >= utility)


def test_a_cold_run_can_be_asked_for(base_workload, api):
    make_allocation(base_workload)
    body = {"system": str(base_workload.public_id)}
    warm = api.post("/api/v1/allocations", body, format="json").json()
    assert warm["starts_from_name"] == "A-1"
    cold = api.post("/api/v1/allocations", {**body, "cold": True}, format="json").json()
    assert (cold["starts_from"], cold["starts_from_name"]) == (None, None)


def test_a_rerun_has_the_same_start_and_gives_the_same_bytes(base_workload):
    make_allocation(base_workload)
    second = make_allocation(base_workload)
    # A later allocation does not move the start of what is computed again.
    make_allocation(base_workload)
    again = run_again(run=second.run, actor=None)
    assert again.starts_from == second.run.starts_from
    assert kernel_answer(again) == bytes(RunResult.objects.get(run=second.run).payload)


def test_an_allocation_says_where_it_began(base_workload, api):
    first, second = make_allocation(base_workload), make_allocation(base_workload)
    assert api.get(f"/api/v1/allocations/{first.public_id}").json()["started_from"] is None
    assert api.get(f"/api/v1/allocations/{second.public_id}").json()["started_from"] == "A-1"


def test_systems_do_not_begin_at_each_others_prices(base_workload, world):
    make_allocation(base_workload)
    assert allocation_request(system=world.system, actor=None).starts_from is None


def test_deleting_a_system_takes_runs_and_their_starts_along(base_workload):
    make_allocation(base_workload)
    make_allocation(base_workload)
    other = make_system("other")
    base_workload.refresh_from_db()
    system_delete(system=base_workload, actor=None, expected_version=base_workload.version)
    assert not Run.objects.filter(system__isnull=False).exclude(system=other).exists()


def test_a_replan_begins_at_the_last_allocation_of_its_own_method(base_workload):
    first = make_allocation(base_workload)
    make_allocation(base_workload, method="greedy")
    assert allocation_request(system=base_workload, actor=None).starts_from == first.run
    # A method that has none yet begins at the last of any.
    other = allocation_request(system=base_workload, actor=None, method="lrgp")
    assert other.starts_from is not None
    assert other.starts_from.method == "greedy"
