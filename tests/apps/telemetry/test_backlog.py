"""What waits of reliable topics, from what agents reported over the last minutes."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.systems.models import System
from apps.telemetry.domain.backlog import Growth, Limit
from apps.telemetry.models import Sample
from apps.telemetry.selectors.backlog import backlogs, backlogs_of
from tests.factories import make_topic
from tests.factories.backlogs import RISE, waits
from tests.factories.fleet import Harbour, make_harbour

pytestmark = pytest.mark.django_db


@pytest.fixture
def harbour() -> Harbour:
    return make_harbour()


def tides(harbour: Harbour, *waiting: int, broker: str = "a", **members: Any) -> None:
    waits(harbour.brokers[broker], waiting, **members)


def test_a_growing_backlog_is_told_with_its_slope_and_its_end(harbour: Harbour) -> None:
    tides(harbour, *RISE, most_messages=100_000)
    row = backlogs_of(harbour.system)["tides"]
    assert (row.broker, row.waiting, row.growth) == ("a", 11_287, Growth.ALARM)
    assert row.topic_id == str(harbour.topic.public_id)
    assert row.slope_per_s == pytest.approx(100, rel=1e-3)
    assert row.full_in_s == pytest.approx(887.13, rel=1e-3)
    assert (row.limit, row.most, row.why) == (Limit.MESSAGES, 100_000, "")


def test_without_a_reported_limit_no_end_is_told(harbour: Harbour) -> None:
    tides(harbour, *RISE)
    row = backlogs_of(harbour.system)["tides"]
    assert (row.growth, row.full_in_s) == (Growth.GROWING, None)
    assert row.why.startswith("No limit is known")


def test_a_restarted_agent_begins_anew(harbour: Harbour) -> None:
    # The new process has not read the streams yet and reports nothing that waits.
    tides(
        harbour, *RISE[:9], 0, 9_287, 10_287, most_messages=100_000, began_at=[1.0] * 9 + [2.0] * 3
    )
    row = backlogs_of(harbour.system)["tides"]
    assert (row.waiting, row.slope_per_s, row.growth) == (10_287, None, Growth.UNKNOWN)


def test_the_storage_of_the_broker_may_end_first(harbour: Harbour) -> None:
    load = {"stored_bytes": 2_000_000, "most_stored_bytes": 3_000_000}
    tides(harbour, *RISE, most_messages=100_000, backlog_bytes=1_128_700, load=load)
    row = backlogs_of(harbour.system)["tides"]
    assert (row.limit, row.most) == (Limit.STORAGE, 3_000_000)
    assert row.full_in_s == pytest.approx(100, rel=1e-3)  # 100 bytes a message


def test_best_effort_topics_are_left_out(harbour: Harbour) -> None:
    make_topic(harbour.system, "radar", source=harbour.brokers["b"])
    tides(harbour, *RISE, broker="b", flow="radar")
    assert backlogs_of(harbour.system) == {}


def test_what_waits_at_two_brokers_is_added_up(harbour: Harbour) -> None:
    tides(harbour, *RISE, most_messages=100_000)
    tides(harbour, *[50] * 12, broker="b", most_messages=100_000)
    row = backlogs_of(harbour.system)["tides"]
    assert (row.broker, row.waiting, row.growth) == ("a", 11_337, Growth.ALARM)


def test_a_broker_that_is_silent_tells_nothing_of_now(harbour: Harbour) -> None:
    tides(harbour, *RISE, most_messages=100_000, ago_s=30.0)
    assert backlogs_of(harbour.system) == {}


def test_all_systems_cost_two_queries_and_the_worst_topic_stands_first(
    harbour: Harbour, django_assert_num_queries: Any
) -> None:
    other: System = make_harbour("quay").system
    make_topic(harbour.system, "alerts", source=harbour.brokers["b"], delivery="reliable")
    tides(harbour, *RISE, broker="b", flow="alerts", most_messages=100_000)
    tides(harbour, *[5] * 12)
    with django_assert_num_queries(2):
        rows = backlogs()
    assert [row.topic for row in rows[harbour.system.pk]] == ["alerts", "tides"]
    assert other.pk not in rows


def test_samples_of_every_second_give_the_same_slope(harbour: Harbour) -> None:
    now = timezone.now()
    for second in range(115):
        flow = {"backlog": 10 * second, "most_messages": 100_000}
        payload = {"flows": {"tides": flow}, "broker": {}, "agent": {"began_at": 1.0}}
        at = now - timedelta(seconds=114 - second)
        Sample.objects.create(broker=harbour.brokers["a"], at=at, payload=payload)
    row = backlogs_of(harbour.system)["tides"]
    assert (row.waiting, row.slope_per_s) == (1_140, pytest.approx(10))
