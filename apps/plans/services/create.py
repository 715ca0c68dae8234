"""Make a plan of a document; plans that it replaces are superseded in the same transaction."""

import hashlib
import uuid
from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.plans.models import UNSETTLED_NAMES, Plan
from apps.plans.selectors.approvals import valid_approvals
from apps.plans.selectors.blast_radius import blast_radius
from apps.plans.selectors.staleness import moved_because
from apps.plans.selectors.versions import CREATE
from apps.plans.services.transitions import move, tell
from apps.runs.models import Run
from apps.systems.models import System
from weir.codec.plan import plan_bytes, plan_from_dict, plan_to_dict
from weir.errors import InvalidProblem
from weir.lifecycle.plans import PlanCommand, PlanState
from weir.model.plan import Plan as Document

LENGTHS = {
    field.name: field.max_length or 0
    for field in Plan._meta.concrete_fields
    if field.name in ("kind", "title", "source_kind", "source_name")
}


@transaction.atomic
def plan_create(
    *,
    system: System,
    actor: User | None,
    document: Document,
    run: Run | None = None,
    answerable: User | None = None,
    change_ticket: str = "",
) -> Plan:
    """Make a draft of the document; older plans of its kind that nobody began are superseded.

    `answerable`: who set up what made it, where an automatic account is the author. Raises
    ApplicationError for a document that makes no sense, Conflict where the model has moved since
    it was computed (`plan_is_stale`), a live plan says exactly the same (`plan_exists`), or an
    automatic plan would replace what people are deciding or have decided (`plan_in_the_way`).
    """
    locked = System.objects.select_for_update().get(pk=system.pk)
    _check(document, locked)
    payload = plan_bytes(document)
    plan = Plan(
        system=locked,
        number=_next_number(locked),
        kind=document.kind,
        title=document.title,
        author=actor,
        answerable=answerable,
        document=payload,
        content_hash=hashlib.sha256(payload).hexdigest(),
        model_version=document.model_version,
        snapshot_hash=document.snapshot_hash,
        source_kind=document.source.kind,
        source_id=_uuid(document.source.id),
        source_name=document.source.name,
        run=run,
        blast_radius=blast_radius(document, locked),
        change_ticket=change_ticket,
    )
    if plan.model_version != locked.model_version:
        raise Conflict("plan_is_stale", moved_because(plan))
    _refuse_twin(plan)
    if actor is not None and actor.automatic:
        _leave_people_alone(plan)
    plan.save()
    source = f"from {plan.source_kind.replace('_', ' ')} {plan.source_name}".strip()
    tell(plan, CREATE, actor=actor, title=f"made the plan {source}")
    _supersede(plan, actor)
    return plan


@transaction.atomic
def plan_shaped(*, plan: Plan, people: Iterable[int]) -> None:
    """Record who had a hand in what made the plan: none of them decides about it."""
    row = Plan.objects.select_for_update(of=("self",)).defer("document").get(pk=plan.pk)
    row.shaped_by = sorted({*row.shaped_by, *people})
    row.save(update_fields=["shaped_by", "updated_at"])


def _check(document: Document, system: System) -> None:
    try:
        plan_from_dict(plan_to_dict(document))
    except InvalidProblem as error:
        raise _invalid(error.path, error.message) from error
    if document.system != str(system.public_id):
        raise _invalid("system", f"is {document.system}, not {system.public_id}")
    for field, value in (
        ("kind", document.kind),
        ("title", document.title),
        ("source_kind", document.source.kind),
        ("source_name", document.source.name),
    ):
        longest = LENGTHS[field]
        if len(value) > longest:
            raise _invalid(field.replace("_", "."), f"longer than {longest} characters")


def _invalid(field: str, message: str) -> ApplicationError:
    return ApplicationError.of_field(field, message, code="invalid_plan", status=422)


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _next_number(system: System) -> int:
    """Return the number of the next plan. The system's row is locked meanwhile, so that no two
    plans get the same."""
    last = Plan.objects.filter(system=system).order_by("-number").first()
    return last.number + 1 if last else 1


def _older(plan: Plan) -> list[Plan]:
    return list(
        Plan.objects.select_for_update(of=("self",))
        .select_related("system")
        .filter(system=plan.system, kind=plan.kind, state__in=UNSETTLED_NAMES)
        .exclude(pk=plan.pk)
        .order_by("id")
    )


def _refuse_twin(plan: Plan) -> None:
    for other in _older(plan):
        if other.content_hash == plan.content_hash:
            raise Conflict(
                "plan_exists",
                f"{other} says exactly the same and is {other.state.replace('_', ' ')}; use it.",
                extra={"plan": str(other.public_id)},
            )


def _leave_people_alone(plan: Plan) -> None:
    """Refuse to let an automatic plan replace one that a person sent for review or approved, or one
    by which Weir takes back what it carried out."""
    now = timezone.now()
    for other in _older(plan):
        if other.by_itself and other.rolls_back:
            raise Conflict(
                "plan_in_the_way",
                f"{other} takes back what Weir carried out; it comes first.",
                extra={"plan": str(other.public_id)},
            )
        by_person = other.submitted_by is not None and not other.submitted_by.automatic
        judged = any(approval.person_id for approval in valid_approvals(other, now))
        if judged or (by_person and other.state != PlanState.DRAFT):
            raise Conflict(
                "plan_in_the_way",
                f"{other} is {other.state.replace('_', ' ')}; an automatic plan does not replace "
                "what people have sent for review or approved.",
                extra={"plan": str(other.public_id)},
            )


def _supersede(plan: Plan, actor: User | None) -> None:
    replaced = _older(plan)
    for row in replaced:
        move(
            row,
            PlanCommand.SUPERSEDE,
            actor=actor,
            title=f"replaced it by {plan}",
            note=f"{plan} {plan.title} is newer; it was made for model version "
            f"{plan.model_version}.",
            superseded_by=plan,
        )
    if replaced:
        names = ", ".join(str(row) for row in replaced)
        tell(plan, CREATE, actor=actor, title=f"superseded {names}")
