"""A plan with judgement: what the policy leaves of an allocation, and why not the rest."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.allocations.services.propose import allocation_plan
from apps.common.errors import Conflict
from apps.executions.models import Setting
from apps.plans.models import Plan
from apps.plans.selectors.export import plan_as_text
from apps.plans.selectors.readings import Caller, plan_reading, plan_rows
from tests.factories.plans import make_policy
from tests.factories.runs import make_allocation
from tests.weir.plan_strategies import plan_hash
from weir.codec.plan import plan_from_dict, plan_to_dict

pytestmark = pytest.mark.django_db


def lower(quay: Any, flow: str, factor: float) -> None:
    """As if less were in force for the flow, since long ago."""
    row = Setting.objects.get(kind="set_flow_rate", target__flow=flow)
    row.in_force = row.desired = {**row.in_force, "rate_per_s": row.in_force["rate_per_s"] * factor}
    row.previous, row.changed_at = None, timezone.now() - timedelta(days=1)
    row.save()


def policy(quay: Any, **values: Any) -> None:
    make_policy(quay.system, **{"enactment_threshold": 0.0, **values})


def planned(quay: Any, **values: Any) -> Plan:
    return allocation_plan(allocation=make_allocation(quay.system), actor=quay.author, **values)


def changed(plan: Plan) -> set[str]:
    return {
        action.target.get("class") or action.target["flow"]
        for step in plan.content.steps
        for action in step.actions
    }


def test_a_policy_of_zeros_judges_nothing(moored):
    policy(moored)
    lower(moored, "t1", 0.99)
    lower(moored, "t2", 0.5)
    plan = planned(moored)
    assert changed(plan) == {"t1", "t2"}
    assert plan.content.left_out == ()
    # Nothing of the judgement stands in such a document: its hash is what it was before.
    assert "left_out" not in plan_to_dict(plan.content)


def test_what_lies_within_the_band_is_left_out_with_its_numbers(moored):
    policy(moored, enactment_band=0.05)
    lower(moored, "t1", 0.99)
    lower(moored, "t2", 0.5)
    plan = planned(moored)
    assert changed(plan) == {"t2"}
    (row,) = plan.content.left_out
    assert (row.kind, row.target["flow"], row.reason) == ("set_flow_rate", "t1", "band")
    assert row.because.startswith("It would move by 1.0 %")
    assert "the band is 5.0 %" in row.because
    assert any("1 proposed change is left out" in sentence for sentence in plan.content.why)
    assert plan_from_dict(plan_to_dict(plan.content)) == plan.content
    assert plan.content_hash == plan_hash(plan.content)


def test_the_promise_is_of_what_is_enacted(moored):
    policy(moored, enactment_band=0.05)
    lower(moored, "t1", 0.97)
    lower(moored, "t2", 0.5)
    allocation = make_allocation(moored.system)
    plan = allocation_plan(allocation=allocation, actor=moored.author)
    promise = {row.name: row for row in plan.content.promise}
    assert promise["utility"].before < promise["utility"].after < allocation.utility
    assert promise["highest load"].after < 1.0


def test_a_value_that_changed_lately_stays(moored):
    policy(moored, enactment_dwell_s=3600.0)
    lower(moored, "t2", 0.5)
    row = Setting.objects.get(kind="set_flow_rate", target__flow="t1")
    row.in_force = row.desired = {**row.in_force, "rate_per_s": row.in_force["rate_per_s"] * 0.5}
    row.changed_at = timezone.now() - timedelta(seconds=60)
    row.save()
    plan = planned(moored)
    assert changed(plan) == {"t2"}
    (left,) = plan.content.left_out
    assert left.reason == "dwell"
    assert re.match(r"It changed \d\d s ago and stays for 3,600 s", left.because)


def test_an_overload_overrules_the_dwell(moored):
    """Everything changed a moment ago, but the broker lost half of its capacity since."""
    from apps.systems.services import entity_update

    policy(moored, enactment_dwell_s=86_400.0, enactment_band=1.0)
    broker = moored.brokers["b1"]
    broker.refresh_from_db()
    entity_update(
        instance=broker,
        actor=None,
        expected_version=broker.version,
        values={},
        children={"capacities": [{"resource": "cpu", "capacity": 500.0}]},
    )
    plan = planned(moored)
    promise = {row.name: row for row in plan.content.promise}
    assert promise["highest load"].before > 1.5
    assert promise["highest load"].after <= 1 + 1e-6
    assert any("would have stayed, but a capacity" in text for text in plan.content.why)


def test_a_gain_below_the_charge_changes_nothing_and_says_so(moored):
    policy(moored, churn_per_rate_change=1e6)
    lower(moored, "t1", 0.5)
    plans = Plan.objects.count()
    with pytest.raises(Conflict) as refusal:
        planned(moored)
    assert refusal.value.code == "nothing_to_change"
    assert "1 worth less than moving costs" in refusal.value.message
    assert Plan.objects.count() == plans
    assert changed(planned(moored, judged=False)) == {"t1"}


def test_carrying_out_remembers_when_and_which_way_each_value_moved(moored):
    row = Setting.objects.get(kind="set_flow_rate", target__flow="t1")
    assert row.changed_at is not None
    assert row.previous is None
    first = row.in_force
    lower(moored, "t1", 0.5)
    half = Setting.objects.get(pk=row.pk).in_force
    policy(moored)
    moored.carry_out(moored.plan(make_allocation(moored.system)))
    row.refresh_from_db()
    assert row.previous == half
    assert row.in_force["rate_per_s"] == pytest.approx(first["rate_per_s"])
    assert timezone.now() - row.changed_at < timedelta(seconds=60)


def test_the_plan_shows_and_exports_what_is_left_out(moored, api):
    policy(moored, enactment_band=0.05)
    lower(moored, "t1", 0.99)
    lower(moored, "t2", 0.5)
    allocation = make_allocation(moored.system)
    answer = api.post(f"/api/v1/allocations/{allocation.public_id}/plan", {}, format="json")
    assert answer.status_code == 201, answer.content
    (row,) = answer.json()["left_out"]
    assert (row["label"], row["unit"], row["reason"]) == ("t1 at b1", "msg/s", "band")
    assert row["before"] < row["wanted"]
    plan = plan_rows().get(public_id=answer.json()["id"])
    text = plan_as_text(plan_reading(plan, Caller(person=None, permissions=frozenset())))
    assert "Left out\n--------\nt1 at b1: It would move by 1.0 %" in text


def test_judging_again_after_the_plan_changes_nothing(moored):
    policy(moored, enactment_band=0.05, churn_per_rate_change=0.5)
    lower(moored, "t1", 0.97)
    lower(moored, "t2", 0.5)
    allocation = make_allocation(moored.system)
    moored.carry_out(moored.plan(allocation))
    with pytest.raises(Conflict) as refusal:
        allocation_plan(allocation=allocation, actor=moored.author)
    assert refusal.value.code == "nothing_to_change"


def test_the_policy_refuses_what_makes_no_sense(moored, api):
    row = api.get("/api/v1/policies", {"system": str(moored.system.public_id)}).json()["results"][0]
    address, version = f"/api/v1/policies/{row['id']}", f'"{row["version"]}"'
    for name, value in (
        ("enactment_band", 1.5),
        ("enactment_dwell_s", 8 * 86_400),
        ("churn_per_consumer", -1),
        ("churn_per_rate_change", "much"),
    ):
        answer = api.patch(address, {name: value}, format="json", headers={"If-Match": version})
        assert answer.status_code == 400, (name, answer.content)
        assert answer.json()["errors"][0]["field"] == name


def test_what_is_new_is_set_and_the_rest_is_judged_beside_it(moored):
    """A class that just came has no limit in force: no reason to move everybody else."""
    from apps.catalog.models import ConsumerClass
    from apps.systems.services import entity_create

    policy(moored, enactment_band=0.5)
    old = ConsumerClass.objects.get(name="g-t1")
    entity_create(
        model=ConsumerClass,
        system=moored.system,
        actor=None,
        values={
            "name": "new",
            "topic": old.topic,
            "broker": moored.brokers["b2"],
            "utility": old.utility,
            "population_max": 1,
        },
        children={"costs": [{"resource": "cpu", "cost": 0.01}]},
    )
    lower(moored, "t1", 0.99)
    lower(moored, "t2", 0.99)
    moored.system.refresh_from_db()
    plan = planned(moored)
    assert changed(plan) == {"new"}
    assert {row.target["flow"] for row in plan.content.left_out} >= {"t1", "t2"}


def test_what_is_new_takes_its_room_from_what_would_have_stayed(moored):
    from apps.catalog.models import ConsumerClass
    from apps.systems.services import entity_create

    policy(moored, enactment_dwell_s=86_400.0)
    old = ConsumerClass.objects.get(name="g-t1")
    entity_create(
        model=ConsumerClass,
        system=moored.system,
        actor=None,
        values={
            "name": "new",
            "topic": old.topic,
            "broker": moored.brokers["b1"],
            "utility": old.utility,
            "population_max": 4,
        },
        children={"costs": [{"resource": "cpu", "cost": 1.0}]},
    )
    moored.system.refresh_from_db()
    plan = planned(moored)
    assert "new" in changed(plan)
    promise = {row.name: row for row in plan.content.promise}
    assert promise["highest load"].after <= 1 + 1e-6
    assert any("would have stayed, but a capacity" in text for text in plan.content.why)
