"""Celery's scheduler calls when a schedule comes due; the row says whether it is so."""

import re
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler
from hypothesis import assume, given
from hypothesis import strategies as st

from apps.recomputation.domain.timing import upcoming
from apps.recomputation.models import Schedule
from apps.recomputation.services import rule_delete, schedule_update, schedules_catch_up
from apps.recomputation.services.beat import EVERY_MINUTE, beat_name, beat_sync, crontab_fields
from apps.recomputation.tasks import due
from config.celery import app

A_LITTLE = timedelta(seconds=2)
"""What a slow machine takes between two readings of the clock; the intervals are of minutes."""
NOON = datetime(2026, 6, 3, 12, 0, 30, tzinfo=UTC)


def call(schedule):
    """What a worker does with beat's message."""
    return due(schedule=str(schedule.public_id))


def entry_of(schedule):
    return PeriodicTask.objects.get(name=beat_name(schedule.public_id))


def seen_by_beat(schedule):
    """The entry as the real scheduler reads it from its tables; None where it has none."""
    scheduler = DatabaseScheduler(app=app, lazy=True)
    return scheduler.all_as_schedule().get(beat_name(schedule.public_id))


def next_call(schedule):
    """When the real scheduler will call; None where it would now."""
    is_due, after_s = seen_by_beat(schedule).is_due()
    return None if is_due else timezone.now() + timedelta(seconds=after_s)


@pytest.mark.django_db
def test_a_call_of_beat_fires_once_however_often_it_comes(clockwork):
    schedule = clockwork.schedule(then="none")
    assert not call(schedule)
    clockwork.due(schedule, seconds=0.5)
    assert [call(schedule) for _ in range(3)] == [True, False, False]
    (firing,) = clockwork.firings()
    # The run is asked for at once, not by the coordinator's next look.
    assert firing.state == "computing"
    assert "did not call" not in firing.why


@pytest.mark.django_db
def test_a_call_of_a_clock_that_is_ahead_is_no_second_time(clockwork):
    schedule = clockwork.schedule(then="none")
    clockwork.due(schedule, seconds=-0.5)
    schedule.refresh_from_db()
    due_at = schedule.next_at
    assert [call(schedule) for _ in range(2)] == [True, False]
    schedule.refresh_from_db()
    assert schedule.next_at == due_at + timedelta(seconds=60)


@pytest.mark.django_db
def test_the_coordinator_waits_for_beat_before_it_fires_in_its_place(clockwork):
    schedule = clockwork.schedule(then="none")
    clockwork.due(schedule, seconds=1)
    assert schedules_catch_up() == 0
    clockwork.due(schedule, seconds=11)
    assert schedules_catch_up() == 1
    (firing,) = clockwork.firings()
    assert re.search(r"found \d+ s later: the scheduler did not call", firing.why)
    assert not call(schedule)


@pytest.mark.django_db
def test_beat_is_set_right_again_after_a_late_call(clockwork):
    schedule = clockwork.schedule(then="none")
    clockwork.due(schedule, seconds=20)
    assert schedules_catch_up() == 1
    schedule.refresh_from_db()
    assert abs(next_call(schedule) - schedule.next_at) < A_LITTLE


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["interval", "cron"])
def test_the_real_scheduler_calls_when_the_row_says(clockwork, kind):
    minute = (timezone.now() + timedelta(minutes=30)).minute
    cron = {"every_s": None, "cron": f"{minute} * * * *"}
    schedule = clockwork.schedule(**(cron if kind == "cron" else {"every_s": 1800}))
    assert abs(next_call(schedule) - schedule.next_at) < A_LITTLE
    # As if a day had passed: the time that the entry was made for has come.
    yesterday = schedule.next_at - timedelta(days=1)
    Schedule.objects.filter(pk=schedule.pk).update(next_at=yesterday)
    schedule.refresh_from_db()
    beat_sync(schedule)
    assert next_call(schedule) is None


