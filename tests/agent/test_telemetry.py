"""Rates out of counters, also when a counter begins anew."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest

from agent.drivers.base import ClassAdmission, Room, Stats
from agent.profile import Profile, ProfileKey
from agent.telemetry import PEAK_S, Counters, Meter, look_interval_s
from apps.telemetry.domain.payload import telemetry_checked
from weir.queueing.counting_bucket import CountingBucket
from weir.queueing.delay_counts import DelayCounts
from weir.queueing.token_bucket import TokenBucket
from weir.queueing.wait_histogram import LOWEST, WINDOW_S, Piece, WaitWindow, bin_of


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
        "backlog_peak": 20,
    }
    assert told["links"]["b"] == {
        "sent_per_s": 10.0,
        "received_per_s": 0.0,
        "backlog": 7,
        "backlog_peak": 7,
    }
    assert told["classes"]["k"] == {
        "admitted": 2,
        "waiting": 1,
        "limit": 2,
        "delivered_per_s": 15.0,
    }
    assert told["broker"]["in_msgs_per_s"] == 20.0


def test_what_a_part_of_a_bucket_would_hold_is_told_and_taken() -> None:
    counting = CountingBucket(rate_per_s=10.0, size=2.0, now=0.0)
    counting.count(1.0, 5)
    counters = Counters(passed={"f": 5, "g": 1}, counting={"f": counting})
    flows = telemetry_checked(Meter(0.0).measure(1.0, counters, Stats()))["flows"]
    part = {name: value for name, value in flows["f"].items() if name.startswith("bucket_")}
    assert part == {
        "bucket_messages": 5,
        "bucket_held": 3,
        "bucket_p99_s": pytest.approx(0.3),
        "bucket_longest_s": pytest.approx(0.3),
    }
    assert not any(name.startswith("bucket_") for name in flows["g"])


def test_waits_at_a_gate_are_told_and_taken_while_they_are_in_the_window() -> None:
    waits = WaitWindow()
    waits.count(100.0, Piece.of(100.0, [99.0] * 2 + [99.9] * 98))
    counters = Counters(passed={"f": 5, "g": 1}, waits={"f": waits, "g": WaitWindow()})
    meter = Meter(99.0)
    flows = telemetry_checked(meter.measure(100.0, counters, Stats()))["flows"]
    measured = {name: value for name, value in flows["f"].items() if name.startswith("wait_")}
    assert measured == {
        "wait_messages": 100,
        "wait_p99_s": pytest.approx(1.0),
        "wait_mean_s": pytest.approx((2 * 1.0 + 98 * 0.1) / 100),
        "wait_longest_s": 1.0,
    }
    assert not any(name.startswith("wait_") for name in flows["g"])
    later = telemetry_checked(meter.measure(100.0 + WINDOW_S, counters, Stats()))["flows"]
    assert not any(name.startswith("wait_") for name in later["f"])


def test_delays_at_a_gate_are_those_of_the_interval_of_all_pumps_that_read_it() -> None:
    ended, running = DelayCounts(), DelayCounts()
    counters = Counters(passed={"f": 5, "g": 1}, delays={"f": [ended, running]})
    meter = Meter(99.0)

    def delayed(now: float) -> dict[str, object]:
        flows = telemetry_checked(meter.measure(now, counters, Stats()))["flows"]
        assert not any(name.startswith("gate_") for name in flows["g"])
        return {name: value for name, value in flows["f"].items() if name.startswith("gate_")}

    ended.count(Piece.of(100.0, [99.0, 99.9, 100.0]))
    running.count(Piece.of(100.0, [99.9, 100.0, 100.0]))
    tenth = bin_of(100.0 - 99.9)
    assert delayed(100.0) == {
        "gate_delays": [[LOWEST, 3], [tenth, 2], [bin_of(1.0), 1]],
        "gate_longest_s": 1.0,
    }
    running.count(Piece.of(100.5, [100.5]))
    assert delayed(101.0) == {"gate_delays": [[LOWEST, 1]], "gate_longest_s": 0.0}
    assert delayed(102.0) == {}


def profiled(profile: Profile, now: float) -> dict[str, float]:
    """The members of a flow's profile, as the control plane takes them."""
    counters = Counters(passed={"f": 5, "g": 1}, profiles={"f": profile})
    flows = telemetry_checked(Meter(now - 1.0).measure(now, counters, Stats()))["flows"]
    assert not any(name.startswith("profile") for name in flows["g"])
    members = flows["f"].items()
    return {name: value for name, value in members if name.startswith("profile_")}


