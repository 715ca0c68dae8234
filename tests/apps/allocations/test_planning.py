"""POST /allocations/{id}/plan: a draft of what would bring an allocation into force."""

from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.allocations.models import Allocation
from apps.allocations.services import allocation_request_for_problem
from apps.catalog.models import ConsumerClass, Topic
from apps.executions.models import Setting
from apps.executions.selectors.modelled import STRUCTURE
from apps.plans.models import Plan
from apps.runs.services.computations import run_store
from apps.systems.models import System
from apps.systems.services import entity_update
from tests.factories.plans import make_policy
from tests.factories.runs import claim, golden_problem, kernel_answer, make_allocation
from tests.weir.plan_strategies import plan_hash
from weir.actions import InForce, replay, target_key

pytestmark = pytest.mark.django_db


def ask(api: Any, allocation: Allocation, **body: Any) -> Any:
    return api.post(f"/api/v1/allocations/{allocation.public_id}/plan", body, format="json")


def enforce(system: System, plan: Plan) -> None:
    """As if the plan had been carried out."""
    after = replay(InForce(), plan.content.steps).settings
    targets = {
        (action.kind, target_key(action.target)): dict(action.target)
        for step in plan.content.steps
        for action in step.actions
    }
    Setting.objects.filter(system=system).exclude(kind__in=STRUCTURE).delete()
    Setting.objects.bulk_create(
        Setting(
            system=system,
            kind=kind,
            target=targets[kind, key],
            target_key=key,
            in_force=dict(value),
            desired=dict(value),
        )
        for (kind, key), value in after.items()
    )


def change(entity: Any, **values: Any) -> None:
    entity.refresh_from_db()
    entity_update(instance=entity, actor=None, expected_version=entity.version, values=values)


def test_first_plan_of_the_base_workload(api, base_workload):
    allocation = make_allocation(base_workload)
    answer = ask(api, allocation)
    assert answer.status_code == 201, answer.content
    body = answer.json()
    plan = Plan.objects.get(public_id=body["id"])
    assert answer["Location"] == f"/api/v1/plans/{plan.public_id}"
    assert (body["state"], body["kind"]) == ("draft", "allocation")
    assert body["title"] == f"Enact {allocation}: 6 rates, 20 limits"
    assert body["source"] == {
        "kind": "allocation",
        "id": str(allocation.public_id),
        "name": str(allocation),
    }
    assert body["run"] == str(allocation.run.public_id)
    assert body["blast_radius"]["brokers"] == 3
    assert plan.snapshot_hash == allocation.run.snapshot.content_hash
    assert plan.content_hash == plan_hash(plan.content)
    # Nothing was in force: everything is a first limit, which takes away.
    (step,) = plan.content.steps
    assert len(step.actions) == 26
    rates = {a.target["flow"]: a.after for a in step.actions if a.kind == "set_flow_rate"}
    for row in allocation.rates.all():
        assert rates[row.flow]["rate_per_s"] == row.rate_per_s
    limits = {a.target["class"]: a.after for a in step.actions if a.kind == "set_population"}
    for admitted in allocation.populations.all():
        assert limits[admitted.consumer_class] == {"limit": admitted.admitted}
    promised = {row["name"]: row for row in body["promise"]}
    assert promised["utility"]["after"] == pytest.approx(allocation.utility)
    assert promised["consumers admitted"]["after"] == allocation.admitted
    assert 0.99 < promised["highest load"]["after"] <= 1 + 1e-9
    assert any("decides: it is at" in sentence for sentence in body["why"])
    assert {bound["name"] for bound in body["envelope"]} == {f"f{i}" for i in range(6)}


def test_a_title_of_ones_own(api, base_workload):
    answer = ask(api, make_allocation(base_workload), title="Before the weekend")
    assert answer.json()["title"] == "Before the weekend"


def test_what_is_in_force_already_is_nothing_to_change(api, base_workload):
    allocation = make_allocation(base_workload)
    plan = Plan.objects.get(public_id=ask(api, allocation).json()["id"])
    enforce(base_workload, plan)
    answer = ask(api, allocation)
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_change")
    assert answer.json()["detail"] == (
        f"All rates and limits of {allocation} are in force already."
    )


def test_too_small_a_gain_is_nothing_to_change(api, base_workload):
    first = make_allocation(base_workload, method="lrgp", parameters={"max_iterations": 60})
    enforce(base_workload, Plan.objects.get(public_id=ask(api, first).json()["id"]))
    second = make_allocation(base_workload)
    answer = ask(api, second)
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_change")
    assert "the policy enacts a gain of at least 1.00 %" in answer.json()["detail"]
    make_policy(base_workload, enactment_threshold=0.0)
    assert second.utility > first.utility
    assert ask(api, second).status_code == 201


