"""Move a firing from waiting to its run, and from the run's end to its outcome.

Each move is one transaction under the system's row lock, run and plan included: a process that dies
in the middle has done nothing, and the next tick does it again.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError, transaction

from apps.accounts.services import automatic_account
from apps.common.errors import ApplicationError, Conflict
from apps.plans.models import Plan
from apps.plans.services import plan_shaped, plan_submit
from apps.policies.selectors import stop_now
from apps.recomputation.models import Choice, Firing, Outcome, Then
from apps.recomputation.services.automatic import decide
from apps.recomputation.services.evaluate_triggers import triggers_evaluate
from apps.recomputation.services.fire import lock_system, move, schedules_catch_up
from apps.runs.models import ENDED_NAMES, Run
from apps.runs.selectors import Again, computation_of
from apps.runs.services.computations import computation_start
from weir.lifecycle.firings import FiringCommand, FiringState
from weir.lifecycle.plans import PlanState
from weir.lifecycle.runs import RunState

logger = logging.getLogger(__name__)
REFUSED = {
    "nothing_to_change": Outcome.NOTHING,
    "plan_exists": Outcome.KEPT,
    "plan_in_the_way": Outcome.KEPT,
    "plan_is_stale": Outcome.STALE,
}
"""The reasons for which a plan may be refused, and the firing's outcome for each."""
DECIDED = frozenset({Then.SUBMIT, Then.EXECUTE})
"""What is to be done with results of which somebody, or the policy, decides."""


def recomputation_tick() -> int:
    """Fire triggers and missed schedules, settle what ended, and start what waits; nothing fires
    while everything automatic is stopped.

    Any number of processes may call it at once.
    """
    if stop_now() is not None:
        return firings_settle() + firings_start()
    return schedules_catch_up() + triggers_evaluate() + firings_settle() + firings_start()


def firings_start() -> int:
    """Open the run of every waiting firing, unless its system is being computed."""
    return _each(FiringState.WAITING, _start)


def firings_settle() -> int:
    """Record the outcome of every firing whose run has ended."""
    return _each(FiringState.COMPUTING, _settle)


def _each(state: FiringState, step: Any) -> int:
    count = 0
    for pk, system in Firing.objects.filter(state=state).values_list("pk", "system_id"):
        try:
            count += _under_lock(pk, system, state, step)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            logger.exception("firing %s cannot be settled", pk)
            reason = f"{type(error).__name__}: {error}. This is a fault of Weir; see the log."
            _under_lock(pk, system, state, lambda row, why=reason: _fail(row, why))
    return count


@transaction.atomic
def _under_lock(pk: int, system: int, state: FiringState, step: Any) -> bool:
    locked = lock_system(system)
    row = (
        Firing.objects.select_for_update(of=("self",))
        .select_related("run", "answerable")
        .filter(pk=pk, state=state)
        .first()
    )
    if row is None:
        return False
    row.system = locked
    return bool(step(row))


def _fail(row: Firing, reason: str) -> bool:
    move(row, FiringCommand.FAIL, detail=reason)
    return True


def _start(row: Firing) -> bool:
    busy = Run.objects.filter(system=row.system, kind=row.subject).exclude(state__in=ENDED_NAMES)
    computing = Firing.objects.filter(
        system=row.system, subject=row.subject, state=FiringState.COMPUTING
    )
    if busy.exists() or computing.exists():
        return False
    try:
        with transaction.atomic():
            run = _request(row)
    except ApplicationError as error:
        return _fail(row, error.message)
    move(row, FiringCommand.START, run=run)
    return True


def _request(row: Firing) -> Run:
    """Open the run of a firing. Raises ApplicationError."""
    again = computation_of(row.subject).again
    if again is None:
        raise Conflict("not_possible_now", f"Nothing computes {row.subject} automatically.")
    request = Again(
        method=row.method, time_limit_s=row.time_limit_s, note=f"{row.cause}: {row.why}"
    )
    actor = automatic_account(row.account)
    return computation_start(row.subject, system=row.system, actor=actor, **again(request))


def _settle(row: Firing) -> bool:
    run = row.run
    if run is None:
        return _fail(row, "Its run is gone.")
    if run.state not in ENDED_NAMES:
        return False
    if run.state != RunState.SUCCEEDED:
        why = run.failure or f"{run} was {run.state}."
        return _fail(row, f"{run} is {run.state}: {why}" if run.failure else why)
    subject = computation_of(row.subject)
    found = subject.model._default_manager.select_related("system", "run__snapshot").get(run=run)
    if row.then == Then.NONE or subject.plan is None:
        move(row, FiringCommand.FINISH, outcome=Outcome.COMPUTED, detail=subject.describe(found))
        return True
    make = partial(
        subject.plan,
        found,
        actor=automatic_account(row.account),
        answerable=row.answerable,
        least_benefit=row.least_benefit,
        asked_by=row.cause,
    )
    try:
        with transaction.atomic():
            plan = _planned(row, make)
            plan_shaped(plan=plan, people=row.shaped_by)
            outcome, more = _submitted(row, plan)
    except Conflict as refusal:
        if refusal.code not in REFUSED:
            return _fail(row, refusal.message)
        move(
            row,
            FiringCommand.FINISH,
            outcome=REFUSED[refusal.code],
            detail=refusal.message,
            plan=_plan_named(refusal),
        )
        return True
    except ApplicationError as error:
        return _fail(row, error.message)
    detail = f"{plan} {plan.title}" + (f". {more}" if more else "")
    move(row, FiringCommand.FINISH, outcome=outcome, detail=detail, plan=plan)
    return True


def _planned(row: Firing, make: Callable[[], Plan]) -> Plan:
    """Return the plan; where an automatic draft with the same content is to be submitted, that
    one."""
    try:
        with transaction.atomic():
            return make()
    except Conflict as refusal:
        twin = _plan_named(refusal) if refusal.code == "plan_exists" else None
        waits = twin is not None and twin.state == PlanState.DRAFT
        if twin and waits and row.then in DECIDED and twin.author and twin.author.automatic:
            return twin
        raise


def _submitted(row: Firing, plan: Plan) -> tuple[Outcome, str]:
    """Send the plan for review where the firing says so; return the outcome, and what is to be said
    of it beside the plan's name."""
    if row.then not in DECIDED:
        return Outcome.DRAFTED, ""
    stop = stop_now()
    if stop is not None:
        return Outcome.DRAFTED, stop.text
    try:
        with transaction.atomic():
            decision = None
            if row.then == Then.EXECUTE:
                plan.refresh_from_db()
                decision = decide(row, plan)
            fresh = plan_submit(plan=plan, actor=automatic_account(row.account))
    except Conflict as refusal:
        if refusal.code != "would_overload":
            raise
        # A person may accept that; the page of the draft says what it would overload.
        return Outcome.DRAFTED, refusal.message if row.then == Then.EXECUTE else ""
    more = "" if decision is None else f"{Choice(decision.choice).label}."
    if decision is not None and decision.choice == Choice.LEAVE:
        more += f" {decision.because}"
    return Outcome.APPROVED if fresh.state == PlanState.APPROVED else Outcome.SUBMITTED, more


def _plan_named(refusal: Conflict) -> Plan | None:
    named = refusal.extra.get("plan")
    return Plan.objects.filter(public_id=named).first() if named else None
