"""What simplifying a prediction costs: coarser batches, groups that send not quite at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.placement.problems import problem
from weir.placement._prediction import burstiness_of, predicted, rounded_up
from weir.placement.moves import price_of_moves
from weir.placement.options import option
from weir.placement.what_if import WhatIf, changed
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.traces import delays_s, quantile_of, work_over

sizes = st.dictionaries(st.integers(1, 60), st.floats(0.001, 1.0), min_size=1, max_size=5)


@settings(deadline=None, max_examples=150)
@given(sizes, st.integers(1, 25), st.floats(0.02, 0.99))
def test_rounding_batches_up_lowers_no_tail_and_keeps_the_messages(
    rates: dict[int, float], grid: int, utilisation: float
) -> None:
    coarse = rounded_up(rates, grid)
    assert all(size % grid == 0 for size in coarse)
    messages = [sum(size * events for size, events in each.items()) for each in (rates, coarse)]
    assert messages[0] == pytest.approx(messages[1], rel=1e-12)
    values = np.linspace(0.0, 300.0, 97)
    exact, above = (PoissonWork(utilisation, each).tails(values) for each in (rates, coarse))
    assert (above >= exact * (1 - 1e-9)).all()


@pytest.mark.parametrize("utilisation", [0.4, 0.8])
def test_rounding_batches_up_predicts_more_than_a_simulation_sees(utilisation: float) -> None:
    rates = {1: 0.6, 7: 0.04, 40: 0.004}
    rng = np.random.default_rng(8)
    length_s = 4_000_000.0
    faster = utilisation / sum(size * events for size, events in rates.items())
    times = [
        np.repeat(rng.uniform(0.0, length_s, rng.poisson(events * faster * length_s)), size)
        for size, events in rates.items()
    ]
    work, _ = work_over(np.sort(np.concatenate(times)), 1.0)
    estimate = quantile_of(work, 0.99, confidence=0.999)
    assert estimate.conclusive
    assert PoissonWork(utilisation, rounded_up(rates, 12)).quantile(0.99) > estimate.high


@settings(deadline=None, max_examples=60)
@given(st.integers(513, 3_000), st.floats(0.1, 0.95))
def test_blocks_of_places_move_a_percentile_by_half_a_block(
    longest: int, utilisation: float
) -> None:
    value = PoissonWork(utilisation, longest).quantile(0.99)
    # The same with every place looked at: batches of one, as many times as large.
    one = PoissonWork(utilisation)
    half_block = (longest / 512 + 1) / 2
    below, above = (
        float(one.tails((at - np.arange(longest)) / longest).mean())
        for at in (value - half_block, value + half_block)
    )
    assert above <= 0.01 <= below


@pytest.mark.parametrize("spread_s", [0.001, 0.005, 0.02])
@pytest.mark.parametrize("utilisation", [0.3, 0.7, 0.9])
@pytest.mark.parametrize("members", [5, 40])
def test_a_group_waits_less_where_its_messages_are_spread_over_milliseconds(
    members: int, utilisation: float, spread_s: float
) -> None:
    rng = np.random.default_rng(9)
    events = np.sort(rng.uniform(0.0, 20_000 * members / 1_000.0, 20_000))
    at_once = np.repeat(events, members)
    spread = np.sort(at_once + rng.uniform(0.0, spread_s, len(at_once)))
    # The same events in both: what differs is the spread, not the draw.
    together, apart = (
        np.quantile(work_over(each, 1_000.0 / utilisation)[0], [0.5, 0.9, 0.99])
        for each in (at_once, spread)
    )
    assert (apart < together).all()


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.floats(0.0, 2.0), min_size=1, max_size=60),
    st.floats(0.1, 3.0),
    st.floats(1.0, 8.0),
    st.integers(0, 1_000),
)
def test_messages_that_come_later_wait_longer_by_at_most_how_much_later_they_come(
    gaps: list[float], spread: float, size: float, seed: int
) -> None:
    times = np.cumsum(gaps)
    later = np.sort(times + np.random.default_rng(seed).uniform(0.0, spread, len(times)))
    waits, longer = (
        delays_s(work_over(each, 1.0)[0], rate_per_s=1.0, size=size) for each in (times, later)
    )
    assert (longer <= waits + spread + 1e-9).all()


@settings(deadline=None, max_examples=40)
@given(
    recorded=st.floats(2.0, 400.0),
    brokers=st.sampled_from([1, 2, 4]),
    batch=st.sampled_from([1, 3]),
)
def test_a_recorded_bucket_is_free_and_split_it_waits_as_long_as_any_other(
    recorded: float, brokers: int, batch: int
) -> None:
    topic = {"bucket": recorded, "recorded_bucket": recorded, "batch": batch}
    given_ = problem([5.0] * 40, [500.0] * brokers, topic=topic)
    places = np.arange(40) % brokers
    split = predicted(given_, places, method="srtm")
    # (k - 1) b0 / r, whatever the traffic: SRTM, section 2.1.
    law = (brokers - 1) * recorded / given_.contract.token_rate_per_s
    assert split.p99_s == pytest.approx(law, rel=1e-6, abs=1e-9)
    shown = option(given_, tuple(range(brokers)), places)
    assert shown.free_bucket == pytest.approx(brokers * recorded, rel=1e-9)


def test_what_is_changed_of_a_topic_leaves_it_as_bursty_as_it_was_recorded() -> None:
    topic = {"bucket": 90.0, "recorded_bucket": 30.0, "batch": 5}
    given_ = problem([5.0] * 40, [500.0, 500.0], topic=topic)
    for each in (WhatIf(token_rate_per_s=300.0), WhatIf(batch=20), WhatIf(rate_per_s=120.0)):
        other = changed(given_, each)
        assert burstiness_of(other) == pytest.approx(burstiness_of(given_), rel=1e-9)
        assert other.contract.recorded_bucket != pytest.approx(30.0, rel=1e-3)


def test_moves_are_priced_by_what_was_recorded() -> None:
    topic = {"bucket": 60.0, "batch": 5}
    more = {"previous": {f"p{at:04}": f"b{at % 2}" for at in range(40)}}
    prices = []
    for recorded in (None, 60.0):
        given_ = problem(
            [5.0] * 40, [500.0] * 4, topic={**topic, "recorded_bucket": recorded}, more=more
        )
        placement = predicted(given_, (np.arange(40) + 1) % 4, method="srtm")
        prices.append(price_of_moves(given_, placement).p99_s)
    assert prices[0] is not None
    assert prices[1] is not None
    assert prices[1] < 0.8 * prices[0]
