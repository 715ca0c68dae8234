"""Decide which decisions about a plan hold now, and what a caller may do with it. The screen shows
these buttons and knows no rules."""

from collections.abc import Callable
from datetime import datetime

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.accounts.selectors import AccountControl
from apps.plans.models import Approval, Decision, Plan
from apps.plans.selectors.rules import Ruling
from apps.plans.selectors.staleness import state_now
from weir.lifecycle.plans import PLANS, UNSETTLED, PlanCommand, PlanState


def invalid_because(approval: Approval, plan: Plan, now: datetime) -> str:
    """Return why this decision no longer holds; empty while it does. Of a plan that was executed:
    why it did not hold when the execution began."""
    if plan.execution is not None:
        return _invalid_at(approval, plan, plan.execution.created_at)
    if approval.ended_because:
        return approval.ended_because
    if approval.content_hash != plan.content_hash:
        return f"It was given for {approval.content_hash[:8]}, another content."
    if approval.model_version != plan.system.model_version:
        return f"It was given for model version {approval.model_version}."
    if approval.expires_at is not None and approval.expires_at <= now:
        return f"It expired at {approval.expires_at:%Y-%m-%d %H:%M} UTC."
    return lost_because(approval)


def _invalid_at(approval: Approval, plan: Plan, began_at: datetime) -> str:
    """Return why the decision did not hold when the plan was carried out; empty where it did. What
    ran out or was lost before was ended before; an end, a new role or a new model since then takes
    nothing back."""
    if approval.content_hash != plan.content_hash:
        return f"It was given for {approval.content_hash[:8]}, another content."
    if approval.ended_at is not None and approval.ended_at <= began_at:
        return approval.ended_because
    if approval.expires_at is not None and approval.expires_at <= began_at:
        return f"It expired at {approval.expires_at:%Y-%m-%d %H:%M} UTC."
    return ""


def lost_because(approval: Approval) -> str:
    """Return why the person no longer counts as a reviewer; empty while they do."""
    person = approval.person
    if person is None or approval.decision != Decision.APPROVE:
        return ""
    if not person.is_active:
        return f"The account of {person.display_name} is inactive."
    if Permission.REVIEW_PLAN not in person.permissions:
        return f"{person.display_name} is no longer an approver."
    return ""


def no_longer_counting(plan: Plan) -> list[str]:
    """Return a sentence for each approval of this content that people lost, newest last."""
    return [
        f"The approval of {approval.person.display_name} no longer counts: {because}"
        for approval in plan.approvals.select_related("person")
        if approval.person is not None
        and approval.decision == Decision.APPROVE
        and (because := approval.ended_because or lost_because(approval))
    ]


def valid_approvals(plan: Plan, now: datetime) -> list[Approval]:
    """Return the approvals that count; of an executed plan, those that it was executed on. Prefetch
    `approvals__person`."""
    return [
        approval
        for approval in plan.approvals.all()
        if approval.decision == Decision.APPROVE and not invalid_because(approval, plan, now)
    ]


def counted_approvals(plan: Plan, now: datetime, *, needed: int) -> tuple[int, int]:
    """Return how many approvals count, and of how many that are needed.

    An executed plan had enough, whatever the policy has asked for since.
    """
    given = len(valid_approvals(plan, now))
    return given, needed if plan.execution is None else min(needed, given)


def to_end(plan: Plan, now: datetime) -> list[tuple[Approval, str]]:
    """Return the approvals that ran out or whose person is no reviewer any more, each with the
    reason."""
    found = []
    for approval in plan.approvals.all():
        if approval.ended_at is not None:
            continue
        if approval.expires_at is not None and approval.expires_at <= now:
            found.append((approval, f"It expired at {approval.expires_at:%Y-%m-%d %H:%M} UTC."))
        elif because := lost_because(approval):
            found.append((approval, because))
    return found


def enough(plan: Plan, ruling: Ruling, now: datetime) -> bool:
    """Return whether the approvals that hold are what the policy asks for today.

    Weir's own approval holds for as long as the policy would still give it.
    """
    valid = valid_approvals(plan, now)
    people = [approval for approval in valid if approval.person_id is not None]
    if len(people) < len(valid) and ruling.approves_by_itself:
        return True
    return len(people) >= max(1, ruling.approvals_needed)


def is_own(plan: Plan, person_id: int | None) -> bool:
    """Return whether the person made the plan, sent it for review or answers for what made it, and
    may not judge it."""
    return person_id is not None and person_id in plan.people_behind


def made_by_author(plan: Plan, control: AccountControl) -> User | None:
    """Return the person whose plan it is and who also made the reviewer's account."""
    return _one_of(plan.people_behind & control.makers)


def author_controlled(plan: Plan, control: AccountControl) -> User | None:
    """Return the person whose plan it is and as whom the reviewer can sign in."""
    return _one_of(plan.people_behind & control.controlled)


def approved_by_same(plan: Plan, control: AccountControl, now: datetime) -> User | None:
    """Return who has approved already and may be the same person as the reviewer."""
    approvals = valid_approvals(plan, now)
    return next((a.person for a in approvals if a.person_id in control.same_person), None)


def _one_of(keys: frozenset[int]) -> User | None:
    return User.objects.filter(pk__in=keys).order_by("pk").first() if keys else None


def is_independent(plan: Plan, control: AccountControl) -> bool:
    """Return whether the reviewer and those whose plan it is do not control each other's
    accounts."""
    return not plan.people_behind & (control.makers | control.controlled)


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
EDIT = "edit"


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

    They are those of PLANS, `dry_run`, `accept_overload`, `roll_back`, and `edit` of its ticket.
    Where its document was looked at, `overload` says what it would overload, and `has_inverse`
    whether anything that it does has an inverse.
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
    if person is not None and Permission.PROPOSE_PLAN in permissions:
        allowed.append(EDIT)
    return allowed
