"""Which decisions about a plan hold now."""

from datetime import datetime

from apps.plans.models import Approval, Decision, Plan
from apps.plans.selectors.rules import Ruling


def invalid_because(approval: Approval, plan: Plan, now: datetime) -> str:
    """Why this decision no longer holds; empty while it does."""
    if approval.ended_because:
        return approval.ended_because
    if approval.content_hash != plan.content_hash:
        return f"It was given for {approval.content_hash[:8]}, another content."
    if approval.model_version != plan.system.model_version:
        return f"It was given for model version {approval.model_version}."
    if approval.expires_at is not None and approval.expires_at <= now:
        return f"It expired at {approval.expires_at:%Y-%m-%d %H:%M} UTC."
    return ""


def valid_approvals(plan: Plan, now: datetime) -> list[Approval]:
    """The approvals that count. Prefetch `approvals`."""
    return [
        approval
        for approval in plan.approvals.all()
        if approval.decision == Decision.APPROVE and not invalid_because(approval, plan, now)
    ]


def expired(plan: Plan, now: datetime) -> list[Approval]:
    """Approvals whose time has run out and that nobody has ended yet."""
    return [
        approval
        for approval in plan.approvals.all()
        if approval.ended_at is None
        and approval.expires_at is not None
        and approval.expires_at <= now
    ]


def enough(plan: Plan, ruling: Ruling, now: datetime) -> bool:
    """Whether the approvals that hold are what the policy asks for today.

    Weir's own approval holds for as long as the policy would still give it.
    """
    valid = valid_approvals(plan, now)
    people = [approval for approval in valid if approval.person_id is not None]
    if len(people) < len(valid) and ruling.approves_by_itself:
        return True
    return len(people) >= max(1, ruling.approvals_needed)


def is_own(plan: Plan, person_id: int | None) -> bool:
    """Who made a plan, sent it for review or answers for what made it does not judge it."""
    own = (plan.author_id, plan.submitted_by_id, plan.answerable_id)
    return person_id is not None and person_id in own
