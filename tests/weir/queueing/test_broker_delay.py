"""Wait for tokens and processing together, beside simulations that know nothing of the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from weir.errors import InvalidProblem
from weir.queueing.broker_delay import (
    BrokerDelay,
    Tail,
    batch_of_others,
    mixed_quantile_s,
    processing,
)
from weir.queueing.bucket_delay import SubBucket
from weir.queueing.poisson_work import PoissonWork

Floats = NDArray[np.float64]

TOPIC, OTHERS, MAX_RATE = 30_000.0, 22_000.0, 80_000.0
TOKEN_RATE = 33_000.0
MESSAGES = 4_000_000


def at_broker(
    size: float,
    batch: int,
    *,
    token_rate: float = TOKEN_RATE,
    max_rate: float = MAX_RATE,
    others_per_s: float = OTHERS,
) -> BrokerDelay:
    return BrokerDelay(
        bucket=SubBucket(
            rate_per_s=token_rate,
            size=size,
            messages_per_s=TOPIC,
            work=PoissonWork(TOPIC / token_rate, batch),
        ),
        processing=processing(
            max_rate_per_s=max_rate, others_per_s=others_per_s, batches_per_s={batch: TOPIC / batch}
        ),
    )


def work_ahead(times: Floats, rate: float) -> Floats:
    """Return the messages ahead of each in a queue that serves `rate` of them a second."""
    slack = times * rate - np.arange(len(times))
    return np.maximum.accumulate(slack) - slack


def simulated(
    size: float,
    batch: int,
    seed: int,
    *,
    token_rate: float = TOKEN_RATE,
    max_rate: float = MAX_RATE,
    others_per_s: float = OTHERS,
) -> tuple[Floats, Floats, Floats]:
    """Return waits, processing had there been no bucket, and processing behind the bucket."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum(rng.exponential(batch / TOPIC, MESSAGES // batch))
    times = np.repeat(starts, batch)
    count = int(times[-1] * others_per_s)
    others = np.cumsum(rng.exponential(1 / max(others_per_s, 1.0), count))
    waits = np.maximum(work_ahead(times, token_rate) - (size - 1.0), 0.0) / token_rate

    def processed(arriving: Floats) -> Floats:
        both = np.concatenate([arriving, others])
        order = np.argsort(both, kind="stable")
        ahead = work_ahead(both[order], max_rate)
        out: Floats = (ahead[order < len(arriving)] + 1.0) / max_rate
        return out

    return waits, processed(times), processed(np.maximum.accumulate(times + waits))


@pytest.mark.parametrize(("size", "batch"), [(4.0, 1), (16.0, 1), (16.0, 8), (60.0, 8)])
def test_the_99th_percentiles_are_those_of_a_simulation(size: float, batch: int) -> None:
    part = at_broker(size, batch)
    waits, alone, behind = simulated(size, batch, seed=5)
    rng = np.random.default_rng(6)
    both = np.quantile(waits + rng.permutation(alone), 0.99)
    tandem = np.quantile(waits + behind, 0.99)

    assert part.processing.quantile_s(0.99) == pytest.approx(np.quantile(alone, 0.99), rel=0.04)
    assert part.late(0.99).quantile_s(0.99) == pytest.approx(both, rel=0.06)
    # Behind a bucket less is waited for processing: the prediction is on the safe side of that.
    assert 0.85 < tandem / part.late(0.99).quantile_s(0.99) < 1.06


def test_where_bucket_and_broker_are_nearly_full_the_prediction_is_much_too_large() -> None:
    """The bucket has smoothed what reaches the broker, which the prediction does not know of."""
    full = {"token_rate": TOPIC / 0.97, "max_rate": TOPIC / 0.95, "others_per_s": 0.0}
    waits, _, behind = simulated(20.0, 1, seed=7, **full)
    predicted = at_broker(20.0, 1, **full).late(0.99).quantile_s(0.99)
    assert 0.65 < np.quantile(waits + behind, 0.99) / predicted < 0.9


def test_without_a_wait_for_tokens_processing_is_all() -> None:
    part = at_broker(5_000.0, 4)
    alone = part.processing.quantile_s(0.99)
    assert part.late(0.99).quantile_s(0.99) == pytest.approx(alone, rel=2e-3)


def test_beside_a_very_fast_broker_the_wait_for_tokens_is_all() -> None:
    part = at_broker(10.0, 4, max_rate=1e9)
    wait = part.bucket.quantile_s(0.99)
    assert wait > 0
    assert part.late(0.99).quantile_s(0.99) == pytest.approx(wait, rel=2e-3)


@pytest.mark.parametrize("batches", [{1: 1.0}, {2: 3.0, 6: 1.0}, {4: 1.0, 10: 2.0}])
def test_the_messages_of_all_batches_are_those_of_each_size(batches: dict[int, float]) -> None:
    values = np.linspace(0.0, 60.0, 40)
    whole = sum(size * rate for size, rate in batches.items())
    parts = np.zeros(len(values))
    mean = 0.0
    for size, rate in batches.items():
        only = PoissonWork(0.85, batches, of={size: 1.0})
        parts += size * rate / whole * only.tails(values)
        mean += size * rate / whole * only.mean
    together = PoissonWork(0.85, batches)
    assert parts == pytest.approx(together.tails(values), rel=1e-12)
    assert mean == pytest.approx(together.mean, rel=1e-12)


def test_a_batch_that_does_not_come_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="of"):
        PoissonWork(0.5, {1: 1.0}, of={3: 1.0})


@pytest.mark.parametrize("max_rate", [TOPIC + OTHERS, 10.0])
def test_a_full_broker_is_refused(max_rate: float) -> None:
    with pytest.raises(InvalidProblem, match="max_rate_per_s"):
        at_broker(10.0, 1, max_rate=max_rate)


def test_beside_very_large_batches_others_send_several_messages_at_a_time() -> None:
    """Single ones would cost a level each, and add as little."""
    batches = {2_000: 3.0, 4_000: 3.0}
    part = processing(max_rate_per_s=80_000.0, others_per_s=20_000.0, batches_per_s=batches)
    single = PoissonWork(38_000 / 80_000, {**batches, 1: 20_000.0}, of=batches)
    assert part.work.quantile(0.99) == pytest.approx(single.quantile(0.99), rel=0.01)
    assert batch_of_others(batches) == 16
    assert batch_of_others({3: 1.0, 7: 1.0}) == 1
    assert batch_of_others({4_099: 1.0}) == 4_099


def test_messages_of_several_brokers_are_weighed_by_their_rates() -> None:
    grid = np.linspace(0.0, 10.0, 1001)
    fast, slow = (Tail(delays_s=grid, late=np.exp(-grid * pace)) for pace in (4.0, 1.0))

    def exact(rates: list[float]) -> float:
        low, high = 0.0, 20.0
        whole = sum(rates)
        for _ in range(80):
            middle = 0.5 * (low + high)
            late = (rates[0] * np.exp(-4 * middle) + rates[1] * np.exp(-middle)) / whole
            low, high = (middle, high) if late > 0.01 else (low, middle)
        return high

    for rates in ([1.0, 1.0], [99.0, 1.0], [1.0, 99.0]):
        assert mixed_quantile_s([fast, slow], rates, 0.99) == pytest.approx(exact(rates), rel=2e-3)
    assert mixed_quantile_s([slow, slow], [1.0, 5.0], 0.99) == pytest.approx(4.60517, rel=1e-3)
