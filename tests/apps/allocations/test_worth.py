"""Utilities are compared by the same utility functions: weights alone are no gain."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.allocations.models import Allocation
from apps.allocations.services.propose import allocation_plan
from apps.catalog.models import ConsumerClass, UtilityFunction
from apps.systems.models import System
from apps.systems.services import entity_update
from tests.factories.quay import Quay
from tests.factories.runs import make_allocation


def weigh(system: System, weight: float) -> None:
    """Every function of the system gets this weight."""
    for utility in UtilityFunction.objects.filter(system=system):
        entity_update(
            instance=utility,
            actor=None,
            expected_version=utility.version,
            values={"parameters": {**utility.parameters, "weight": weight}},
        )


def compared(api: APIClient, allocation: Allocation) -> dict[str, Any]:
    answer = api.get(f"/api/v1/allocations/{allocation.public_id}/comparison")
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_doubled_weights_gain_nothing(api: APIClient, quay: Quay) -> None:
    first = make_allocation(quay.system)
    weigh(quay.system, 20.0)
    second = make_allocation(quay.system)
    assert second.utility == pytest.approx(2 * first.utility, rel=1e-3)
    body = compared(api, second)
    by_new, by_old = body["utility"], body["utility_by_other"]
    assert by_new["after"] == second.utility
    assert by_new["before"] == pytest.approx(second.utility, rel=1e-3)
    assert by_old["before"] == first.utility
    assert by_old["after"] == pytest.approx(first.utility, rel=1e-3)


def test_the_same_functions_are_compared_once(api: APIClient, quay: Quay) -> None:
    first = make_allocation(quay.system)
    second = make_allocation(quay.system)
    body = compared(api, second)
    assert body["utility"] == {"name": "utility", "before": first.utility, "after": second.utility}
    assert body["utility_by_other"] is None


def test_models_too_large_to_read_are_not_compared(
    api: APIClient, quay: Quay, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_allocation(quay.system)
    weigh(quay.system, 20.0)
    second = make_allocation(quay.system)
    monkeypatch.setattr("apps.allocations.selectors.problems.LARGEST_BYTES", 10)
    body = compared(api, second)
    assert body["utility"] == {"name": "utility", "before": None, "after": second.utility}
    assert body["utility_by_other"] is None


def test_the_preview_values_both_sides_by_each_set_of_functions(api: APIClient, quay: Quay) -> None:
    make_allocation(quay.system)
    utility = UtilityFunction.objects.get(system=quay.system)
    draft = {str(utility.public_id): {"kind": "log", "parameters": {"weight": 20.0}}}
    body = api.post(
        f"/api/v1/systems/{quay.system.public_id}/preview", {"utilities": draft}, format="json"
    ).json()
    assert body["utility_after"] == pytest.approx(body["utility_before"], rel=1e-3)
    assert body["saved_utility_after"] == pytest.approx(body["saved_utility_before"], rel=1e-3)
    assert body["utility_after"] == pytest.approx(2 * body["saved_utility_after"], rel=1e-3)


def test_the_reasons_of_a_plan_value_by_both_sets_of_functions(moored: Quay) -> None:
    running = Allocation.objects.get()
    classes = list(UtilityFunction.objects.get(system=moored.system).consumer_classes.all())
    # One of two classes is worth ten times as much from now on.
    own = UtilityFunction.objects.create(
        system=moored.system, name="own", kind="log", parameters={"weight": 100.0}
    )
    entity_update(
        instance=classes[0],
        actor=None,
        expected_version=classes[0].version,
        values={"utility": own},
    )
    plan = allocation_plan(allocation=make_allocation(moored.system), actor=moored.author)
    gain, former = plan.content.why[:2]
    assert gain.startswith("A-2 raises the utility from ")
    assert former.startswith(
        f"Utility functions were edited since {running}, which is in force: by its functions the "
        "utility falls from "
    )


def test_a_model_with_the_same_functions_gives_one_reason(moored: Quay) -> None:
    consumers = ConsumerClass.objects.get(system=moored.system, name="g-t1")
    entity_update(
        instance=consumers,
        actor=None,
        expected_version=consumers.version,
        values={"population_max": 12},
    )
    plan = allocation_plan(
        allocation=make_allocation(moored.system), actor=moored.author, judged=False
    )
    assert not any("functions were edited" in reason for reason in plan.content.why)
