"""Rounds of blocks: who owns what, that pins hold, and that other seeds are other searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.weir.clustering.problems import plain
from tests.weir.clustering.test_joint import check_valid, tiny
from weir.clustering import joint
from weir.clustering.blocks import Round, Shared, Watch, drawn, in_turn
from weir.clustering.cost import filtering_cost
from weir.clustering.loads import MarketShape, market_load
from weir.codec.mapping import mapping_from_dict
from weir.model.mapping import NOWHERE

if TYPE_CHECKING:
    from weir.clustering.blocks import Improved
    from weir.model.mapping import FlowMap, MappingProblem

FLOWS, USERS, STREAMS, GROUPS = 300, 30, 24, 9


def load(**more: Any) -> MappingProblem:
    """A load in which users want flows near their own place."""
    rng = np.random.default_rng(3)
    rates = (1.0 + rng.integers(0, 50, FLOWS)).tolist()
    near = rng.normal(rng.random(USERS)[:, None] * FLOWS, FLOWS / 15, (USERS, 15)).astype(int)
    wanted = [sorted(set(row)) for row in (near % FLOWS).tolist()]
    return mapping_from_dict(plain(rates, wanted, streams=STREAMS, groups=GROUPS, more=more))


def solve(problem: MappingProblem, *, seed: int = 0, **params: Any) -> FlowMap:
    never = lambda: False  # noqa: E731
    return joint.cluster(
        problem, joint.Params(**params), seed=seed, stop=never, report=lambda _: None
    )


def cost(problem: MappingProblem, flow_map: FlowMap) -> float:
    return filtering_cost(problem, flow_map.stream_of, flow_map.group_of).total


def drawing(seed: int, number: int = 0, blocks: int = 3) -> tuple[Shared, Round]:
    """A round over streams of which every third is empty, some of those pinned to a group."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, FLOWS)
    starts = np.append(0, np.cumsum(sizes))
    users = np.concatenate([np.sort(rng.permutation(USERS)[:size]) for size in sizes])
    group_of = rng.integers(0, GROUPS - 2, STREAMS)
    pinned = np.where(rng.random(STREAMS) < 0.3, rng.integers(0, GROUPS, STREAMS), NOWHERE)
    stream_of = rng.choice(np.flatnonzero(np.arange(STREAMS) % 3), FLOWS)
    filled = np.isin(np.arange(STREAMS), stream_of)
    shared = Shared(
        rates=rng.random(FLOWS),
        starts=starts,
        users=users.astype(np.int32),
        user_count=USERS,
        fixed=rng.random(FLOWS) < 0.2,
        pinned_group=pinned,
        groups=GROUPS,
        weights=(0.75, 0.25),
    )
    round_ = Round(
        stream_of=stream_of,
        group_of=np.where(filled & (pinned != NOWHERE), pinned, group_of),
        seed=seed,
        number=number,
        blocks=blocks,
        trials=20_000,
        hot=20.0,
        cold=0.1,
        stream_moves=0.1,
    )
    return shared, round_


@pytest.mark.parametrize("seed", range(5))
def test_every_group_has_one_owner_with_all_that_is_in_it(seed: int) -> None:
    shared, round_ = drawing(seed)
    of_stream, of_group = drawn(shared, round_)
    filled = np.unique(round_.stream_of)
    assert (of_stream[filled] == of_group[round_.group_of[filled]]).all()
    empty = np.setdiff1d(np.arange(STREAMS), filled)
    tied = empty[shared.pinned_group[empty] != NOWHERE]
    assert (of_stream[tied] == of_group[shared.pinned_group[tied]]).all()
    loose = np.bincount(of_stream[np.setdiff1d(empty, tied)], minlength=3)
    assert loose.max() - loose.min() <= 1
    interests = np.bincount(
        of_stream[round_.stream_of], weights=np.diff(shared.starts), minlength=3
    )
    largest = np.bincount(round_.group_of[round_.stream_of], weights=np.diff(shared.starts)).max()
    assert interests.max() - interests.min() <= largest
    again = drawn(shared, round_._replace(number=1))
    assert not np.array_equal(of_group, again[1])


