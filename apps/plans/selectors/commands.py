"""Decide what a caller may do with a plan now. The screen shows these buttons and knows no
rules."""

from collections.abc import Callable
from datetime import datetime

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.accounts.selectors import AccountControl
from apps.plans.models import Plan
from apps.plans.selectors.approvals import (
    approved_by_same,
    invalid_because,
    is_independent,
    is_own,
)
from apps.plans.selectors.staleness import state_now
from weir.lifecycle.plans import PLANS, UNSETTLED, PlanCommand, PlanState

Gate = Callable[[Plan, User, AccountControl, datetime], bool]


def may_judge(plan: Plan, person: User, control: AccountControl, now: datetime) -> bool:
    """Return whether the person may judge the plan: neither their own nor of somebody who controls
    their account or the reverse, and not decided yet by them or by somebody who may be the same
    person."""
    return (
        may_reject(plan, person, control, now)
        and is_independent(plan, control)
        and approved_by_same(plan, control, now) is None
        and not any(
            approval.person_id == person.pk and not invalid_because(approval, plan, now)
            for approval in plan.approvals.all()
        )
    )


def may_reject(plan: Plan, person: User, control: AccountControl, now: datetime) -> bool:
    """Return whether a reviewer may still reject the plan; a rejection needs no independence."""
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
ROLL_BACK = "roll_back"
ACCEPT_OVERLOAD = "accept_overload"


def allowed_commands(
    plan: Plan,
    *,
    person: User | None,
    permissions: frozenset[Permission],
    control: AccountControl | None,
    now: datetime,
    overload: str = "",
    has_inverse: bool = True,
) -> list[str]:
    """List the commands that this person may give this plan now.

    They are those of PLANS, `dry_run`, `accept_overload` and `roll_back`. Where its document was
    looked at, `overload` says what it would overload, and `has_inverse` whether anything that it
    does has an inverse.
    """
    state = state_now(plan)
    allowed = [
        command.value
        for command, (permission, gate) in NEEDS.items()
        if PLANS.allows(state, command)
        and permission in permissions
        and person is not None
        and (gate is None or (control is not None and gate(plan, person, control, now)))
    ]
    if state in UNSETTLED and person is not None:
        allowed.append(DRY_RUN)
    if (
        state is PlanState.DRAFT
        and overload
        and not plan.accepted_overload
        and person is not None
        and Permission.REVIEW_PLAN in permissions
    ):
        allowed.append(ACCEPT_OVERLOAD)
    if state is PlanState.EXECUTED and has_inverse and Permission.PROPOSE_PLAN in permissions:
        allowed.append(ROLL_BACK)
    return allowed
