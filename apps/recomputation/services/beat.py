"""Keep each schedule's entry in Celery's scheduler (django-celery-beat), which calls when it comes
due."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from celery.schedules import ParseException, crontab
from cronsim import CronSim
from django.core.exceptions import ValidationError
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from apps.recomputation.models import Schedule

TASK = "recomputation.due"
EXPIRES_S = 60
FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
EVERY_MINUTE = dict.fromkeys(FIELDS, "*")
BEFORE_CRON = timedelta(seconds=30)
"""Cron times are whole minutes: the next one after this long before one is that one."""


def beat_name(schedule: UUID) -> str:
    """Return what the entry is called."""
    return f"recomputation {schedule}"


def beat_sync(schedule: Schedule) -> None:
    """Make the entry what the schedule says, so that beat next calls at `next_at`."""
    entry = PeriodicTask.objects.filter(name=beat_name(schedule.public_id)).first()
    row = entry or PeriodicTask(name=beat_name(schedule.public_id))
    row.task, row.queue, row.expire_seconds = TASK, "control", EXPIRES_S
    row.kwargs = json.dumps({"schedule": str(schedule.public_id)})
    row.enabled, row.last_run_at = schedule.enabled, _last_run(schedule)
    row.interval = row.crontab = None
    for name, clock in _clock(schedule).items():
        setattr(row, name, clock)
    # Beat sets it on entries that it saves itself; here it shall hear of the change.
    row.no_changes = False
    row.save()


def beat_forget(schedule: UUID) -> None:
    """Remove the entry. One by one, so that the scheduler hears of it."""
    for entry in PeriodicTask.objects.filter(name=beat_name(schedule)):
        entry.delete()


def _last_run(schedule: Schedule) -> datetime:
    """Return when beat shall believe that it called last: one turn of the clock before
    `next_at`."""
    now = timezone.now()
    if schedule.next_at is None:
        return now
    turn = BEFORE_CRON if schedule.every_s is None else timedelta(seconds=schedule.every_s)
    return min(now, schedule.next_at - turn)


def _clock(schedule: Schedule) -> dict[str, Any]:
    # No `get_or_create`: nothing keeps these rows unique, and two are as good as one.
    if schedule.every_s is not None:
        interval = {"every": schedule.every_s, "period": IntervalSchedule.SECONDS}
        interval_row = IntervalSchedule.objects.filter(**interval).first()
        return {"interval": interval_row or IntervalSchedule.objects.create(**interval)}
    fields = crontab_fields(schedule.cron, schedule.timezone)
    row = CrontabSchedule.objects.filter(**fields).first()
    return {"crontab": row or CrontabSchedule.objects.create(**fields)}


def crontab_fields(cron: str, zone: str) -> dict[str, str]:
    """Return an entry of Celery's that is due whenever the expression is, and perhaps at other
    times.

    Celery reads some fields otherwise than cron does (`10/15`), others not at all (`L`, `1#2`);
    there it calls at every value, and the schedule's row says whether it is due.
    """
    ours = CronSim(cron, datetime(2024, 1, 1, tzinfo=UTC))
    sets: tuple[set[Any], ...] = (ours.minutes, ours.hours, ours.days, ours.months, ours.weekdays)
    fields = {
        name: text if _covers(name, text, wanted) else "*"
        for name, text, wanted in zip(FIELDS, cron.split(), sets, strict=True)
    }
    if not ours.day_and:
        # Cron takes a day that either field names, Celery one that both name.
        fields["day_of_month"] = fields["day_of_week"] = "*"
    try:
        CrontabSchedule(**fields, timezone=zone).full_clean()
    except (ValidationError, ParseException, ValueError):
        return {**EVERY_MINUTE, "timezone": "UTC"}
    return {**fields, "timezone": zone}


def _covers(name: str, text: str, wanted: set[Any]) -> bool:
    """Return whether Celery reads the field, and finds in it at least what cron does."""
    try:
        CrontabSchedule(**{name: text}).full_clean()
        read = getattr(crontab(**{name: text}), name)
    except (ValidationError, ParseException, ValueError):
        return False
    if any(not isinstance(value, int) or value < 0 for value in wanted):
        return False
    # Sunday is 7 as well as 0.
    return {value % 7 if name == "day_of_week" else value for value in wanted} <= set(read)
