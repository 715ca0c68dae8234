"""Weir's own method against every map there is, and what it must never do."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weir.clustering import joint
from weir.model.mapping import NOWHERE, Interests, MappingProblem, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.model.mapping import FlowMap


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
    wanted = [flow for flow in range(len(problem.flows)) if audience_of(problem, flow)]
    best = None
    streams, groups = range(problem.max_streams), range(problem.max_groups)
    of_streams = [groups if pin == NOWHERE else [int(pin)] for pin in problem.pinned_group.tolist()]
    of_flows = [
        streams if problem.pinned_stream[flow] == NOWHERE else [int(problem.pinned_stream[flow])]
        for flow in wanted
    ]
    for choice in product(*of_flows):
        of = dict(zip(wanted, choice, strict=True))
        whole = [of.get(flow, NOWHERE) for flow in range(len(problem.flows))]
        for group_of in product(*of_streams):
            cost = cost_of(problem, whole, group_of)
            best = cost if best is None or cost < best else best
    assert best is not None
    return best


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


COMPILES = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)


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
