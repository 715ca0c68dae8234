"""What users receive by a map, against a recount with sets and fractions; orders and blocks."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.weir.clustering.problems import plain, plains, problem
from weir.clustering.cost import filtering_cost
from weir.clustering.reception import Reception, heat_matrix, reception, unwanted_flows
from weir.codec.mapping import mapping_from_dict
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem

Pair = tuple[int, int]


@st.composite
def mapped(draw: st.DrawFn) -> tuple[MappingProblem, FlowMap]:
    """Return a problem, and a map with unwanted flows in it and wanted ones left out."""
    of = mapping_from_dict(draw(plains(flows=12, users=8)))
    streams = st.integers(NOWHERE, of.max_streams - 1)
    count = len(of.flows)
    stream_of = np.array(draw(st.lists(streams, min_size=count, max_size=count)), dtype=np.int64)
    groups = st.lists(
        st.integers(0, of.max_groups - 1), min_size=of.max_streams, max_size=of.max_streams
    )
    used = np.isin(np.arange(of.max_streams), stream_of)
    group_of = np.where(used, np.array(draw(groups), dtype=np.int64), NOWHERE)
    return of, FlowMap(stream_of=stream_of, group_of=group_of)


def wants(of: MappingProblem) -> list[set[int]]:
    starts, flows = of.interests.by_user
    return [set(flows[begin:end].tolist()) for begin, end in pairwise(starts.tolist())]


def recount(of: MappingProblem, flow_map: FlowMap) -> dict[Pair, dict[str, Any]]:
    """Return what each user receives from each group that it joins, exactly."""
    rates = [Fraction(rate) for rate in of.rates_per_s.tolist()]
    stream_of, group_of = flow_map.stream_of.tolist(), flow_map.group_of.tolist()
    flows = [flow for flow, stream in enumerate(stream_of) if stream != NOWHERE]
    rows: dict[Pair, dict[str, Any]] = {}
    for user, wanted in enumerate(wants(of)):
        taken = {stream_of[flow] for flow in wanted if stream_of[flow] != NOWHERE}
        for group in {group_of[stream] for stream in taken}:
            here = [flow for flow in flows if group_of[stream_of[flow]] == group]
            handed = [flow for flow in here if stream_of[flow] in taken]
            rows[user, group] = {
                "taken": len({stream_of[flow] for flow in handed}),
                "wanted_per_s": sum(rates[flow] for flow in handed if flow in wanted),
                "unwanted_per_s": sum(rates[flow] for flow in handed if flow not in wanted),
                "dropped_per_s": sum(rates[flow] for flow in here if flow not in handed),
            }
    return rows


@given(mapped())
def test_each_row_is_the_recount(case: Any) -> None:
    of, flow_map = case
    got, exact = reception(of, flow_map), recount(of, flow_map)
    pairs = list(zip(got.users.tolist(), got.groups.tolist(), strict=True))
    assert pairs == sorted(exact)
    for at, pair in enumerate(pairs):
        for name, value in exact[pair].items():
            # Exact to rounding of itself, whatever it is a difference of; nothing feigned at 0.
            assert getattr(got, name)[at] == pytest.approx(float(value), rel=1e-15, abs=0.0)


@given(mapped())
def test_sums_are_those_of_the_cost(case: Any) -> None:
    of, flow_map = case
    got = reception(of, flow_map)
    cost = filtering_cost(of, flow_map.stream_of, flow_map.group_of)
    for name in ("unwanted_per_s", "dropped_per_s"):
        whole = pytest.approx(getattr(cost, name), rel=1e-12, abs=0.0)
        assert getattr(got, name).sum() == whole
        assert got.by_user(getattr(got, name)).sum() == whole
        assert got.by_group(getattr(got, name)).sum() == whole
    exact = recount(of, flow_map)
    for user in range(len(of.users)):
        own = [row for (each, _), row in exact.items() if each == user]
        assert got.groups_joined[user] == len(own)
        assert got.streams_taken[user] == sum(row["taken"] for row in own)
    rates = [Fraction(rate) for rate in of.rates_per_s.tolist()]
    for group in range(of.max_groups):
        streams = set(np.flatnonzero(flow_map.group_of == group).tolist())
        flows = [flow for flow, at in enumerate(flow_map.stream_of.tolist()) if at in streams]
        assert got.group_users[group] == sum(group == each for _, each in exact)
        assert got.group_streams[group] == len(streams)
        assert got.group_flows[group] == len(flows)
        carried = float(sum(rates[flow] for flow in flows))
        assert got.group_rates_per_s[group] == pytest.approx(carried, rel=1e-15, abs=0.0)


@given(mapped())
def test_unwanted_flows_of_each_user_come_with_a_reason(case: Any) -> None:
    of, flow_map = case
    rates, weights = of.rates_per_s.tolist(), of.weights
    stream_of, group_of = flow_map.stream_of.tolist(), flow_map.group_of.tolist()
    totals = {"unwanted_per_s": 0.0, "dropped_per_s": 0.0}
    for user, wanted in enumerate(wants(of)):
        reached = {flow for flow in wanted if stream_of[flow] != NOWHERE}
        expected = []
        for flow, stream in enumerate(stream_of):
            if stream == NOWHERE or flow in wanted:
                continue
            same_stream = [each for each in reached if stream_of[each] == stream]
            same_group = [each for each in reached if group_of[stream_of[each]] == group_of[stream]]
            if same_group:
                reasons = same_stream or same_group
                because = min(reasons, key=lambda each: (-rates[each], each))
                weight = weights.messaging if same_stream else weights.packet_share
                cost = rates[flow] * weight
                expected.append((-cost, -rates[flow], flow, not same_stream, because))
                totals["unwanted_per_s" if same_stream else "dropped_per_s"] += rates[flow]
        got = unwanted_flows(of, flow_map, user)
        columns = (-got.costs, -of.rates_per_s[got.flows], got.flows, got.dropped, got.because)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        assert rows == sorted(expected)
    cost = filtering_cost(of, flow_map.stream_of, flow_map.group_of)
    assert totals["unwanted_per_s"] == pytest.approx(cost.unwanted_per_s, rel=1e-12, abs=0.0)
    assert totals["dropped_per_s"] == pytest.approx(cost.dropped_per_s, rel=1e-12, abs=0.0)


def received(wanted: Any) -> Reception:
    """Return a reception in which users want so much of each group, and nothing else."""
    wanted = np.asarray(wanted, dtype=np.float64)
    users, groups = np.nonzero(wanted >= 0.0)
    rates = wanted[users, groups]
    per_group = np.zeros(wanted.shape[1])
    return Reception(
        user_count=wanted.shape[0],
        group_count=wanted.shape[1],
        users=users,
        groups=groups,
        taken=np.ones_like(users),
        wanted_per_s=rates,
        unwanted_per_s=rates * 0.5,
        dropped_per_s=rates * 0.25,
        group_streams=per_group.astype(np.int64),
        group_flows=per_group.astype(np.int64),
        group_rates_per_s=per_group,
    )


NOT = -1.0
"""In a matrix of `received`: the user does not join the group."""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(60, 20), (20, 60), (40, 40)])
def test_a_shuffled_band_is_put_in_its_order(seed: int, shape: Pair) -> None:
    # Along a line each user wants what is near to it: only the line's two directions do that.
    at_user = np.arange(shape[0])[:, None] / shape[0]
    at_group = np.arange(shape[1])[None, :] / shape[1]
    near = np.exp(-(((at_user - at_group) / 0.1) ** 2))
    band = np.where(near > 0.01, near, NOT)
    rng = np.random.default_rng(seed)
    users, groups = rng.permutation(shape[0]), rng.permutation(shape[1])
    orders = received(band[users][:, groups]).orders
    for shuffle, order in ((users, orders[0]), (groups, orders[1])):
        placed = shuffle[order].tolist()
        # At both ends some want the same.
        wrong = np.abs(np.diff(placed if placed[0] < placed[-1] else placed[::-1]) - 1)
        assert wrong.sum() <= 6


def test_first_axis_is_that_of_correspondence_analysis() -> None:
    rng = np.random.default_rng(3)
    wanted = rng.random((12, 9)) * (rng.random((12, 9)) < 0.8) + 0.01
    part = wanted / wanted.sum()
    row, column = part.sum(axis=1), part.sum(axis=0)
    residual = (part - np.outer(row, column)) / np.sqrt(np.outer(row, column))
    left, _, right = np.linalg.svd(residual)
    users, groups = left[:, 0] / np.sqrt(row), right[0] / np.sqrt(column)
    sign = -np.sign(groups[0])
    orders = received(wanted).orders
    assert orders[0].tolist() == np.argsort(sign * users).tolist()
    assert orders[1].tolist() == np.argsort(sign * groups).tolist()
    turned = received(wanted.T).orders
    assert {tuple(turned[0]), tuple(turned[0][::-1])} & {tuple(orders[1])}


def test_blocks_that_share_nothing_stand_apart_the_busiest_first() -> None:
    wanted = np.full((9, 7), NOT)
    wanted[np.ix_([0, 4, 8], [1, 5])] = [[1.0, 2.0], [1.0, 1.0], [2.0, 1.0]]
    wanted[np.ix_([1, 3], [2, 6])] = 50.0
    wanted[6, 3] = 7.0
    wanted[5, [0, 3]] = 0.0  # joins groups of which it is never sent anything
    users, groups = received(wanted).orders
    assert users.tolist()[:2] == [1, 3]
    assert set(users.tolist()[2:5]) == {0, 4, 8}
    assert users.tolist()[5:] == [6, 5, 2, 7]
    assert set(groups.tolist()[:2]) == {2, 6}
    # Equal weights: the block of the first user comes first. Group 4 has nobody.
    assert set(groups.tolist()[2:4]) == {1, 5}
    assert groups.tolist()[4:] == [3, 0]


def test_one_group_and_no_group_have_orders() -> None:
    one = received([[1.0], [NOT], [5.0]]).orders
    assert [order.tolist() for order in one] == [[0, 2, 1], [0]]
    none = received([[NOT], [NOT]]).orders
    assert [order.tolist() for order in none] == [[0, 1], []]
    same = received(np.ones((5, 4))).orders
    assert [sorted(order.tolist()) for order in same] == [list(range(5)), list(range(4))]


@given(mapped(), st.integers(1, 9), st.integers(1, 9))
def test_heat_adds_up_what_stands_in_its_blocks(case: Any, rows: int, columns: int) -> None:
    of, flow_map = case
    got = reception(of, flow_map)
    matrix = heat_matrix(got, rows=rows, columns=columns)
    for blocks, most, everything in (
        (matrix.users, rows, range(len(of.users))),
        (matrix.groups, columns, sorted(set(got.groups.tolist()))),
    ):
        assert len(blocks) <= most
        assert sorted(np.concatenate([[], *blocks])) == list(everything)
        sizes = [len(block) for block in blocks]
        assert len(set(sizes[:-1])) <= 1
        assert not sizes or 0 < sizes[-1] <= sizes[0]
    exact = recount(of, flow_map)
    shape = len(matrix.users), len(matrix.groups)
    for name in ("joined", "wanted_per_s", "unwanted_per_s", "dropped_per_s"):
        values = getattr(matrix, name)
        assert values.shape == shape
        for row, users in enumerate(matrix.users):
            for column, groups in enumerate(matrix.groups):
                inside = [
                    exact[pair]
                    for user in users.tolist()
                    for group in groups.tolist()
                    if (pair := (user, group)) in exact
                ]
                total = len(inside) if name == "joined" else sum(each[name] for each in inside)
                assert values[row, column] == pytest.approx(float(total), rel=1e-13, abs=0.0)


@given(mapped())
def test_orders_do_not_depend_on_the_unit_of_rates(case: Any) -> None:
    of, flow_map = case
    plain_orders = reception(of, flow_map).orders
    # A power of two changes no digit.
    got = reception(of, flow_map)
    scaled = Reception(
        **{
            name: getattr(got, name) * (2.0**-40 if name == "wanted_per_s" else 1)
            for name in Reception.__dataclass_fields__
        }
    )
    for one, other in zip(plain_orders, scaled.orders, strict=True):
        assert one.tolist() == other.tolist()


def test_a_group_that_everybody_takes_whole_feigns_nothing() -> None:
    # 0.1 + 0.2 + 0.3 in doubles depends on the order; differences must be 0 all the same.
    rates = [0.1, 0.2, 0.3, 0.7, 1e16, 1e-9]
    of = problem(rates, [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]], streams=3, groups=1)
    streams = np.array([0, 1, 2, 0, 1, 2])
    got = reception(of, FlowMap(stream_of=streams, group_of=np.array([0, 0, 0])))
    assert got.unwanted_per_s.tolist() == [0.0, 0.0]
    assert got.dropped_per_s.tolist() == [0.0, 0.0]
    text = plain(rates, [[0, 1, 2, 3, 4]], streams=1, groups=1)
    got = reception(
        mapping_from_dict(text), FlowMap(stream_of=np.zeros(6, int), group_of=np.zeros(1, int))
    )
    assert got.unwanted_per_s.tolist() == [1e-9]
