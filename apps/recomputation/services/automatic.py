"""Carry plans out without a person: decide within the policy's bounds, execute, watch, take back.

A decision is made where a firing's plan is made, and moved on by a tick: the execution begins when
windows, agents and other executions let it; it is over once the plan is judged against its promise.
What was promised and did not come is taken back, and so is a plan after which an error budget burns
fast enough to call an operator. Every move is one transaction under the system's row lock, so that
a process that dies in the middle has done nothing, and the next tick does it again.
"""

import logging
from collections.abc import Mapping
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import automatic_account
from apps.common.errors import ApplicationError, Conflict
from apps.common.events import publish
from apps.common.formatting import counted
from apps.plans.domain.verdicts import KEPT, Judged
from apps.plans.models import Plan, Verification
from apps.plans.selectors.approvals import valid_approvals
from apps.plans.selectors.rules import ruling_of
from apps.plans.services import plan_execute, plan_roll_back, plan_submit
from apps.policies.domain.rules import Bounds, execution_bounds
from apps.policies.domain.terms import AutoExecute, Terms
from apps.policies.selectors import stop_now, terms_for
from apps.recomputation.models import AutomaticDecision, Choice, End, Firing
from apps.recomputation.selectors.automatic import DAY, begun_lately, decisions_of, trust_in
from apps.recomputation.selectors.burning import alerting
from apps.recomputation.services.fire import lock_system
from apps.systems.models import System
from apps.telemetry.models import KEEP_SAMPLES
from weir.lifecycle.plans import PlanState

logger = logging.getLogger(__name__)
Burning = Mapping[str, str]
"""Objectives whose budgets burn at the rate of an alert, as sentences by the objective's id."""
FINAL = frozenset({"plan_is_stale", "not_in_this_state"})
"""Refusals that end it; others may be over a minute later, and the plan is executed then."""
WAITING = frozenset({PlanState.APPROVED, PlanState.PENDING_REVIEW})
BEGUN = frozenset({PlanState.EXECUTING, PlanState.EXECUTED})
NOT_KEPT = frozenset({Judged.MISSED, Judged.PARTLY})
NOTHING_NOW = "The policy lets Weir carry nothing out now; people decide."
BROKEN_OFF = "{plan} was not carried out to its end. {why}"


def decide(firing: Firing, plan: Plan, now: datetime | None = None) -> AutomaticDecision | None:
    """Decide whether Weir carries the firing's plan out by itself; None: the policy says that
    people do. The system is locked, and the plan a draft."""
    now, terms = now or timezone.now(), terms_for(firing.system)
    if terms.auto_execute == AutoExecute.OFF:
        return None
    for row in AutomaticDecision.objects.filter(
        system=firing.system, choice=Choice.EXECUTE, ended_at=None
    ).select_related("plan", "firing", "roll_back"):
        _advance(row, alerting(firing.system), now)
    choice, because = _choose(firing.system, plan, terms, now)
    decision = AutomaticDecision.objects.create(
        system=firing.system, firing=firing, plan=plan, choice=choice, because=because
    )
    if choice == Choice.EXECUTE:
        _let_execute(plan)
    return decision


def decisions_advance(now: datetime | None = None) -> int:
    """Run one tick: move on every plan that Weir carries out by itself. Returns how many moved.

    Any number of processes may call it at once.
    """
    moved = 0
    for row in AutomaticDecision.objects.filter(
        choice=Choice.EXECUTE, ended_at=None
    ).select_related("system"):
        try:
            # Before the lock: with many objectives it takes its time.
            burning = alerting(row.system)
            moved += _advance_locked(row, burning, now or timezone.now())
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One decision that cannot be moved on must not keep the others from it.
            logger.exception("the %s cannot be moved on", row)
    return moved


@transaction.atomic
def _advance_locked(unlocked: AutomaticDecision, burning: Burning, now: datetime) -> bool:
    lock_system(unlocked.system_id)
    row = (
        AutomaticDecision.objects.select_for_update(of=("self",))
        .select_related("system", "plan__execution", "plan__system", "firing", "roll_back__system")
        .filter(pk=unlocked.pk, ended_at=None)
        .first()
    )
    return row is not None and _advance(row, burning, now)