def test_a_profile_is_reported_and_taken_as_far_as_it_is_bounded() -> None:
    profile = Profile(
        ProfileKey(rate_per_s=10.0, size=2.0, publishers=("p", "q"), is_settled=True),
        TokenBucket(rate_per_s=10.0, burst=2.0, now=50.0),
        50.0,
    )
    part = {"profile_rate_per_s": 10.0, "profile_size": 2.0, "profile_publishers": 2}
    assert profiled(profile, 51.0) == {"profile_s": 1.0, "profile_messages": 0, **part}

    def leave(at: float, *arrived_at: float) -> None:
        profile.count(at, arrived_at, Piece.of(at, arrived_at))

    # The third had to wait for a token until 60.1 and left 0.05 s later.
    leave(60.0, 60.0, 60.0)
    leave(60.15, 60.0)
    assert profiled(profile, 61.0) == {
        "profile_s": 11.0,
        "profile_messages": 3,
        **part,
        "profile_mean_s": pytest.approx(0.05),
        "profile_mean_low_s": 0.0,
        "profile_independent": 0.0,
        "profile_p99_s": pytest.approx(0.15),
        "profile_p99_low_s": 0.0,
        "profile_own_p99_s": pytest.approx(0.05),
        "profile_own_p99_low_s": 0.0,
    }
    for second in range(70, 8_070):
        leave(second + 0.2, second)
    known = profiled(profile, 9_000.0)
    assert known["profile_messages"] == 8_003
    assert known["profile_independent"] > 2_000
    for name in ("profile", "profile_own"):
        assert known[f"{name}_p99_low_s"] == pytest.approx(0.2, rel=0.05)
        assert known[f"{name}_p99_high_s"] == pytest.approx(0.2, rel=0.05)
    assert known["profile_mean_low_s"] < known["profile_mean_s"] < known["profile_mean_high_s"]
    assert known["profile_mean_high_s"] == pytest.approx(0.2, rel=0.01)


def test_what_a_gate_held_back_while_it_was_shut_is_no_part_of_the_profile() -> None:
    key = ProfileKey(rate_per_s=10.0, size=1.0, publishers=None, is_settled=True)
    profile = Profile(key, TokenBucket(rate_per_s=10.0, burst=1.0, now=0.0), 0.0)
    profile.opened(5.0)
    early, later = [4.0, 4.5, 4.9], [5.0, 5.1, 5.8, 5.85]
    profile.count(6.0, [*early, *later], Piece.of(6.0, [*early, *later]))
    # Those of before take the tokens of 5.0, 5.1 and 5.2, so that two more wait for theirs until
    # 5.4; the first that finds one is that of 5.8.
    assert profile.whole.messages == profile.own.messages == 2
    assert profile.whole.longest_s == pytest.approx(0.2)
    assert profile.own.longest_s == pytest.approx(0.2)
    assert profile.began_at == 5.8
    profile.count(6.4, [6.4], Piece.of(6.4, [6.4]))
    assert profile.whole.messages == 3


def test_a_flow_without_backlog_was_offered_what_passed() -> None:
    told = Meter(0.0).measure(2.0, Counters(passed={"f": 10}), Stats(ingress_shed={"g": 4}))
    assert told["flows"]["f"] == {
        "offered_per_s": 5.0,
        "passed_per_s": 5.0,
        "shed_per_s": 0.0,
        "backlog": 0,
        "backlog_peak": 0,
    }
    # The broker threw it away before anybody looked.
    assert told["flows"]["g"]["offered_per_s"] == 0.0


def test_backlog_of_a_flow_counts_what_waits_in_the_agent() -> None:
    stats = Stats(ingress_backlog={"f": 3})
    told = Meter(0.0).measure(1.0, Counters(waiting={"f": 5}), stats)
    assert told["flows"]["f"]["backlog"] == 5


