"""Rates out of counters, also when a counter begins anew."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agent.drivers.base import ClassAdmission, Stats
from agent.router import Counters
from agent.telemetry import Meter
from apps.telemetry.domain.payload import telemetry_checked


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


def test_sizes_and_acknowledgements_are_means_of_the_interval() -> None:
    meter = Meter(0.0)
    first = Counters(passed={"f": 1}, sized={"f": (100, 1)}, acked={"f": (0.5, 5)})
    meter.measure(1.0, first, Stats())
    second = Counters(passed={"f": 9}, sized={"f": (700, 4)}, acked={"f": (0.7, 15)})
    told = meter.measure(2.0, second, Stats(cpu_ratio=0.2, cores=4))
    assert told["flows"]["f"]["message_bytes"] == pytest.approx(600 / 3)
    assert told["flows"]["f"]["ack_s"] == pytest.approx(0.02)
    assert told["broker"]["cores"] == 4
    assert telemetry_checked(told)["flows"]["f"]["ack_s"] == pytest.approx(0.02)
    quiet = meter.measure(3.0, second, Stats())["flows"]["f"]
    assert "message_bytes" not in quiet
    assert "ack_s" not in quiet


def test_sampled_totals_that_fell_began_anew() -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(passed={"f": 1}, acked={"f": (9.0, 100)}), Stats())
    told = meter.measure(2.0, Counters(passed={"f": 1}, acked={"f": (0.3, 3)}), Stats())
    assert told["flows"]["f"]["ack_s"] == pytest.approx(0.1)


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
    # An interpreter needs some megabytes, and never thousands of them for this.
    assert 5e6 < checked["agent"]["memory_bytes"] < 5e10


def test_an_agent_loads_nothing_that_only_computing_needs() -> None:
    heavy = ("numba", "numpy", "scipy", "pandas", "django", "pyspark")
    code = (
        "import sys, agent.__main__, agent.runtime, agent.fleet, agent.drivers.nats.driver\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
