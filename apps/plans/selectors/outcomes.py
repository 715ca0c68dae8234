"""Tell what became of plans: how many stand in each state, whether those that were executed brought
what they promised, and how often that was so."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from apps.executions.models import Execution
from apps.plans.domain.parts import LEAST_DELAYS, Kept, Part, part_of
from apps.plans.domain.verdicts import (
    DECISIVE,
    DELAY_LAG,
    KEPT,
    LAG,
    LEAST_BLOCKS,
    SETTLING,
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
from apps.plans.selectors.parts import touched_by
from apps.systems.models import System
from weir.lifecycle.plans import PlanState

MOST = 50

OBJECTIVE = 0.95
"""Of the plans of which something can be said, so many shall bring what they promised: a service
level of Weir itself."""

RECORD = timedelta(days=30)
"""Over which the record of promises is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Describe an executed plan; the measured utilities are at the weights that it was made
    with."""

    plan: Plan
    executed_at: datetime
    judged: Judged
    because: str
    known_at: datetime | None
    """When it can be told, where it is too early; None: not known yet."""
    measured_before: float | None
    measured_after: float | None
    noise: float | None
    """By how much the utility varied by itself before."""
    parts: Sequence[Part]

    def count(self, kept: Kept) -> int:
        """Return of how many parts of the promise this is known."""
        return sum(part.kept is kept for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseRecord:
    """Hold how often plans brought what they promised, over the last days."""

    since: datetime
    executed: int
    kept: int
    """Plans that brought what they promised."""
    decided: int
    """Plans of which something can be said; the share is of these."""

    @property
    def share(self) -> float | None:
        """Return the share that was kept; None: of no plan anything can be said."""
        return self.kept / self.decided if self.decided else None

    @property
    def is_met(self) -> bool | None:
        """Return whether the service level is met; None: nothing can be said."""
        return None if self.share is None else self.share >= OBJECTIVE


def outcomes(
    *,
    since: datetime,
    now: datetime,
    system: System | None = None,
    judged: Collection[Judged] = (),
) -> list[Outcome]:
    """Return the plans executed since then, newest first, at most 50: of one system, or with some
    verdicts, where they are given."""
    stored = Q(verification__judged__in=judged)
    if {Judged.TOO_EARLY, Judged.UNKNOWN} & {*judged}:
        # Which of the two it is, the moment says and whether anything can be judged.
        stored |= Q(verification=None) | Q(verification__judged="")
    plans = (
        _executed(since, system)
        .filter(stored if judged else Q())
        .select_related("system", "execution", "verification")
        .order_by("-execution__ended_at")
    )
    rows: list[Outcome] = []
    for plan in plans.iterator(chunk_size=MOST):
        outcome = outcome_of(plan, now)
        if not judged or outcome.judged in judged:
            rows.append(outcome)
        if len(rows) == MOST:
            break
    return rows


def promise_record(now: datetime, system: System | None = None) -> PromiseRecord:
    """Return how often plans brought what they promised, of one system or of all."""
    # Whole minutes: what did not change reads the same for a while.
    now = now.replace(second=0, microsecond=0)
    judged = _executed(now - RECORD, system).filter(verification__judged_at__isnull=False)
    counts = judged.values_list("verification__judged").annotate(plans=Count("id"))
    verdicts = dict(counts.order_by())
    return PromiseRecord(
        since=now - RECORD,
        executed=_executed(now - RECORD, system).count(),
        kept=sum(verdicts.get(judged.value, 0) for judged in KEPT),
        decided=sum(verdicts.get(judged.value, 0) for judged in DECISIVE),
    )


def _executed(since: datetime, system: System | None) -> QuerySet[Plan]:
    plans = Plan.objects.filter(state=PlanState.EXECUTED, execution__ended_at__gte=since)
    return plans if system is None else plans.filter(system=system)


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
        noise=before.noise if before else None,
        parts=[part_of(plain) for plain in row.parts] if row else [],
    )


def _window(plain: object) -> Window | None:
    window = window_of(plain) if isinstance(plain, dict) else None
    return window if window is not None and len(window.blocks) >= LEAST_BLOCKS else None


def can_be_judged(plan: Plan) -> bool:
    """Return whether anything that the plan promises can be measured: its utility, a rate or limit
    that it changes, traffic on links, what receivers filter, waits at a divided bucket."""
    return no_promise(plan.content.promise) is None or bool(touched_by(plan))


def _verdict(
    plan: Plan, ended_at: datetime, row: Verification | None, now: datetime
) -> tuple[Verdict, datetime | None]:
    if row is not None and row.judged:
        return Verdict(judged=Judged(row.judged), because=row.because), None
    if row is None:
        if not can_be_judged(plan):
            because = "it promises nothing that is measured"
            return cannot_be_told(because), None
        if now < ended_at + SETTLING + 2 * LAG:
            because = "Too early to tell: it has just ended."
            return Verdict(judged=Judged.TOO_EARLY, because=because), None
        return cannot_be_told("nothing was measured when it was carried out"), None
    until = window_after(ended_at, row.window_s)[1]
    because = f"Too early to tell: what comes after it is measured until {until:%H:%M} UTC."
    if now >= until:
        because = "What was measured after it is being judged."
    return Verdict(judged=Judged.TOO_EARLY, because=because), judged_from(row, until)


def judged_from(row: Verification, until: datetime) -> datetime:
    """Return when a plan is judged of which the window after ends `until` then."""
    has_delays = (row.figures_before or {}).get("delays") and row.window_s >= LEAST_DELAYS * 60
    return until + (DELAY_LAG if has_delays else LAG)


def disturbance(plan: Plan, window_s: float) -> Verdict | None:
    """Return the verdict where another execution ran in one of the plan's windows: a difference
    would not be the plan's own, so that nothing can be told. A plan that was taken back missed what
    it promised. None: no other ran."""
    execution = plan.execution
    assert execution is not None
    assert execution.started_at is not None
    assert execution.ended_at is not None
    others = Execution.objects.filter(system=plan.system).exclude(pk=execution.pk)
    since, start = window_before(execution.started_at, window_s)
    other = others.filter(ended_at__gt=since, started_at__lte=start).order_by("-ended_at").first()
    if other is not None:
        return cannot_be_told(f"{other.subject_name} was carried out shortly before")
    other = (
        others.filter(
            started_at__gte=execution.started_at,
            started_at__lt=window_after(execution.ended_at, window_s)[1],
        )
        .order_by("started_at")
        .first()
    )
    if other is None:
        return None
    if Plan.objects.filter(public_id=other.subject_id, source_id=plan.public_id).exists():
        because = f"{other.subject_name} took it back before its effect was measured."
        return Verdict(judged=Judged.MISSED, because=because)
    return cannot_be_told(
        f"{other.subject_name} was begun before the effect of this plan was measured"
    )


def plan_counts(now: datetime) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many plans stand in each state, and how many of those executed in the last 30 days
    had each verdict, for metrics; one query."""
    lately = Q(state=PlanState.EXECUTED, execution__ended_at__gte=now - RECORD)
    rows = (
        Plan.objects.values_list("state", "verification__judged")
        .annotate(plans=Count("id"), lately=Count("id", filter=lately))
        .order_by()
    )
    states, verdicts = Counter[str](), Counter[str]()
    for state, judged, plans, executed in rows:
        states[state] += plans
        if judged and executed:
            verdicts[judged] += executed
    return dict(states), dict(verdicts)
