"""Between two fits: proportional error correction and the latency bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.errors import InvalidProblem
from weir.fitting import Correction, CorrectionParams, correct, rate_bound
from weir.fitting.correction import Clamped

PARAMS = CorrectionParams()


def after(ratio: float, steps: int, start: Correction | None = None) -> Correction:
    now = start or Correction()
    for _ in range(steps):
        now = correct(now, measured=50 * ratio, predicted=50, capacity=100, params=PARAMS)
    return now


@pytest.mark.parametrize("ratio", [0.67, 0.91, 1.04, 1.34])
def test_factor_approaches_the_measured_ratio(ratio: float) -> None:
    """Ratios of the paper's figure 10."""
    factor = after(ratio, 60)
    assert factor.ratio == pytest.approx(ratio, rel=1e-4)
    assert factor.factor == pytest.approx(ratio, rel=PARAMS.step * 1.05)
    assert factor.clamped is Clamped.NO


@pytest.mark.parametrize(("ratio", "end", "mark"), [(0.1, 0.5, "low"), (9.0, 2.0, "high")])
def test_factor_is_clamped_and_says_so(ratio: float, end: float, mark: str) -> None:
    factor = after(ratio, 60)
    assert factor.factor == pytest.approx(end, rel=PARAMS.step * 1.05)
    assert factor.clamped == mark
    assert after(1.0, 1, factor).clamped is Clamped.NO


def test_factor_rests_while_the_ratio_only_trembles() -> None:
    now = after(1.2, 60)
    factors = set()
    for index in range(50):
        seen = 60.0 + (0.3 if index % 2 else -0.3)
        now = correct(now, measured=seen, predicted=50, capacity=100, params=PARAMS)
        factors.add(now.factor)
    assert len(factors) == 1


@pytest.mark.parametrize(("measured", "predicted"), [(4.0, 50.0), (50.0, 4.0), (50.0, 0.0)])
def test_nothing_is_learned_of_an_idle_broker(measured: float, predicted: float) -> None:
    now = Correction(ratio=1.3, factor=1.3)
    assert correct(now, measured=measured, predicted=predicted, capacity=100, params=PARAMS) is now


def test_limits_moved_inwards_hold_at_once() -> None:
    narrow = CorrectionParams(low=0.9, high=1.1)
    now = Correction(ratio=1.8, factor=1.8)
    factor = correct(now, measured=50, predicted=50, capacity=100, params=narrow)
    assert factor.factor <= 1.1


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=30))
def test_factor_never_leaves_its_limits(seen: list[tuple[float, float]]) -> None:
    now = Correction()
    for measured, predicted in seen:
        now = correct(now, measured=measured, predicted=predicted, capacity=100, params=PARAMS)
        assert PARAMS.low <= now.factor <= PARAMS.high
        assert PARAMS.low <= now.ratio <= PARAMS.high


def test_a_factor_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="low"):
        CorrectionParams(low=0.0)


def test_bound_is_transactions_in_flight_over_the_latency() -> None:
    assert rate_bound(producers=4, messages_per_transaction=1, ack_s=0.02) == pytest.approx(200)
    assert rate_bound(producers=4, messages_per_transaction=25, ack_s=0.02) == pytest.approx(5000)


@pytest.mark.parametrize(("producers", "batch", "ack"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_nothing_known_bounds_nothing(producers: int, batch: float, ack: float) -> None:
    bound = rate_bound(producers=producers, messages_per_transaction=batch, ack_s=ack)
    assert bound is None
