"""The slides' methods: their numeric examples, K-means against slow recounts, pins, limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import plain_clustering
from weir.clustering import clusterers, flat, groups_first, iterative, random_restart, streams_first
from weir.clustering._kmeans import Items, KMeansParams, cluster
from weir.clustering._slides import Layers, Mapper
from weir.clustering.loads import MarketShape, market_load
from weir.model.mapping import NOWHERE, FlowMap, Interests, MappingProblem, Weights

METHODS = [flat, groups_first, iterative, random_restart, streams_first]
EACH_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
EQUAL = Weights(transport=1.0, messaging=1.0, aggregation=1.0)
SHAPE = MarketShape(flows=400, users=60, least=3, mean=10.0, most=20, fan_out=6.0, markets=3)


def problem_of(
    wishes: list[tuple[float, set[int]]],
    *,
    streams: int = 2,
    groups: int = 1,
    weights: Weights = EQUAL,
    pins: dict[int, int] | None = None,
    group_pins: dict[int, int] | None = None,
) -> MappingProblem:
    """Return the problem of flows given by rate and audience."""
    pinned_stream = np.full(len(wishes), NOWHERE, dtype=np.int64)
    pinned_group = np.full(streams, NOWHERE, dtype=np.int64)
    for pinned, given_pins in ((pinned_stream, pins or {}), (pinned_group, group_pins or {})):
        for at, target in given_pins.items():
            pinned[at] = target
    users = [user for _, audience in wishes for user in sorted(audience)]
    count = max(users, default=-1) + 1
    return MappingProblem(
        flows=tuple(f"f{at}" for at in range(len(wishes))),
        rates_per_s=np.array([rate for rate, _ in wishes], dtype=np.float64),
        users=tuple(f"u{at}" for at in range(count)),
        interests=Interests(
            starts=np.cumsum([0, *(len(audience) for _, audience in wishes)]).astype(np.int64),
            users=np.array(users, dtype=np.int32),
            user_count=count,
        ),
        max_streams=streams,
        max_groups=groups,
        weights=weights,
        pinned_stream=pinned_stream,
        pinned_group=pinned_group,
    )


def audiences_of(problem: MappingProblem) -> list[set[int]]:
    starts, users = problem.interests.starts.tolist(), problem.interests.users.tolist()
    return [set(users[low:high]) for low, high in pairwise(starts)]


def slow_cost(problem: MappingProblem, mapped: FlowMap) -> float:
    """Return the cost, by what each user gets of each flow and drops where."""
    audiences = audiences_of(problem)
    carried = [at for at in range(len(problem.flows)) if audiences[at]]
    streams, groups = mapped.stream_of.tolist(), mapped.group_of.tolist()
    cost = 0.0
    for user in range(len(problem.users)):
        wanted_streams = {streams[at] for at in carried if user in audiences[at]}
        joined = {groups[stream] for stream in wanted_streams}
        for at in carried:
            if streams[at] in wanted_streams:
                if user not in audiences[at]:
                    cost += problem.weights.messaging * problem.rates_per_s[at]
            elif groups[streams[at]] in joined:
                cost += problem.weights.packet_share * problem.rates_per_s[at]
    return cost


def run(method: Any, problem: MappingProblem, *, seed: int = 0, stop: Any = None) -> FlowMap:
    mapped: FlowMap = method.cluster(
        problem,
        method.Params(),
        seed=seed,
        stop=stop or (lambda: False),
        report=lambda progress: None,
    )
    return mapped


def check(problem: MappingProblem, mapped: FlowMap) -> None:
    """Check limits, pins, and that exactly what is wanted is mapped."""
    wanted = problem.interests.audiences > 0
    assert mapped.stream_of.shape == wanted.shape
    assert mapped.group_of.shape == (problem.max_streams,)
    assert ((mapped.stream_of != NOWHERE) == wanted).all()
    assert (mapped.stream_of[wanted] >= 0).all()
    assert (mapped.stream_of[wanted] < problem.max_streams).all()
    used = np.zeros(problem.max_streams, dtype=bool)
    used[mapped.stream_of[wanted]] = True
    assert ((mapped.group_of != NOWHERE) == used).all()
    assert (mapped.group_of[used] >= 0).all()
    assert (mapped.group_of[used] < problem.max_groups).all()
    pinned = wanted & (problem.pinned_stream != NOWHERE)
    assert (mapped.stream_of[pinned] == problem.pinned_stream[pinned]).all()
    pinned = used & (problem.pinned_group != NOWHERE)
    assert (mapped.group_of[pinned] == problem.pinned_group[pinned]).all()


@st.composite
def problems(draw: st.DrawFn) -> MappingProblem:
    """Draw small problems, some of them pinned, with flows that nobody wants."""
    wishes = draw(
        st.lists(
            st.tuples(
                st.floats(0, 1e6, allow_subnormal=False), st.sets(st.integers(0, 5), max_size=4)
            ),
            max_size=10,
        )
    )
    streams, groups = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    flow_pins = st.dictionaries(
        st.integers(0, max(len(wishes) - 1, 0)), st.integers(0, streams - 1), max_size=len(wishes)
    )
    group_pins = st.dictionaries(st.integers(0, streams - 1), st.integers(0, groups - 1))
    return problem_of(
        wishes, streams=streams, groups=groups, pins=draw(flow_pins), group_pins=draw(group_pins)
    )


def test_the_slides_methods_are_registered() -> None:
    assert {"flat", "groups-first", "iterative", "random-restart", "streams-first"} <= set(
        clusterers()
    )


def test_two_topics_with_similar_audiences_cost_both_their_rates() -> None:
    """The slides' first table: user 1 gets R2, user 3 gets R1 too much; user 4 joins nothing."""
    r1, r2 = 10.0, 20.0
    problem = problem_of([(r1, {1, 2}), (r2, {2, 3}), (0.0, {4})], streams=3, groups=2)
    mapper = Mapper(problem, KMeansParams(), seed=0, stop=lambda: False)
    groups = np.array([0, 0, 1])
    two_streams = Layers(stream_of=np.array([0, 1, 2]), group_of=groups)
    mapper.problem = replace(problem, weights=Weights(transport=1, messaging=0, aggregation=1))
    assert mapper.cost(two_streams) == r1 + r2
    one_stream = Layers(stream_of=np.array([0, 0, 2]), group_of=groups)
    mapper.problem = replace(problem, weights=Weights(transport=0, messaging=1, aggregation=1))
    assert mapper.cost(one_stream) == r1 + r2


