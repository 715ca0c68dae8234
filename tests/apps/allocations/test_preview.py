"""What a draft of a utility function would change: computed, never stored."""

import pytest

from apps.allocations.models import Allocation
from apps.allocations.services import preview as module
from apps.catalog.models import UtilityFunction
from apps.common import computing
from apps.runs.models import Run, Snapshot
from tests.conftest import client_of
from tests.factories import make_system, make_user, make_utility
from tests.factories.kinds import World
from tests.factories.runs import make_allocation

pytestmark = pytest.mark.django_db


def ask(api, system, drafts):
    return api.post(
        f"/api/v1/systems/{system.public_id}/preview", {"utilities": drafts}, format="json"
    )


def draft_of(utility: UtilityFunction, **parameters):
    return {
        str(utility.public_id): {
            "kind": utility.kind,
            "parameters": {**utility.parameters, **parameters},
        }
    }


def test_a_draft_moves_rates_and_admissions_and_stores_nothing(api, base_workload):
    make_allocation(base_workload)
    utility = UtilityFunction.objects.get(
        system=base_workload, consumer_classes__name="c18", kind="log"
    )
    stored = [model.objects.count() for model in (Run, Snapshot, Allocation)]
    answer = ask(api, base_workload, draft_of(utility, weight=1.0))
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert [model.objects.count() for model in (Run, Snapshot, Allocation)] == stored
    utility.refresh_from_db()
    assert utility.parameters["weight"] != 1.0
    # Each measure finds its own solution the better one.
    assert body["utility_after"] > body["utility_before"]
    assert body["saved_utility_after"] < body["saved_utility_before"]
    assert body["changes_in_all"] >= len(body["changes"]) > 0
    own = {
        name
        for row in body["changes"]
        if row["of_draft"]
        for name in [row["name"]]
        if row["kind"] == "admitted"
    }
    assert own <= set(utility.consumer_classes.values_list("name", flat=True))
    first = [row["of_draft"] for row in body["changes"]]
    assert first == sorted(first, reverse=True)
    for row in body["changes"]:
        assert row["before"] != row["after"]


def test_an_unchanged_draft_changes_nothing(api, base_workload):
    allocation = make_allocation(base_workload)
    utility = UtilityFunction.objects.filter(system=base_workload).first()
    body = ask(api, base_workload, draft_of(utility)).json()
    assert body["changes"] == []
    assert body["utility_before"] == body["utility_after"]
    assert body["start"] == str(allocation.public_id)
    base_workload.refresh_from_db()
    assert body["model_version"] == base_workload.model_version


def test_works_before_the_first_allocation(api, world: World):
    body = ask(api, world.system, draft_of(world.utility, weight=20.0)).json()
    assert body["start"] is None
    assert body["utility_after"] > body["saved_utility_after"]


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        ({"kind": "log", "parameters": {"weight": -1}}, "parameters.weight"),
        ({"kind": "magic", "parameters": {}}, "kind"),
        ({"kind": "log", "parameters": {"weight": 1, "hue": 2}}, "parameters"),
        (
            {"kind": "piecewise", "parameters": {"points": [[0, 0], [1, 1], [2, 9]]}},
            "parameters.points[2]",
        ),
    ],
)
def test_a_faulty_draft_is_refused_at_its_field(api, world: World, draft, field):
    answer = ask(api, world.system, {str(world.utility.public_id): draft})
    assert answer.status_code == 400
    (error, *_) = answer.json()["errors"]
    assert error["field"].startswith(f"utilities.{world.utility.public_id}.{field}")


def test_a_utility_of_another_system_is_refused(api, world: World):
    stranger = make_utility(make_system("elsewhere"))
    answer = ask(api, world.system, draft_of(stranger, weight=2.0))
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == f"utilities.{stranger.public_id}"


def test_infeasible_minimum_rates_are_an_answer(api, world: World):
    world.topic.rate_min_per_s = world.topic.rate_max_per_s = 1e9
    world.topic.save()
    body = ask(api, world.system, draft_of(world.utility, weight=9.0)).json()
    assert (body["status"], body["changes"]) == ("infeasible", [])
    assert body["reason"] != ""


def test_large_models_take_a_run(api, world: World, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    answer = ask(api, world.system, draft_of(world.utility))
    assert (answer.status_code, answer.json()["code"]) == (409, "too_large_for_preview")
    assert "optimize" in answer.json()["detail"]


def test_one_preview_at_a_time(api, world: World, monkeypatch):
    monkeypatch.setattr(computing, "WAIT_S", 0.01)
    with computing.turn(module.PREVIEWS):
        answer = ask(api, world.system, draft_of(world.utility))
    assert (answer.status_code, answer.json()["code"]) == (429, "busy")


def test_an_empty_system_has_nothing_to_preview(api):
    system = make_system("empty")
    utility = make_utility(system)
    answer = ask(api, system, draft_of(utility))
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_optimize")


def test_readers_may_not(world: World):
    viewer = client_of(make_user("looks-on"))
    assert ask(viewer, world.system, draft_of(world.utility)).status_code == 403
