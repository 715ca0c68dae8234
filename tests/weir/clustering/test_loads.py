"""Loads: what the slides say of theirs, drift that changes exactly its share, wild cards."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from weir.clustering.loads import (
    SLIDES,
    Drift,
    MarketShape,
    day,
    drifted,
    fan_out,
    large_load,
    market_load,
    matching,
    wildcard_load,
)
from weir.model.mapping import MappingProblem

SMALL = MarketShape(flows=400, users=60, least=3, mean=10.0, most=20, fan_out=6.0, markets=3)


def pairs(problem: MappingProblem) -> set[tuple[int, int]]:
    """Every interest as user and flow, counted the slow way."""
    starts, users = problem.interests.starts.tolist(), problem.interests.users.tolist()
    return {
        (user, flow)
        for flow in range(len(problem.flows))
        for user in users[starts[flow] : starts[flow + 1]]
    }


def per_user(problem: MappingProblem) -> np.ndarray:
    return np.diff(problem.interests.by_user[0])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_market_load_has_the_figures_of_the_slides(seed: int) -> None:
    problem = market_load(seed)
    assert (len(problem.flows), len(problem.users)) == (20_000, 500)
    wanted = per_user(problem)
    assert (wanted.min(), wanted.max()) == (15, 115)
    assert abs(wanted.mean() - 70) < 0.5
    audiences, rates = problem.interests.audiences, problem.rates_per_s
    received = sum(float(r) * int(a) for r, a in zip(rates, audiences, strict=True))
    sent = sum(float(r) for r, a in zip(rates, audiences, strict=True) if a)
    assert abs(received / sent - 10.1) < 0.05
    assert abs(rates.sum() - 100_000) < 1e-3


def test_interests_are_distinct_and_rising() -> None:
    problem = market_load(1, SMALL)
    assert len(pairs(problem)) == len(problem.interests.users)
    for flow in range(len(problem.flows)):
        low, high = problem.interests.starts[flow : flow + 2]
        assert (np.diff(problem.interests.users[low:high]) > 0).all()


def test_markets_go_as_one_over_m() -> None:
    problem = market_load(1)
    market = np.array([int(name[1]) for name in problem.flows])
    sizes = np.bincount(market)[1:]
    demand = np.bincount(market, weights=problem.interests.audiences)[1:]
    m = np.arange(1, SLIDES.markets + 1)
    assert np.abs(sizes * m / sizes[0] - 1).max() < 0.01
    assert np.abs(demand / sizes * m * sizes[0] / demand[0] - 1).max() < 0.35
    assert abs(demand[0] / demand.sum() - 1 / (1 / m**2).sum()) < 0.05


def test_popularity_and_rate_fall_with_the_rank() -> None:
    problem = market_load(1)
    ranks = np.array([int(name.split("/")[1]) for name in problem.flows])
    first = np.array([name.startswith("m1/") for name in problem.flows])
    size = first.sum()
    heads = [
        problem.interests.audiences[first & (ranks // (size // 10) == tenth)].mean()
        for tenth in range(4)
    ]
    # Exponential: each tenth of the market has the same part of what the one before has.
    parts = [later / sooner for sooner, later in pairwise(heads)]
    assert max(parts) - min(parts) < 0.1
    log_rates = np.log(problem.rates_per_s[first])
    correlation = np.corrcoef(log_rates, ranks[first])[0, 1]
    assert -1 < correlation < -0.95


def test_rates_of_markets_go_as_one_over_m() -> None:
    problem = market_load(1)
    market = np.array([int(name[1]) for name in problem.flows])
    mean = np.bincount(market, weights=problem.rates_per_s)[1:] / np.bincount(market)[1:]
    assert mean * np.arange(1, SLIDES.markets + 1) == pytest.approx(mean[0])


def test_noise_says_how_far_popular_topics_are_the_busy_ones() -> None:
    exact = market_load(1, MarketShape(noise=0.0))
    ranks = np.array([int(name.split("/")[1]) for name in exact.flows])
    first = np.array([name.startswith("m1/") for name in exact.flows])
    assert (np.diff(exact.rates_per_s[first][np.argsort(ranks[first])]) < 0).all()
    parts = []
    for noise in (0.5, 1.0):
        noisy = market_load(1, MarketShape(noise=noise))
        ranks = np.array([int(name.split("/")[1]) for name in noisy.flows])
        first = np.array([name.startswith("m1/") for name in noisy.flows])
        parts.append(np.corrcoef(np.log(noisy.rates_per_s[first]), ranks[first])[0, 1])
    assert -1 < parts[0] < parts[1] < -0.9


def test_loads_depend_on_their_seed_alone() -> None:
    for make in (
        lambda seed: market_load(seed, SMALL),
        lambda seed: drifted(market_load(1, SMALL), 0.2, seed),
        lambda seed: list(day(market_load(1, SMALL), 5, seed))[-1],
        wildcard_load,
    ):
        one, same, other = make(4), make(4), make(5)
        assert one.flows == same.flows
        assert one.users == same.users
        assert (one.rates_per_s == same.rates_per_s).all()
        assert pairs(one) == pairs(same)
        assert pairs(one) != pairs(other) or one.users != other.users


def test_fan_out_that_no_concentration_gives_is_refused() -> None:
    with pytest.raises(ValueError, match="fan-out 60 is not between"):
        market_load(1, MarketShape(flows=400, users=60, least=3, mean=10.0, most=20, fan_out=60))


def test_small_markets_hold_what_they_can() -> None:
    shape = MarketShape(
        flows=30, users=8, least=20, mean=22.0, most=25, markets=6, concentration=0.1
    )
    problem = market_load(1, shape)
    assert per_user(problem).min() == 20
    assert per_user(problem).max() == 24


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_drift_changes_its_share_of_interests(share: float) -> None:
    before = market_load(2, SMALL)
    after = drifted(before, share, 9)
    old, new = pairs(before), pairs(after)
    assert len(new) == len(old)
    assert len(new - old) == round(share * len(old))
    assert (per_user(after) == per_user(before)).all()
    assert after.flows == before.flows
    assert after.rates_per_s.sum() == pytest.approx(before.rates_per_s.sum())
    assert (after.rates_per_s == before.rates_per_s).all() == (share == 0)


def test_drift_keeps_most_of_the_markets_popularity() -> None:
    before = market_load(1)
    after = drifted(before, 0.1, 1)
    popular = np.argsort(-before.interests.audiences)[:2000]
    parts = [
        each.interests.audiences[popular].sum() / len(each.interests.users)
        for each in (before, after)
    ]
    assert abs(parts[0] - parts[1]) < 0.05
    assert 8 < fan_out(after) < 12


def test_events_make_flows_hot() -> None:
    before = market_load(1, SMALL)
    drift = Drift(hot=0.05, heat=50.0, market_rates=0.0, flow_rates=0.0)
    factors = drifted(before, 1.0, 1, drift).rates_per_s / before.rates_per_s
    assert np.count_nonzero(factors > factors.min() * 49) == 20
    assert factors.max() / factors.min() == pytest.approx(50.0)


def test_new_interests_lie_between_markets_or_within() -> None:
    before = market_load(1, MarketShape(markets_per_user=1))
    old = pairs(before)
    market = [name.split("/")[0] for name in before.flows]
    followed = {(user, market[flow]) for user, flow in old}
    parts = []
    for between in (0.0, 1.0):
        new = pairs(drifted(before, 0.1, 1, Drift(between=between, hot_interests=0.0))) - old
        parts.append(np.mean([(user, market[flow]) in followed for user, flow in new]))
    assert parts[0] == 1.0
    assert parts[1] < 0.6


def test_heat_halves_each_hour() -> None:
    start = market_load(1, SMALL)
    drift = Drift(hot=1.0, heat=9.0, night=1.0)
    hours = list(day(start, 4, 1, hourly=0.02, drift=drift))
    heats = [np.round(hour.rates_per_s / start.rates_per_s, 9) for hour in hours]
    assert [set(heat.tolist()) for heat in heats] == [
        {1.0},
        {1.0, 9.0},
        {1.0, 5.0, 9.0},
        {1.0, 3.0, 5.0, 9.0},
    ]


def test_users_that_want_everything_have_nothing_to_take() -> None:
    shape = MarketShape(flows=12, users=5, least=12, mean=12.0, most=12, markets=2, concentration=1)
    before = market_load(1, shape)
    assert pairs(drifted(before, 0.5, 1)) == pairs(before)
    nearly = market_load(
        1, MarketShape(flows=12, users=5, least=11, mean=11.0, most=11, markets=2, concentration=1)
    )
    after = drifted(nearly, 1.0, 1)
    assert (per_user(after) == 11).all()
    assert len(pairs(after) - pairs(nearly)) == 5


def test_day_changes_a_little_each_hour_and_markets_open_and_close() -> None:
    start = market_load(1, SMALL)
    hours = list(day(start, 24, 3, hourly=0.05))
    assert pairs(hours[0]) == pairs(start)
    for sooner, later in pairwise(hours):
        assert len(pairs(later) - pairs(sooner)) == round(0.05 * len(pairs(start)))
    first = np.array([name.startswith("m1/") for name in start.flows])
    rates = np.array([hour.rates_per_s[first].sum() for hour in hours])
    assert 3 <= rates.argmax() <= 5
    assert rates.max() > 5 * np.median(rates)


def test_large_load_has_its_size() -> None:
    problem = large_load(1, flows=50_000, users=800, interests_per_user=100)
    assert (len(problem.flows), len(problem.users)) == (50_000, 800)
    assert len(problem.interests.users) == pytest.approx(80_000, rel=0.01)
    assert (per_user(problem).min(), per_user(problem).max()) == (21, 164)


def test_wild_cards_meet_what_they_say() -> None:
    problem = wildcard_load(1)
    assert len(set(problem.users)) == len(problem.users) == 10
    starts, flows = problem.interests.by_user
    for user, subscription in enumerate(problem.users):
        levels = subscription.split("/")[1:]
        assert sorted(levels).count("*") == 2
        met = {
            at
            for at, topic in enumerate(problem.flows)
            if all(
                level in ("*", name)
                for level, name in zip(levels, topic.split("/")[1:], strict=True)
            )
        }
        assert set(flows[starts[user] : starts[user + 1]].tolist()) == met
    assert 5 < per_user(problem).mean() < 9
    assert (problem.interests.audiences > 1).any()


def test_wild_card_stands_for_one_name() -> None:
    topics = ["/a/b/c/d", "/a/x/c/y", "/a/b/c", "/a/b/c/d/e", "/x/b/c/d"]
    assert matching("/a/*/c/*", topics).tolist() == [0, 1]
    assert matching("/*/b/*/d", topics).tolist() == [0, 4]
    assert matching("/a/b/c/d", topics).tolist() == [0]


def test_wild_card_load_scales_until_no_subscription_is_left() -> None:
    problem = wildcard_load(1, 600, 12.0)
    assert len(set(problem.users)) == 600
    assert abs(per_user(problem).mean() - 12) < 1
    with pytest.raises(ValueError, match="54 subscriptions, not 55"):
        wildcard_load(1, 55, breadth=3)
