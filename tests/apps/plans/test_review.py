"""Who may say yes to what, how often, and for how long it holds."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError, Conflict
from apps.plans.models import Plan
from apps.plans.services import (
    plan_approve,
    plan_discard,
    plan_reject,
    plan_submit,
    plan_withdraw,
)
from tests.factories import make_user
from tests.factories.fleet import Harbour
from tests.factories.plans import approved, edit_model, make_plan, make_policy, submitted

TWO = {"approval_rules": [{"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 2}]}


def code_of(caught: pytest.ExceptionInfo[ApplicationError]) -> str:
    return caught.value.code


def test_submit_makes_it_wait_for_review(plan: Plan, ines: User) -> None:
    row = submitted(plan, ines)
    assert row.state == "pending_review"
    assert row.submitted_by == ines
    assert row.submitted_at == row.waiting_since


def test_one_approval_is_enough_by_default(plan: Plan, ines: User, jon: User) -> None:
    row = approved(plan, ines, jon)
    assert row.state == "approved"
    approval = row.approvals.get()
    assert (approval.person, approval.content_hash) == (jon, plan.content_hash)
    assert approval.model_version == plan.model_version
    assert row.expires_at == approval.expires_at
    assert approval.expires_at is not None
    assert timedelta(hours=23) < approval.expires_at - timezone.now() <= timedelta(hours=24)


def test_two_approvals_where_the_policy_says_two(
    plan: Plan, harbour: Harbour, ines: User, jon: User, tomas: User
) -> None:
    make_policy(harbour.system, **TWO)
    row = approved(plan, ines, jon)
    assert row.state == "pending_review"
    assert [event.title for event in row.events.all()][-1] == "approved it, 1 of 2"
    with pytest.raises(Conflict) as caught:
        plan_approve(plan=row, actor=jon, content_hash=row.content_hash)
    assert code_of(caught) == "already_decided"
    row = plan_approve(plan=row, actor=tomas, content_hash=row.content_hash)
    assert row.state == "approved"


@pytest.mark.parametrize("decide", ["approve", "reject"])
def test_author_cannot_decide_even_with_every_role(harbour: Harbour, decide: str) -> None:
    root = make_user("root", *Role)
    plan = submitted(make_plan(harbour.system, root), root)
    deeds = {
        "approve": partial(plan_approve, content_hash=plan.content_hash),
        "reject": partial(plan_reject, comment="No."),
    }
    with pytest.raises(ApplicationError) as caught:
        deeds[decide](plan=plan, actor=root)
    assert (code_of(caught), caught.value.status) == ("author_cannot_approve", 403)
    assert not plan.approvals.exists()


def test_whoever_submitted_it_cannot_approve_it_either(plan: Plan) -> None:
    other = make_user("other", Role.EDITOR, Role.APPROVER)
    row = submitted(plan, other)
    with pytest.raises(ApplicationError) as caught:
        plan_approve(plan=row, actor=other, content_hash=row.content_hash)
    assert code_of(caught) == "author_cannot_approve"


def test_approval_of_another_content_is_refused(plan: Plan, ines: User, jon: User) -> None:
    row = submitted(plan, ines)
    with pytest.raises(Conflict) as caught:
        plan_approve(plan=row, actor=jon, content_hash="0" * 64)
    assert code_of(caught) == "content_changed"
    assert caught.value.errors[0].field == "content_hash"
    assert not row.approvals.exists()


def test_approval_of_a_stale_plan_is_refused_and_the_plan_becomes_stale(
    plan: Plan, harbour: Harbour, ines: User, jon: User
) -> None:
    row = submitted(plan, ines)
    edit_model(harbour, ines)
    with pytest.raises(Conflict, match="ines changed topic tides") as caught:
        plan_approve(plan=row, actor=jon, content_hash=row.content_hash)
    assert code_of(caught) == "plan_is_stale"
    row.refresh_from_db()
    assert row.state == "stale"
    assert "ines changed topic tides (rate_max_per_s)" in row.stale_because
    assert not row.approvals.exists()


def test_draft_cannot_be_approved(plan: Plan, jon: User) -> None:
    with pytest.raises(Conflict, match="draft cannot approve") as caught:
        plan_approve(plan=plan, actor=jon, content_hash=plan.content_hash)
    assert code_of(caught) == "not_in_this_state"


def test_rejection_needs_a_comment_and_ends_the_plan(plan: Plan, ines: User, jon: User) -> None:
    row = submitted(plan, ines)
    with pytest.raises(ApplicationError) as caught:
        plan_reject(plan=row, actor=jon, comment="  ")
    assert caught.value.errors[0].field == "comment"
    row = plan_reject(plan=row, actor=jon, comment=" Broker c was tuned today. ")
    assert row.state == "rejected"
    assert row.approvals.get().comment == "Broker c was tuned today."


def test_reviewer_may_change_their_mind_to_a_no(
    plan: Plan, harbour: Harbour, ines: User, jon: User
) -> None:
    make_policy(harbour.system, **TWO)
    row = plan_reject(plan=approved(plan, ines, jon), actor=jon, comment="I misread it.")
    first, second = row.approvals.all()
    assert row.state == "rejected"
    assert first.ended_because == "jon rejected the plan later."
    assert (second.decision, second.ended_at) == ("reject", None)


def test_withdrawing_ends_the_approvals(
    plan: Plan, harbour: Harbour, ines: User, jon: User
) -> None:
    make_policy(harbour.system, **TWO)
    row = plan_withdraw(plan=approved(plan, ines, jon), actor=ines)
    assert (row.state, row.waiting_since) == ("draft", None)
    assert row.approvals.get().ended_because == "ines took the plan back from review."
    # Sent again, the same person decides again.
    again = approved(row, ines, jon)
    assert again.state == "pending_review"
    assert again.approvals.filter(ended_at=None).count() == 1


def test_discard_ends_a_plan_that_nobody_began(plan: Plan, ines: User, jon: User) -> None:
    row = plan_discard(plan=approved(plan, ines, jon), actor=ines, reason="Not today.")
    assert (row.state, row.expires_at) == ("discarded", None)
    with pytest.raises(Conflict) as caught:
        plan_submit(plan=row, actor=ines)
    assert code_of(caught) == "not_in_this_state"


def test_every_step_is_in_the_history_and_in_the_audit(plan: Plan, ines: User, jon: User) -> None:
    approved(plan, ines, jon)
    told = [(e.actor_name, e.command, e.state, e.title) for e in plan.events.all()]
    assert told == [
        ("ines", "create", "draft", "made the plan from allocation A-3"),
        ("ines", "submit", "pending_review", "sent it for review"),
        ("jon", "approve", "approved", "approved it"),
    ]
    entries = AuditEntry.objects.filter(object_id=plan.public_id).order_by("id")
    assert [(e.actor_name, e.action) for e in entries] == [
        ("ines", "create"),
        ("ines", "submit"),
        ("jon", "approve"),
    ]
    assert entries.last().after == {"state": "approved", "content_hash": plan.content_hash}  # type: ignore[union-attr]
