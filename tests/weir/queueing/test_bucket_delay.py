"""What splitting a token bucket costs: the paper's proposition, its limits, and exact laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.errors import InvalidProblem
from weir.queueing.bucket_delay import (
    SubBucket,
    free_split_penalty_s,
    smallest_free_size,
    split_mean_s,
    split_quantile_s,
    split_tail,
)
from weir.queueing.periodic_work import PeriodicWork
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.traces import delays_s, work_over

RATE = 10_000.0


def parts(count: int, size: float, utilisation: float = 0.9, batch: int = 1) -> list[SubBucket]:
    """Return an equal split of a bucket of `size`."""
    return [
        SubBucket(
            rate_per_s=RATE / count,
            size=size / count,
            messages_per_s=utilisation * RATE / count,
            work=PoissonWork(utilisation, batch),
        )
    ] * count


def test_equation_1_of_the_paper_is_exact_for_a_bucket_of_one_alone() -> None:
    work = PoissonWork(0.9)

    def equation_1(size: float) -> float:
        return work.tail(size - 1) / (2 * RATE * (1 - 0.9))

    def exact(size: float) -> float:
        return split_mean_s(parts(1, size))

    # At b = 1: whoever finds work waits what a plain queue makes them wait.
    assert equation_1(1.0) == pytest.approx(exact(1.0), rel=1e-12)
    assert equation_1(20.0) < 0.98 * exact(20.0) or equation_1(20.0) > 1.02 * exact(20.0)


@pytest.mark.parametrize("count", [2, 3, 6])
@pytest.mark.parametrize("batch", [1, 10])
@pytest.mark.parametrize("utilisation", [0.3, 0.9, 0.999])
def test_a_free_bucket_split_equally_waits_k_minus_one_times_its_size(
    count: int, batch: int, utilisation: float
) -> None:
    work = PoissonWork(utilisation, batch)
    free = smallest_free_size(work)
    assert split_quantile_s(parts(1, free, utilisation, batch), 0.99) == pytest.approx(0, abs=1e-12)
    split = split_quantile_s(parts(count, free, utilisation, batch), 0.99)
    assert split == pytest.approx((count - 1) * free / RATE, rel=1e-9)
    assert split == pytest.approx(
        free_split_penalty_s(work, rate_per_s=RATE, parts=count), rel=1e-9
    )
    # It stays free only where each part keeps the whole size.
    kept = parts(count, count * free, utilisation, batch)
    assert split_quantile_s(kept, 0.99) == pytest.approx(0, abs=1e-12)


def test_the_law_holds_for_periodic_senders_of_one_size_too() -> None:
    work = PeriodicWork(0.9, senders=50, batch=2)
    part = SubBucket(rate_per_s=1.0, size=1.0, messages_per_s=0.9, work=work)
    assert part.quantile_s(0.99) == pytest.approx(work.quantile(0.99), rel=1e-12)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_a_split_never_lowers_the_sum_of_delays(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 60))
    gaps = data.draw(st.lists(st.floats(0.0, 3.0), min_size=count, max_size=count))
    times = np.cumsum(gaps)
    brokers = data.draw(st.integers(2, 4))
    where = np.array(
        data.draw(st.lists(st.integers(0, brokers - 1), min_size=count, max_size=count))
    )
    size = data.draw(st.floats(1.0, 8.0))
    weights = np.array(
        data.draw(st.lists(st.floats(0.05, 1.0), min_size=brokers, max_size=brokers))
    )
    shares = weights / weights.sum()
    one = delays_s(work_over(times, 1.0)[0], rate_per_s=1.0, size=size).sum()
    split = sum(
        delays_s(work_over(times[where == at], share)[0], rate_per_s=share, size=size * share).sum()
        for at, share in enumerate(shares)
    )
    assert split >= one * (1 - 1e-9) - 1e-9


def test_a_split_can_lower_the_99th_percentile() -> None:
    # 50 at once, then exactly as many as tokens: all wait alike. One in 200 of them, sent to a
    # small part where they wait for days, relieves all others.
    times = np.concatenate([np.zeros(50), np.arange(1.0, 200_001.0)])
    one = delays_s(work_over(times, 1.0)[0], rate_per_s=1.0, size=1.0)
    small = np.arange(len(times)) % 200 == 199
    main = delays_s(work_over(times[~small], 0.999)[0], rate_per_s=0.999, size=0.5)
    rest = delays_s(work_over(times[small], 0.001)[0], rate_per_s=0.001, size=0.5)
    both = np.concatenate([main, rest])
    assert np.quantile(both, 0.99) < 0.95 * np.quantile(one, 0.99)
    assert both.sum() > one.sum()


def test_a_message_waits_for_a_whole_token_where_the_share_is_below_one() -> None:
    part = SubBucket(rate_per_s=10.0, size=0.25, messages_per_s=5.0, work=PoissonWork(0.5))
    # Whoever finds nothing ahead waits for three quarters of a token; P(U > 0) is the utilisation.
    assert part.tail(0.0749) == 1.0
    assert part.tail(0.075) == pytest.approx(0.5)
    assert part.mean_s() == pytest.approx((0.5 + 0.75) / 10, rel=1e-12)


def test_percentile_of_an_uneven_split_lies_between_those_of_its_parts() -> None:
    work = PoissonWork(0.9)
    uneven = [
        SubBucket(rate_per_s=9_000, size=18, messages_per_s=8_100, work=work),
        SubBucket(rate_per_s=1_000, size=2, messages_per_s=900, work=work),
    ]
    together = split_quantile_s(uneven, 0.99)
    assert uneven[0].quantile_s(0.99) < together < uneven[1].quantile_s(0.99)
    assert split_tail(uneven, together) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("digits", range(1, 13))
def test_a_bucket_a_little_under_the_free_size_waits_next_to_nothing(digits: int) -> None:
    work = PoissonWork(0.99, 10)
    size = round(smallest_free_size(work), digits)
    part = SubBucket(rate_per_s=0.1, size=size, messages_per_s=0.099, work=work)
    assert 0 <= split_quantile_s([part], 0.99) <= 10.0 ** (1 - digits) + 1e-9
    assert 0 <= split_quantile_s([part, part], 0.99) <= 10.0 ** (1 - digits) + 1e-9


@pytest.mark.parametrize(("field", "value"), [("rate_per_s", 0.0), ("size", -1.0)])
def test_bad_part_names_the_field(field: str, value: float) -> None:
    given_ = {"rate_per_s": 1.0, "size": 1.0, field: value}
    with pytest.raises(InvalidProblem, match=field):
        SubBucket(messages_per_s=0.5, work=PoissonWork(0.5), **given_)
