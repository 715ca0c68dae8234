"""Weir's own method against every map there is, and what it must never do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.suites import effort
from weir.clustering import iterative, joint, random_restart
from weir.clustering._improve import Watch
from weir.clustering._items import items_of
from weir.clustering._search import MANY_STREAMS
from weir.clustering.adaptive import curve
from weir.clustering.cost import filtering_cost
from weir.clustering.loads import MarketShape, drifted, market_load
from weir.model.mapping import NOWHERE, FlowMap, FormerMap, Interests, MappingProblem, Weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from weir.clustering.adaptive import Point


def problem_of(
    audiences: Sequence[Sequence[int]],
    rates: Sequence[float],
    *,
    users: int,
    streams: int,
    groups: int,
    weights: Weights | None = None,
    pinned_stream: Sequence[int] | None = None,
    pinned_group: Sequence[int] | None = None,
) -> MappingProblem:
    """Return a problem with these audiences by flow."""
    lengths = [len(set(audience)) for audience in audiences]
    ids = [user for audience in audiences for user in sorted(set(audience))]
    nowhere = [NOWHERE] * max(len(rates), streams)
    return MappingProblem(
        flows=tuple(f"f{at}" for at in range(len(rates))),
        rates_per_s=np.array(rates, dtype=float),
        users=tuple(f"u{at}" for at in range(users)),
        interests=Interests(
            starts=np.append(0, np.cumsum(lengths)).astype(np.int64),
            users=np.array(ids, dtype=np.int32),
            user_count=users,
        ),
        max_streams=streams,
        max_groups=groups,
        weights=weights or Weights(transport=2.0, messaging=1.0, aggregation=8.0),
        pinned_stream=np.array(pinned_stream or nowhere[: len(rates)], dtype=np.int64),
        pinned_group=np.array(pinned_group or nowhere[:streams], dtype=np.int64),
    )


def audience_of(problem: MappingProblem, flow: int) -> set[int]:
    begin, end = problem.interests.starts[flow : flow + 2]
    return set(problem.interests.users[begin:end].tolist())


def cost_of(problem: MappingProblem, streams: Sequence[int], groups: Sequence[int]) -> Fraction:
    """Recount the cost with sets and fractions."""
    wanted = [flow for flow in range(len(problem.flows)) if audience_of(problem, flow)]
    weights = problem.weights
    in_packet = Fraction(weights.transport) / Fraction(weights.aggregation)
    total = Fraction(0)
    for of, factor in (
        ([streams[flow] for flow in range(len(problem.flows))], None),
        ([groups[streams[flow]] for flow in range(len(problem.flows))], in_packet),
    ):
        scale = Fraction(weights.messaging) - in_packet if factor is None else factor
        for cluster in {of[flow] for flow in wanted}:
            members = [flow for flow in wanted if of[flow] == cluster]
            rate = sum(Fraction(float(problem.rates_per_s[flow])) for flow in members)
            users = set().union(*(audience_of(problem, flow) for flow in members))
            total += scale * rate * len(users)
    for flow in wanted:
        rate = Fraction(float(problem.rates_per_s[flow]))
        total -= Fraction(weights.messaging) * rate * len(audience_of(problem, flow))
    return total


def solve(problem: MappingProblem, *, effort: float = 30.0, seed: int = 0) -> FlowMap:
    params = joint.Params(effort=effort)
    never = lambda: False  # noqa: E731
    return joint.cluster(problem, params, seed=seed, stop=never, report=lambda _: None)


def cheapest(problem: MappingProblem) -> Fraction:
    """Return the least cost of all maps that keep the pins."""
    return min(
        cost_of(problem, each.stream_of.tolist(), each.group_of.tolist())
        for each in every_map(problem)
    )


@st.composite
def tiny(draw: st.DrawFn, *, pins: bool = False) -> MappingProblem:
    """Return a problem with so few maps that all of them can be looked at."""
    flows, users = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    streams, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    member = st.lists(st.integers(0, users - 1), max_size=users, unique=True)
    audiences = draw(st.lists(member, min_size=flows, max_size=flows))
    rate = st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0, 1000.0])
    weights = Weights(
        transport=draw(st.sampled_from([0.0, 1.0, 2.0, 8.0])),
        messaging=draw(st.sampled_from([0.0, 1.0, 3.0])),
        aggregation=draw(st.sampled_from([1.0, 8.0])),
    )
    nowhere = st.just(NOWHERE)
    stream_pin = nowhere | st.integers(0, streams - 1) if pins else nowhere
    group_pin = nowhere | st.integers(0, groups - 1) if pins else nowhere
    return problem_of(
        audiences,
        draw(st.lists(rate, min_size=flows, max_size=flows)),
        users=users,
        streams=streams,
        groups=groups,
        weights=weights,
        pinned_stream=draw(st.lists(stream_pin, min_size=flows, max_size=flows)),
        pinned_group=draw(st.lists(group_pin, min_size=streams, max_size=streams)),
    )


def check_valid(problem: MappingProblem, flow_map: FlowMap) -> None:
    """Assert that limits and pins are kept, and that just the wanted flows are mapped."""
    wanted = problem.interests.audiences > 0
    assert ((flow_map.stream_of != NOWHERE) == wanted).all()
    used = np.unique(flow_map.stream_of[wanted])
    assert ((flow_map.group_of != NOWHERE).nonzero()[0] == used).all()
    assert (used < problem.max_streams).all()
    assert (flow_map.group_of[used] < problem.max_groups).all()
    pinned = wanted & (problem.pinned_stream != NOWHERE)
    assert (flow_map.stream_of[pinned] == problem.pinned_stream[pinned]).all()
    tied = used[problem.pinned_group[used] != NOWHERE]
    assert (flow_map.group_of[tied] == problem.pinned_group[tied]).all()


COMPILES = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=effort(25, 400)
)


FEWER = settings(COMPILES, max_examples=effort(8, 200))


@pytest.mark.parametrize("pins", [False, True])
def test_tiny_problems_get_the_cheapest_map_of_all(pins: bool) -> None:
    @COMPILES
    @given(tiny(pins=pins))
    def check(problem: MappingProblem) -> None:
        flow_map = solve(problem)
        check_valid(problem, flow_map)
        cost = cost_of(problem, flow_map.stream_of.tolist(), flow_map.group_of.tolist())
        assert cost == cheapest(problem)

    check()


def middling_of(seed: int) -> MappingProblem:
    """Return a problem of some dozens of flows, with a few pins and a random former map."""
    chance = np.random.default_rng(seed)
    flows, users = int(chance.integers(20, 60)), int(chance.integers(3, 20))
    streams, groups = int(chance.integers(2, 15)), int(chance.integers(1, 8))
    audiences = [
        np.flatnonzero(chance.random(users) < chance.random() * 0.5).tolist() for _ in range(flows)
    ]

    def some(count: int, below: int) -> list[int]:
        return np.where(
            chance.random(count) < 0.15, chance.integers(0, below, count), NOWHERE
        ).tolist()

    problem = problem_of(
        audiences,
        chance.exponential(10.0, flows).tolist(),
        users=users,
        streams=streams,
        groups=groups,
        weights=Weights(
            transport=float(chance.choice([1.0, 2.0, 30.0])), messaging=1.0, aggregation=8.0
        ),
        pinned_stream=some(flows, streams),
        pinned_group=some(streams, groups),
    )
    former = FormerMap(
        stream_of=np.where(chance.random(flows) < 0.9, chance.integers(0, streams, flows), NOWHERE),
        group_of=np.where(
            chance.random(streams) < 0.9, chance.integers(0, groups, streams), NOWHERE
        ),
    )
    fee = float(chance.choice([0.0, 1.0, 100.0, 1e9]))
    return replace(problem, former=former, move_cost=fee, stream_move_cost=fee * 2.0)


middling = st.integers(0, 2**32 - 1).map(middling_of)


def moves(problem: MappingProblem, flow_map: FlowMap) -> tuple[int, int]:
    """Count flows in another stream than before, and streams in another group."""
    former = problem.former
    assert former is not None
    both = (former.stream_of != NOWHERE) & (flow_map.stream_of != NOWHERE)
    of_streams = (former.group_of != NOWHERE) & (flow_map.group_of != NOWHERE)
    return (
        int((former.stream_of[both] != flow_map.stream_of[both]).sum()),
        int((former.group_of[of_streams] != flow_map.group_of[of_streams]).sum()),
    )


def with_charges(problem: MappingProblem, flow_map: FlowMap) -> float:
    """Return the cost of a map with what its moves are charged."""
    flows, streams = moves(problem, flow_map)
    cost = float(cost_of(problem, flow_map.stream_of.tolist(), flow_map.group_of.tolist()))
    return cost + flows * problem.move_cost + streams * problem.stream_move_cost


@FEWER
@given(middling)
def test_pins_and_limits_hold_anew_and_from_a_former_map(problem: MappingProblem) -> None:
    check_valid(problem, solve(replace(problem, former=None), effort=3.0))
    check_valid(problem, solve(problem, effort=3.0))
    for point in points_of(problem):
        check_valid(problem, point.flow_map)


def points_of(problem: MappingProblem, *, effort: float = 3.0) -> tuple[Point, ...]:
    watch = Watch(stop=lambda: False, report=lambda _: None)
    trials = int(effort * len(problem.interests.users))
    drawn = curve(problem, trials=trials, seed=0, watch=watch)
    assert drawn.complete
    return drawn.points


@FEWER
@given(middling)
def test_a_former_map_is_left_only_where_that_pays(problem: MappingProblem) -> None:
    points = points_of(problem)
    stays, flow_map = points[0].flow_map, solve(problem, effort=3.0)
    assert with_charges(problem, flow_map) <= with_charges(problem, stays) * (1 + 1e-9) + 1e-9


@COMPILES
@given(tiny(pins=True), st.data())
def test_tiny_problems_get_the_map_that_is_cheapest_with_its_charges(
    problem: MappingProblem, data: st.DataObject
) -> None:
    streams, groups = problem.max_streams, problem.max_groups
    member = st.integers(-1, streams - 1)
    former = FormerMap(
        stream_of=np.array(data.draw(st.tuples(*[member] * len(problem.flows)))),
        group_of=np.array(data.draw(st.tuples(*[st.integers(0, groups - 1)] * streams))),
    )
    problem = replace(
        problem,
        former=former,
        move_cost=data.draw(st.sampled_from([0.0, 1.0, 10.0])),
        stream_move_cost=data.draw(st.sampled_from([0.0, 1.0, 10.0])),
    )
    best = min(with_charges(problem, each) for each in every_map(problem))
    assert with_charges(problem, solve(problem)) == pytest.approx(best)


def every_map(problem: MappingProblem) -> Iterator[FlowMap]:
    """Yield each map that keeps the pins."""
    wanted = (problem.interests.audiences > 0).nonzero()[0].tolist()
    of_flows = [
        range(problem.max_streams) if pin == NOWHERE else [pin]
        for pin in problem.pinned_stream[wanted].tolist()
    ]
    of_streams = [
        range(problem.max_groups) if pin == NOWHERE else [pin]
        for pin in problem.pinned_group.tolist()
    ]
    for choice in product(*of_flows):
        stream_of = np.full(len(problem.flows), NOWHERE, dtype=np.int64)
        stream_of[wanted] = choice
        used = np.isin(np.arange(problem.max_streams), choice)
        for groups in product(*of_streams):
            yield FlowMap(stream_of=stream_of, group_of=np.where(used, groups, NOWHERE))


def test_the_curve_falls_from_the_former_map_with_growing_moves() -> None:
    problem = market_load(1, MarketShape(flows=1000, users=60), max_streams=60, max_groups=8)
    first = solve(problem)
    drifted_problem = replace(
        drifted(problem, 0.1, seed=2),
        former=FormerMap(stream_of=first.stream_of, group_of=first.group_of),
    )
    points = points_of(drifted_problem)
    costs = [
        float(
            cost_of(
                drifted_problem, each.flow_map.stream_of.tolist(), each.flow_map.group_of.tolist()
            )
        )
        for each in points
    ]
    assert moves(drifted_problem, points[0].flow_map) == (0, 0)
    assert len(points) > 5
    counts = [sum(moves(drifted_problem, point.flow_map)) for point in points]
    assert counts == sorted(set(counts))
    assert costs == sorted(set(costs), reverse=True)


@pytest.mark.thorough
def test_a_tenth_of_the_flows_moved_brings_two_thirds_of_what_a_map_made_anew_would() -> None:
    problem = market_load(1, max_streams=1000, max_groups=100)
    first = solve(problem)
    now = replace(
        drifted(problem, 0.1, seed=1),
        former=FormerMap(stream_of=first.stream_of, group_of=first.group_of),
    )

    def total(flow_map: FlowMap) -> float:
        return filtering_cost(now, flow_map.stream_of, flow_map.group_of).total

    points = points_of(now, effort=20.0)
    tenth = [
        total(point.flow_map)
        for point in points
        if sum(moves(now, point.flow_map)) <= 0.1 * len(now.flows)
    ]
    stays, anew = total(points[0].flow_map), total(solve(replace(now, former=None)))
    assert stays - min(tenth) >= 0.65 * (stays - anew)


@pytest.mark.parametrize("polls", [0, 1, 3, 30])
@pytest.mark.parametrize("seed", range(12))
def test_a_stopped_search_answers_with_a_map(polls: int, seed: int) -> None:
    problem = middling_of(seed)
    for each in (problem, replace(problem, former=None)):
        for rounds in (0, 2):
            calls: list[int] = []

            def stop(calls: list[int] = calls) -> bool:
                calls.append(0)
                return len(calls) > polls

            params = joint.Params(effort=1e4, rounds=rounds)
            flow_map = joint.cluster(each, params, seed=0, stop=stop, report=lambda _: None)
            check_valid(each, flow_map)
            assert not flow_map.complete


def test_progress_never_falls_and_ends_at_its_total() -> None:
    problem = middling_of(3)
    for each in (problem, replace(problem, former=None)):
        for params in (joint.Params(restarts=2), joint.Params(rounds=3)):
            seen: list[Mapping[str, Any]] = []
            joint.cluster(each, params, seed=0, stop=lambda: False, report=seen.append)
            done = [each["done"] for each in seen]
            assert done == sorted(done)
            assert done[-1] == seen[-1]["total"]


def many_streams(**more: Any) -> MappingProblem:
    """Return a problem of more streams than are all looked at, each with a user of its own."""
    count = MANY_STREAMS + 5
    rates = [1.0 + at for at in range(count + 1)]
    audiences = [[at] for at in range(count + 1)]
    problem = problem_of(audiences, rates, users=count + 1, streams=count, groups=3)
    return replace(problem, **more)


def test_of_many_streams_in_use_one_takes_a_flow_whose_user_wants_nothing_else() -> None:
    count = MANY_STREAMS + 5
    former = FormerMap(
        stream_of=np.append(np.arange(count), NOWHERE), group_of=np.arange(count) % 3
    )
    kept = many_streams(former=former, move_cost=1e9, stream_move_cost=1e9)
    point = points_of(kept, effort=0.0)[0]
    check_valid(kept, point.flow_map)
    assert moves(kept, point.flow_map) == (0, 0)
    assert moves(kept, solve(kept, effort=0.0)) == (0, 0)
    pinned = many_streams(pinned_stream=former.stream_of)
    check_valid(pinned, solve(pinned, effort=0.0))


def test_streams_pinned_to_a_group_leave_the_others_within_reach() -> None:
    problem = problem_of(
        [[0], [1]], [1.0, 1.0], users=2, streams=3, groups=2, pinned_group=[0, 0, NOWHERE]
    )
    flow_map = solve(problem)
    assert cost_of(problem, flow_map.stream_of.tolist(), flow_map.group_of.tolist()) == 0


def test_of_pinned_streams_the_one_that_is_charged_nothing_is_taken() -> None:
    problem = problem_of([[0]], [7.0], users=1, streams=2, groups=3, pinned_group=[0, 0])
    former = FormerMap(stream_of=np.array([NOWHERE]), group_of=np.array([2, NOWHERE]))
    problem = replace(problem, former=former, move_cost=1.0, stream_move_cost=1.0)
    assert with_charges(problem, solve(problem)) == 0.0


@pytest.mark.parametrize("pin", [NOWHERE, 0])
def test_a_pin_to_the_only_group_changes_nothing(pin: int) -> None:
    wanted = [[0], [1, 2, 3], [0, 1, 2, 3], [0, 2]]
    problem = problem_of(
        wanted,
        [8.0, 4.0, 9.0, 7.0],
        users=4,
        streams=3,
        groups=1,
        weights=Weights(transport=1.0, messaging=1.0, aggregation=1.1),
        pinned_group=[NOWHERE, NOWHERE, pin],
    )
    for seed in range(10):
        found = solve(problem, seed=seed)
        cost = cost_of(problem, found.stream_of.tolist(), found.group_of.tolist())
        assert cost == cheapest(problem)


def test_a_charge_that_drowns_in_what_is_delivered_still_keeps_the_map() -> None:
    problem = problem_of(
        [[0], [], [0]],
        [0.001, 1.0, 1.0],
        users=1,
        streams=4,
        groups=1,
        weights=Weights(transport=1.0, messaging=1e30, aggregation=1.0),
    )
    former = FormerMap(stream_of=np.array([3, NOWHERE, 1]), group_of=np.zeros(4, dtype=np.int64))
    problem = replace(problem, former=former, move_cost=1e5)
    assert moves(problem, solve(problem)) == (0, 0)


def test_a_charge_that_nothing_avoids_does_not_end_the_search() -> None:
    chance = np.random.default_rng(1)
    audiences = [np.flatnonzero(chance.random(12) < 0.3).tolist() for _ in range(30)]
    audiences[0] = [0]
    pinned = [1] + [NOWHERE] * 29
    problem = problem_of(
        audiences,
        chance.exponential(10.0, 30).tolist(),
        users=12,
        streams=8,
        groups=3,
        pinned_stream=pinned,
    )
    former = FormerMap(
        stream_of=np.array([0] + [NOWHERE] * 29), group_of=np.zeros(8, dtype=np.int64)
    )
    costs = [
        cost_of(problem, each.stream_of.tolist(), each.group_of.tolist())
        for fee in (1.0, 1e20)
        for each in [solve(replace(problem, former=former, move_cost=fee))]
    ]
    assert costs[0] == costs[1]


def test_users_who_want_nothing_take_no_room() -> None:
    problem = problem_of([[999_999], [5]], [1.0, 2.0], users=1_000_000, streams=2, groups=2)
    items = items_of(problem, collapse=True)
    assert (items.user_count, items.users.tolist()) == (2, [1, 0])


def test_a_curve_is_drawn_where_messages_cost_nothing_and_where_nobody_wants_any() -> None:
    former = FormerMap(stream_of=np.zeros(3, dtype=np.int64), group_of=np.array([0, NOWHERE]))
    weights = Weights(transport=1.0, messaging=0.0, aggregation=1.0)
    for audiences in ([[0], [1], [0, 1]], [[], [], []]):
        problem = problem_of(
            audiences, [1.0, 2.0, 3.0], users=2, streams=2, groups=2, weights=weights
        )
        points = points_of(replace(problem, former=former))
        assert moves(replace(problem, former=former), points[0].flow_map) == (0, 0)


def test_rates_far_apart_do_not_hide_small_ones() -> None:
    problem = problem_of(
        [[0, 1], [0], [1], [2]], [1e15, 1.0, 3.0, 10.0], users=3, streams=3, groups=2
    )
    flow_map = solve(problem)
    cost = cost_of(problem, flow_map.stream_of.tolist(), flow_map.group_of.tolist())
    assert cost == cheapest(problem)


def test_the_same_seed_gives_the_same_map() -> None:
    problem = market_load(1, MarketShape(flows=1000, users=60), max_streams=60, max_groups=8)
    one, two = solve(problem), solve(problem)
    assert (one.stream_of == two.stream_of).all()
    assert (one.group_of == two.group_of).all()


@pytest.mark.parametrize("transport", [0.1, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(("streams", "groups"), [(40, 8), (200, 40)])
def test_no_map_of_the_slides_two_best_methods_is_cheaper(
    streams: int, groups: int, transport: float
) -> None:
    weights = Weights(transport=8.0 * transport, messaging=1.0, aggregation=8.0)
    shape = MarketShape(flows=1000, users=60)
    for seed in range(1, effort(2, 12)):
        problem = market_load(seed, shape, max_streams=streams, max_groups=groups, weights=weights)
        costs = {
            method.NAME: filtering_cost(problem, each.stream_of, each.group_of).total
            for method in (joint, iterative, random_restart)
            for each in [
                method.cluster(
                    problem,
                    method.Params(),
                    seed=seed,
                    stop=lambda: False,
                    report=lambda progress: None,
                )
            ]
        }
        assert costs[joint.NAME] <= min(costs.values()), costs
