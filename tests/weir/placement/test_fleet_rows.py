"""What the comparison of methods on real brokers makes of the REST API's answers."""

import numpy as np
import pytest

from benchmarks.srtm.fleet import WAITED_S, Run, Workload, computed_delays_s, line_of, row_of
from weir.queueing.token_bucket import TokenBucket

WORK = Workload(groups=2, size=4, rate_per_s=5.0)


def share(broker, publishers, wait_p99_s):
    return {
        "broker": broker,
        "publishers": publishers,
        "token_rate_per_s": 22.0 if publishers else None,
        "bucket": 4.0 if publishers else None,
        "wait_p99_s": wait_p99_s if publishers else None,
    }


def measured(broker, messages, p99_s, low_s, high_s):
    return {
        "broker": broker,
        "messages": messages,
        "seconds": 10.0,
        "p99_s": p99_s,
        "low_s": low_s,
        "high_s": high_s,
        "processing_p99_s": 0.002,
    }


def a_run(**changed):
    values = {
        "method": "srtm",
        "number": 2,
        "placement": {
            "name": "L-3",
            "outcome": {"shares": [share("a", 4, 0.3), share("b", 4, 0.5), share("c", 0, 0.0)]},
        },
        "measured": [
            measured("b", 300, p99_s=0.25, low_s=0.1, high_s=0.4),
            measured("a", 100, p99_s=0.75, low_s=0.5, high_s=None),
        ],
        "groups": {"a": {"x-1": 2, "x-2": 2}, "b": {"x-1": 2, "x-2": 2}},
        "seconds": 10.0,
        "sent": 400,
        "delays_s": np.array([0.001] * 392 + [2 * WAITED_S] * 6 + [4 * WAITED_S] * 2),
        "computed_s": {"a": np.array([0.0] * 100), "b": np.array([0.0] * 296 + [3 * WAITED_S] * 4)},
    }
    return Run(**{**values, **changed})


def test_a_row_is_of_the_slowest_broker_with_its_own_interval() -> None:
    row = row_of(a_run())
    assert (row["p99_s"], row["low_s"], row["high_s"]) == (0.75, 0.5, None)
    assert row["predicted_p99_s"] == 0.5
    assert row["computed_p99_s"] == pytest.approx(3 * WAITED_S)
    assert (row["brokers"], row["messages"]) == (2, 400)
    assert [part["broker"] for part in row["by_broker"]] == ["a", "b"]
    assert [part["p99_s"] for part in row["by_broker"]] == [0.75, 0.25]


def test_shares_and_percentiles_of_the_topic_are_of_all_its_messages() -> None:
    row = row_of(a_run())
    assert row["waited_share"] == pytest.approx(8 / 400)
    assert row["topic_p99_s"] == pytest.approx(2 * WAITED_S)
    assert row["computed_waited_share"] == pytest.approx(4 / 400)
    assert row["computed_topic_p99_s"] == 0.0
    assert "500 to -" in line_of(row)


def test_the_computed_waits_are_those_of_the_agents_own_token_bucket() -> None:
    moments = WORK.moments(40.0, seed=3)
    first, second = WORK.publishers
    groups = {"a": {first: 3, second: 1}, "b": {first: 1, second: 3}}
    rate, size = 22.0, 5.5
    computed = computed_delays_s(moments, groups, {"a": (rate, size), "b": (rate, size)})
    for broker, here in groups.items():
        bucket, at, waits = TokenBucket(rate_per_s=rate, burst=size, now=0.0), 0.0, []
        for moment, group in moments:
            for _ in range(here[group]):
                # One after the other, as messages queue at a gate.
                at = max(at, moment)
                at += bucket.wait_s(at, 1)
                assert bucket.take(at, 1) == 1
                waits.append(at - moment)
        assert max(waits) > 0.1
        assert computed[broker] == pytest.approx(waits, abs=1e-6)


def test_moments_are_of_the_rate_and_the_same_for_every_method() -> None:
    moments = WORK.moments(1000.0, seed=1)
    assert moments == WORK.moments(1000.0, seed=1)
    assert moments == sorted(moments)
    for group in WORK.publishers:
        count = sum(one == group for _, one in moments)
        assert count == pytest.approx(5000, abs=5 * 5000**0.5)
