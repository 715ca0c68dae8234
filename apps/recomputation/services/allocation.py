"""Rates and admitted consumers, computed again."""

from apps.accounts.services import automatic_account
from apps.allocations.models import Allocation
from apps.allocations.services import DEFAULT_METHOD, allocation_request
from apps.allocations.services.propose import allocation_plan
from apps.plans.models import Plan
from apps.recomputation.models import Firing
from apps.runs.models import Run

KIND = "allocation"


def request(row: Firing) -> Run:
    """Open the run. Raises ApplicationError."""
    return allocation_request(
        system=row.system,
        actor=automatic_account(row.account),
        method=row.method or DEFAULT_METHOD,
        time_limit_s=row.time_limit_s,
    )


def found(run: Run) -> Allocation:
    """What the run left."""
    return Allocation.objects.select_related("run__snapshot").get(run=run)


def told(allocation: Allocation) -> str:
    """It in a sentence."""
    return f"{allocation} is worth {allocation.utility:,.6g} utility."


def planned(row: Firing, allocation: Allocation) -> Plan:
    """Its plan. Raises Conflict."""
    return allocation_plan(
        allocation=allocation,
        actor=automatic_account(row.account),
        answerable=row.answerable,
    )
