"""Reading allocations: rows and comparison; and how often lists ask the database."""

import pytest

from apps.allocations.models import Allocation
from apps.catalog.models import ConsumerClass
from apps.systems.services import entity_update
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.kinds import World, make_world
from tests.factories.runs import PUBLISHED_UTILITY, make_allocation, make_run, make_run_in
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db


def rows(api, allocation: Allocation, name: str):
    answer = api.get(f"/api/v1/allocations/{allocation.public_id}/{name}")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_base_workload_comes_out_as_published(api, base_workload):
    allocation = make_allocation(base_workload)
    body = api.get(f"/api/v1/allocations/{allocation.public_id}").json()
    assert body["utility"] >= 0.999 * PUBLISHED_UTILITY
    assert len(body["trace"]) == body["iterations"]
    assert body["previous"] is None
    rates = rows(api, allocation, "rates")
    assert [rate["flow"] for rate in rates] == [f"f{i}" for i in range(6)]
    for rate in rates:
        assert rate["rate_min_per_s"] <= rate["rate_per_s"] <= rate["rate_max_per_s"]
    populations = rows(api, allocation, "populations")
    assert sum(p["admitted"] for p in populations) == body["admitted"]
    assert sum(p["wanted"] for p in populations) == body["wanted"]
    assert sum(p["utility"] for p in populations) == pytest.approx(body["utility"])
    assert all(0 <= p["admitted"] <= p["wanted"] for p in populations)
    loads = rows(api, allocation, "loads")
    assert {load["name"] for load in loads} == {"S0", "S1", "S2"}
    for load in loads:
        assert load["load"] <= load["capacity"] * (1 + 1e-9)


def test_links_have_a_load_and_a_price(api, world: World):
    allocation = make_allocation(world.system)
    by_place = {row["place"]: row for row in rows(api, allocation, "loads")}
    assert by_place["link"]["name"] == "world-link"
    (rate,) = rows(api, allocation, "rates")
    assert by_place["link"]["load"] == pytest.approx(rate["rate_per_s"])
    assert rate["nodes"] == ["world-b1"]


def test_result_file_is_the_one_of_the_command(api, world: World):
    allocation = make_allocation(world.system)
    body = api.get(f"/api/v1/runs/{allocation.run.public_id}/result").json()
    assert body["status"] == allocation.status
    assert set(body) == {
        *("status", "method", "rates", "populations", "utility", "upper_bound"),
        *("node_prices", "link_prices", "iterations", "trace"),
    }


def test_run_without_a_result_says_so(api, world: World):
    run = make_run(world.system)
    answer = api.get(f"/api/v1/runs/{run.public_id}/result")
    assert (answer.status_code, answer.json()["code"]) == (409, "no_result")


def test_numbers_count_within_each_system(world: World):
    other = make_world("elsewhere")
    numbers = [make_allocation(s).number for s in (world.system, other.system, world.system)]
    assert numbers == [1, 1, 2]


def test_comparison_with_the_one_before(api, world: World):
    before = make_allocation(world.system)
    entity_update(
        instance=world.consumers, actor=None, expected_version=1, values={"population_max": 5}
    )
    after = make_allocation(world.system)
    body = api.get(f"/api/v1/allocations/{after.public_id}/comparison").json()
    assert body["other"] == str(before.public_id)
    assert body["utility"] == {
        "name": "utility",
        "before": before.utility,
        "after": after.utility,
    }
    (change,) = body["populations"]
    assert change == {"name": "world-class", "before": 10.0, "after": 5.0}
    assert body["node_prices"][0]["name"].startswith("world-b1")
    assert api.get(f"/api/v1/allocations/{after.public_id}").json()["previous"] == body["other"]


def test_comparison_shows_what_came_and_what_went(api, world: World):
    before = make_allocation(world.system)
    ConsumerClass.objects.update(name="renamed")
    after = make_allocation(world.system)
    body = api.get(f"/api/v1/allocations/{after.public_id}/comparison").json()
    by_name = {row["name"]: row for row in body["populations"]}
    assert by_name["renamed"]["before"] is None
    assert by_name["world-class"]["after"] is None
    back = api.get(
        f"/api/v1/allocations/{before.public_id}/comparison", {"with": str(after.public_id)}
    ).json()
    assert back["other"] == str(after.public_id)


def test_first_allocation_has_nothing_to_compare_with(api, world: World):
    first = make_allocation(world.system)
    answer = api.get(f"/api/v1/allocations/{first.public_id}/comparison")
    assert (answer.status_code, answer.json()["code"]) == (404, "nothing_to_compare")


@pytest.mark.parametrize(
    ("other", "status"), [("nonsense", 400), ("00000000-0000-0000-0000-000000000000", 404)]
)
def test_comparison_with_an_unknown_one(api, world: World, other, status):
    first = make_allocation(world.system)
    answer = api.get(f"/api/v1/allocations/{first.public_id}/comparison", {"with": other})
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"


def test_rows_of_an_unknown_allocation_are_404(api):
    unknown = "00000000-0000-0000-0000-000000000000"
    for name in ("rates", "populations", "loads"):
        assert api.get(f"/api/v1/allocations/{unknown}/{name}").status_code == 404


@pytest.mark.parametrize("path", ["overview", "allocations", "runs", "systems", "audit"])
def test_reading_asks_no_more_of_the_database_when_there_is_more(
    path, admin, world: World, django_assert_max_num_queries
):
    def grow(name: str) -> None:
        system = make_world(name).system
        make_allocation(system)
        make_run_in(RunState.FAILED, system, admin)
        make_run(system, actor=make_user(f"asks-{name}"))

    grow("one")
    api = client_of(admin)
    with django_assert_max_num_queries(25) as captured:
        api.get(f"/api/v1/{path}")
    few = len(captured)
    for name in ("two", "three", "four"):
        grow(name)
    with django_assert_max_num_queries(few):
        assert api.get(f"/api/v1/{path}").status_code == 200


@pytest.mark.parametrize(
    ("path", "orderings"),
    [
        ("runs", ["created_at", "finished_at", "state", "method"]),
        ("allocations", ["created_at", "utility", "number"]),
    ],
)
def test_pages_hold_every_row_once_in_every_order(api, admin, world: World, path, orderings):
    make_allocation(world.system)
    make_allocation(make_world("elsewhere").system)
    for state in (RunState.QUEUED, RunState.FAILED, RunState.CANCELLED, RunState.RUNNING):
        make_run_in(state, world.system, admin)
    total = api.get(f"/api/v1/{path}").json()["count"]
    for ordering in [*orderings, *[f"-{name}" for name in orderings]]:
        seen, link = [], f"/api/v1/{path}?page_size=1&ordering={ordering}"
        while link and len(seen) <= total:
            page = api.get(link).json()
            seen += [row["id"] for row in page["results"]]
            link = page["next"]
        assert len(seen) == len(set(seen)) == total, ordering


def test_optimizers_describe_their_parameters(api):
    optimizers = {row["name"]: row for row in api.get("/api/v1/optimizers").json()["results"]}
    names = {parameter["name"] for parameter in optimizers["lrgp"]["parameters"]}
    assert {"max_iterations", "gamma_start"} <= names
