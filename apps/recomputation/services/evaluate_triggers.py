"""Read what triggers watch; fire those whose value stayed above the threshold for long enough.

Only levels count, not edges: what a process misses between two readings, the next reading sees.
"""

import logging
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
from django.utils import timezone

from apps.recomputation.models import Kind, Trigger
from apps.recomputation.selectors.watched import look
from apps.recomputation.services.fire import fire, lock_system
from apps.runs.selectors import Reading

logger = logging.getLogger(__name__)
OF_THE_MODEL = frozenset({Kind.CAPACITY_CHANGE, Kind.POPULATION_CHANGE, Kind.DEMAND_CHANGE})
PACE_S = {
    Kind.CAPACITY_CHANGE: 1.0,
    Kind.POPULATION_CHANGE: 1.0,
    Kind.DEMAND_CHANGE: 1.0,
    Kind.SLO_BREACH: 5.0,
    # Minutes are judged some ten seconds after they ended.
    Kind.BUDGET_BURN: 15.0,
    Kind.LOAD_DRIFT: 5.0,
    Kind.BROKER_OVERLOAD: 5.0,
    Kind.MACHINE_LOAD: 5.0,
    Kind.ROUTING_DRIFT: 5.0,
    # It reads who wants what, up to millions of interests.
    Kind.FILTERING_DRIFT: 30.0,
}
"""How often each kind is read: telemetry arrives once a second and is read in windows."""


def triggers_evaluate() -> int:
    """Read every trigger that is due for it. Returns how many fired."""
    now = timezone.now()
    due = Q()
    for kind, pace in PACE_S.items():
        ago = now - timedelta(seconds=pace)
        due |= Q(kind=kind) & (Q(looked_at=None) | Q(looked_at__lte=ago))
    fired = 0
    for trigger in Trigger.objects.filter(due, enabled=True).select_related("system"):
        try:
            fired += _one(trigger)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # An error of one trigger must not stop the others.
            logger.exception("trigger %s of %s cannot be evaluated", trigger, trigger.system)
    return fired


def _one(trigger: Trigger) -> bool:
    reading = look(trigger.kind, trigger.system)
    with transaction.atomic():
        rows = Trigger.objects.select_for_update(skip_locked=True, of=("self",))
        row = rows.filter(pk=trigger.pk, enabled=True, version=trigger.version).first()
        if row is None:
            return False
        now = timezone.now()
        _see(row, reading, trigger.system.model_version, now)
        if not _due(row, now):
            return False
    return _fire(row.pk, row.system_id, reading)


def _see(row: Trigger, reading: Reading, model_version: int, now: datetime) -> None:
    above = reading.value is not None and reading.value > row.threshold
    # Each edit of the model restarts the wait: people seldom make just one.
    edited = Kind(row.kind) in OF_THE_MODEL and row.basis != model_version
    if not above:
        row.above_since = None
    elif row.above_since is None or edited:
        row.above_since = now
    row.value, row.detail = reading.value, reading.detail
    row.basis, row.looked_at = model_version, now
    row.save(update_fields=["value", "detail", "basis", "looked_at", "above_since", "updated_at"])


def _due(row: Trigger, now: datetime) -> bool:
    if row.above_since is None or now - row.above_since < timedelta(seconds=row.for_s):
        return False
    return row.fired_at is None or now - row.fired_at >= timedelta(seconds=row.cooldown_s)


@transaction.atomic
def _fire(pk: int, system_pk: int, reading: Reading) -> bool:
    """Fire under the system's lock, checking again: two processes that saw the same fire once."""
    system = lock_system(system_pk)
    row = Trigger.objects.select_for_update(of=("self",)).filter(pk=pk, enabled=True).first()
    now = timezone.now()
    if row is None or row.above_since is None or not _due(row, now):
        return False
    seconds = (now - row.above_since).total_seconds()
    fire(
        rule=row,
        system=system,
        why=f"{reading.detail} Above the threshold for {seconds:,.0f} s.",
        value=reading.value,
        threshold=row.threshold,
    )
    row.fired_at = now
    row.save(update_fields=["fired_at", "updated_at"])
    return True