CANDIDATE = [(3.0, {1, 2, 3}), (5.0, {2, 3}), (7.0, {1, 3, 4}), (11.0, {1, 2, 3, 5})]
"""Topics 1, 2, 3 of a group and candidate 5: the slides' second table, by rows of users."""


def test_adding_topic_5_costs_what_the_slides_add_up() -> None:
    problem = problem_of(
        CANDIDATE, streams=2, weights=Weights(transport=0, messaging=1, aggregation=1)
    )
    mapper = Mapper(problem, KMeansParams(), seed=0, stop=lambda: False)
    together, apart = (
        mapper.cost(Layers(stream_of=np.array([0, 0, 0, at]), group_of=np.zeros(2, dtype=np.int64)))
        for at in (0, 1)
    )
    assert together - apart == 3.0 + 5.0 + 7.0 + 11.0  # R1+R2+R3 for user 5, R5 for user 4


@pytest.mark.parametrize(("cost", "goes"), [(25.9, 1), (26.1, 0)])
def test_candidate_goes_where_its_cost_is_least(cost: float, goes: int) -> None:
    """It costs 26 in the slides' group; in one with rate R and a user of its own, 4 R + 11."""
    other = (cost - 11.0) / 4
    problem = problem_of([*CANDIDATE, (other, {6})])
    mapper = Mapper(problem, KMeansParams(max_epochs=1), seed=0, stop=lambda: False)
    fixed = np.array([True, True, True, False, True])
    for start in (0, 1):
        labels, _ = cluster(
            mapper.items,
            2,
            np.array([0, 0, 0, start, 1]),
            fixed,
            mapper.params,
            rng=mapper.rng,
            stop=lambda: False,
        )
        assert labels.tolist() == [0, 0, 0, goes, 1]


def added(audience: set[int], rate: float, rest: list[tuple[float, set[int]]]) -> float:
    """Return R_C |A_i \\ U_C| + r_i |U_C \\ A_i| by sets."""
    union = set().union(*(users for _, users in rest)) if rest else set()
    return sum(r for r, _ in rest) * len(audience - union) + rate * len(union - audience)


