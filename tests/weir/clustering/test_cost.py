"""Costs of maps against a slow recount with sets and fractions, bit by bit."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.suites import effort
from tests.weir.clustering.problems import RATES, plain, plains, problem
from weir.clustering.cost import (
    exact_dot,
    filtering_cost,
    map_in_force,
    moved,
    moved_streams,
    pin_prices,
    random_cost,
    random_filtering,
)
from weir.codec.mapping import mapping_from_dict, mapping_from_json
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[2] / "golden" / "mapping"
CHEAPEST_MARKETS = (35.125, 45.5)

Where = dict[str, int]


def refiltered(
    text: dict[str, Any], stream_of: Where, group_of: dict[int, int]
) -> tuple[Fraction, Fraction]:
    """Return messages per second that users drop, and that they are handed unwanted."""
    rates = {flow["id"]: Fraction(float(flow["rate"])) for flow in text["flows"]}
    dropped = unwanted = Fraction(0)
    for flows in (set(user["flows"]) for user in text["users"]):
        streams = {stream_of[flow] for flow in flows if flow in stream_of}
        groups = {group_of[stream] for stream in streams}
        for flow, stream in stream_of.items():
            if group_of[stream] in groups and stream not in streams:
                dropped += rates[flow]
            if stream in streams and flow not in flows:
                unwanted += rates[flow]
    return dropped, unwanted


def recount(text: dict[str, Any], stream_of: Where, group_of: dict[int, int]) -> list[Fraction]:
    """Return transport and messaging cost of a map, from the file's own words."""
    costs = {name: Fraction(float(value)) for name, value in text["costs"].items()}
    dropped, unwanted = refiltered(text, stream_of, group_of)
    return [costs["transport"] / costs["aggregation"] * dropped, costs["messaging"] * unwanted]


