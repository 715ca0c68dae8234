"""From a target on the round trip to rates: the range, the curve, the way back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.queueing.mva import closed_station
from weir.utility.latency import Latency

PAPER = Latency(max_utility=6000, threshold_s=0.5, senders=20, think_s=0.1, exec_s=0.008)


@st.composite
def targets(draw: st.DrawFn) -> Latency:
    exec_s = draw(st.floats(1e-4, 1.0))
    return Latency(
        max_utility=draw(st.floats(0.1, 1e4)),
        threshold_s=exec_s * draw(st.floats(1.01, 1e3)),
        senders=draw(st.integers(1, 300)),
        think_s=draw(st.just(0.0) | st.floats(1e-4, 5)),
        exec_s=exec_s,
    )


some = settings(deadline=None, max_examples=60)


def test_range_and_knots_of_the_paper() -> None:
    assert PAPER.rate_min_per_s == pytest.approx(20 / 0.6)
    assert PAPER.rate_max_per_s == pytest.approx(1.1 * 20 / 0.108)
    expected = [(33.333, 0.0), (125.0, 5253.69), (203.704, 5904.0)]
    for knot, right in zip(PAPER.knots, expected, strict=True):
        assert knot == pytest.approx(right, abs=0.01)


def test_round_trip_at_the_papers_rates() -> None:
    # 250 and 375 msg/s lie above r_max; the station itself knows them (test_mva).
    assert float(PAPER.response_s(125)) == pytest.approx(0.062193, abs=5e-7)
    assert float(PAPER.response_s(PAPER.rate_min_per_s)) == pytest.approx(0.5)
    assert float(PAPER.response_s(250)) == pytest.approx(0.008)
    assert math.isinf(float(PAPER.response_s(0)))


@some
@given(targets())
def test_worth_is_that_of_the_round_trip(target: Latency) -> None:
    rates = np.linspace(target.rate_min_per_s, 1.2 * target.rate_max_per_s, 40)
    worth = target.max_utility * (1 - target.response_s(rates) / target.threshold_s)
    np.testing.assert_allclose(
        target.value(rates), worth, rtol=1e-9, atol=1e-9 * target.max_utility
    )


@some
@given(targets())
def test_more_rate_never_means_a_longer_round_trip(target: Latency) -> None:
    rates = np.geomspace(1e-3 * target.rate_min_per_s, 2 * target.rate_max_per_s, 80)
    waits = target.response_s(rates)
    assert np.all(np.diff(waits) <= 1e-9 * waits[:-1])
    assert np.all(waits >= target.exec_s * (1 - 1e-9))


@some
@given(targets())
def test_the_hull_never_promises_less_than_the_station(target: Latency) -> None:
    for servers in range(1, 4):
        rate = servers / target.exec_s
        if not target.rate_min_per_s < rate < target.rate_max_per_s:
            continue
        station = closed_station(
            senders=target.senders,
            think_s=target.think_s,
            exec_s=target.exec_s,
            servers=servers,
        )
        assert float(target.response_s(rate)) <= station.response_s * (1 + 1e-9)


@pytest.mark.parametrize("threshold_s", [0.5, 1000.0])
@pytest.mark.parametrize("think_s", [0.0, 0.1])
@pytest.mark.parametrize("senders", [300, 10_000])
def test_thinned_knots_stay_close_to_the_station(
    senders: int, think_s: float, threshold_s: float
) -> None:
    target = Latency(
        max_utility=1, threshold_s=threshold_s, senders=senders, think_s=think_s, exec_s=0.008
    )
    ends = target.rate_min_per_s * 0.008, target.rate_max_per_s * 0.008
    for servers in np.unique(np.geomspace(*ends, 50).astype(int))[1:-1]:
        station = closed_station(
            senders=senders, think_s=think_s, exec_s=0.008, servers=int(servers)
        )
        late = float(target.response_s(servers / 0.008)) - station.response_s
        assert late <= 0.01 * (think_s + station.response_s)