def no_better_cluster(
    items: list[tuple[float, set[int]]],
    labels: list[int],
    count: int,
    fixed: list[bool] | None = None,
) -> bool:
    """Return whether each item that may move is where it costs least, by sets."""
    for item, (rate, audience) in enumerate(items):
        if fixed and fixed[item]:
            continue
        costs = [
            added(
                audience,
                rate,
                [each for at, each in enumerate(items) if at != item and labels[at] == cluster_at],
            )
            for cluster_at in range(count)
        ]
        if costs[labels[item]] > min(costs) * (1 + 1e-6):
            return False
    return True


@settings(deadline=None)
@given(problem=problems(), count=st.integers(1, 6), seed=st.integers(0, 99))
def test_no_single_move_improves_a_clustering(
    problem: MappingProblem, count: int, seed: int
) -> None:
    mapper = Mapper(problem, KMeansParams(), seed=seed, stop=lambda: False)
    items, rng = mapper.items, mapper.rng
    fixed = rng.random(len(mapper.wanted)) < 0.3
    start = rng.integers(0, count, len(mapper.wanted))
    labels, complete = cluster(
        items, count, start, fixed, mapper.params, rng=rng, stop=lambda: False
    )
    assert complete
    assert (labels[fixed] == start[fixed]).all()
    wanted = [(float(problem.rates_per_s[at]), audiences_of(problem)[at]) for at in mapper.wanted]
    assert no_better_cluster(wanted, labels.tolist(), count, fixed=fixed.tolist())


def test_a_clustering_ends_at_its_number_of_passes() -> None:
    problem = market_load(1, SHAPE, max_streams=20, max_groups=5)
    moved = []
    for epochs in (1, 2, 100):
        mapper = Mapper(problem, KMeansParams(max_epochs=epochs), seed=1, stop=lambda: False)
        moved.append(mapper.cost(mapper.groups_first(mapper.beginning())))
    assert moved[0] > moved[1] > moved[2]


def test_a_clustering_ends_when_few_items_move() -> None:
    polls = []
    for few in (0.0, 0.2, 1.0):
        count = [0]

        def stop(count: list[int] = count) -> bool:
            count[0] += 1
            return False

        problem = market_load(1, SHAPE, max_streams=20, max_groups=1)
        mapper = Mapper(problem, KMeansParams(few_moved=few), seed=1, stop=stop)
        mapper.streams_first(mapper.beginning())
        polls.append(count[0])
    assert polls[0] > polls[1] > polls[2] == 1


def test_merged_items_are_what_their_flows_are_together() -> None:
    items = Items(
        rates=np.array([1.0, 2.0, 4.0]),
        starts=np.array([0, 2, 3, 5]),
        users=np.array([0, 1, 2, 1, 2], dtype=np.int32),
        user_count=3,
    )
    used, merged = items.merged(np.array([7, 3, 7]))
    assert used.tolist() == [3, 7]
    assert merged.rates.tolist() == [2.0, 5.0]
    assert merged.starts.tolist() == [0, 1, 4]
    assert merged.users.tolist() == [2, 0, 1, 2]
    assert items.some(np.array([2, 0])).users.tolist() == [1, 2, 0, 1]


@EACH_METHOD
@settings(deadline=None, max_examples=60)
@given(problem=problems(), seed=st.integers(0, 99))
def test_pins_and_limits_hold(method: Any, problem: MappingProblem, seed: int) -> None:
    costs = []
    mapped = method.cluster(
        problem,
        method.Params(),
        seed=seed,
        stop=lambda: False,
        report=lambda progress: costs.append(progress["cost"]),
    )
    check(problem, mapped)
    assert mapped.complete
    assert costs[-1] == pytest.approx(slow_cost(problem, mapped), rel=1e-9, abs=1e-6)


@EACH_METHOD
def test_the_seed_alone_decides(method: Any) -> None:
    problem = market_load(1, SHAPE, max_streams=20, max_groups=5)
    one, same, other = (run(method, problem, seed=seed) for seed in (1, 1, 2))
    assert (one.stream_of == same.stream_of).all()
    assert (one.group_of == same.group_of).all()
    assert (one.stream_of != other.stream_of).any()


