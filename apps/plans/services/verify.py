"""Compare executed plans with what they promised: measure before, measure after, judge once.

Samples are kept for half an hour, so the window before an execution is summed up while it runs, and
the one after it as soon as it is over. Both at the weights that the plan was made with: a utility
function that is edited meanwhile changes no verdict.
"""

import logging
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.plans.domain.verdicts import (
    Verdict,
    cannot_be_told,
    judge,
    no_promise,
    window_after,
    window_before,
    window_of,
)
from apps.plans.models import Plan, Verification
from apps.plans.selectors.outcomes import disturbance
from apps.plans.selectors.utility_windows import utility_window, weights_of
from apps.telemetry.models import KEEP_SAMPLES
from weir.lifecycle.plans import PlanState

logger = logging.getLogger(__name__)

LAG = timedelta(seconds=10)
"""The delay with which samples arrive after what they measured."""


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
            execution__ended_at__lte=now - (window_after(now)[1] - now) - LAG,
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
    """Store what was measured before the execution; nothing where there is no promise."""
    if no_promise(plan.content.promise) is not None:
        return 0
    assert plan.execution is not None
    assert plan.execution.started_at is not None
    problem = weights_of(plan)
    before = None
    if problem is not None:
        before = utility_window(plan, problem, *window_before(plan.execution.started_at)).plain()
    _, created = Verification.objects.get_or_create(plan=plan, defaults={"before": before})
    return int(created)


def _judge(plan: Plan, now: datetime) -> int:
    row = Verification.objects.select_for_update().get(plan=plan)
    if row.judged:
        return 0
    assert plan.execution is not None
    assert plan.execution.ended_at is not None
    problem, after = weights_of(plan), None
    if problem is not None:
        after = utility_window(plan, problem, *window_after(plan.execution.ended_at))
    verdict: Verdict
    if problem is None or row.before is None or after is None:
        verdict = cannot_be_told("the utility functions that it was planned with are not known")
    else:
        verdict = disturbance(plan) or judge(plan.content.promise, window_of(row.before), after)
    row.after = after.plain() if after else None
    row.judged, row.because, row.judged_at = verdict.judged.value, verdict.because, now
    row.save()
    return 1
