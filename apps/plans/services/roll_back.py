"""Roll an executed plan back by its inverse: a plan, reviewed and carried out like any other.

Where the inverse would load more than a capacity, as going back to "unlimited" often does, somebody
who may approve plans has to accept that with a reason before it is sent for review.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.common.formatting import counted
from apps.executions.selectors import in_force
from apps.executions.selectors.flow_map import changes_map, without_changed_moves
from apps.plans.domain.naming import listed
from apps.plans.models import ROLLED_BACK, Plan, PlanEvent
from apps.plans.selectors.approvals import ACCEPT_OVERLOAD, ROLL_BACK
from apps.plans.selectors.overload import plan_overload
from apps.plans.services.create import LENGTHS, plan_create
from apps.plans.services.settle import settle_row
from apps.plans.services.transitions import as_seen, check_seen, lock_plan, stale_conflict, tell
from apps.systems.models import System
from weir.actions import inverse_steps, replay
from weir.errors import InvalidProblem
from weir.lifecycle.plans import PlanState
from weir.model.plan import LONGEST_PAUSE, Promise, Source, Step
from weir.model.plan import Plan as Document

TITLE_LENGTH = PlanEvent._meta.get_field("title").max_length
NEEDS_REASON = "Say why the overload is acceptable."


@transaction.atomic
def plan_roll_back(
    *,
    plan: Plan,
    actor: User | None,
    reason: str = "",
    accept_overload: bool = False,
    expected_version: int | None = None,
) -> Plan:
    """Make a draft of the executed plan's inverse, on the model as it is now.

    `accept_overload`: the actor, who may approve plans, accepts what it would overload. Raises
    ApplicationError `reason_needed`, Conflict `not_executed`, `cannot_be_rolled_back` where nothing
    that the plan did has an inverse, or `not_in_force` where something else has changed meanwhile
    what the plan had put in force.
    """
    said = reason.strip()
    if accept_overload and not said:
        raise _reason_needed()
    # As the new plan will lock it: every command on a plan waits here.
    System.objects.select_for_update().get(pk=plan.system_id)
    check_seen(plan, expected_version)
    plan.refresh_from_db(fields=["state"])
    if plan.state != PlanState.EXECUTED:
        raise Conflict(
            "not_executed",
            f"{plan} is {plan.state.replace('_', ' ')}: only what was carried out to its end is "
            "rolled back by a plan. An execution that is under way or broken off is rolled back "
            "itself.",
        )
    steps = inverse_steps(plan.content.steps)
    if not steps:
        raise Conflict(
            "cannot_be_rolled_back",
            f"What {plan} did cannot be rolled back: none of its actions has an inverse.",
        )
    plan.system.refresh_from_db()
    present = in_force(plan.system, steps)
    steps, left = without_changed_moves(present, steps)
    if not steps:
        raise Conflict(
            "not_in_force",
            f"Everything that {plan} moved was moved since; there is nothing to take back.",
        )
    try:
        replay(present, steps)
    except InvalidProblem as error:
        raise Conflict(
            "not_in_force", f"What {plan} put in force was changed since: {error}."
        ) from error
    document = Document(
        kind=plan.kind,
        system=str(plan.system.public_id),
        model_version=plan.system.model_version,
        snapshot_hash="",
        source=Source(kind=ROLLED_BACK, id=str(plan.public_id), name=str(plan)),
        title=f"Roll back {plan} {plan.title}"[: LENGTHS["title"]],
        why=(
            f"Takes back what {plan} put in force: {plan.title}.",
            *_about_moves(steps, left),
            *([said] if said else []),
        ),
        steps=steps,
        promise=tuple(
            row
            if row.name == LONGEST_PAUSE
            else Promise(name=row.name, unit=row.unit, before=row.after, after=row.before)
            for row in plan.content.promise
        ),
    )
    made = plan_create(system=plan.system, actor=actor, document=document)
    tell(plan, ROLL_BACK, actor=actor, title=f"made {made}, which rolls it back", note=said)
    if accept_overload and actor is not None:
        made = lock_plan(made)
        overload = plan_overload(made)
        if overload:
            _accept(made, actor, overload, said)
    return made


def _about_moves(steps: Sequence[Step], left: Sequence[str]) -> list[str]:
    """Say what taking moves of a map back means, and which moves stay because somebody has changed
    them since."""
    moves = [a for step in steps for a in step.actions if changes_map(a)]
    if not moves and not left:
        return []
    sentences = ["Steps follow each other at the policy's pace for rolling back."]
    lost = sum("stream" in (a.before or {}) and a.after is None for a in moves)
    if lost:
        leave = counted(lost, "topic leaves its stream", "topics leave their streams")
        sentences.insert(0, f"{leave}: whoever wants them gets nothing of them then.")
    if left:
        stay = counted(len(left), "move stays", "moves stay")
        sentences.append(f"{stay}, because somebody has changed it since: {listed(tuple(left))}.")
    return sentences


def plan_accept_overload(
    *, plan: Plan, actor: User, reason: str, expected_version: int | None = None
) -> Plan:
    """Accept, with a reason, that a draft loads more than a capacity: it may be sent for review.

    Approving it is another decision. Raises ApplicationError `reason_needed`, Conflict
    `nothing_overloaded`, `not_in_this_state`, `plan_is_stale`.
    """
    said = reason.strip()
    if not said:
        raise _reason_needed()

    def command(row: Plan, now: datetime) -> Plan:
        if row.state == PlanState.STALE:
            raise stale_conflict(row)
        if row.state != PlanState.DRAFT:
            raise Conflict(
                "not_in_this_state",
                f"{row} is {row.state.replace('_', ' ')}: an overload is accepted in a draft.",
            )
        overload = plan_overload(row)
        if not overload:
            raise Conflict("nothing_overloaded", f"{row} overloads nothing as things are now.")
        _accept(row, actor, overload, said)
        return row

    return as_seen(plan, expected_version, settle_row, command)


def _accept(row: Plan, actor: User, overload: str, reason: str) -> None:
    row.accepted_overload = reason
    row.accepted_overload_by = actor
    row.accepted_overload_at = timezone.now()
    row.save(
        update_fields=[
            *("accepted_overload", "accepted_overload_by", "accepted_overload_at", "updated_at")
        ]
    )
    title = f"accepted that {overload}"[:TITLE_LENGTH]
    tell(row, ACCEPT_OVERLOAD, actor=actor, title=title, note=reason)


def _reason_needed() -> ApplicationError:
    return ApplicationError.of_field("reason", NEEDS_REASON, code="reason_needed", status=422)
