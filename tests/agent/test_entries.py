"""What gates let in against the broker's own total, which is read at other moments."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from agent.drivers.base import Stats
from agent.entries import Entries
from agent.telemetry import Counters, Meter
from apps.telemetry.domain.payload import gates_contradiction, telemetry_checked

BEFORE = 10**6
"""What the broker had counted before anybody looked."""


def walked(
    seed: int, factor: int, *, report_every_s: float, read_every_s: float
) -> list[dict[str, float]]:
    """What is compared over a minute of bursts of which gates count each message `factor` times."""
    chance = random.Random(seed)
    arrivals = sorted(
        chance.gauss(burst, 0.05) for burst in range(2, 60, 2) for _ in range(chance.randrange(900))
    )

    def moments(every_s: float) -> Sequence[float]:
        return [every_s * (number + chance.uniform(-0.4, 0.4)) for number in range(1, 60)]

    readings = moments(read_every_s)
    entries, rows, before = Entries(), [], 0
    for at in moments(report_every_s):
        came = sum(arrival <= at for arrival in arrivals)
        read_at = max((moment for moment in readings if moment <= at), default=0.0)
        total = BEFORE + sum(arrival <= read_at for arrival in arrivals)
        entries.report(at, factor * (came - before), read_at=read_at, total=total, life="one")
        rows.append(entries.compared())
        before = came
    return [row for row in rows if row]


@pytest.mark.parametrize(("report_every_s", "read_every_s"), [(1.0, 1.0), (5.0, 1.0), (0.3, 1.0)])
def test_what_entered_is_never_more_than_came_around_it(
    report_every_s: float, read_every_s: float
) -> None:
    for seed in range(20):
        rows = walked(seed, 1, report_every_s=report_every_s, read_every_s=read_every_s)
        assert len(rows) > 20
        assert all(row["entered_per_s"] <= row["entered_most_per_s"] + 1e-9 for row in rows)


def test_nothing_that_entered_is_left_out_where_the_broker_is_read_seldom() -> None:
    entries, seen = Entries(), dict[float, dict[str, float]]()
    for second in range(1, 61):
        came = 100 if second == 7 else 0
        read_at = second // 5 * 5
        total = BEFORE + (100 if read_at >= 7 else 0)
        entries.report(second, came, read_at=read_at, total=total, life="one")
        if row := entries.compared():
            seen[second - row["entered_ago_s"]] = row
    assert sum(row["entered_per_s"] > 0 for row in seen.values()) == 1
    assert sorted(seen) == [1, *range(5, 60, 5)]


def test_what_is_counted_several_times_contradicts_the_broker() -> None:
    for seed in range(20):
        rows = walked(seed, 9, report_every_s=1.0, read_every_s=1.0)
        assert any(gates_contradiction(row) for row in rows)


def test_another_life_of_the_broker_is_not_compared_with_the_one_before() -> None:
    entries = Entries()
    for second in range(5):
        total = BEFORE + 10 * second
        entries.report(second, 10, read_at=second, total=total, life="one")
    assert entries.compared()["entered_most_per_s"] == 10.0
    entries.report(5.0, 10, read_at=5.0, total=7, life="two")
    assert entries.compared() == {}
    entries.report(6.0, 3, read_at=6.0, total=10, life="two")
    expected = {"entered_per_s": 3.0, "entered_most_per_s": 3.0, "entered_ago_s": 1.0}
    assert entries.compared() == expected


def test_a_product_that_counts_nothing_is_compared_with_nothing() -> None:
    entries = Entries()
    for second in range(5):
        entries.report(second, 10, read_at=second, total=0, life="")
    assert entries.compared() == {}


def test_a_meter_reports_what_is_compared_and_lets_a_backlog_pass() -> None:
    meter = Meter(0.0)

    def broker(now: float, passed: int, waiting: int, came: int) -> dict[str, float]:
        stats = Stats(in_messages=BEFORE + came, ingress_backlog={"f": waiting})
        sample = telemetry_checked(meter.measure(now, Counters(passed={"f": passed}), stats))
        assert "suspect" not in sample
        return sample["broker"]

    broker(1.0, 0, 0, 0)
    # What comes and waits has not entered yet, and what waited has not come again.
    assert broker(2.0, 100, 9_000, 9_100)["entered_per_s"] == 100.0
    last = broker(3.0, 9_100, 0, 9_100)
    assert (last["entered_per_s"], last["entered_most_per_s"]) == (0.0, 0.0)
    counters = Counters(passed={"f": 99_100})
    stats = Stats(in_messages=BEFORE + 9_150)
    sample = telemetry_checked(meter.measure(4.0, counters, stats))
    assert sample["suspect"] == (
        "Its gates let 90,000 messages a second in, and 50 came to the broker in all."
    )
