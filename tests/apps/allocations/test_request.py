"""Asking for an allocation: what is frozen, what is refused, what is stored when it is refused."""

import json
from typing import Any

import pytest
from django.apps import apps as all_apps

from apps.runs.models import Run, Snapshot
from apps.runs.services.computations import run_store
from apps.systems.models import System
from apps.systems.services import entity_update
from tests.factories import make_broker, make_class, make_system, make_topic, make_utility
from tests.factories.kinds import World
from tests.factories.runs import claim, golden_problem, kernel_answer, make_run
from weir.codec import content_hash, problem_from_dict

pytestmark = pytest.mark.django_db


def rows() -> dict[str, int]:
    """How many rows every table of ours holds."""
    return {
        model._meta.label: model._default_manager.count()
        for model in all_apps.get_models()
        if model.__module__.startswith("apps.")
    }


def ask(api: Any, managed: System, **values: Any) -> Any:
    body = {"system": str(managed.public_id)} | values
    return api.post("/api/v1/allocations", body, format="json")


def solve(api: Any, problem: Any, **values: Any) -> Any:
    return api.post("/api/v1/allocations/solve", {"problem": problem, **values}, format="json")


def fields(answer: Any) -> list[str]:
    return [error["field"] for error in answer.json()["errors"]]


def test_request_opens_a_run_and_says_where(api, admin, world: World):
    answer = ask(api, world.system, seed=5, time_limit_s=30, parameters={"max_iterations": 40})
    assert answer.status_code == 202, answer.content
    run = Run.objects.get()
    assert answer["Location"] == f"/api/v1/runs/{run.public_id}"
    body = answer.json()
    assert (body["state"], body["seed"], body["time_limit_s"]) == ("queued", 5, 30)
    assert body["parameters"] == {"max_iterations": 40}
    assert body["asked_by"] == admin.display_name
    world.system.refresh_from_db()
    assert body["model_version"] == world.system.model_version
    assert api.get(answer["Location"]).json()["events"][0]["command"] == "open"


def test_snapshot_is_the_problem_with_names_for_ids(api, world: World):
    ask(api, world.system)
    frozen = api.get(f"/api/v1/runs/{Run.objects.get().public_id}/snapshot").json()
    assert [node["id"] for node in frozen["nodes"]] == ["world-b1", "world-b2"]
    assert frozen["links"] == [{"id": "world-link", "capacity": 500.0}]
    (flow,) = frozen["flows"]
    assert flow["id"] == "world-topic"
    assert flow["node_costs"] == {"world-b1": {"cpu": 3.0}}
    assert flow["link_costs"] == {"world-link": 1.0}
    (consumers,) = frozen["classes"]
    assert consumers["utility"] == {"kind": "log", "weight": 10.0}
    assert content_hash(problem_from_dict(frozen)) == Snapshot.objects.get().content_hash


def test_same_content_is_one_snapshot(api, world: World):
    first, second = ask(api, world.system).json(), ask(api, world.system).json()
    assert first["id"] != second["id"]
    assert first["snapshot_hash"] == second["snapshot_hash"]
    assert Snapshot.objects.count() == 1


def test_snapshot_stays_what_it_was_when_the_model_moves(api, world: World):
    before = ask(api, world.system).json()
    entity_update(
        instance=world.topic, actor=None, expected_version=1, values={"rate_max_per_s": 55.0}
    )
    after = ask(api, world.system).json()
    assert before["snapshot_hash"] != after["snapshot_hash"]
    old = api.get(f"/api/v1/runs/{before['id']}/snapshot").json()
    assert old["flows"][0]["rate_max"] == 100.0


def test_order_of_creation_never_matters(db):
    def build(name: str, order: list[int]) -> System:
        system = make_system(name)
        utility = make_utility(system)
        assert utility.pk
        brokers = {i: make_broker(system, f"b{i}") for i in order}
        for i in reversed(order):
            costs = [{"broker": brokers[j], "resource": "cpu", "cost": 1.0 + j} for j in order]
            topic = make_topic(system, f"t{i}", node_costs=costs)
            make_class(system, topic, brokers[i], f"c{i}")
        return system

    there, back = build("there", [1, 2, 3]), build("back", [3, 1, 2])
    one, two = make_run(there), make_run(back)
    assert one.snapshot.content_hash == two.snapshot.content_hash
    assert kernel_answer(claim(one)) == kernel_answer(claim(two))


def test_system_without_topics_has_nothing_to_optimize(api, db):
    before = rows()
    answer = ask(api, make_system())
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_optimize")
    assert not Run.objects.exists()
    assert rows()["runs.Snapshot"] == before["runs.Snapshot"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"method": "magic"}, "method"),
        ({"method": ""}, "method"),
        ({"parameters": {"max_iterations": 0}}, "parameters.max_iterations"),
        ({"parameters": {"max_iterations": 1.5}}, "parameters.max_iterations"),
        ({"parameters": {"max_iterations": "many"}}, "parameters.max_iterations"),
        ({"method": "lrgp", "parameters": {"gamma_start": True}}, "parameters.gamma_start"),
        ({"parameters": {"colour": 1}}, "parameters"),
        ({"method": "lrgp", "parameters": {"gamma_min": 0.2}}, "parameters.gamma_min"),
        ({"parameters": []}, "parameters"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**31}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"time_limit_s": 0}, "time_limit_s"),
        ({"time_limit_s": 1e9}, "time_limit_s"),
        ({"system": "nonsense"}, "system"),
        ({"system": None}, "system"),
    ],
)
def test_request_that_does_not_fit_is_named_and_stores_nothing(api, world: World, values, field):
    before = rows()
    answer = ask(api, world.system, **values)
    assert answer.status_code == 400, answer.content
    assert fields(answer) == [field]
    assert rows() == before