def test_the_largest_backlog_is_that_of_all_looks_of_the_last_ten_seconds() -> None:
    chance = random.Random(1)
    meter, counters = Meter(0.0), Counters(passed={"f": 0}, sent={"b": 0})
    looks: list[tuple[float, int, int]] = []
    for second in range(1, 60):
        at = second + chance.uniform(-0.2, 0.2)
        waiting, unsent = (chance.choice([0, 0, 1, chance.randrange(9_000)]) for _ in range(2))
        looks.append((at, waiting, unsent))
        stats = Stats(ingress_backlog={"f": waiting}, outbox_backlog={"b": unsent})
        if second % 5:
            meter.look(at, counters, stats)
            continue
        sample = telemetry_checked(meter.measure(at, counters, stats))
        last = [look for look in looks if at - look[0] < PEAK_S]
        assert sample["flows"]["f"]["backlog"] == waiting
        assert sample["flows"]["f"]["backlog_peak"] == max(look[1] for look in last)
        assert sample["links"]["b"]["backlog_peak"] == max(look[2] for look in last)


def test_what_waits_in_the_agent_counts_for_the_largest_backlog() -> None:
    meter = Meter(0.0)
    meter.look(1.0, Counters(waiting={"f": 5}), Stats(ingress_backlog={"f": 3}))
    sample = meter.measure(2.0, Counters(waiting={"f": 0}), Stats())
    assert (sample["flows"]["f"]["backlog"], sample["flows"]["f"]["backlog_peak"]) == (0, 5)


@pytest.mark.parametrize(
    ("report_every_s", "look_s"), [(0.1, 1.0), (1.0, 1.0), (5.0, 1.0), (50.0, 5.0)]
)
def test_an_agent_looks_every_second_but_not_much_more_often_than_it_reports(
    report_every_s: float, look_s: float
) -> None:
    assert look_interval_s(report_every_s) == look_s


def test_a_backlog_that_shrinks_was_not_offered_again() -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(passed={"f": 0}), Stats(ingress_backlog={"f": 50}))
    told = meter.measure(2.0, Counters(passed={"f": 50}), Stats())
    assert told["flows"]["f"]["offered_per_s"] == 0
    assert told["flows"]["f"]["passed_per_s"] == 50.0


def test_a_counter_that_fell_has_no_rate() -> None:
    meter = Meter(0.0)
    gold = {"gold": ClassAdmission(limit=None, admitted=1, waiting=0)}
    meter.measure(1.0, Counters(), Stats(in_messages=1000, classes=gold, delivered={"gold": 900}))
    told = meter.measure(
        2.0, Counters(), Stats(in_messages=990, classes=gold, delivered={"gold": 850})
    )
    assert "in_msgs_per_s" not in told["broker"]
    assert told["classes"]["gold"] == {"admitted": 1, "waiting": 0}
    told = meter.measure(
        3.0, Counters(), Stats(in_messages=995, classes=gold, delivered={"gold": 860})
    )
    assert told["broker"]["in_msgs_per_s"] == 5.0
    assert told["classes"]["gold"]["delivered_per_s"] == 10.0


def test_what_a_broker_counted_before_the_agent_came_is_no_rate() -> None:
    meter = Meter(0.0)
    before = Stats(
        in_messages=10**6,
        out_messages=10**7,
        ingress_shed={"f": 500},
        ingress_backlog={"f": 17_049},
        delivered={"gold": 166_724},
        classes={"gold": ClassAdmission(limit=None, admitted=3, waiting=0)},
    )
    told = meter.measure(1.0, Counters(passed={"f": 8}), before)
    assert told["flows"]["f"] == {
        "offered_per_s": 8.0,
        "passed_per_s": 8.0,
        "shed_per_s": 0.0,
        "backlog": 17_049,
        "backlog_peak": 17_049,
    }
    assert told["classes"]["gold"] == {"admitted": 3, "waiting": 0}
    assert not {"in_msgs_per_s", "out_msgs_per_s"} & told["broker"].keys()


def test_a_class_that_goes_and_comes_again_brings_no_burst() -> None:
    meter = Meter(0.0)
    gold = {"gold": ClassAdmission(limit=None, admitted=1, waiting=0)}
    for second, classes, given in ((1.0, gold, 5000), (2.0, {}, 5000), (3.0, gold, 5010)):
        told = meter.measure(second, Counters(), Stats(classes=classes, delivered={"gold": given}))
    assert told["classes"]["gold"]["delivered_per_s"] == 10.0


def test_a_broker_that_was_restarted_counts_from_its_beginning() -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(), Stats(out_messages=9000, life="one", read_at=101.0))
    again = Stats(out_messages=60, life="two", read_at=104.0, began_at=102.0)
    told = meter.measure(4.0, Counters(), again)
    assert told["broker"]["out_msgs_per_s"] == 20.0