def arrays(
    given_problem: MappingProblem, stream_of: Where, group_of: dict[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    streams = [stream_of.get(name, NOWHERE) for name in given_problem.flows]
    groups = [group_of.get(at, NOWHERE) for at in range(given_problem.max_streams)]
    return np.array(streams, dtype=np.int64), np.array(groups, dtype=np.int64)


def wanted_flows(text: dict[str, Any]) -> list[str]:
    return sorted({flow for user in text["users"] for flow in user["flows"]})


@st.composite
def mapped(draw: st.DrawFn, **named: Any) -> tuple[dict[str, Any], Where, dict[int, int]]:
    """Return a problem and a map of it that keeps its pins."""
    text = draw(plains(**named))
    pins = text["pins"]
    streams, groups = (st.integers(0, text[key] - 1) for key in ("max_streams", "max_groups"))
    stream_of = {
        flow: pins["flow_to_stream"].get(flow, draw(streams)) for flow in wanted_flows(text)
    }
    group_of = {
        stream: pins["stream_to_group"].get(str(stream), draw(groups))
        for stream in sorted(set(stream_of.values()))
    }
    return text, stream_of, group_of


@given(mapped(flows=12, users=8))
def test_costs_are_the_doubles_nearest_to_the_recount(case: Any) -> None:
    text, stream_of, group_of = case
    of = mapping_from_dict(text)
    transport, messaging = recount(text, stream_of, group_of)
    cost = filtering_cost(of, *arrays(of, stream_of, group_of))
    assert cost.transport == float(transport)
    assert cost.messaging == float(messaging)
    assert cost.total == float(transport + messaging)
    dropped, unwanted = refiltered(text, stream_of, group_of)
    assert (cost.dropped_per_s, cost.unwanted_per_s) == (float(dropped), float(unwanted))


def test_the_slides_example_of_adding_a_topic() -> None:
    # Topics 1 to 3 in one stream, joined by topic 5: R5 and R1 + R2 + R3 are unwanted.
    rates = [1.0, 2.0, 4.0, 8.0]
    wanted = [[0, 2, 3], [0, 1, 3], [0, 1, 2, 3], [2], [3], []]
    one = problem(rates, wanted, streams=2, groups=1, costs=(0.0, 1.0, 1.0))
    apart = filtering_cost(one, np.array([0, 0, 0, 1]), np.array([0, 0]))
    joined = filtering_cost(one, np.array([0, 0, 0, 0]), np.array([0, NOWHERE]))
    assert joined.total - apart.total == 8.0 + (1.0 + 2.0 + 4.0)


def test_what_a_map_leaves_out_costs_nothing() -> None:
    text = plain([1.0, 2.0, 4.0], [[0, 1], [0], [2]], streams=2, groups=1)
    of = mapping_from_dict(text)
    stream_of, group_of = {"f0000": 1, "f0002": 0}, {0: 0, 1: 0}
    transport, messaging = recount(text, stream_of, group_of)
    cost = filtering_cost(of, *arrays(of, stream_of, group_of))
    assert (cost.transport, cost.messaging) == (float(transport), float(messaging))
    assert cost.total == 0.25 * (2 * 4.0 + 1.0)


def test_sums_are_exact_where_doubles_would_lose_digits() -> None:
    values = np.array([1e30, 1.0, 1e-30, 0.1] * 1000)
    counts = np.arange(4000) * 700_001
    exact = sum(
        Fraction(value) * count for value, count in zip(values, counts.tolist(), strict=True)
    )
    assert exact_dot(values, counts) == exact
    assert exact_dot(np.array([0.1]), np.array([2**51])) == Fraction(0.1) * 2**51
    assert exact_dot(np.array([]), np.array([], dtype=np.int64)) == 0


def expected(text: dict[str, Any]) -> dict[str, Fraction]:
    """Return the mean over all ways to put the wanted flows into streams."""
    flows = wanted_flows(text)
    group_of = {at: at % text["max_groups"] for at in range(text["max_streams"])}
    sums, ways = [Fraction(0)] * 4, 0
    for streams in product(range(text["max_streams"]), repeat=len(flows)):
        stream_of = dict(zip(flows, streams, strict=True))
        each = [*recount(text, stream_of, group_of), *refiltered(text, stream_of, group_of)]
        sums = [total + more for total, more in zip(sums, each, strict=True)]
        ways += 1
    names = ("transport", "messaging", "dropped_per_s", "unwanted_per_s")
    means = {name: total / ways for name, total in zip(names, sums, strict=True)}
    return {**means, "total": means["transport"] + means["messaging"]}


def check_random(text: dict[str, Any], rel: float) -> None:
    of = mapping_from_dict(text)
    cost = random_filtering(of)
    for name, exact in expected(text).items():
        assert getattr(cost, name) == pytest.approx(float(exact), rel=rel, abs=0.0), name
    assert random_cost(of) == cost.total


@pytest.mark.parametrize(
    ("streams", "groups"), [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (4, 2), (5, 3), (5, 2), (3, 7)]
)
def test_random_cost_is_the_mean_over_all_assignments(streams: int, groups: int) -> None:
    wanted = [[0, 1], [1, 2, 3], [0], [], [1, 2]]
    text = plain([0.1, 5.0, 1e-9, 1e6, 3.0], wanted, streams=streams, groups=groups)
    check_random(text, 1e-13)


@given(plains(flows=4, users=4))
def test_random_cost_of_any_tiny_problem(text: dict[str, Any]) -> None:
    check_random(text, 1e-12)


def test_random_cost_of_a_rate_that_nearly_everybody_wants() -> None:
    # What is left once the wanted is taken from everything is far below its rounding.
    wanted = [[0, 1]] * 9 + [[0]]
    text = plain([1e20, 1.0], wanted, streams=3, groups=2, costs=(2.0, 1.0, 8.0))
    check_random(text, 1e-12)


def single_moves(
    text: dict[str, Any], stream_of: Where, group_of: dict[int, int], flow: str
) -> list[tuple[Where, dict[int, int]]]:
    """Return all maps in which this flow alone is in another stream."""
    maps = []
    for stream in range(text["max_streams"]):
        if stream == stream_of[flow]:
            continue
        hosts = [group_of[stream]] if stream in group_of else range(text["max_groups"])
        pin = text["pins"]["stream_to_group"].get(str(stream))
        for group in hosts if stream in group_of or pin is None else [pin]:
            maps.append(({**stream_of, flow: stream}, {**group_of, stream: group}))
    return maps


@settings(max_examples=effort(400, 5000))
@given(mapped(rates=st.one_of(RATES, st.sampled_from([1.0, 2.0, 0.1, 5.0]))))
def test_the_price_of_a_pin_is_what_the_best_single_move_saves(case: Any) -> None:
    check_prices(*case)


@settings(max_examples=effort(400, 5000))
@given(mapped(users=3, flows=6, rates=st.sampled_from([1.0, 2.0, 0.1, 5.0])))
def test_the_price_of_a_pin_among_comparable_rates(case: Any) -> None:
    # Everything is pinned where it is, so everything has a price.
    text, stream_of, group_of = case
    text["pins"]["flow_to_stream"] = dict(stream_of)
    text["pins"]["stream_to_group"].update({str(at): group for at, group in group_of.items()})
    check_prices(text, stream_of, group_of)


def test_the_price_of_a_pin_whose_best_moves_differ_by_less_than_doubles_show() -> None:
    text = plain(
        [0.2, 1.1, 0.3, 0.7, 0.4, 0.1, 0.7],
        [[0, 1, 3, 5, 6], [0, 1, 2, 4], [2, 3, 4, 5, 6]],
        streams=5,
        groups=3,
        costs=(0.1, 0.3, 1.0),
        more={"pins": {"flow_to_stream": {"f0000": 1}, "stream_to_group": {}}},
    )
    stream_of = {f"f{at:04}": stream for at, stream in enumerate([1, 3, 2, 4, 0, 4, 3])}
    check_prices(text, stream_of, {0: 1, 1: 1, 2: 2, 3: 0, 4: 0})


def check_prices(text: dict[str, Any], stream_of: Where, group_of: dict[int, int]) -> None:
    """Compare each price with the recounts of all single moves."""
    of = mapping_from_dict(text)
    streams_then, groups_then = arrays(of, stream_of, group_of)
    prices = pin_prices(of, FlowMap(stream_of=streams_then, group_of=groups_then))
    now = sum(recount(text, stream_of, group_of))
    assert {of.flows[at] for at in prices.flows} == text["pins"]["flow_to_stream"].keys()
    assert {str(at) for at in prices.streams} == text["pins"]["stream_to_group"].keys()
    for at, price in prices.flows.items():
        flow = of.flows[at]
        best = now
        if flow in stream_of:
            others = single_moves(text, stream_of, group_of, flow)
            best = min([now, *(sum(recount(text, *other)) for other in others)])
        assert price == float(now - best)
    for stream, price in prices.streams.items():
        best = now
        if stream in group_of:
            others = [{**group_of, stream: group} for group in range(text["max_groups"])]
            best = min(sum(recount(text, stream_of, other)) for other in others)
        assert price == float(now - best)


def test_moves_count_what_is_mapped_before_and_now() -> None:
    previous = {
        "stream_of": {"f0000": 0, "f0001": 1, "f0002": 1, "f0003": 9},
        "group_of": {"0": 0, "1": 0, "9": 1},
    }
    of = problem([1.0] * 5, [[0, 1, 3, 4]], more={"previous": previous})
    now = FlowMap(stream_of=np.array([0, 2, NOWHERE, 1, 0]), group_of=np.array([1, 0, 0]))
    # f0001 alone: nobody wants f0002 now, and f0003 was in a stream that is no longer there.
    assert moved(of, now) == 1
    assert moved_streams(of, now) == 1  # stream 0; stream 2 was not used before
    before = problem([1.0] * 5, [[0, 1, 3, 4]])
    assert (moved(before, now), moved_streams(before, now)) == (0, 0)


def test_the_map_in_force_is_what_reaches_somebody() -> None:
    text = plain([1.0, 2.0, 4.0, 8.0, 16.0], [[0, 1], [0, 3]], streams=4, groups=2)
    assert map_in_force(mapping_from_dict(text)) is None
    # f0002 is still sent, though nobody wants it; stream 2 lies in no group; stream 3 is empty.
    text["previous"] = {
        "stream_of": {"f0000": 0, "f0002": 0, "f0003": 2, "f0004": 1, "gone": 1},
        "group_of": {"0": 1, "1": 0, "3": 0},
    }
    of = mapping_from_dict(text)
    in_force = map_in_force(of)
    assert in_force is not None
    assert in_force.stream_of.tolist() == [0, NOWHERE, 0, NOWHERE, 1]
    assert in_force.group_of.tolist() == [1, 0, NOWHERE, NOWHERE]
    cost = filtering_cost(of, in_force.stream_of, in_force.group_of)
    assert (cost.unwanted_per_s, cost.dropped_per_s) == (2 * 4.0, 0.0)
    assert of.former is not None
    assert of.former.stream_of.tolist() == [0, NOWHERE, 0, 2, 1]


def partitions(count: int, most: int) -> Iterator[list[int]]:
    """Return all ways to divide things into at most so many parts, as the part of each."""
    if not count:
        yield []
        return
    for parts in partitions(count - 1, most):
        for part in range(min(most, max(parts, default=-1) + 2)):
            yield [*parts, part]


def test_the_cheapest_map_of_the_markets() -> None:
    of = mapping_from_json((GOLDEN / "markets.json").read_bytes())
    wanted = np.flatnonzero(of.interests.audiences)
    assert [of.flows[at] for at in np.flatnonzero(of.interests.audiences == 0)] == ["metals.tin"]
    best = {}
    for streams in partitions(len(wanted), of.max_streams):
        stream_of = np.full(len(of.flows), NOWHERE)
        stream_of[wanted] = streams
        for groups in partitions(max(streams) + 1, of.max_groups):
            group_of = np.full(of.max_streams, NOWHERE)
            group_of[: len(groups)] = groups
            cost = filtering_cost(of, stream_of, group_of)
            best[cost.total] = cost
    cheapest = best[min(best)]
    assert (cheapest.transport, cheapest.messaging) == CHEAPEST_MARKETS
