"""Send plans for review, withdraw, approve, reject and discard them."""

from datetime import datetime

from apps.accounts.models import User
from apps.accounts.selectors import account_control
from apps.common.errors import ApplicationError, Conflict
from apps.plans.models import Approval, Decision, Plan
from apps.plans.selectors.approvals import (
    approved_by_same,
    author_controlled,
    is_own,
    made_by_author,
    valid_approvals,
)
from apps.plans.selectors.overload import plan_overload
from apps.plans.selectors.rules import ruling_of
from apps.plans.services.settle import approve_by_policy, approve_if_enough, settle_row
from apps.plans.services.transitions import as_seen, move
from weir.lifecycle.plans import PLANS, PlanCommand, PlanState


def plan_submit(
    *, plan: Plan, actor: User, reason: str = "", expected_version: int | None = None
) -> Plan:
    """Send a draft for review. Where the policy asks nobody, Weir approves it at once.

    Raises Conflict `would_overload` where it loads more than a capacity and nobody who may approve
    plans has accepted that: it could never be executed.
    """

    def command(row: Plan, now: datetime) -> Plan:
        if row.state == PlanState.DRAFT and not row.accepted_overload:
            overload = plan_overload(row)
            if overload:
                raise Conflict(
                    "would_overload",
                    f"{row} cannot be sent for review: {overload}. Somebody who may approve plans "
                    "can accept that with a reason.",
                )
        move(
            row,
            PlanCommand.SUBMIT,
            actor=actor,
            title="sent it for review",
            note=reason,
            submitted_at=now,
            submitted_by=actor,
            waiting_since=now,
        )
        approve_by_policy(row, now)
        return row

    return as_seen(plan, expected_version, settle_row, command)


def plan_withdraw(
    *, plan: Plan, actor: User, reason: str = "", expected_version: int | None = None
) -> Plan:
    """Withdraw a plan from review; decisions made so far end."""

    def command(row: Plan, now: datetime) -> Plan:
        title = "took it back from review"
        move(row, PlanCommand.WITHDRAW, actor=actor, title=title, note=reason)
        row.approvals.filter(ended_at=None).update(
            ended_at=now, ended_because=f"{actor.display_name} took the plan back from review."
        )
        return row

    return as_seen(plan, expected_version, settle_row, command)


def plan_approve(
    *,
    plan: Plan,
    actor: User,
    content_hash: str,
    comment: str = "",
    expected_version: int | None = None,
) -> Plan:
    """Approve exactly the content that was read; the last approval asked for makes it approved.

    Raises ApplicationError `author_cannot_approve`, `approver_made_by_author`,
    `approver_made_author` or `approvers_are_one` (403), Conflict `content_changed`,
    `already_decided`, `plan_is_stale`, `not_in_this_state`.
    """

    def command(row: Plan, now: datetime) -> Plan:
        _judge(row, actor, PlanCommand.APPROVE)
        _be_independent(row, actor, now)
        if content_hash != row.content_hash:
            raise Conflict.of_field(
                "content_hash",
                "Is not the plan's.",
                code="content_changed",
                detail=f"You approve {content_hash[:8]}, but {row} is {row.content_hash[:8]}. "
                "Read it again.",
            )
        if any(approval.person_id == actor.pk for approval in valid_approvals(row, now)):
            raise Conflict("already_decided", f"You have approved {row} already.")
        ruling = ruling_of(row, now)
        Approval.objects.create(
            plan=row,
            person=actor,
            decision=Decision.APPROVE,
            comment=comment.strip(),
            content_hash=content_hash,
            model_version=row.model_version,
            expires_at=ruling.approval_ends_at,
        )
        approve_if_enough(row, now, actor=actor, note=comment.strip())
        return row

    return as_seen(plan, expected_version, settle_row, command)


def plan_reject(
    *, plan: Plan, actor: User, comment: str, expected_version: int | None = None
) -> Plan:
    """Reject a plan with a reason. One rejection is enough; an approval of the same person ends
    with it."""
    said = comment.strip()
    if not said:
        message = "Say what is missing."
        raise ApplicationError.of_field("comment", message)

    def command(row: Plan, now: datetime) -> Plan:
        _judge(row, actor, PlanCommand.REJECT)
        row.approvals.filter(person=actor, ended_at=None).update(
            ended_at=now, ended_because=f"{actor.display_name} rejected the plan later."
        )
        Approval.objects.create(
            plan=row,
            person=actor,
            decision=Decision.REJECT,
            comment=said,
            content_hash=row.content_hash,
            model_version=row.model_version,
        )
        move(row, PlanCommand.REJECT, actor=actor, title="rejected it", note=said)
        return row

    return as_seen(plan, expected_version, settle_row, command)


def plan_discard(
    *, plan: Plan, actor: User, reason: str = "", expected_version: int | None = None
) -> Plan:
    """Drop a plan that was never begun."""

    def command(row: Plan, now: datetime) -> Plan:
        move(row, PlanCommand.DISCARD, actor=actor, title="discarded it", note=reason.strip())
        return row

    return as_seen(plan, expected_version, settle_row, command)


def _judge(row: Plan, actor: User, command: PlanCommand) -> None:
    """Refuse a decision about a plan that the person made or sent, whatever their roles."""
    if PLANS.allows(PlanState(row.state), command) and is_own(row, actor.pk):
        raise ApplicationError(
            "author_cannot_approve",
            f"You made {row}, sent it for review or set up what made it: somebody else has to "
            "decide about it.",
            status=403,
        )
    if not PLANS.allows(PlanState(row.state), command):
        # Refused by the table, before anything is said about hashes.
        move(row, command, actor=actor, title="")


def _be_independent(row: Plan, actor: User, now: datetime) -> None:
    """Refuse a decision where one of two accounts controls the other: they may be one person."""
    control = account_control(actor.pk)
    way_out = (
        "An approver with whom neither of you has anything to do decides, or another "
        "administrator first sets a new password for {} and gives the role anew."
    )
    maker = made_by_author(row, control)
    if maker is not None:
        raise ApplicationError(
            "approver_made_by_author",
            f"{row} is a plan of {maker.display_name}, who made you an approver or set your "
            f"password, or an account that did. {way_out.format(actor.display_name)}",
            status=403,
        )
    held = author_controlled(row, control)
    if held is not None:
        raise ApplicationError(
            "approver_made_author",
            f"{row} is a plan of {held.display_name}, whose password you or an account that you "
            f"made set. {way_out.format(held.display_name)}",
            status=403,
        )
    same = approved_by_same(row, control, now)
    if same is not None:
        raise ApplicationError(
            "approvers_are_one",
            f"{same.display_name} has approved {row}, and one of you or an account that one of you "
            "made set the other's password: these are not two approvals. Somebody else approves, "
            "or another administrator first sets a new password.",
            status=403,
        )
