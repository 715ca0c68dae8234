"""Execute an approved plan, or check whether it could be executed."""

from datetime import datetime

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.executions.models import Execution
from apps.executions.services import execution_start
from apps.plans.models import Plan
from apps.plans.selectors.approvals import no_longer_counting, valid_approvals
from apps.plans.selectors.checks import (
    AGENTS,
    BEFORE,
    ENVELOPE,
    FAIL,
    GONE,
    IDLE,
    INTERMEDIATE,
    PASS,
    WINDOW,
    Check,
    checks,
)
from apps.plans.selectors.rules import ruling_of
from apps.plans.services.settle import settle_for_execution, settle_row
from apps.plans.services.transitions import FoundStale, as_seen, move, tell, under_lock
from weir.lifecycle.plans import UNSETTLED, PlanCommand, PlanState

# A plan that fails one of these describes a system that is no longer there.
MAKES_STALE = {
    BEFORE: "What is in force is no longer what the plan starts from. {}.",
    ENVELOPE: "The load has left the envelope that the plan assumes: {}.",
    INTERMEDIATE: "A step does not fit what is there now: {}.",
    GONE: "A broker that the plan removes still reports: {}.",
}
# These may pass a minute later: the plan stays as it is.
REFUSALS = {
    WINDOW: ("outside_window", "{}"),
    IDLE: ("system_is_busy", "{}; one execution at a time changes a system."),
    AGENTS: ("agents_silent", "There is {}. Start it, then execute again."),
}


def plan_execute(
    *, plan: Plan, actor: User, reason: str = "", expected_version: int | None = None
) -> Execution:
    """Carry out an approved plan. What was approved is what is executed, or nothing is.

    Raises Conflict: `plan_is_stale` (and the plan is stale from then on), `not_approved`,
    `outside_window`, `system_is_busy`, `agents_silent`, `not_in_this_state`, and what checks of
    other apps refuse by.
    """

    def command(row: Plan, now: datetime) -> Execution:
        ruling = ruling_of(row, now)
        terms = ruling.terms
        if row.state == PlanState.PENDING_REVIEW:
            given = len(valid_approvals(row, now))
            needs = f"{row} needs {ruling.approvals_needed} valid approvals and has {given}."
            raise Conflict("not_approved", " ".join([needs, *no_longer_counting(row)]))
        if row.state == PlanState.APPROVED:
            _recheck(checks(row, ruling, now))
            execution = execution_start(
                system=row.system,
                actor=actor,
                subject_id=row.public_id,
                subject_name=str(row),
                subject_title=row.title,
                steps=row.content.steps,
                pace_s=terms.roll_back_pace_s
                if row.rolls_back
                else max(terms.pace_s, row.content.pace_s),
                roll_back_pace_s=terms.roll_back_pace_s,
                max_parallel=terms.max_parallel_actions,
                hold_at=ruling.hold_at,
                hold_because=ruling.hold_because,
            )
            row.execution = execution
        note = f"{row.execution}: {reason}" if reason else str(row.execution)
        move(row, PlanCommand.EXECUTE, actor=actor, title="started it", note=note)
        assert row.execution is not None
        return row.execution

    return as_seen(plan, expected_version, settle_for_execution, command)


def _recheck(found: list[Check]) -> None:
    failed = {check.name: check for check in found if check.state == FAIL}
    for name, sentence in MAKES_STALE.items():
        if name in failed:
            raise FoundStale(sentence.format(failed[name].detail) + " Make a new plan.")
    for name, (code, sentence) in REFUSALS.items():
        if name in failed:
            raise Conflict(code, sentence.format(failed[name].detail))
    for check in failed.values():
        if check.refusal:
            raise Conflict(check.refusal, check.detail)


def plan_dry_run(*, plan: Plan, actor: User, tells: bool) -> list[Check]:
    """Run every check against the live state; nothing is touched. `tells` writes it into the
    history."""

    def command(row: Plan, now: datetime) -> list[Check]:
        if row.state not in UNSETTLED:
            raise _ended(row)
        found = checks(row, ruling_of(row, now), now)
        if tells:
            passed = sum(check.state == PASS for check in found)
            title = f"ran the checks, {passed} of {len(found)} pass"
            failed = "; ".join(f"{c.title}: {c.detail}" for c in found if c.state == FAIL)
            tell(row, "dry_run", actor=actor, title=title, note=failed)
        return found

    return under_lock(plan, settle_row, command)


def _ended(row: Plan) -> ApplicationError:
    if row.state == PlanState.STALE:
        return Conflict("plan_is_stale", f"{row} is stale. {row.stale_because}")
    return Conflict(
        "not_in_this_state", f"{row} is {row.state}: there is nothing left to check before it."
    )