def test_blocks_keep_to_themselves_and_lower_the_cost() -> None:
    shared, round_ = drawing(1)
    blocks = in_turn(shared, round_, Watch(stop=lambda: False, report=lambda _: None))
    assert [block.complete for block in blocks] == [True] * 3
    every = np.concatenate([block.items for block in blocks])
    assert np.array_equal(np.sort(every), np.arange(FLOWS))
    of_stream, of_group = drawn(shared, round_)
    for number, block in enumerate(blocks):
        assert (of_stream[block.stream_of] == number).all()
        used = np.isin(block.streams, block.stream_of)
        assert (of_group[block.group_of[used]] == number).all()
        pinned = shared.pinned_group[block.streams]
        held = used & (pinned != NOWHERE)
        assert (block.group_of[held] == pinned[held]).all()
        still = shared.fixed[block.items]
        assert (block.stream_of[still] == round_.stream_of[block.items][still]).all()
    assert work(shared, *after(round_, blocks)) < work(shared, round_.stream_of, round_.group_of)


def after(round_: Round, blocks: Any) -> tuple[np.ndarray, np.ndarray]:
    stream_of, group_of = round_.stream_of.copy(), round_.group_of.copy()
    block: Improved
    for block in blocks:
        stream_of[block.items] = block.stream_of
        group_of[block.streams] = block.group_of
    return stream_of, group_of


def work(shared: Shared, stream_of: np.ndarray, group_of: np.ndarray) -> float:
    """Recount with sets what streams and groups cost."""
    total = 0.0
    for of, weight in ((stream_of, shared.weights[0]), (group_of[stream_of], shared.weights[1])):
        for cluster in set(of.tolist()):
            items = np.flatnonzero(of == cluster)
            users = {
                user
                for item in items.tolist()
                for user in shared.users[shared.starts[item] : shared.starts[item + 1]].tolist()
            }
            total += weight * float(shared.rates[items].sum()) * len(users)
    return total


@pytest.mark.parametrize("pins", [False, True])
def test_rounds_keep_pins_and_limits(pins: bool) -> None:
    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40)
    @given(tiny(pins=pins), st.integers(1, 3), st.integers(1, 3))
    def check(problem: MappingProblem, rounds: int, parts: int) -> None:
        check_valid(problem, solve(problem, effort=2.0, rounds=rounds, parts=parts))

    check()


def market() -> MappingProblem:
    """A load in which searches with other seeds end at other maps."""
    return market_load(1, MarketShape(flows=2000, users=100), max_streams=60, max_groups=10)


def test_rounds_are_as_good_as_the_whole_map_at_once() -> None:
    problem = market()
    whole = [cost(problem, solve(problem, seed=seed)) for seed in range(3)]
    cut = [cost(problem, solve(problem, seed=seed, rounds=16)) for seed in range(3)]
    least = [cost(problem, solve(problem, seed=seed, effort=0.0)) for seed in range(3)]
    assert sum(cut) < 1.01 * sum(whole)
    assert max(sum(whole), sum(cut)) < 0.995 * sum(least)


def test_restarts_keep_the_cheapest_and_begin_with_the_seed_itself() -> None:
    problem = market()
    alone = [
        cost(problem, solve(problem, seed=joint.seed_of(5, number), effort=1.0))
        for number in range(4)
    ]
    assert joint.seed_of(5, 0) == 5
    assert len(set(alone)) > 1
    best = joint.cheapest(
        problem,
        joint.Params(effort=1.0),
        range(4),
        seed=5,
        stop=lambda: False,
        report=lambda _: None,
    )
    assert (best.charged, best.number) == (min(alone), alone.index(min(alone)))
    assert cost(problem, best.flow_map) == min(alone)


@pytest.mark.parametrize("params", [{"restarts": 50}, {"rounds": 50, "parts": 3}])
def test_stop_in_the_middle_gives_the_best_so_far(params: dict[str, int]) -> None:
    problem, reports = load(), []
    flow_map = joint.cluster(
        problem,
        joint.Params(effort=50.0, **params),
        seed=0,
        stop=lambda: len(reports) >= 5,
        report=reports.append,
    )
    check_valid(problem, flow_map)
    assert not flow_map.complete
    assert len(reports) == 5
    done = [report["done"] for report in reports]
    assert done == sorted(done)
    assert done[-1] < reports[-1]["total"]