def test_infinite_parameter_is_refused(api, world: World):
    values = {"method": "lrgp", "parameters": {"gamma_max": 1}}
    body = json.dumps({"system": str(world.system.public_id), **values})
    text = body.replace('"gamma_max": 1', '"gamma_max": 1e400')
    answer = api.post("/api/v1/allocations", text.encode(), content_type="application/json")
    assert answer.status_code == 400
    assert fields(answer) == ["parameters.gamma_max"]


def test_repeat_under_an_idempotency_key_opens_one_run(api, world: World):
    body = {"system": str(world.system.public_id)}
    for _ in range(2):
        answer = api.post(
            "/api/v1/allocations", body, format="json", headers={"idempotency-key": "k"}
        )
        assert answer.status_code == 202
    assert Run.objects.count() == 1
    assert answer["Location"] == f"/api/v1/runs/{Run.objects.get().public_id}"


class TestProblemThatComesWithTheRequest:
    """`POST /allocations/solve`: nothing of a bad problem is stored."""

    def test_good_problem_opens_a_run_of_no_system(self, api, db):
        answer = solve(api, golden_problem())
        assert answer.status_code == 202, answer.content
        body = answer.json()
        assert (body["system"], body["model_version"]) == (None, None)
        assert body["snapshot_hash"] == content_hash(problem_from_dict(golden_problem()))

    @pytest.mark.parametrize(
        ("entry", "member", "value", "path"),
        [
            (("nodes", 1), "capacity", {"cpu": -5}, "nodes[1].capacity"),
            (("nodes", 1), "id", "S0", "nodes[1].id"),
            (("nodes", 0), "capacity", {"gpu": 5}, "nodes[0].capacity"),
            (("flows", 2), "rate_min", 1e6, "flows[2].rate_min"),
            (("flows", 2), "rate_max", "fast", "flows[2].rate_max"),
            (("flows", 0), "node_costs", {"S9": {"cpu": 1}}, "flows[0].node_costs"),
            (("flows", 0), "link_costs", {"l9": 1}, "flows[0].link_costs"),
            (("classes", 12), "flow", "f99", "classes[12].flow"),
            (("classes", 12), "node", "S99", "classes[12].node"),
            (("classes", 3), "population_max", -1, "classes[3].population_max"),
            (("classes", 3), "population_max", 1.5, "classes[3].population_max"),
            (("classes", 3), "utility", {"kind": "magic"}, "classes[3].utility.kind"),
            (("classes", 3), "utility", {"kind": "log", "weight": -1}, "classes[3].utility.weight"),
            (("classes", 3), "colour", "red", "classes[3]"),
            (("classes", 3), "id", "x" * 5000, "classes[3].id"),
            (("classes", 3), "population_max", 10**30, "classes[3].population_max"),
        ],
    )
    def test_bad_problem_is_named_by_entry_and_field(self, api, db, entry, member, value, path):
        problem = golden_problem()
        problem[entry[0]][entry[1]][member] = value
        before = rows()
        answer = solve(api, problem)
        assert answer.status_code == 422, answer.content
        assert answer.json()["code"] == "invalid_problem"
        assert fields(answer)[0].startswith(path), fields(answer)
        assert path in answer.json()["detail"]
        assert rows() == before

    def test_a_null_character_is_refused_where_it_is(self, api, db):
        problem = golden_problem()
        problem["classes"][3]["id"] = "x\x00y"
        before = rows()
        answer = solve(api, problem)
        assert (answer.status_code, fields(answer)) == (400, ["problem.classes[3].id"])
        assert rows() == before

    def test_infinite_number_is_named(self, api, db):
        problem = golden_problem()
        problem["nodes"][2]["capacity"]["cpu"] = "@"
        text = json.dumps({"problem": problem}).replace('"@"', "1e400").encode()
        before = rows()
        answer = api.post("/api/v1/allocations/solve", text, content_type="application/json")
        assert answer.status_code == 422
        assert fields(answer)[0].startswith("nodes[2].capacity")
        assert rows() == before

    @pytest.mark.parametrize("problem", [None, [], "text", 5])
    def test_problem_that_is_no_object(self, api, db, problem):
        answer = solve(api, problem)
        assert answer.status_code == 400
        assert fields(answer) == ["problem"]

    def test_missing_problem(self, api, db):
        answer = api.post("/api/v1/allocations/solve", {}, format="json")
        assert (answer.status_code, fields(answer)) == (400, ["problem"])

    def test_empty_problem(self, api, db):
        answer = solve(api, {})
        assert answer.status_code in (400, 422)
        assert not Run.objects.exists()

    def test_longest_name_is_stored_and_a_longer_one_refused(self, api, db):
        """What is let in fits the tables of results."""
        problem = golden_problem()
        problem["classes"][0]["id"] = "ü" * 200
        assert solve(api, problem).status_code == 202
        held = claim(Run.objects.get())
        run_store(held, kernel_answer(held))
        before = rows()
        problem["classes"][0]["id"] = "c" * 201
        answer = solve(api, problem)
        assert (answer.status_code, fields(answer)) == (422, ["classes[0].id"])
        assert rows() == before
