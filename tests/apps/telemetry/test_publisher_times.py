"""When publishers sent: what an agent's message leaves behind, and who reads it."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.domain.publisher_times import pack
from apps.telemetry.models import Agent, PublisherTimes, Sample
from apps.telemetry.selectors.publisher_times import publisher_times
from apps.telemetry.services import (
    Introduction,
    agent_enrol,
    agent_report,
    agent_session,
    samples_prune,
)
from tests.factories import make_broker, make_system
from tests.factories.publishers_sent import publishers_sent

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


def test_reported_times_are_read_by_name_and_kept_out_of_samples(broker):
    now = timezone.now()
    at_s = now.timestamp() - 0.4
    report(broker, publishers={"s-2": [1, at_s], "s-1": [50, None], "other": [1, at_s]})
    rows = list(publisher_times(broker.system, ["s-1", "s-2"], now))
    assert rows == [("s-1", None, 50), ("s-2", pytest.approx(at_s, abs=1e-4), 1)]
    assert "publishers" not in Sample.objects.get().payload
    assert list(publisher_times(make_system("other"), ["s-1", "s-2"], now)) == []


def test_an_agent_that_reports_no_publishers_leaves_nothing(broker):
    report(broker, interval_s=1.0)
    assert Sample.objects.count() == 1
    assert not PublisherTimes.objects.exists()


@pytest.mark.parametrize("off_s", [-7200.0, 7200.0, 1e300])
def test_a_broker_whose_clock_is_hours_off_gives_no_times(broker, off_s):
    now = timezone.now()
    report(broker, publishers={"s-1": [1, max(0.0, now.timestamp() + off_s)]})
    assert list(publisher_times(broker.system, ["s-1"], now)) == [("s-1", None, 1)]


def test_times_are_kept_for_half_an_hour(broker):
    now = timezone.now()
    publishers_sent(broker, {"s-1": [(now - timedelta(minutes=m)).timestamp() for m in (31, 29)]})
    samples_prune()
    assert len(list(publisher_times(broker.system, ["s-1"], now - timedelta(hours=1)))) == 1


def test_as_many_names_as_a_message_may_hold_take_little_room():
    now_s = timezone.now().timestamp()
    reported = {f"plant-7/sensor-{n:05d}": (1, now_s + n * 1.37e-4) for n in range(5_000)}
    assert len(pack(reported, received_s=now_s)) < 60_000