def _choose(system: System, plan: Plan, terms: Terms, now: datetime) -> tuple[Choice, str]:
    dry = terms.auto_execute == AutoExecute.DRY
    bounds = execution_bounds(terms, plan.content, plan.blast_radius)
    beyond = _beyond(bounds, plan, now)
    if beyond:
        return Choice.LEAVE, beyond
    trust = trust_in(system, terms, plan.kind)
    most = f"The policy lets Weir begin {counted(terms.auto_execute_per_day, 'plan')} a day"
    if dry:
        would = decisions_of(system).filter(choice=Choice.WOULD_EXECUTE, created_at__gt=now - DAY)
        if would.count() >= terms.auto_execute_per_day:
            return Choice.LEAVE, f"{most}; it would have begun as many."
        # People go on deciding meanwhile: what they approve may make it trusted.
        because = bounds.because if trust.is_enough else f"{bounds.because} {trust.text}"
        return Choice.WOULD_EXECUTE, because
    if not trust.is_enough:
        return Choice.LEAVE, trust.text
    open_one = decisions_of(system).filter(choice=Choice.EXECUTE, ended_at=None).first()
    if open_one is not None:
        return Choice.LEAVE, f"What {open_one.plan} brings is not known yet."
    if begun_lately(system, now) >= terms.auto_execute_per_day:
        return Choice.LEAVE, f"{most}; it has begun as many."
    return Choice.EXECUTE, bounds.because


def _beyond(bounds: Bounds, plan: Plan, now: datetime) -> str:
    """Return which bound of the policy keeps Weir from carrying a plan out; empty: none does."""
    if not bounds.kept:
        return bounds.because
    if ruling_of(plan, now).auto_approval_by & plan.people_behind:
        return "Who set the policy's bounds has a hand in what made it."
    return ""


def _advance(row: AutomaticDecision, burning: Burning, now: datetime) -> bool:
    """Do what follows now for one plan that Weir carries out by itself; return whether anything
    did."""
    row.plan.refresh_from_db(fields=["state", "stale_because", "execution"])
    if row.roll_back is not None:
        return _take_back(row, now)
    if row.began_at is None:
        return _begin(row, burning, now)
    return _watch(row, burning, now)


def _begin(row: AutomaticDecision, burning: Burning, now: datetime) -> bool:
    plan, terms = row.plan, terms_for(row.system)
    if plan.state in BEGUN:
        return _end(row, End.GIVEN_UP, f"{plan.execution} was begun by somebody else.", now)
    if plan.state not in WAITING:
        why = plan.stale_because or "Nobody carries it out."
        return _end(row, End.GIVEN_UP, f"{plan} is {plan.state.replace('_', ' ')}. {why}", now)
    if terms.auto_execute != AutoExecute.ON:
        return _end(row, End.GIVEN_UP, NOTHING_NOW, now)
    # The policy may have been changed meanwhile.
    bounds = execution_bounds(terms, plan.content, plan.blast_radius)
    trust = trust_in(row.system, terms, plan.kind)
    beyond = _beyond(bounds, plan, now) or ("" if trust.is_enough else trust.text)
    if beyond:
        return _end(row, End.GIVEN_UP, beyond, now)
    if any(approval.person_id is not None for approval in valid_approvals(plan, now)):
        return _end(row, End.GIVEN_UP, "People approved it, and an operator executes it.", now)
    stop = stop_now()
    if stop is not None:
        return _wait(row, stop.text)
    if begun_lately(row.system, now) >= terms.auto_execute_per_day:
        most = counted(terms.auto_execute_per_day, "plan")
        return _wait(row, f"The policy lets Weir begin {most} a day; it has begun as many.")
    try:
        execution = plan_execute(plan=plan, actor=_account(row), reason=row.because)
    except Conflict as refusal:
        return _refused(row, refusal, now)
    row.began_at, row.burned_before, row.waits_because = now, sorted(burning), ""
    _save(row)
    logger.info("%s carries out %s of %s by itself", execution, plan, row.system)
    return True


def _refused(row: AutomaticDecision, refusal: Conflict, now: datetime) -> bool:
    if refusal.code in FINAL:
        return _end(row, End.GIVEN_UP, refusal.message, now)
    return _wait(row, refusal.message)


