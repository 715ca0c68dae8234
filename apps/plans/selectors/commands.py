"""What a caller may do with a plan now. The screen shows these buttons and knows no rules."""

from collections.abc import Callable
from datetime import datetime

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.accounts.selectors import Hands
from apps.plans.models import Plan
from apps.plans.selectors.approvals import (
    approved_by_same,
    invalid_because,
    is_independent,
    is_own,
)
from apps.plans.selectors.staleness import state_now
from weir.lifecycle.plans import PLANS, UNSETTLED, PlanCommand, PlanState

Gate = Callable[[Plan, User, Hands, datetime], bool]


def may_judge(plan: Plan, person: User, hands: Hands, now: datetime) -> bool:
    """Neither their own nor of somebody in whose hands they are, and not decided yet by them or by
    somebody who may be the same person."""
    return (
        may_reject(plan, person, hands, now)
        and is_independent(plan, hands)
        and approved_by_same(plan, hands, now) is None
        and not any(
            approval.person_id == person.pk and not invalid_because(approval, plan, now)
            for approval in plan.approvals.all()
        )
    )


def may_reject(plan: Plan, person: User, hands: Hands, now: datetime) -> bool:
    """A reviewer may change their mind to a no; a no needs no independence."""
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
    plan: Plan,
    *,
    person: User | None,
    permissions: frozenset[Permission],
    hands: Hands | None,
    now: datetime,
) -> list[str]:
    """The commands of PLANS, `dry_run` and `undo` that this person may give this plan now."""
    state = state_now(plan)
    allowed = [
        command.value
        for command, (permission, gate) in NEEDS.items()
        if PLANS.allows(state, command)
        and permission in permissions
        and person is not None
        and (gate is None or (hands is not None and gate(plan, person, hands, now)))
    ]
    if state in UNSETTLED and person is not None:
        allowed.append(DRY_RUN)
    if state is PlanState.EXECUTED and Permission.PROPOSE_PLAN in permissions:
        allowed.append(UNDO)
    return allowed