def test_takes_before_it_gives(api, base_workload):
    first = make_allocation(base_workload)
    enforce(base_workload, Plan.objects.get(public_id=ask(api, first).json()["id"]))
    # Somebody lowered a rate and admitted fewer by hand: the plan gives it back, in one step.
    row = Setting.objects.filter(system=base_workload, kind="set_flow_rate").first()
    row.in_force = row.desired = {**row.in_force, "rate_per_s": row.in_force["rate_per_s"] / 10}
    row.save()
    plan = Plan.objects.get(public_id=ask(api, first).json()["id"])
    (step,) = plan.content.steps
    (action,) = step.actions
    assert action.before == row.in_force
    assert plan.content.promise[0].before < plan.content.promise[0].after


def test_an_overload_is_enacted_although_the_utility_falls(api, base_workload):
    first = make_allocation(base_workload)
    enforce(base_workload, Plan.objects.get(public_id=ask(api, first).json()["id"]))
    classes = ConsumerClass.objects.filter(system=base_workload)
    broker = classes.first().broker
    broker.refresh_from_db()
    entity_update(
        instance=broker,
        actor=None,
        expected_version=broker.version,
        values={},
        children={"capacities": [{"resource": "cpu", "capacity": 300_000.0}]},
    )
    answer = ask(api, make_allocation(base_workload))
    assert answer.status_code == 201, answer.content
    promised = {row["name"]: row for row in answer.json()["promise"]}
    assert promised["highest load"]["before"] > 1
    assert promised["highest load"]["after"] <= 1 + 1e-6
    assert promised["utility"]["after"] < promised["utility"]["before"]
    assert any("would load the fullest resource to" in s for s in answer.json()["why"])


def test_a_moved_model_is_refused(api, base_workload):
    allocation = make_allocation(base_workload)
    address = f"/api/v1/allocations/{allocation.public_id}"
    assert "plan" in api.get(address).json()["allowed_commands"]
    change(Topic.objects.filter(system=base_workload).first(), description="moved")
    assert "plan" not in api.get(address).json()["allowed_commands"]
    answer = ask(api, allocation)
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_is_stale")
    assert "Optimize again" in answer.json()["detail"]


def test_a_topic_without_source_is_skipped_with_a_sentence(api, base_workload):
    topic = Topic.objects.filter(system=base_workload).first()
    change(topic, source=None)
    body = ask(api, make_allocation(base_workload)).json()
    assert body["title"].endswith("5 rates, 20 limits")
    assert any(s.startswith(f"{topic.name} has no ingress broker") for s in body["why"])


def test_the_burst_is_the_topics_own(api, base_workload):
    topic = Topic.objects.filter(system=base_workload).first()
    change(topic, token_rate_per_s=100.0, token_bucket=77.0)
    plan = Plan.objects.get(public_id=ask(api, make_allocation(base_workload)).json()["id"])
    bursts = {
        a.target["flow"]: a.after["burst"]
        for a in plan.content.steps[0].actions
        if a.kind == "set_flow_rate"
    }
    assert bursts.pop(topic.name) == 77.0
    assert all(burst >= 2 for burst in bursts.values())


def test_an_allocation_of_a_foreign_problem_has_no_plan(api, admin):
    run = claim(allocation_request_for_problem(problem=golden_problem(), actor=admin))
    run_store(run, kernel_answer(run))
    allocation = Allocation.objects.get(run=run)
    answer = ask(api, allocation)
    assert (answer.status_code, answer.json()["code"]) == (409, "no_system")


def test_who_may_plan(as_role, base_workload):
    allocation = make_allocation(base_workload)
    assert ask(as_role(Role.VIEWER, Role.OPERATOR), allocation).status_code == 403
    assert ask(as_role(Role.EDITOR), allocation).status_code == 201


def test_a_repeated_request_makes_one_plan(api, base_workload):
    allocation = make_allocation(base_workload)
    address = f"/api/v1/allocations/{allocation.public_id}/plan"
    one = api.post(address, {}, format="json", headers={"idempotency-key": "k"})
    two = api.post(address, {}, format="json", headers={"idempotency-key": "k"})
    assert one.json()["id"] == two.json()["id"]
    assert two["Idempotency-Replayed"] == "true"
    # Without the key the same content is refused, and the plan that there is is named.
    again = ask(api, allocation)
    assert (again.status_code, again.json()["code"]) == (409, "plan_exists")