@EACH_METHOD
@pytest.mark.parametrize("polls", [0, 1, 3, 30])
def test_stop_is_honoured_with_the_best_so_far(method: Any, polls: int) -> None:
    problem = market_load(1, SHAPE, max_streams=20, max_groups=5)
    left = [polls]

    def stop() -> bool:
        left[0] -= 1
        return left[0] < 0

    mapped = run(method, problem, stop=stop)
    check(problem, mapped)
    assert mapped.complete == (left[0] >= 0)
    # Once it says so no further pass begins: it is polled at most once for each group more.
    assert left[0] >= -1 - problem.max_groups


@EACH_METHOD
def test_more_time_makes_a_map_no_worse(method: Any) -> None:
    problem = market_load(3, SHAPE, max_streams=20, max_groups=5)
    costs = []
    for polls in (0, 40, 10**9):
        left = [polls]

        def stop(left: list[int] = left) -> bool:
            left[0] -= 1
            return left[0] < 0

        costs.append(slow_cost(problem, run(method, problem, stop=stop)))
    assert costs[0] > costs[1] >= costs[2]


@pytest.mark.parametrize("method", [iterative, random_restart], ids=lambda method: method.NAME)
@settings(deadline=None, max_examples=30)
@given(problem=problems(), seed=st.integers(0, 99))
def test_iterations_are_never_worse_than_groups_first(
    method: Any, problem: MappingProblem, seed: int
) -> None:
    first = slow_cost(problem, run(groups_first, problem, seed=seed))
    assert slow_cost(problem, run(method, problem, seed=seed)) <= first * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize("method", [iterative, random_restart], ids=lambda method: method.NAME)
def test_iterations_improve_a_market_load(method: Any) -> None:
    for seed in (1, 2, 3):
        problem = market_load(seed, SHAPE, max_streams=20, max_groups=5)
        first = slow_cost(problem, run(groups_first, problem, seed=seed))
        assert slow_cost(problem, run(method, problem, seed=seed)) < 0.99 * first


@pytest.mark.parametrize(("streams", "groups"), [(20, 5), (6, 9), (300, 7), (40, 1)])
def test_groups_first_is_what_the_plain_version_does(streams: int, groups: int) -> None:
    problem = market_load(1, SHAPE, max_streams=streams, max_groups=groups)
    plain = plain_clustering.groups_first(problem, 3)
    mapped = run(groups_first, problem, seed=3)
    assert (mapped.stream_of == plain.stream_of).all()
    assert (mapped.group_of == plain.group_of).all()
    cost = slow_cost(problem, plain)
    assert plain_clustering.cost_of(problem, plain) == pytest.approx(cost)


def test_streams_first_clusters_flows_and_then_their_streams() -> None:
    problem = market_load(1, SHAPE, max_streams=12, max_groups=4)
    mapped = run(streams_first, problem)
    audiences = audiences_of(problem)
    wanted = [at for at in range(len(problem.flows)) if audiences[at]]
    flows = [(float(problem.rates_per_s[at]), audiences[at]) for at in wanted]
    streams_of = mapped.stream_of[wanted].tolist()
    assert no_better_cluster(flows, streams_of, 12)
    members = [
        [flow for flow, stream in zip(flows, streams_of, strict=True) if stream == at]
        for at in range(12)
    ]
    streams = [
        (sum(rate for rate, _ in each), set().union(*(users for _, users in each)))
        for each in members
    ]
    assert no_better_cluster(streams, mapped.group_of.tolist(), 4)


def test_groups_first_clusters_flows_into_groups() -> None:
    problem = market_load(1, SHAPE, max_streams=12, max_groups=4)
    mapped = run(groups_first, problem)
    audiences = audiences_of(problem)
    wanted = [at for at in range(len(problem.flows)) if audiences[at]]
    flows = [(float(problem.rates_per_s[at]), audiences[at]) for at in wanted]
    assert no_better_cluster(flows, mapped.group_of[mapped.stream_of[wanted]].tolist(), 4)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_iterative_takes_the_best_of_both_steps_in_turn(seed: int) -> None:
    problem = market_load(seed, SHAPE, max_streams=20, max_groups=5)
    mapper = Mapper(problem, iterative.Params(), seed=seed, stop=lambda: False)
    layers = mapper.groups_first(mapper.beginning())
    costs = [mapper.cost(layers)]
    while len(costs) < 5 or min(costs[-2:]) < min(costs[:-2]):
        layers = mapper.streams_first(layers)
        costs.append(mapper.cost(layers))
        layers = mapper.groups_first(layers)
        costs.append(mapper.cost(layers))
        if len(costs) == 3 and min(costs[1:]) >= costs[0]:
            break
    assert slow_cost(problem, run(iterative, problem, seed=seed)) == pytest.approx(min(costs))


