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


@transaction.atomic
def _count(system: System, at: datetime) -> None:
    # The lock makes two coordinators count one after the other.
    System.objects.select_for_update(no_key=True).get(pk=system.pk)
    last = FilteringCell.objects.filter(system=system).order_by("-at").first()
    since_s = WINDOW_S
    if last is not None:
        since_s = (at - last.counted_until).total_seconds()
        if since_s < LEAST_S:
            return
    minute = filtering_now(system)
    if isinstance(minute, str):
        return
    start = datetime.fromtimestamp(int(at.timestamp()) // CELL_S * CELL_S, tz=UTC)
    if last is None or last.at != start:
        last = FilteringCell(system=system, at=start, measured_s=0.0)
    _add(last, minute, min(since_s, WINDOW_S))
    last.counted_until = at
    last.save()


def _add(cell: FilteringCell, minute: Filtering, seconds: float) -> None:
    """Make each figure the mean over all seconds counted."""
    whole = cell.measured_s + seconds
    values = {**minute.costs, "wanted_per_s": minute.wanted_per_s}
    for name in FIGURES_OF_CELL:
        total = getattr(cell, name) * cell.measured_s + values[name] * seconds
        setattr(cell, name, total / whole)
    cell.measured_s = whole