def _watch(row: AutomaticDecision, burning: Burning, now: datetime) -> bool:
    plan = row.plan
    if plan.state == PlanState.EXECUTING:
        held = plan.execution is not None and plan.execution.held
        return _wait(row, plan.execution.hold_because if plan.execution and held else "")
    if plan.state != PlanState.EXECUTED:
        failure = plan.execution.failure if plan.execution else ""
        why = failure or f"It is {plan.state.replace('_', ' ')}."
        return _end(row, End.GIVEN_UP, BROKEN_OFF.format(plan=plan, why=why), now)
    verification = Verification.objects.filter(plan=plan).first()
    judged = Judged(verification.judged) if verification and verification.judged else None
    if verification is not None and judged in KEPT:
        return _end(row, End.WENT_WELL, verification.because, now)
    because = ""
    if verification is not None and judged in NOT_KEPT:
        because = verification.because
    elif judged is None:
        because = _burns(row, burning)
        if not because and verification is None and _is_unmeasured(plan, now):
            return _end(row, End.UNKNOWN, "Nothing was measured when it was carried out.", now)
        if not because:
            return _wait(row, "")
    elif verification is not None:
        return _end(row, End.UNKNOWN, verification.because, now)
    return bool(because) and _roll_back(row, because, now)


def _is_unmeasured(plan: Plan, now: datetime) -> bool:
    execution = plan.execution
    ended_at = execution.ended_at if execution else None
    return ended_at is not None and now > ended_at + KEEP_SAMPLES


def _burns(row: AutomaticDecision, burning: Burning) -> str:
    """Return which error budgets have begun to burn so fast that operators are called; empty: none
    has."""
    new = [sentence for slo, sentence in burning.items() if slo not in row.burned_before]
    return f"An error budget burns since then. {' '.join(new)}" if new else ""


def _roll_back(row: AutomaticDecision, because: str, now: datetime) -> bool:
    stop = stop_now()
    if stop is not None:
        return _wait(row, f"It would be taken back: {because} {stop.text}")
    if terms_for(row.system).auto_execute != AutoExecute.ON:
        return _end(row, End.GIVEN_UP, f"{because} {NOTHING_NOW}", now)
    account = _account(row)
    try:
        made = plan_roll_back(plan=row.plan, actor=account, reason=because)
        row.roll_back, row.roll_back_because = made, because
        _let_execute(made)
        plan_submit(plan=made, actor=account)
    except ApplicationError as refusal:
        # A draft that overloads a capacity stays: a person may accept that.
        why = f"{because} Weir cannot take it back: {refusal.message}"
        return _end(row, End.GIVEN_UP, why, now)
    row.waits_because = ""
    _save(row)
    _take_back(row, now)
    return True


def _take_back(row: AutomaticDecision, now: datetime) -> bool:
    """Move the plan on that takes another back."""
    back = row.roll_back
    assert back is not None
    back.refresh_from_db(fields=["state", "stale_because", "execution"])
    if back.state == PlanState.EXECUTED:
        return _end(row, End.TAKEN_BACK, row.roll_back_because, now)
    if back.state == PlanState.EXECUTING:
        return False
    if back.state not in WAITING:
        why = back.stale_because or "People decide what follows."
        return _end(
            row,
            End.GIVEN_UP,
            f"{row.roll_back_because} {back}, which takes it back, is "
            f"{back.state.replace('_', ' ')}. {why}",
            now,
        )
    if terms_for(row.system).auto_execute != AutoExecute.ON:
        return _end(row, End.GIVEN_UP, f"{row.roll_back_because} {NOTHING_NOW}", now)
    stop = stop_now()
    if stop is not None:
        return _wait(row, stop.text)
    try:
        plan_execute(plan=back, actor=_account(row), reason=row.roll_back_because)
    except Conflict as refusal:
        return _refused(row, refusal, now)
    row.waits_because = ""
    _save(row)
    return True


def _let_execute(plan: Plan) -> None:
    Plan.objects.filter(pk=plan.pk).update(by_itself=True)
    plan.by_itself = True


def _account(row: AutomaticDecision) -> User:
    return automatic_account(row.firing.account)


def _wait(row: AutomaticDecision, because: str) -> bool:
    if row.waits_because == because:
        return False
    row.waits_because = because
    _save(row)
    return True


def _end(row: AutomaticDecision, end: End, because: str, now: datetime) -> bool:
    row.end, row.ended_at, row.ended_because, row.waits_because = end.value, now, because, ""
    _save(row)
    if end == End.GIVEN_UP:
        # What waits for a review then is one of people again.
        waiting = [key for key in (row.plan_id, row.roll_back_id) if key is not None]
        unbegun = [*WAITING, PlanState.DRAFT]
        Plan.objects.filter(pk__in=waiting, state__in=unbegun).update(by_itself=False)
    return True


def _save(row: AutomaticDecision) -> None:
    row.save()
    publish("recomputation", system=row.system.public_id)