def test_random_restart_reassigns_ever_fewer_flows() -> None:
    problem = market_load(1, SHAPE, max_streams=20, max_groups=5)
    costs = {}
    for reassigned, diminished, rounds in ((0, 1, 3), (0.5, 0, 1), (0.5, 0, 6), (0.5, 1, 6)):
        params = random_restart.Params(rounds=rounds, reassigned=reassigned, diminished=diminished)
        mapped = random_restart.cluster(
            problem, params, seed=1, stop=lambda: False, report=lambda progress: None
        )
        costs[reassigned, diminished, rounds] = slow_cost(problem, mapped)
    assert costs[0, 1, 3] == slow_cost(problem, run(groups_first, problem, seed=1))
    assert costs[0.5, 0, 1] == costs[0.5, 0, 6]
    assert costs[0.5, 1, 6] < costs[0.5, 0, 6]


def test_groups_first_divides_streams_equally() -> None:
    problem = market_load(1, SHAPE, max_streams=20, max_groups=5)
    mapped = run(groups_first, problem)
    assert np.bincount(mapped.group_of).tolist() == [4] * 5


def test_flat_puts_one_stream_into_each_group() -> None:
    for streams, groups in ((20, 5), (5, 20)):
        problem = market_load(1, SHAPE, max_streams=streams, max_groups=groups)
        mapped = run(flat, problem)
        used = mapped.group_of[mapped.group_of != NOWHERE]
        assert sorted(set(used.tolist())) == sorted(used.tolist())
        assert len(used) == 5


def test_flat_uses_the_streams_of_pinned_flows() -> None:
    wishes = [(1.0, {at % 5}) for at in range(12)]
    problem = problem_of(wishes, streams=12, groups=3, pins={0: 9, 1: 10}, group_pins={9: 1})
    mapped = run(flat, problem)
    check(problem, mapped)
    used = mapped.group_of[mapped.group_of != NOWHERE]
    assert sorted(used.tolist()) == [0, 1, 2]


def test_hierarchy_filters_better_than_none() -> None:
    problem = market_load(1, SHAPE, max_streams=20, max_groups=5)
    plain = slow_cost(problem, run(flat, problem))
    assert max(slow_cost(problem, run(method, problem)) for method in METHODS[1:]) < plain


@EACH_METHOD
def test_enough_streams_and_groups_cost_nothing(method: Any) -> None:
    wishes = [(1.0 + at, {at % 4, (at * at) % 5}) for at in range(8)]
    problem = problem_of(wishes, streams=50_000, groups=5_000)
    mapped = run(method, problem)
    check(problem, mapped)
    assert slow_cost(problem, mapped) == 0


@EACH_METHOD
def test_nothing_to_map_is_mapped(method: Any) -> None:
    for wishes in ([], [(3.0, set())]):
        problem = problem_of(wishes, streams=4, groups=2)
        mapped = run(method, problem)
        check(problem, mapped)


def test_tiny_cases_are_solved_as_well_as_by_trying_all() -> None:
    """Not every random start ends at the optimum, but the best of some does."""
    wishes = [(2.0, {0, 1}), (3.0, {1, 2}), (1.0, {0, 1}), (5.0, {2}), (4.0, {3, 0})]
    problem = problem_of(wishes, streams=3, groups=2)
    least = min(
        slow_cost(problem, FlowMap(stream_of=np.array(streams), group_of=np.array(groups)))
        for streams in product(range(3), repeat=5)
        for groups in product(range(2), repeat=3)
    )
    for method in (iterative, streams_first):
        costs = [slow_cost(problem, run(method, problem, seed=seed)) for seed in range(20)]
        assert min(costs) == pytest.approx(least)
