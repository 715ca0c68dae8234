"""What simplifying a prediction costs: coarser batches, groups that send not quite at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.placement._prediction import rounded_up
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
