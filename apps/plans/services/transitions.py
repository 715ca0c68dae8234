"""Share what every command of a plan needs: the lock, the transition with its traces, the
refusals."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict, PreconditionFailed
from apps.common.events import publish
from apps.plans.models import Plan, PlanEvent
from apps.plans.selectors.versions import plan_version
from apps.systems.models import System
from weir.errors import IllegalTransition
from weir.lifecycle.plans import PLANS, PlanCommand, PlanState

REASON_LENGTH = 500
T = TypeVar("T")


class FoundStale(Exception):
    """Signal that a command found a plan that no longer fits; the message says what moved."""


def lock_plan(plan: Plan) -> Plan:
    """Lock the row, after its system's row as edits of the model do: one order, no deadlock.

    Edits wait for us and we for them; what only refers to the system, such as an agent's report
    that moves an execution on, does not (`no_key`).
    """
    System.objects.select_for_update(no_key=True).get(pk=plan.system_id)
    return (
        Plan.objects.select_for_update(of=("self",))
        .select_related("system", "execution")
        # Large and never written again: saving the row must not carry it to the server.
        .defer("document")
        .get(pk=plan.pk)
    )


def check_seen(plan: Plan, expected: int | None) -> None:
    """Raise PreconditionFailed unless the plan, whose system is locked, is the version that the
    caller has seen; None: Weir commands it, which has seen nothing."""
    if expected is None:
        return
    # Counted by a query of its own: one that waits for the lock sees what was before the wait.
    latest = plan_version(plan)
    if latest != expected:
        raise PreconditionFailed(
            "version_mismatch",
            f"{plan} was changed meanwhile: you have seen version {expected}, the latest is "
            f"{latest}. Read it again, then decide.",
        )


def as_seen(
    plan: Plan,
    expected_version: int | None,
    settle: Callable[[Plan, datetime], None],
    command: Callable[[Plan, datetime], T],
) -> T:
    """Carry out the command as `under_lock` does, on what the caller has seen and nothing else.

    The version is compared before anything is settled: what settling finds is what every read has
    shown already. Raises ApplicationError.
    """

    def settle_seen(row: Plan, now: datetime) -> None:
        check_seen(row, expected_version)
        settle(row, now)

    return under_lock(plan, settle_seen, command)


def under_lock(
    plan: Plan, settle: Callable[[Plan, datetime], None], command: Callable[[Plan, datetime], T]
) -> T:
    """Carry out the command on the locked row, after settling what time and others did to it.

    A refusal undoes the command but not the settling: whoever executes a stale plan is refused, and
    the plan is stale from then on. Raises ApplicationError.
    """
    refusal: ApplicationError
    with transaction.atomic():
        row, now = lock_plan(plan), timezone.now()
        settle(row, now)
        state = row.state
        try:
            with transaction.atomic():
                return command(row, now)
        except FoundStale as found:
            row.state = state
            go_stale(row, str(found))
            refusal = stale_conflict(row)
        except ApplicationError as error:
            refusal = error
    raise refusal


def stale_conflict(plan: Plan) -> Conflict:
    """Return the refusal of a command on a stale plan."""
    return Conflict("plan_is_stale", f"{plan} is stale. {plan.stale_because}")


def go_stale(row: Plan, because: str) -> None:
    """End a plan that no longer fits; the sentence says what moved."""
    move(row, PlanCommand.GO_STALE, actor=None, title="found it stale", note=because)


def move(
    row: Plan,
    command: PlanCommand,
    *,
    actor: User | None,
    title: str,
    note: str = "",
    **columns: Any,
) -> None:
    """Make one transition of a locked row. Raises Conflict where the table has no such
    transition."""
    try:
        row.state = PLANS.advance(PlanState(row.state), command)
    except IllegalTransition as error:
        if row.state == PlanState.STALE:
            raise stale_conflict(row) from error
        raise Conflict("not_in_this_state", f"{row}: {error}.") from error
    if row.state == PlanState.STALE:
        columns["stale_because"] = note
    if row.state not in (PlanState.PENDING_REVIEW, PlanState.APPROVED):
        columns = {"waiting_since": None, "expires_at": None, **columns}
    for name, value in columns.items():
        setattr(row, name, value)
    row.save()
    tell(row, command.value, actor=actor, title=title, note=note)


def tell(
    row: Plan,
    command: str,
    *,
    actor: User | None,
    title: str,
    note: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Write the event and the audit entry, and publish them to browsers on commit. `before` and
    `after`: what an edit changed, where the state and the content stay."""
    PlanEvent.objects.create(
        plan=row,
        actor_name=actor.display_name if actor else "Weir",
        command=command,
        state=row.state,
        title=title,
        note=note,
    )
    record(
        actor=actor,
        action=command,
        object_kind="plan",
        object_id=row.public_id,
        object_name=f"{row} {row.title}",
        system_id=row.system.public_id,
        model_version=row.model_version,
        before=before,
        after=after or {"state": row.state, "content_hash": row.content_hash},
        reason=note[:REASON_LENGTH],
    )
    publish("plan", id=row.public_id, system=row.system.public_id, state=row.state)
