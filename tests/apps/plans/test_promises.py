"""What the database itself refuses, whoever writes to it."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.plans.models import Approval, Plan, PlanEvent
from apps.systems.services import system_delete
from apps.telemetry.services import agent_revoke
from tests.factories.fleet import Harbour, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    make_plan,
    submitted,
)


@transaction.atomic
def at_commit(deed: Any) -> None:
    """Do it, and let deferred triggers speak as at the transaction's end."""
    deed()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def refused(constraint: str, deed: Any) -> None:
    with pytest.raises(IntegrityError) as caught:
        at_commit(deed)
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.diag.constraint_name == constraint  # type: ignore[attr-defined]


def approval(plan: Plan, person: User | None, **values: Any) -> Approval:
    return Approval(
        **{
            "plan": plan,
            "person": person,
            "decision": "approve",
            "content_hash": plan.content_hash,
            "model_version": plan.model_version,
            "expires_at": timezone.now(),
            **values,
        }
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("document", b"{}"),
        ("content_hash", "0" * 64),
        ("title", "Neap tide"),
        ("model_version", 99),
        ("number", 99),
        ("kind", "topology"),
        ("snapshot_hash", ""),
        ("author", None),
        ("blast_radius", {}),
        ("source_name", "A-4"),
    ],
)
def test_what_a_plan_says_never_changes(plan: Plan, column: str, value: Any) -> None:
    refused("plan_document_kept", lambda: Plan.objects.filter(pk=plan.pk).update(**{column: value}))


@pytest.mark.parametrize(
    ("constraint", "values"),
    [
        ("plan_state_known", {"state": "sunk"}),
        ("plan_stale_has_a_reason", {"state": "stale"}),
        ("plan_in_review_was_submitted", {"state": "pending_review"}),
        ("plan_approved_has_an_end", {"state": "approved"}),
        ("plan_begun_has_an_execution", {"state": "executing"}),
        ("plan_begun_has_an_execution", {"state": "executed"}),
    ],
)
def test_states_bring_what_they_mean(plan: Plan, constraint: str, values: dict[str, Any]) -> None:
    refused(constraint, lambda: Plan.objects.filter(pk=plan.pk).update(**values))


def test_nobody_decides_about_their_own(plan: Plan, ines: User, jon: User) -> None:
    refused("decision_not_own", lambda: approval(plan, ines).save())
    submitted(plan, jon)
    refused("decision_not_own", lambda: approval(plan, jon).save())


def test_decision_names_its_plans_hash_and_version(plan: Plan, jon: User) -> None:
    refused("decision_names_plan", lambda: approval(plan, jon, content_hash="0" * 64).save())
    refused("decision_names_plan", lambda: approval(plan, jon, model_version=99).save())


@pytest.mark.parametrize(
    ("constraint", "values"),
    [
        ("decision_known", {"decision": "maybe"}),
        ("approval_has_an_end", {"expires_at": None}),
        ("rejection_says_why", {"decision": "reject"}),
        ("decision_ended_has_a_reason", {"ended_at": timezone.now()}),
    ],
)
def test_decision_is_whole(plan: Plan, jon: User, constraint: str, values: Any) -> None:
    refused(constraint, lambda: approval(plan, jon, **values).save())


@pytest.mark.parametrize("by_weir", [True, False])
def test_one_live_decision_per_person(plan: Plan, jon: User, by_weir: bool) -> None:
    person = None if by_weir else jon
    first = approval(plan, person)
    first.save()
    refused("one_live_decision_per_person", lambda: approval(plan, person).save())
    first.ended_at, first.ended_because = timezone.now(), "It was too early."
    first.save()
    approval(plan, person).save()


def test_decision_only_ends_and_only_once(plan: Plan, ines: User, jon: User) -> None:
    rows = approved(plan, ines, jon).approvals.all()
    refused("decision_only_ends", lambda: rows.update(comment="I never said that."))
    refused("decision_only_ends", lambda: rows.update(expires_at=timezone.now()))
    rows.update(ended_at=timezone.now(), ended_because="It was too early.")
    refused("decision_only_ends", lambda: rows.update(ended_because="It was too late."))
    refused("decision_only_ends", lambda: rows.update(ended_at=None, ended_because=""))


def test_history_is_only_added_to(plan: Plan, ines: User, jon: User) -> None:
    row = approved(plan, ines, jon)
    refused("plan_event_kept", lambda: row.events.update(title="nothing happened"))
    refused("goes_with_its_plan", lambda: PlanEvent.objects.filter(plan=row).delete())
    refused("goes_with_its_plan", lambda: row.approvals.all().delete())
    refused("plan_goes_with_its_system", lambda: Plan.objects.filter(pk=row.pk).delete())


def test_system_goes_with_its_plans(
    harbour: Harbour, plan: Plan, ines: User, jon: User, olga: User
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    approved(make_plan(harbour.system, ines, [rate(40.0, 50.0)]), ines, jon)
    make_plan(harbour.system, ines, [rate(40.0, 60.0)])
    for agent in agents.values():
        agent_revoke(agent=agent, actor=None)
    system = harbour.system
    system_delete(system=system, actor=None, expected_version=system.version)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert not Plan.objects.exists()
    assert not Approval.objects.exists()
