"""Several methods on the snapshot of one allocation: started at once, read side by side."""

import pytest

from apps.accounts.domain.roles import Role
from apps.allocations.models import Allocation
from apps.runs.models import Run
from apps.runs.services import run_fail
from apps.runs.services.computations import run_store
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.runs import claim, golden_problem, kernel_answer, make_allocation
from weir.optimizers import methods

pytestmark = pytest.mark.django_db


def at(allocation: Allocation, what: str) -> str:
    return f"/api/v1/allocations/{allocation.public_id}/{what}"


def finish(run: Run) -> Allocation:
    held = claim(run)
    run_store(held, kernel_answer(held))
    return Allocation.objects.get(run=held)


def standings(api, allocation):
    answer = api.get(at(allocation, "methods"))
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_one_command_starts_every_method_that_is_missing(api, base_workload):
    first = make_allocation(base_workload, seed=5)
    answer = api.post(at(first, "compare"), {}, format="json")
    assert answer.status_code == 202, answer.content
    assert answer["Location"] == at(first, "methods")
    started = answer.json()["results"]
    assert {run["method"] for run in started} == set(methods()) - {"certified"}
    for run in started:
        assert (run["seed"], run["parameters"], run["starts_from"]) == (5, {}, None)
        assert run["snapshot_hash"] == first.run.snapshot.content_hash
    again = api.post(at(first, "compare"), {}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "nothing_to_start")
    assert Run.objects.count() == len(methods())


def test_side_by_side_the_best_comes_first_under_the_lowest_bound(api, base_workload):
    first = make_allocation(base_workload)
    api.post(at(first, "compare"), {"methods": ["greedy", "lrgp"]}, format="json")
    waiting = {row["method"]: row for row in standings(api, first)["standings"]}
    assert waiting["lrgp"]["run"]["state"] == "queued"
    assert waiting["lrgp"]["allocation"] is None
    assert (waiting["annealing"]["allocation"], waiting["annealing"]["run"]) == (None, None)
    for run in Run.objects.filter(method__in=["greedy", "lrgp"]).order_by("-pk"):
        finish(run)
    body = standings(api, first)
    rows = [row for row in body["standings"] if row["allocation"]]
    assert [row["method"] for row in rows] == ["certified", "lrgp", "greedy"]
    utilities = [row["allocation"]["utility"] for row in rows]
    assert utilities == sorted(utilities, reverse=True)
    assert body["upper_bound"] >= utilities[0]
    assert all(row["run"] is None for row in rows)
    assert body["standings"][-1]["title"] == "Simulated annealing"


def test_what_is_looked_at_stands_for_its_method(api, base_workload):
    first, second = make_allocation(base_workload), make_allocation(base_workload)
    for seen in (first, second):
        shown = {row["method"]: row["allocation"] for row in standings(api, seen)["standings"]}
        assert shown["certified"]["number"] == seen.number


def test_a_run_that_failed_is_shown_and_may_be_started_again(api, base_workload):
    first = make_allocation(base_workload)
    api.post(at(first, "compare"), {"methods": ["lrgp"]}, format="json")
    run_fail(run=claim(Run.objects.get(method="lrgp")), code="job_failed", reason="It broke.")
    shown = {row["method"]: row["run"] for row in standings(api, first)["standings"]}
    assert shown["lrgp"]["failure"] == "It broke."
    assert api.post(at(first, "compare"), {"methods": ["lrgp"]}, format="json").status_code == 202
    # Asked for by name, a method that has its allocation is computed once more.
    finish(Run.objects.filter(method="lrgp").latest("pk"))
    assert api.post(at(first, "compare"), {"methods": ["lrgp"]}, format="json").status_code == 202


def test_an_unknown_method_is_named_and_nothing_starts(api, base_workload):
    first = make_allocation(base_workload)
    body = {"methods": ["lrgp", "magic"], "time_limit_s": 3}
    answer = api.post(at(first, "compare"), body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_method")
    assert answer.json()["errors"][0]["field"] == "methods[1]"
    assert Run.objects.count() == 1


def test_a_problem_of_ones_own_can_be_compared_too(api, base_workload):
    make_allocation(base_workload)  # the same numbers, another owner
    body = {"problem": golden_problem(), "method": "greedy"}
    run = Run.objects.get(
        public_id=api.post("/api/v1/allocations/solve", body, format="json").json()["id"]
    )
    own = finish(run)
    api.post(at(own, "compare"), {"methods": ["lrgp"], "time_limit_s": 9}, format="json")
    made = Run.objects.latest("pk")
    assert (made.system, made.time_limit_s) == (None, 9)
    finish(made)
    rows = [row for row in standings(api, own)["standings"] if row["allocation"]]
    assert [row["method"] for row in rows] == ["lrgp", "greedy"]


def test_a_viewer_reads_and_starts_nothing(base_workload):
    first = make_allocation(base_workload)
    client = client_of(make_user("vera", Role.VIEWER))
    assert (
        "compare"
        not in client.get(at(first, "methods")).json()["standings"][0]["allocation"][
            "allowed_commands"
        ]
    )
    assert client.post(at(first, "compare"), {}, format="json").status_code == 403
