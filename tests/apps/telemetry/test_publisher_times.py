"""When publishers sent: what an agent's message leaves behind, and who reads it."""

import math
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.domain.publisher_times import pack
from apps.telemetry.models import Agent, PublisherTimes, Sample
from apps.telemetry.selectors.publisher_times import publisher_times, publishers_unreported
from apps.telemetry.services import (
    Introduction,
    agent_enrol,
    agent_report,
    agent_session,
    samples_prune,
)
from tests.factories import make_broker, make_system
from tests.factories.publishers_sent import publishers_sent
from weir.errors import InvalidProblem

pytestmark = pytest.mark.django_db
HERE = Introduction(
    agent_version="1", product="nats", address="nats://127.0.0.1:4222", facts={}, capabilities={}
)


@pytest.fixture
def broker():
    return make_broker(make_system(), "quay")


def report(broker, **telemetry) -> None:
    agent = agent_session(agent=agent_enrol(broker=broker, actor=None)[0], introduction=HERE)
    with transaction.atomic():
        agent_report(
            agent=Agent.objects.select_related("system", "broker").get(pk=agent.pk),
            incarnation=agent.incarnation,
            sequence=None,
            observed=None,
            telemetry=telemetry_checked(telemetry),
        )


def read(broker, names, since, *, system=None, most_named=10**6, most_moments=10**6):
    return publisher_times(
        system or broker.system, names, since, most_named=most_named, most_moments=most_moments
    )


def rows_of(broker, names, since, **bounds):
    """(publisher, Unix time or None, messages) of each report, oldest first."""
    reports = read(broker, names, since, **bounds)
    return [
        (names[publisher], None if math.isnan(at_s) else at_s, messages)
        for publisher, at_s, messages in zip(
            reports.publishers.tolist(),
            reports.at_s.tolist(),
            reports.messages.tolist(),
            strict=True,
        )
    ]


def test_reported_times_are_read_by_name_and_kept_out_of_samples(broker):
    now = timezone.now()
    at_s = now.timestamp() - 0.4
    report(broker, publishers={"s-2": [1, at_s], "s-1": [50, None], "other": [1, at_s]})
    rows = rows_of(broker, ["s-1", "s-2"], now)
    assert rows == [("s-1", None, 50), ("s-2", pytest.approx(at_s, abs=1e-4), 1)]
    assert "publishers" not in Sample.objects.get().payload
    assert rows_of(broker, ["s-1", "s-2"], now, system=make_system("other")) == []
    assert rows_of(broker, [], now) == []


def test_what_an_agent_leaves_out_is_kept_with_the_most_at_a_time_of_each_broker(broker):
    now = timezone.now()
    pier = make_broker(broker.system, "pier")
    report(broker, publishers={"s-1": [1, None]}, publishers_left=7)
    report(broker, publishers={}, publishers_left=9)
    report(pier, publishers={"s-2": [1, None]}, publishers_left=3)
    assert publishers_unreported(broker.system, now) == 12
    assert publishers_unreported(make_system("other"), now) == 0
    assert all("publishers_left" not in row.payload for row in Sample.objects.all())


@pytest.mark.parametrize("left", [-1, 0.5, True, "7", 2**31])
def test_a_number_left_out_that_is_no_count_is_refused(left):
    with pytest.raises(InvalidProblem, match="publishers_left"):
        telemetry_checked({"publishers_left": left})


def test_an_agent_that_reports_no_publishers_leaves_nothing(broker):
    report(broker, interval_s=1.0)
    assert Sample.objects.count() == 1
    assert not PublisherTimes.objects.exists()


@pytest.mark.parametrize("off_s", [-7200.0, 7200.0, 1e300])
def test_a_broker_whose_clock_is_hours_off_gives_no_times(broker, off_s):
    now = timezone.now()
    report(broker, publishers={"s-1": [1, max(0.0, now.timestamp() + off_s)]})
    reports = read(broker, ["s-1"], now)
    assert reports.messages.tolist() == [1]
    assert (reports.wrong_clock.tolist(), math.isnan(reports.at_s[0])) == ([True], True)


def test_times_are_kept_for_half_an_hour(broker):
    now = timezone.now()
    publishers_sent(broker, {"s-1": [(now - timedelta(minutes=m)).timestamp() for m in (31, 29)]})
    samples_prune()
    assert len(rows_of(broker, ["s-1"], now - timedelta(hours=1))) == 1


def test_of_too_many_reports_the_newest_are_read(broker):
    now_s = float(int(timezone.now().timestamp()))
    times = [now_s - 20 + second for second in range(10)]
    publishers_sent(broker, {"s-1": times, "s-2": times, "other": times})
    since = timezone.now() - timedelta(minutes=1)
    names = ["s-1", "s-2"]
    every = read(broker, names, since)
    assert (len(every.at_s), every.shortened, every.since) == (20, False, since)
    for bounds in ({"most_named": 3 * 4}, {"most_moments": 2 * 4}):
        reports = read(broker, names, since, **bounds)
        assert reports.shortened
        assert sorted(set(reports.at_s.tolist())) == times[-4:]
        assert reports.since.timestamp() == times[-4] + 1


def test_many_messages_of_five_thousand_names_are_read_for_those_who_are_asked_for(broker):
    now = timezone.now()
    reported = {f"plant-7/sensor-{n:05d}": (1, now.timestamp() + n * 1e-5) for n in range(5_000)}
    payload = pack(reported, received_s=now.timestamp())
    PublisherTimes.objects.bulk_create(
        PublisherTimes(broker=broker, at=now, payload=payload, unreported=0) for _ in range(200)
    )
    names = list(reported)
    for wanted in (names, ["elsewhere"]):
        reports = read(broker, wanted, now)
        assert len(reports.at_s) == 200 * len(set(wanted) & set(names))


def test_as_many_names_as_a_message_may_hold_take_little_room():
    now_s = timezone.now().timestamp()
    reported = {f"plant-7/sensor-{n:05d}": (1, now_s + n * 1.37e-4) for n in range(5_000)}
    assert len(pack(reported, received_s=now_s)) < 60_000
