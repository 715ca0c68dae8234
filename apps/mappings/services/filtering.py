"""Sum up what receivers filter over quarters of an hour, from what agents measure."""

import logging
from datetime import UTC, datetime, timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.mappings.models import FIGURES_OF_CELL, FilteringCell
from apps.mappings.selectors.measured import WINDOW_S, Filtering, filtering_now
from apps.systems.models import System
from apps.telemetry.models import Sample

logger = logging.getLogger(__name__)

CELL_S = 900
KEEP = timedelta(days=8)
LEAST_S = WINDOW_S - 5.0
"""Who comes sooner finds this minute counted: a second coordinator, or one that was woken."""


def filtering_roll(now: datetime | None = None) -> None:
    """Add the last minute to the running quarter of every system that is measured and mapped, and
    delete the oldest."""
    at = now or timezone.now()
    FilteringCell.objects.filter(at__lt=at - KEEP).delete()
    recent = Sample.objects.filter(at__gte=at - timedelta(seconds=WINDOW_S))
    measured = set(recent.values_list("broker__system", flat=True))
    mapped = System.objects.filter(topic__stream__group__isnull=False, pk__in=measured)
    for system in mapped.distinct():
        try:
            _count(system, at)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One system that cannot be counted must not keep the others from it.
            logger.exception("what receivers of %s filter cannot be counted", system)


def _count(system: System, at: datetime) -> None:
    if _since_s(system, at) < LEAST_S:
        return
    # Nobody waits for this: it may read who wants what, up to millions of interests.
    minute = filtering_now(system)
    if isinstance(minute, str):
        return
    # The minute belongs to the quarter that has most of it.
    middle = at.timestamp() - WINDOW_S / 2
    start = datetime.fromtimestamp(int(middle) // CELL_S * CELL_S, tz=UTC)
    with transaction.atomic():
        # The lock makes two coordinators count one after the other.
        System.objects.select_for_update(no_key=True).get(pk=system.pk)
        since_s = _since_s(system, at)
        if since_s < LEAST_S:
            return
        cell = FilteringCell.objects.filter(system=system, at=start).first()
        cell = cell or FilteringCell(system=system, at=start, measured_s=0.0)
        _add(cell, minute, min(since_s, WINDOW_S))
        cell.counted_until = at
        cell.save()


def _since_s(system: System, at: datetime) -> float:
    """Return how long ago the last minute was counted, s; a whole one where none was."""
    last = FilteringCell.objects.filter(system=system).order_by("-at").first()
    return WINDOW_S if last is None else (at - last.counted_until).total_seconds()


def _add(cell: FilteringCell, minute: Filtering, seconds: float) -> None:
    """Make each figure the mean over all seconds counted."""
    whole = cell.measured_s + seconds
    values = {**minute.costs, "wanted_per_s": minute.wanted_per_s}
    for name in FIGURES_OF_CELL:
        total = getattr(cell, name) * cell.measured_s + values[name] * seconds
        setattr(cell, name, total / whole)
    cell.measured_s = whole
