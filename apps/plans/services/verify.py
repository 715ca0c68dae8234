"""Compare executed plans with what they promised: measure before, measure after, judge once.

Samples are kept for half an hour, so the window before an execution is summed up while it runs, and
the one after it as soon as it is over. Both at the weights that the plan was made with: a utility
function that is edited meanwhile changes no verdict.
"""

import logging
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.common.events import publish
from apps.plans.domain.parts import Kept
from apps.plans.domain.verdicts import (
    LAG,
    SETTLING,
    Verdict,
    cannot_be_told,
    judge,
    judge_whole,
    window_after,
    window_before,
    window_of,
)
from apps.plans.models import Plan, Verification
from apps.plans.selectors.measured_windows import measured_between, utility_window, weights_of
from apps.plans.selectors.outcomes import can_be_judged, disturbance, judged_from
from apps.plans.selectors.parts import figures_before, parts_of
from apps.policies.selectors import terms_for
from apps.telemetry.models import KEEP_SAMPLES
from weir.lifecycle.plans import PlanState

logger = logging.getLogger(__name__)


def plans_verify() -> int:
    """Run one tick: measure what is due and judge what is over. Returns how many rows it wrote."""
    now = timezone.now()
    begun = (
        Plan.objects.filter(
            state__in=[PlanState.EXECUTING, PlanState.EXECUTED],
            verification=None,
            execution__started_at__gte=now - KEEP_SAMPLES,
            execution__started_at__lte=now - LAG,
        )
        .select_related("system", "execution", "run")
        .order_by("id")
    )
    over = (
        Plan.objects.filter(
            state=PlanState.EXECUTED,
            verification__judged="",
            execution__ended_at__lte=now - SETTLING - LAG,
        )
        .select_related("system", "execution", "run", "verification")
        .order_by("id")
    )
    written = 0
    for rows, measure in ((begun, _measure_before), (over, _judge)):
        for plan in rows:
            try:
                with transaction.atomic():
                    written += measure(plan, now)
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                # One plan that cannot be judged must not keep the others from it.
                logger.exception("%s of %s cannot be judged", plan, plan.system)
    return written


def _measure_before(plan: Plan, now: datetime) -> int:
    """Store what was measured before the execution; nothing where nothing can be judged."""
    if not can_be_judged(plan):
        return 0
    assert plan.execution is not None
    assert plan.execution.started_at is not None
    window_s = terms_for(plan.system).judge_window_s
    problem = weights_of(plan)
    seen = measured_between(plan, *window_before(plan.execution.started_at, window_s))
    before = None if problem is None else utility_window(seen, problem).plain()
    _, created = Verification.objects.get_or_create(
        plan=plan,
        defaults={
            "window_s": window_s,
            "before": before,
            "figures_before": figures_before(plan, seen, problem),
        },
    )
    if created and plan.state == PlanState.EXECUTED:
        _publish(plan)
    return int(created)


def _judge(plan: Plan, now: datetime) -> int:
    row = Verification.objects.select_for_update().get(plan=plan)
    assert plan.execution is not None
    assert plan.execution.ended_at is not None
    since, until = window_after(plan.execution.ended_at, row.window_s)
    if row.judged or now < judged_from(row, until):
        return 0
    problem = weights_of(plan)
    seen = measured_between(plan, since, until)
    after = None if problem is None else utility_window(seen, problem)
    verdict: Verdict
    disturbed = disturbance(plan, row.window_s)
    if disturbed is not None:
        verdict, parts = disturbed, []
    else:
        parts = parts_of(plan, row.figures_before or {}, seen, problem)
        if problem is None or row.before is None or after is None:
            why = "the utility functions that it was planned with are not known"
            utility = cannot_be_told(why)
        else:
            utility = judge(plan.content.promise, window_of(row.before), after)
        kept, missed, unknown = (
            [part.label for part in parts if part.kept is which]
            for which in (Kept.KEPT, Kept.MISSED, Kept.UNKNOWN)
        )
        verdict = judge_whole(utility, kept, missed, unknown)
    row.after = after.plain() if after else None
    row.parts = [part.plain() for part in parts]
    row.judged, row.because, row.judged_at = verdict.judged.value, verdict.because, now
    row.save()
    _publish(plan)
    return 1


def _publish(plan: Plan) -> None:
    publish("plan", id=plan.public_id, system=plan.system.public_id, state=plan.state)
