"""Work ahead of a message with periodic senders: by hand, simulated, beside random ones."""

from __future__ import annotations

import numpy as np
import pytest

from weir.errors import InvalidProblem
from weir.queueing.periodic_work import PeriodicWork
from weir.queueing.poisson_work import PoissonWork


def test_two_senders_by_hand() -> None:
    # The other came s before, uniform over a period of 2 / 0.8: U = (1 - s)+.
    work = PeriodicWork(0.8, senders=2)
    for x in (0.0, 0.2, 0.7, 0.999):
        assert work.tail(x) == pytest.approx((1 - x) * 0.8 / 2, rel=1e-12)
    assert work.tail(1.0) == 0.0
    assert work.mean == pytest.approx(0.5 * 0.8 / 2, rel=1e-12)


def test_one_sender_waits_for_its_own_batch_alone() -> None:
    work = PeriodicWork(0.8, senders=1, batch=3)
    assert [work.tail(x) for x in (0.0, 1.0, 2.0)] == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert work.mean == pytest.approx(1.0)


@pytest.mark.parametrize(("senders", "batch"), [(3, 1), (6, 2)])
def test_as_simulated_with_random_phases(senders: int, batch: int) -> None:
    utilisation, runs = 0.9, 60_000
    period = senders * batch / utilisation
    phases = np.random.default_rng(1).uniform(0.0, period, (runs, senders - 1))
    # The batch at 0 sees who came within the period before it: sup over s of arrivals - s.
    since = np.sort(phases, axis=1)
    counts = batch * np.arange(1, senders)
    waiting = np.maximum((counts - since).max(axis=1), 0.0)
    before = np.random.default_rng(2).integers(0, batch, runs)
    work = PeriodicWork(utilisation, senders, batch)
    for x in (0.0, 0.5, 1.5, 3.0):
        share = float((waiting + before > x).mean())
        assert work.tail(x) == pytest.approx(share, abs=4 * (share * (1 - share) / runs) ** 0.5)
    assert work.mean == pytest.approx(float((waiting + before).mean()), rel=0.03)


def test_many_senders_come_near_the_random_model_from_below() -> None:
    random = PoissonWork(0.9)
    tails = [PeriodicWork(0.9, senders).tail(5.0) for senders in (10, 100, 1000, 30_000)]
    assert tails == sorted(tails)
    assert tails[-1] < random.tail(5.0)
    assert tails[-1] == pytest.approx(random.tail(5.0), rel=0.01)
    assert PeriodicWork(0.9, 1000).quantile(0.99) < random.quantile(0.99)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("utilisation", {"utilisation": 1.0, "senders": 2}),
        ("senders", {"utilisation": 0.5, "senders": 0}),
        ("batch", {"utilisation": 0.5, "senders": 2, "batch": 0}),
    ],
)
def test_bad_input_names_the_parameter(field: str, given: dict) -> None:
    with pytest.raises(InvalidProblem, match=field):
        PeriodicWork(**given)
