"""Make a new estimate of demand where what is wanted differs enough from what is used."""

import logging
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.audit.services import record
from apps.common.events import publish
from apps.common.formatting import counted
from apps.common.locks import lock_try
from apps.demand.domain.wanted import (
    FORECAST_BASES,
    Basis,
    Key,
    Known,
    change_text,
    largest_change,
    relative_change,
)
from apps.demand.models import DemandEstimate, DemandFigure, DemandSettings
from apps.demand.selectors.measured import Window, counting, window_now
from apps.demand.selectors.used import (
    figures_of,
    latest_estimate,
    settings_of,
    typed_demand,
    used_demand,
)
from apps.systems.models import System

logger = logging.getLogger(__name__)

LOCK = "demand"


def demand_tick(now: datetime | None = None) -> int:
    """Estimate the demand of every system that uses it; return how many estimates are new."""
    if not lock_try(LOCK):
        return 0
    count = 0
    for settings in DemandSettings.objects.exclude(basis=Basis.TYPED).select_related("system"):
        try:
            window = window_now(settings, now or timezone.now())
            with transaction.atomic():
                # Whoever edits the system has it; the next turn sees what became of it.
                rows = System.objects.select_for_update(no_key=True, skip_locked=True)
                system = rows.filter(pk=settings.system_id).first()
                if system is not None:
                    count += estimate_make(system, window) is not None
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One system whose demand cannot be read must not keep the others from theirs.
            logger.exception("the demand of %s cannot be estimated", settings.system)
    return count


def estimate_anew(system: System, now: datetime) -> DemandEstimate | None:
    """Do so of what is measured at a moment; the system is locked."""
    return estimate_make(system, window_now(settings_of(system), now))


def estimate_make(system: System, window: Window) -> DemandEstimate | None:
    """Make a new estimate of a locked system if its terms changed, or if what would be used of a
    topic or class differs by the least change at least; else return None."""
    settings = settings_of(system)
    last = latest_estimate(system)
    if settings.basis == Basis.TYPED and (last is None or last.basis == Basis.TYPED):
        return None
    typed, measured = typed_demand(system), counting(window, last)
    expected = window.expected if settings.basis in FORECAST_BASES else {}
    figures = {
        key: Known(
            measured=measured[key].high if key in measured else None, forecast=expected.get(key)
        )
        for key in typed
        if key in measured or key in expected
    }
    old = used_demand(
        typed,
        {} if last is None else figures_of(last),
        settings.terms if last is None else last.terms,
    )
    new = used_demand(typed, figures, settings.terms)
    change, whose = largest_change((key, old[key], new[key]) for key in typed)
    edited = last is None or last.terms != settings.terms
    if not edited and change < settings.least_change:
        return None
    estimate = DemandEstimate.objects.create(
        system=system,
        number=1 if last is None else last.number + 1,
        since=window.since,
        until=window.until,
        basis=settings.basis,
        level=settings.level,
        floor_ratio=settings.floor_ratio,
        ceiling_ratio=settings.ceiling_ratio,
        largest_change=change,
        because=_because(settings, edited, whose, old, new),
    )
    DemandFigure.objects.bulk_create(
        [
            DemandFigure(
                estimate=estimate,
                subject=key[0],
                name=key[1],
                minutes=one.minutes if one else 0,
                low=one.low if one else None,
                mean=one.mean if one else None,
                high=one.high if one else None,
                forecast=known.forecast,
                typed=typed[key].most,
                used=new[key],
            )
            for key, known in figures.items()
            for one in [measured.get(key)]
        ],
        batch_size=5_000,
    )
    record(
        actor=None,
        action="estimate",
        object_kind="demand_estimate",
        object_id=estimate.public_id,
        object_name=str(estimate),
        system_id=system.public_id,
        model_version=system.model_version,
        after={"basis": estimate.basis, "largest_change": round(change, 4)},
        reason=estimate.because,
    )
    publish("demand", system=system.public_id)
    return estimate


def _because(
    settings: DemandSettings,
    edited: bool,
    whose: Key | None,
    old: dict[Key, float],
    new: dict[Key, float],
) -> str:
    """Return why there is a new estimate, as a sentence."""
    moved = ""
    if whose is not None:
        moved = change_text(*whose, old[whose], new[whose])
        others = (
            sum(relative_change(old[key], new[key]) >= settings.least_change for key in new) - 1
        )
        if others > 0:
            moved += f", and {counted(others, 'other')} changed by as much"
    if not edited:
        return f"{moved}."
    words = {
        Basis.TYPED: "The model's figures are used.",
        Basis.MEASURED: "Measured demand is used.",
        Basis.FORECAST: "Forecast demand is used.",
        Basis.LARGEST: "The largest of the model's, measured and forecast figures is used.",
    }[Basis(settings.basis)]
    return f"{words} {moved}." if moved else words
