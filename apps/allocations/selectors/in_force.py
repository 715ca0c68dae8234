"""Find the plan and the allocation behind the rates that are in force."""

from django.db.models import QuerySet

from apps.allocations.models import Allocation
from apps.plans.models import Plan
from apps.systems.models import System
from weir.lifecycle.plans import PlanState


def latest_plan(system: System) -> Plan | None:
    """Return the plan of an allocation that was carried out last."""
    return (
        Plan.objects.filter(system=system, state=PlanState.EXECUTED, source_kind="allocation")
        .order_by("-execution__ended_at", "-id")
        .defer("document")
        .first()
    )


def allocations_in_force(rows: QuerySet[Allocation]) -> list[Allocation]:
    """Return for each system the allocation whose plan was carried out last. `rows` says how to
    read them."""
    plans = (
        Plan.objects.filter(
            state=PlanState.EXECUTED, source_kind="allocation", source_id__isnull=False
        )
        .order_by("system_id", "-execution__ended_at", "-id")
        .distinct("system_id")
        .values_list("system_id", "source_id")
    )
    allocations = rows.filter(public_id__in=[source for _, source in plans])
    return [row for row in allocations if (row.system_id, row.public_id) in set(plans)]


def latest_allocation(plan: Plan) -> Allocation | None:
    """Return the allocation that a plan brought into force."""
    if plan.source_id is None:
        return None
    return (
        Allocation.objects.filter(public_id=plan.source_id, system=plan.system)
        .select_related("run__snapshot")
        .first()
    )
