"""Which plan and which allocation stand behind the rates that are in force."""

from apps.allocations.models import Allocation
from apps.plans.models import Plan
from apps.systems.models import System
from weir.lifecycle.plans import PlanState


def latest_plan(system: System) -> Plan | None:
    """The plan of an allocation that was carried out last."""
    return (
        Plan.objects.filter(system=system, state=PlanState.EXECUTED, source_kind="allocation")
        .order_by("-execution__ended_at", "-id")
        .defer("document")
        .first()
    )


def latest_allocation(plan: Plan) -> Allocation | None:
    """The allocation that a plan brought into force."""
    if plan.source_id is None:
        return None
    return (
        Allocation.objects.filter(public_id=plan.source_id, system=plan.system)
        .select_related("run__snapshot")
        .first()
    )
