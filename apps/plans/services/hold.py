"""Apply maintenance windows, and the stop of everything automatic, to plans under way: executions
learn when to begin no further step."""

import logging
from datetime import datetime

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from apps.executions.models import ACTIVE_NAMES, Execution
from apps.executions.services import execution_hold
from apps.plans.models import Plan
from apps.plans.selectors.rules import Ruling, rulings
from weir.lifecycle.plans import PlanState

logger = logging.getLogger(__name__)


def windows_hold() -> int:
    """Run one tick of the coordinator: give each execution under way the present state of
    windows and stop.

    Returns how many learned something new.
    """
    now = timezone.now()
    plans = list(
        Plan.objects.filter(state=PlanState.EXECUTING, execution__state__in=ACTIVE_NAMES)
        .select_related("system", "execution__started_by")
        .defer("document")
        .order_by("id")
    )
    told = 0
    for pk, ruling in rulings(plans, now).items():
        execution = next(plan.execution for plan in plans if plan.pk == pk)
        assert execution is not None
        if not _is_news(execution, ruling, now):
            continue
        try:
            execution_hold(
                execution=execution,
                hold_at=ruling.hold_at,
                because=ruling.hold_because,
                opened_since=ruling.opened_since,
            )
            told += 1
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One execution that cannot be held must not keep the others from it.
            logger.exception("%s cannot be told of its window", execution)
    return told


def _is_news(execution: Execution, ruling: Ruling, now: datetime) -> bool:
    """Return whether the row differs from the windows; a window that closed stays closed."""
    overridden_at = execution.hold_overridden_at
    if overridden_at is not None:
        return ruling.opened_since(overridden_at)
    if ruling.may_go_on and execution.held:
        return True
    if ruling.may_go_on or ruling.hold_at is None:
        return execution.hold_at != ruling.hold_at or execution.held
    shown = execution.hold_at is not None and execution.hold_at <= now
    return not shown or execution.hold_because != ruling.hold_because
