"""The parts of the search against plain counting: pairs, periods, keys, components."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from tests.weir.correlation.world import SINCE_S, World
from weir.correlation.activity import Search, activity_of, moments_of, time_step_s
from weir.correlation.chance import log_tail
from weir.correlation.coincidence import judge
from weir.correlation.groups import components_of
from weir.correlation.periods import profiles_of
from weir.correlation.signatures import banding, pairs_of_band, signatures
from weir.correlation.suggest import suggest
from weir.errors import InvalidProblem

# In units of an eighth, so that distances of exactly `within_s` occur.
moments = st.lists(st.integers(0, 400), min_size=1, max_size=25, unique=True).map(
    lambda steps: [step / 8.0 for step in sorted(steps)]
)


@settings(deadline=None)
@given(moments, moments)
def test_pairs_are_counted_as_by_hand(one: list[float], other: list[float]) -> None:
    within, duration = 0.25, 50.0
    verdicts = judge(
        np.array([[0, 1]]),
        np.array([0, len(one), len(one) + len(other)]),
        np.array(one + other),
        publishers=10,
        duration_s=duration,
        search=Search(within_s=within),
    )
    near = nx.Graph()
    near.add_nodes_from((("one", at) for at in one), side=0)
    near.add_edges_from(
        (("one", a), ("other", b)) for a in one for b in other if abs(a - b) <= within
    )
    tops = [("one", at) for at in one]
    most = nx.bipartite.hopcroft_karp_matching(near, tops)
    assert verdicts.shared[0] == len(most) // 2
    chance = len(one) * len(other) * 2 * within / duration
    for times in (8, 64):
        reach = times * within
        pairs = sum(2 * within < abs(a - b) <= reach for a in one for b in other)
        lags = 2 * (reach - 2 * within) - (reach**2 - (2 * within) ** 2) / duration
        chance = max(chance, pairs * 2 * within / lags)
    by_clock = chance
    for mark in (2.0, 5.0):
        steps = range(1, min(8, int(25.0 / mark)) + 1)
        shifts = [sign * step * mark for step in steps for sign in (1.0, -1.0)]
        apart = [b - a for a in one for b in other]
        pairs = sum(abs(lag - shift) <= within for shift in shifts for lag in apart)
        possible = sum(1.0 - abs(shift) / duration for shift in shifts)
        by_clock = max(by_clock, pairs / possible)
    # Marks are looked at where the rest leaves a doubt.
    assert verdicts.by_chance[0] in (pytest.approx(chance), pytest.approx(by_clock))


def test_tails_are_those_of_a_poisson_variable() -> None:
    for count, mean in ((5, 0.001), (3, 1.0), (40, 12.0), (400, 300.0), (1, 1e-9)):
        assert log_tail([count], [mean])[0] == pytest.approx(poisson.logsf(count - 1, mean))


@settings(deadline=None)
@given(st.lists(st.floats(0, 10), min_size=1, max_size=40), st.floats(0.01, 2.0))
def test_messages_that_follow_each_other_are_one_moment(times: list[float], within: float) -> None:
    activity = activity_of(["a", "b"], [0] * len(times), times)
    moments = moments_of(activity, within)
    ordered = sorted(times)
    by_hand = [time for at, time in enumerate(ordered) if not at or time - ordered[at - 1] > within]
    assert moments.at_s.tolist() == by_hand
    assert moments_of(moments, within).at_s.tolist() == by_hand
    assert moments.messages is not None
    assert moments.messages.tolist() == [len(times), 0]


@pytest.mark.parametrize("period", [2.0, 12.5, 60.0, 120.0])
@pytest.mark.parametrize("missed", [0.0, 0.2])
def test_a_heartbeat_is_recognised_with_jitter_missed_beats_and_other_messages(
    period: float, missed: float
) -> None:
    world = World(1)
    for at in range(20):
        missed = missed if period < 100 else 0.0
        beats = world.beats(
            period, phase_s=period / 3, jitter_s=min(period / 400, 0.04), missed=missed
        )
        others = world.events(int(len(beats) * 0.3))
        world.add(f"p{at:02}", beats, others)
    activity = world.activity()
    profiles = profiles_of(activity, np.arange(20), Search())
    assert profiles.period_s == pytest.approx([period] * 20, rel=2e-3)
    assert profiles.phase_s == pytest.approx([period / 3] * 20, abs=0.05)
    # What is left is about what was added.
    left, added = np.diff(profiles.starts), int(1800 / period * (1 - missed) * 0.3)
    assert (abs(left - added) <= 2 + 0.25 * added).all()


def test_no_period_is_seen_in_what_keeps_none() -> None:
    world = World(2)
    for at in range(3000):
        world.add(f"p{at:04}", world.independent(world.chance.uniform(0.005, 0.1)))
    profiles = profiles_of(world.activity(), np.arange(3000), Search())
    assert np.isnan(profiles.period_s).all()


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("publishers", [100, 1_000_000])
def test_pairs_of_the_least_share_meet_and_others_seldom_do(share: float, publishers: int) -> None:
    world, search = World(3), Search(least_share=share)
    plan = banding(publishers=publishers, since_s=SINCE_S, until_s=SINCE_S + 1800, search=search)
    for at in range(400):
        events = world.events(40)
        common = events[: math.ceil(40 * share)]
        for side in "ab":
            own = world.events(40 - len(common))
            world.add(f"{at:03}{side}", world.reaction(common, missed=0.0), own)
    ids, keys = signatures(profiles_of(world.activity(), np.arange(800), search), plan)
    pairs = {
        tuple(pair)
        for band in range(plan.bands)
        for pair in pairs_of_band(ids, keys[:, band]).tolist()
    }
    assert sum((2 * at, 2 * at + 1) in pairs for at in range(400)) >= 0.95 * 400
    by_chance = sum(one // 2 != other // 2 for one, other in pairs)
    # Publishers that meet another by chance, a band.
    assert by_chance / plan.bands / 800 < 0.1


@given(st.lists(st.integers(0, 3), max_size=30))
def test_everybody_with_one_key_is_connected_by_few_pairs(keys: list[int]) -> None:
    pairs = pairs_of_band(np.arange(len(keys)), np.array(keys, dtype=np.uint64)).tolist()
    by_hand = nx.Graph()
    by_hand.add_edges_from((a, b) for b in range(len(keys)) for a in range(b) if keys[a] == keys[b])
    components = [part.tolist() for part in components_of(np.array(pairs).reshape(-1, 2))]
    assert components == sorted(sorted(part) for part in nx.connected_components(by_hand))
    assert len({tuple(pair) for pair in pairs}) == len(pairs)
    assert all(one < other for one, other in pairs)
    assert len(pairs) <= 2 * len(keys)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=30))
def test_components_are_those_of_the_graph(edges: list[tuple[int, int]]) -> None:
    components = [
        part.tolist() for part in components_of(np.array(edges, dtype=int).reshape(-1, 2))
    ]
    by_hand = nx.connected_components(nx.Graph(edges))
    assert components == sorted(sorted(part) for part in by_hand)


@pytest.mark.parametrize("step_s", [60.0, 1.0, 0.1, 0.001, 0.0001])
def test_the_step_of_rounded_times_is_recognised_and_is_the_least_of_their_parts(
    step_s: float,
) -> None:
    fine = SINCE_S + World(4).independent(2.0)
    coarse = np.floor(fine / step_s) * step_s
    assert time_step_s(coarse) == step_s
    parts = [coarse[:100], coarse[100:100], np.array([1_700_000_040.0]), coarse[100:]]
    assert min(time_step_s(part) for part in parts) == step_s
    assert time_step_s(fine) == 0.0


def test_times_coarser_than_the_search_are_refused_by_its_field() -> None:
    world = World(5)
    for at in range(100):
        world.add(f"p{at:03}", np.floor(world.independent(1 / 5)))
    activity = world.activity()
    with pytest.raises(
        InvalidProblem, match=r"at least 2, as the times are whole multiples of 1 s"
    ):
        suggest(activity, Search(within_s=1.9))
    assert list(suggest(activity, Search(within_s=2.0)).groups) == []
