"""Tell what became of plans: how many stand in each state, and whether those that were executed
brought what they promised."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from apps.executions.models import Execution
from apps.plans.domain.verdicts import (
    Judged,
    Verdict,
    Window,
    cannot_be_told,
    no_promise,
    window_after,
    window_before,
    window_of,
)
from apps.plans.models import Plan, Verification
from weir.lifecycle.plans import PlanState

MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Describe an executed plan; the measured utilities are at the weights that it was made
    with."""

    plan: Plan
    executed_at: datetime
    judged: Judged
    because: str
    known_at: datetime | None
    """When it can be told, where it is too early."""
    measured_before: float | None
    measured_after: float | None
    noise: float | None
    """By how much the utility varied by itself before."""


def outcomes(*, since: datetime, now: datetime) -> list[Outcome]:
    """Return the plans executed since then, newest first, at most 50."""
    plans = (
        Plan.objects.filter(state=PlanState.EXECUTED, execution__ended_at__gte=since)
        .select_related("system", "execution", "verification")
        .order_by("-execution__ended_at")[:MOST]
    )
    return [outcome_of(plan, now) for plan in plans]


def outcome_of(plan: Plan, now: datetime) -> Outcome:
    """Return one executed plan with its verdict, or when there will be one, or why there is
    none."""
    assert plan.execution is not None
    assert plan.execution.ended_at is not None
    row: Verification | None = getattr(plan, "verification", None)
    before = _window(row.before) if row else None
    after = _window(row.after) if row else None
    verdict, known_at = _verdict(plan, plan.execution.ended_at, row, now)
    return Outcome(
        plan=plan,
        executed_at=plan.execution.ended_at,
        judged=verdict.judged,
        because=verdict.because,
        known_at=known_at,
        measured_before=before.mean if before else None,
        measured_after=after.mean if after else None,
        noise=before.noise if before and len(before.blocks) > 1 else None,
    )


def _window(plain: object) -> Window | None:
    window = window_of(plain) if isinstance(plain, dict) else None
    return window if window is not None and window.blocks else None


def _verdict(
    plan: Plan, ended_at: datetime, row: Verification | None, now: datetime
) -> tuple[Verdict, datetime | None]:
    if row is not None and row.judged:
        return Verdict(judged=Judged(row.judged), because=row.because), None
    refusal = no_promise(plan.content.promise)
    if refusal is not None:
        return refusal, None
    if row is None:
        return cannot_be_told("nothing was measured when it was carried out"), None
    until = window_after(ended_at)[1]
    if now >= until:
        return Verdict(judged=Judged.TOO_EARLY, because="It is being judged now."), until
    because = f"Too early to tell: what comes after it is measured until {until:%H:%M} UTC."
    return Verdict(judged=Judged.TOO_EARLY, because=because), until


def disturbance(plan: Plan) -> Verdict | None:
    """Return the verdict that nothing can be told where another execution ran in one of the plan's
    windows: a difference would not be the plan's own; else None."""
    execution = plan.execution
    assert execution is not None
    assert execution.started_at is not None
    assert execution.ended_at is not None
    others = Execution.objects.filter(system=plan.system).exclude(pk=execution.pk)
    since, start = window_before(execution.started_at)
    other = others.filter(ended_at__gt=since, started_at__lte=start).order_by("-ended_at").first()
    if other is not None:
        return cannot_be_told(f"{other.subject_name} was carried out shortly before")
    other = (
        others.filter(
            started_at__gte=execution.started_at,
            started_at__lt=window_after(execution.ended_at)[1],
        )
        .order_by("started_at")
        .first()
    )
    if other is not None:
        return cannot_be_told(
            f"{other.subject_name} was begun before the effect of this plan was measured"
        )
    return None


def plan_count_by_state() -> dict[str, int]:
    """Return how many plans stand in each state, for metrics."""
    return dict(Plan.objects.values_list("state").annotate(n=Count("id")).order_by())
