"""What executed plans promised, next to what is measured now."""

from dataclasses import dataclass
from datetime import datetime

from apps.calibration.selectors import calibrated_problem
from apps.plans.models import Plan
from apps.systems.models import System
from apps.telemetry.selectors.measured import measured
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem
from weir.lifecycle.plans import PlanState

MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An executed plan; `measured_utility` only for the newest of its system that promises one."""

    plan: Plan
    executed_at: datetime
    measured_utility: float | None


def outcomes(*, since: datetime) -> list[Outcome]:
    """Plans executed since then, newest first, at most 50."""
    plans = list(
        Plan.objects.filter(state=PlanState.EXECUTED, execution__ended_at__gte=since)
        .select_related("system", "execution")
        .order_by("-execution__ended_at")[:MOST]
    )
    seen: set[int] = set()
    found = []
    for plan in plans:
        promises = any(promised.name == "utility" for promised in plan.content.promise)
        newest = promises and plan.system_id not in seen
        if newest:
            seen.add(plan.system_id)
        assert plan.execution is not None
        assert plan.execution.ended_at is not None
        found.append(
            Outcome(
                plan=plan,
                executed_at=plan.execution.ended_at,
                measured_utility=measured_utility(plan.system) if newest else None,
            )
        )
    return found


def measured_utility(system: System) -> float | None:
    """The utility of the rates that pass the gates and the consumers that are admitted now.

    None where no agent measures, or where the model gives no utility for what it measures.
    """
    now = measured(system)
    if not now.passed:
        return None
    try:
        problem = problem_from_dict(calibrated_problem(system))
    except InvalidProblem:
        return None
    return sum(
        now.admitted[row.id] * float(row.utility.value(now.passed[row.flow]))
        for row in problem.classes
        if now.admitted.get(row.id) and row.flow in now.passed
    )
