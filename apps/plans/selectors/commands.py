"""What a caller may do with a plan now. The screen shows these buttons and knows no rules."""

from collections.abc import Callable
from datetime import datetime

from apps.accounts.models import User
from apps.accounts.roles import Permission
from apps.plans.models import Plan
from apps.plans.selectors.approvals import invalid_because, is_own
from apps.plans.selectors.staleness import state_now
from weir.lifecycle.plans import PLANS, UNSETTLED, PlanCommand, PlanState

Gate = Callable[[Plan, User, datetime], bool]


def may_judge(plan: Plan, person: User, now: datetime) -> bool:
    """Not their own, and not decided by them already."""
    return not is_own(plan, person.pk) and not any(
        approval.person_id == person.pk and not invalid_because(approval, plan, now)
        for approval in plan.approvals.all()
    )


def may_reject(plan: Plan, person: User, now: datetime) -> bool:
    """A reviewer may change their mind to a no."""
    return not is_own(plan, person.pk)


NEEDS: dict[PlanCommand, tuple[Permission, Gate | None]] = {
    PlanCommand.SUBMIT: (Permission.PROPOSE_PLAN, None),
    PlanCommand.WITHDRAW: (Permission.PROPOSE_PLAN, None),
    PlanCommand.APPROVE: (Permission.REVIEW_PLAN, may_judge),
    PlanCommand.REJECT: (Permission.REVIEW_PLAN, may_reject),
    PlanCommand.EXECUTE: (Permission.EXECUTE_PLAN, None),
    PlanCommand.DISCARD: (Permission.PROPOSE_PLAN, None),
}
DRY_RUN = "dry_run"
UNDO = "undo"


def allowed_commands(
    plan: Plan, *, person: User | None, permissions: frozenset[Permission], now: datetime
) -> list[str]:
    """The commands of PLANS, `dry_run` and `undo` that this person may give this plan now."""
    state = state_now(plan)
    allowed = [
        command.value
        for command, (permission, gate) in NEEDS.items()
        if PLANS.allows(state, command)
        and permission in permissions
        and person is not None
        and (gate is None or gate(plan, person, now))
    ]
    if state in UNSETTLED and person is not None:
        allowed.append(DRY_RUN)
    if state is PlanState.EXECUTED and Permission.PROPOSE_PLAN in permissions:
        allowed.append(UNDO)
    return allowed
