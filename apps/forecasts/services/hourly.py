"""Forecast anew every hour where a system uses forecasts."""

import logging
from datetime import datetime

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from apps.accounts.services import automatic_account
from apps.common.errors import ApplicationError
from apps.common.locks import lock_try
from apps.demand.domain.wanted import FORECAST_BASES
from apps.demand.models import DemandSettings
from apps.forecasts.models import Forecast
from apps.forecasts.services.computation import HOUR_S, KIND
from apps.runs.models import ENDED_NAMES, Run
from apps.runs.services.computations import computation_start
from weir.lifecycle.runs import RunState

logger = logging.getLogger(__name__)

LOCK = "forecast"
ACCOUNT = "schedule"
AGAIN_S = 600.0
"""A run that failed is tried again after this long."""


def forecasts_start(now: datetime | None = None) -> int:
    """Start a forecast for every system that uses them and has none of this hour at its level;
    return how many were started."""
    if not lock_try(LOCK):
        return 0
    at = now or timezone.now()
    hour = datetime.fromtimestamp(int(at.timestamp()) // HOUR_S * HOUR_S, at.tzinfo)
    count = 0
    for settings in DemandSettings.objects.filter(basis__in=FORECAST_BASES).select_related(
        "system"
    ):
        system = settings.system
        fresh = Forecast.objects.filter(system=system, first_at__gte=hour, level=settings.level)
        if fresh.exists():
            continue
        last = Run.objects.filter(system=system, kind=KIND).order_by("-id").first()
        if last is not None:
            has_failed = last.state != RunState.SUCCEEDED
            if last.state not in ENDED_NAMES or (
                has_failed and (at - last.created_at).total_seconds() < AGAIN_S
            ):
                continue
        try:
            computation_start(KIND, system=system, actor=automatic_account(ACCOUNT))
            count += 1
        except ApplicationError:
            # Too little was measured yet.
            continue
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One system that cannot be forecast must not keep the others from theirs.
            logger.exception("the demand of %s cannot be forecast", system)
    return count