def test_what_a_killed_broker_delivered_after_its_last_reading_is_in_no_rate() -> None:
    meter = Meter(0.0)
    gold = {"gold": ClassAdmission(limit=None, admitted=1, waiting=0)}
    before = Stats(
        out_messages=9000,
        delivered={"gold": 8000},
        classes=gold,
        life="one",
        read_at=101.0,
        delivered_at=100.9,
    )
    meter.measure(1.0, Counters(), before)
    again = Stats(
        out_messages=60,
        delivered={"gold": 30},
        classes=gold,
        life="two",
        read_at=104.0,
        delivered_at=103.9,
        began_at=102.0,
    )
    sample = meter.measure(4.0, Counters(), again)
    assert sample["broker"]["out_msgs_per_s"] == 20.0
    assert sample["classes"]["gold"]["delivered_per_s"] == pytest.approx(10.0)


def test_what_was_sent_between_the_two_counts_counts_for_the_next_sample() -> None:
    meter = Meter(0.0)

    def load(read_at: float, out: int, before: int, life: str = "one") -> dict[str, float]:
        stats = Stats(out_messages=out, out_before=before, life=life, read_at=read_at, began_at=0.5)
        broker = meter.measure(read_at, Counters(), stats)["broker"]
        return {name: broker[name] for name in ("out_msgs_per_s", "out_most_per_s")}

    meter.measure(1.0, Counters(), Stats(out_messages=100, out_before=40, life="one", read_at=1.0))
    assert load(2.0, 110, 110) == {"out_msgs_per_s": 10.0, "out_most_per_s": 70.0}
    # The same reading, looked at again.
    assert load(2.0, 110, 110) == {"out_msgs_per_s": 10.0, "out_most_per_s": 70.0}
    assert load(4.0, 150, 110) == {"out_msgs_per_s": 20.0, "out_most_per_s": 20.0}
    assert load(5.0, 151, 151)["out_most_per_s"] == 41.0


def test_bytes_of_the_broker_are_rates_of_one_life() -> None:
    meter = Meter(0.0)

    def rates(now: float, **totals: Any) -> tuple[Any, Any]:
        broker = telemetry_checked(meter.measure(now, Counters(), Stats(**totals)))["broker"]
        return broker.get("in_bytes_per_s"), broker.get("out_bytes_per_s")

    one = {"life": "one", "began_at": 0.0}
    assert rates(1.0, in_bytes=7_000, out_bytes=10**9, read_at=1.0, **one) == (None, None)
    assert rates(2.0, in_bytes=7_500, out_bytes=10**9, read_at=2.0, **one) == (500.0, 0.0)
    # Restarted since the last reading, and then a life of which only its totals are known.
    two = {"life": "two", "began_at": 3.0}
    assert rates(4.0, in_bytes=60, out_bytes=80, read_at=4.0, **two) == (30.0, 40.0)
    three = {"life": "three"}
    assert rates(5.0, in_bytes=10**9, out_bytes=10**9, read_at=5.0, **three) == (None, None)
    # A product that does not count them, or not any more.
    assert rates(6.0, read_at=6.0, **three) == (None, None)


@pytest.mark.parametrize("began_at", [90.0, None])
def test_another_life_that_began_before_the_last_reading_has_no_rate(
    began_at: float | None,
) -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(), Stats(out_messages=10, life="one", read_at=101.0))
    told = meter.measure(
        2.0,
        Counters(),
        Stats(out_messages=50_000, life="two", read_at=102.0, began_at=began_at),
    )
    assert "out_msgs_per_s" not in told["broker"]


def test_rates_are_over_the_time_between_readings_not_between_looks() -> None:
    meter = Meter(0.0)
    gold = {"gold": ClassAdmission(limit=None, admitted=1, waiting=0)}

    def told(now: float, read_at: float, count: int) -> tuple[float | None, float | None]:
        stats = Stats(
            out_messages=count,
            read_at=read_at,
            delivered={"gold": count},
            delivered_at=read_at,
            classes=gold,
        )
        said = meter.measure(now, Counters(), stats)
        return said["broker"].get("out_msgs_per_s"), said["classes"]["gold"].get("delivered_per_s")

    told(1.0, 100.9, 1000)
    assert told(2.0, 101.9, 1100) == (100.0, 100.0)
    # Nobody has read since: neither silence nor, afterwards, a burst.
    assert told(3.0, 101.9, 1100) == (100.0, 100.0)
    assert told(4.0, 103.9, 1300) == (100.0, 100.0)
    # For long: not known.
    assert told(8.0, 103.9, 1300) == (None, None)
    assert told(14.0, 113.9, 2300) == (100.0, 100.0)