@pytest.mark.django_db
def test_the_entry_follows_the_schedule(clockwork):
    schedule = clockwork.schedule(every_s=None, cron="30 6 * * 1-5", timezone="Europe/Berlin")
    entry = entry_of(schedule)
    assert (entry.task, entry.queue, entry.enabled) == ("recomputation.due", "control", True)
    assert (entry.crontab.minute, entry.crontab.day_of_week) == ("30", "1-5")
    assert str(entry.crontab.timezone) == "Europe/Berlin"
    author = clockwork.quay.author
    values = {"every_s": 90, "cron": ""}
    schedule = schedule_update(schedule=schedule, actor=author, expected_version=1, values=values)
    entry.refresh_from_db()
    assert (entry.crontab, entry.interval.every) == (None, 90)
    schedule = schedule_update(
        schedule=schedule, actor=author, expected_version=2, values={"enabled": False}
    )
    assert seen_by_beat(schedule) is None
    rule_delete(rule=schedule, actor=author, expected_version=3)
    assert not PeriodicTask.objects.filter(name__startswith="recomputation").exists()


@pytest.mark.django_db
def test_a_call_for_what_is_paused_or_deleted_fires_nothing_and_mends_the_entry(clockwork):
    """Beat saves whole entries from memory: it may bring back what an edit just changed."""
    schedule = clockwork.schedule(then="none")
    entry, author = entry_of(schedule), clockwork.quay.author
    schedule = schedule_update(
        schedule=schedule, actor=author, expected_version=1, values={"enabled": False}
    )
    entry.save()
    assert entry_of(schedule).enabled
    assert not call(schedule)
    assert not entry_of(schedule).enabled
    rule_delete(rule=schedule, actor=author, expected_version=2)
    entry.save(force_insert=True)
    assert not call(schedule)
    assert not PeriodicTask.objects.filter(name=entry.name).exists()
    assert not Schedule.objects.exists()
    assert clockwork.firings() == []


FIELD = st.one_of(
    st.just("*"),
    st.integers(1, 7).map(str),
    st.sampled_from(["*/2", "1-5", "1,3,5", "2-6/2", "3/2", "7", "5,7"]),
)
CRON = st.tuples(
    FIELD,
    FIELD,
    st.one_of(FIELD, st.sampled_from(["L", "LW", "31", "1,L"])),
    st.one_of(FIELD, st.sampled_from(["jan", "mar-oct"])),
    st.one_of(FIELD, st.sampled_from(["mon-fri", "sun", "1#2", "5L"])),
).map(" ".join)


@given(CRON, st.sampled_from(["UTC", "Asia/Kolkata", "America/Argentina/Ushuaia", "Etc/GMT+5"]))
def test_beat_calls_at_every_time_that_cron_means(cron, zone):
    try:
        CronSim(cron, NOON)
    except CronSimError:
        assume(False)
    fields = crontab_fields(cron, zone)
    read = CrontabSchedule(**fields).schedule
    for moment in islice(upcoming(every_s=None, cron=cron, timezone=zone, after=NOON), 4):
        local = moment.astimezone(ZoneInfo(fields["timezone"]))
        assert local.minute in read.minute
        assert local.hour in read.hour
        assert local.day in read.day_of_month
        assert local.month in read.month_of_year
        assert local.isoweekday() % 7 in read.day_of_week


@pytest.mark.parametrize(
    ("cron", "zone", "changed"),
    [
        ("30 6 * * 1-5", "Europe/Berlin", {}),
        ("0 0 L * *", "UTC", {"day_of_month": "*"}),
        ("0 0 13 * 5", "UTC", {"day_of_month": "*", "day_of_week": "*"}),
        ("10/15 * * * *", "UTC", {"minute": "*"}),
    ],
)
def test_only_what_celery_reads_otherwise_is_widened(cron, zone, changed):
    given_fields = dict(zip(EVERY_MINUTE, cron.split(), strict=True))
    assert crontab_fields(cron, zone) == {**given_fields, **changed, "timezone": zone}
