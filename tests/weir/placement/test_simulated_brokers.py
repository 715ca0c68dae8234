"""Publishers at simulated brokers: replayed wherever they are, in lockstep or nearly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.weir.placement.problems import problem
from weir.model.placement import PlacementProblem
from weir.placement.simulated_brokers import SimulatedBrokers, late_in_group
from weir.queueing.simulated_broker import Arrivals, message_times

SECONDS = 40.0


def bursting(at: list[int]) -> PlacementProblem:
    """Return forty publishers, thirty of them in groups of five, at these brokers."""
    groups: list[str | None] = [f"g{who // 5}" if who < 30 else None for who in range(40)]
    given = problem([2.0] * 40, [500.0, 500.0, 500.0], groups=groups, topic={"batch": 2})
    return replace(given, publishers=replace(given.publishers, today=np.array(at)))


def brokers(
    arrivals: Arrivals, *, spread_s: float = 0.0, is_replayed: bool = True
) -> SimulatedBrokers:
    return SimulatedBrokers(
        true_per_s=[500.0] * 3,
        seconds=SECONDS,
        most_seconds=SECONDS,
        seed=5,
        arrivals=arrivals,
        spread_s=spread_s,
        is_replayed=is_replayed,
    )


def times_at(simulated: SimulatedBrokers, given: PlacementProblem, at: int) -> np.ndarray:
    here = np.flatnonzero(given.publishers.today == at)
    return message_times(simulated.senders(given, here), SECONDS, (5, 0), simulated.arrivals)


@pytest.mark.parametrize("arrivals", ["poisson", "periodic"])
@pytest.mark.parametrize("spread_s", [0.0, 0.3])
def test_replayed_publishers_send_the_same_wherever_they_are(
    arrivals: Arrivals, spread_s: float
) -> None:
    simulated = brokers(arrivals, spread_s=spread_s)
    spread = bursting([who % 3 for who in range(40)])
    apart = np.concatenate([times_at(simulated, spread, at) for at in range(3)])
    together = times_at(simulated, bursting([1] * 40), 1)
    assert len(together) > 2_000
    assert np.sort(apart) == pytest.approx(together, abs=1e-12)


def test_a_group_in_lockstep_sends_at_one_moment_and_a_spread_one_within_the_interval() -> None:
    given = bursting([0] * 5 + [1] * 35)
    lockstep = times_at(brokers("poisson"), given, 0)
    moments, sizes = np.unique(lockstep, return_counts=True)
    assert set(sizes.tolist()) == {10}
    one_by_one = times_at(brokers("poisson", spread_s=0.004), given, 0)
    starts = moments[np.diff(moments, append=np.inf) > 0.01]
    for start in starts[:-1].tolist():
        after = one_by_one[(one_by_one >= start - 1e-9) & (one_by_one < start + 0.005)] - start
        assert after == pytest.approx(np.repeat(np.arange(5) * 0.001, 2), abs=1e-9)


def test_who_is_late_in_a_group_is_not_shown_by_its_place() -> None:
    groups = np.repeat(np.arange(20), 10)
    late = late_in_group(groups, 0.9, seed=1).reshape(20, 10)
    assert np.sort(late, axis=1) == pytest.approx(np.tile(np.arange(10) / 10.0, (20, 1)))
    assert len({tuple(np.argsort(row)) for row in late}) > 15


@pytest.mark.parametrize("arrivals", ["poisson", "periodic"])
def test_what_is_not_replayed_is_drawn_anew_for_each_measurement(arrivals: Arrivals) -> None:
    given = bursting([0] * 40)
    anew = brokers(arrivals, is_replayed=False)
    assert anew.measure(given, 0) != anew.measure(given, 0)
    same = brokers(arrivals)
    assert same.measure(given, 0) == same.measure(given, 0)