def test_a_backlog_that_could_not_be_read_is_no_burst_afterwards() -> None:
    meter = Meter(0.0)
    passed = Counters(passed={"f": 0}, sent={"b": 0})
    held = Stats(ingress_backlog={"f": 9_000}, outbox_backlog={"b": 70})
    meter.measure(1.0, passed, held)
    missed = meter.measure(2.0, passed, Stats(streams_read=False))
    assert missed["flows"]["f"]["backlog"] == 9_000
    assert missed["links"]["b"]["backlog"] == missed["links"]["b"]["backlog_peak"] == 70
    told = meter.measure(3.0, passed, held)
    assert told["flows"]["f"]["offered_per_s"] == 0


def test_sizes_and_acknowledgements_are_means_of_the_interval() -> None:
    meter = Meter(0.0)
    first = Counters(passed={"f": 1}, sized={"f": (100, 1)}, acked={"f": (0.5, 5)})
    meter.measure(1.0, first, Stats())
    second = Counters(passed={"f": 9}, sized={"f": (700, 4)}, acked={"f": (0.7, 15)})
    told = meter.measure(2.0, second, Stats(cpu_ratio=0.2, cores=4))
    assert told["flows"]["f"]["message_bytes"] == pytest.approx(600 / 3)
    assert told["flows"]["f"]["passed_bytes_per_s"] == pytest.approx(600)
    assert told["flows"]["f"]["ack_s"] == pytest.approx(0.02)
    assert told["broker"]["cores"] == 4
    assert telemetry_checked(told)["flows"]["f"]["ack_s"] == pytest.approx(0.02)
    quiet = meter.measure(3.0, second, Stats())["flows"]["f"]
    assert "message_bytes" not in quiet
    assert quiet["passed_bytes_per_s"] == 0.0
    assert "ack_s" not in quiet


def test_bytes_that_another_process_counted_are_no_rate() -> None:
    meter = Meter(0.0)
    meter.measure(1.0, Counters(passed={"f": 9}, sized={"f": (9_000, 9)}), Stats())
    fell = meter.measure(2.0, Counters(passed={"f": 1}, sized={"f": (70, 1)}), Stats())
    assert "passed_bytes_per_s" not in fell["flows"]["f"]
    goes_on = meter.measure(3.0, Counters(passed={"f": 3}, sized={"f": (270, 3)}), Stats())
    assert goes_on["flows"]["f"]["passed_bytes_per_s"] == 200.0
    assert goes_on["flows"]["f"]["message_bytes"] == 100.0


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


def test_limits_of_a_flow_and_its_broker_are_told_where_the_product_sets_them() -> None:
    stats = Stats(
        ingress_backlog={"f": 20, "g": 1},
        ingress_room={
            "f": Room(size_bytes=4_000, most_messages=100_000),
            "g": Room(size_bytes=80, most_bytes=1_000, keep_s=60.0),
        },
        stored_bytes=9_000,
        most_stored_bytes=10_000,
    )
    told = telemetry_checked(Meter(0.0).measure(1.0, Counters(passed={"f": 1, "g": 1}), stats))
    flows = told["flows"]
    assert (flows["f"]["backlog_bytes"], flows["f"]["most_messages"]) == (4_000, 100_000)
    assert not {"most_bytes", "keep_s"} & flows["f"].keys()
    assert (flows["g"]["most_bytes"], flows["g"]["keep_s"]) == (1_000, 60.0)
    assert told["broker"]["stored_bytes"] == 9_000
    assert told["broker"]["most_stored_bytes"] == 10_000


def test_a_limit_that_nobody_sets_is_left_out() -> None:
    told = Meter(0.0).measure(1.0, Counters(passed={"f": 1}), Stats(ingress_backlog={"f": 20}))
    assert (
        not {"backlog_bytes", "most_messages", "most_bytes", "keep_s"} & told["flows"]["f"].keys()
    )
    assert not {"stored_bytes", "most_stored_bytes"} & told["broker"].keys()
