"""Where nothing fits the run says what is short and what would help; pruned loads add up."""

import json

import pytest

from apps.allocations.selectors.problems import routed_problem
from apps.allocations.services import allocation_request_for_problem
from apps.runs.services.computations import run_store
from apps.topology.models import Broker, Link
from tests.factories.kinds import World
from tests.factories.runs import claim, kernel_answer, make_run, make_run_in
from weir.lifecycle.runs import RunState
from weir.model import loads

pytestmark = pytest.mark.django_db


def detail(api, run):
    answer = api.get(f"/api/v1/runs/{run.public_id}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def infeasible_run(world: World):
    world.topic.rate_min_per_s = world.topic.rate_max_per_s = 1e9
    world.topic.save()
    run = claim(make_run(world.system))
    run_store(run, kernel_answer(run))
    run.refresh_from_db()
    assert run.state == RunState.INFEASIBLE
    return run


def test_run_says_what_is_short_and_what_would_help(api, world: World):
    body = detail(api, infeasible_run(world))
    told = body["infeasibility"]
    for shortage in told["shortages"]:
        assert shortage["short"] == shortage["load"] - shortage["capacity"] > 0
        assert shortage["flows"][0]["flow"] == world.topic.name
        assert shortage["flows"][0]["load"] == pytest.approx(shortage["load"])
        assert shortage["flows"][0]["object"] == str(world.topic.public_id)
        named = Broker if shortage["kind"] == "node" else Link
        assert shortage["object"] == str(named.objects.get(name=shortage["id"]).public_id)
    assert [one["kind"] for one in told["relaxations"]] == ["capacities", "all_rates", "few_rates"]
    for one in told["relaxations"]:
        assert one["sentence"].endswith(".")
        assert one["change_count"] == len(one["changes"]) > 0
    assert "cannot carry the minimum rates" in body["failure"]


def test_what_is_gone_meanwhile_has_no_address(api, world: World):
    run = infeasible_run(world)
    world.topic.name = "renamed"
    world.topic.save()
    told = detail(api, run)["infeasibility"]
    assert told["shortages"][0]["flows"][0]["object"] is None
    rates = next(one for one in told["relaxations"] if one["kind"] == "few_rates")
    assert [change["object"] for change in rates["changes"]] == [None]


def test_its_result_is_still_a_file_of_the_command(api, world: World):
    run = infeasible_run(world)
    body = api.get(f"/api/v1/runs/{run.public_id}/result").json()
    assert body["status"] == "infeasible"
    assert body["reason"]
    assert [one["kind"] for one in body["infeasibility"]["relaxations"]] == [
        *("capacities", "all_rates", "few_rates")
    ]
    assert not {"bounds", "seed", "problem_hash"} & set(body)


def test_only_an_infeasible_run_explains(api, world: World, admin):
    assert detail(api, make_run(world.system))["infeasibility"] is None
    done = make_run_in(RunState.SUCCEEDED, world.system, admin)
    assert detail(api, done)["infeasibility"] is None


def test_a_result_stored_before_explanations_has_none(api, world: World, admin):
    run = make_run_in(RunState.INFEASIBLE, world.system, admin)
    stored = json.loads(bytes(run.result.payload))
    stored.pop("infeasibility")
    run.result.payload = json.dumps(stored).encode()
    run.result.save()
    assert detail(api, run)["infeasibility"] is None


def test_loads_of_a_pruned_allocation_leave_out_what_was_pruned():
    def consumers(name: str, flow: str, node: str, weight: float):
        return {
            "id": name,
            "flow": flow,
            "node": node,
            "population_max": 100,
            "costs": {"cpu": 10},
            "utility": {"kind": "log", "weight": weight},
        }

    flow = {"rate_min": 20, "rate_max": 100, "link_costs": {}}
    run = allocation_request_for_problem(
        problem={
            "resources": ["cpu"],
            "nodes": [{"id": node, "capacity": {"cpu": 10_000}} for node in ("far", "near")],
            "links": [],
            "flows": [
                flow | {"id": "wide", "node_costs": {"near": {"cpu": 40}, "far": {"cpu": 40}}},
                flow | {"id": "dear", "node_costs": {"far": {"cpu": 1}}, "rate_max": 20},
            ],
            "classes": [
                consumers("w.near", "wide", "near", 5),
                consumers("w.far", "wide", "far", 0.001),
                consumers("d.far", "dear", "far", 1000),
            ],
        },
        actor=None,
        method="lrgp",
        parameters={"prune": True},
    )
    held = claim(run)
    run_store(held, kernel_answer(held))
    allocation = held.allocation
    stored = {(row.name, row.resource): row.load for row in allocation.loads.all()}
    assert stored["far", "cpu"] <= 10_000 * (1 + 1e-9)
    rates = dict(allocation.rates.values_list("flow", "rate_per_s"))
    populations = dict(allocation.populations.values_list("consumer_class", "admitted"))
    nodes, _ = loads(routed_problem(held), rates, populations)
    assert nodes["far"]["cpu"] == pytest.approx(stored["far", "cpu"])
    assert allocation.wanted == 300
