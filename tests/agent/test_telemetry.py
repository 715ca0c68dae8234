"""Rates out of counters, also when a counter begins anew."""

from __future__ import annotations

import pytest

from agent.drivers.base import ClassAdmission, Stats
from agent.router import Counters
from agent.telemetry import Meter
from apps.telemetry.payload import telemetry_checked


def test_rates_are_differences_over_the_interval() -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(passed={"f": 100}, sent={"b": 50}, received={"b": 5}), Stats())
    told = meter.measure(
        3.0,
        Counters(passed={"f": 180}, sent={"b": 70}, received={"b": 5}),
        Stats(
            in_messages=40,
            ingress_backlog={"f": 20},
            ingress_shed={"f": 10},
            outbox_backlog={"b": 7},
            delivered={"k": 30},
            classes={"k": ClassAdmission(limit=2, admitted=2, waiting=1)},
        ),
    )
    assert told["interval_s"] == 2.0
    assert told["flows"]["f"] == {
        "offered_per_s": (80 + 10 + 20) / 2,
        "passed_per_s": 40.0,
        "shed_per_s": 5.0,
        "backlog": 20,
    }
    assert told["links"]["b"] == {"sent_per_s": 10.0, "received_per_s": 0.0, "backlog": 7}
    assert told["classes"]["k"] == {"admitted": 2, "waiting": 1, "delivered_per_s": 15.0}
    assert told["broker"]["in_msgs_per_s"] == 20.0


def test_a_backlog_that_shrinks_was_not_offered_again() -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(passed={"f": 0}), Stats(ingress_backlog={"f": 50}))
    told = meter.measure(2.0, Counters(passed={"f": 50}), Stats())
    assert told["flows"]["f"]["offered_per_s"] == 0
    assert told["flows"]["f"]["passed_per_s"] == 50.0


def test_a_counter_that_fell_began_at_zero() -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(), Stats(in_messages=1000))
    assert meter.measure(2.0, Counters(), Stats(in_messages=30))["broker"]["in_msgs_per_s"] == 30.0


@pytest.mark.parametrize("sync", [True, False, None])
def test_the_control_plane_takes_it(sync: bool | None) -> None:
    told = Meter(0.0).measure(
        1.0,
        Counters(passed={"f": 1}, sent={"b": 1}),
        Stats(sync_always=sync, unmanaged=("legacy",), cpu_ratio=0.5, memory_bytes=10),
    )
    checked = telemetry_checked(told)
    assert checked["broker"]["unmanaged"] == ["legacy"]
    assert checked["broker"]["sync_always"] is sync
    assert checked["agent"]["cpu_s"] > 0
