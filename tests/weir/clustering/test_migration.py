"""The order of moves against a slow recount of every map on the way, bit by bit."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.suites import effort
from tests.weir.clustering.problems import RATES, plain, plains
from tests.weir.clustering.test_cost import recount, wanted_flows
from weir.clustering import clusterer
from weir.clustering.cost import filtering_cost
from weir.clustering.loads import MarketShape, drifted, market_load
from weir.clustering.migration import Move, costs_along, migration
from weir.codec.mapping import mapping_from_dict
from weir.model.mapping import NOWHERE, FlowMap, FormerMap, MappingProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

COMPARABLE = st.sampled_from([1.0, 2.0, 0.1, 5.0])


class Case(NamedTuple):
    """A problem as plain data, the map in force and the one that it becomes, as lists."""

    text: dict[str, Any]
    streams: list[int]
    groups: list[int]
    target_streams: list[int]
    target_groups: list[int]

    @property
    def problem(self) -> MappingProblem:
        return mapping_from_dict(self.text)

    @property
    def former(self) -> FormerMap:
        return FormerMap(stream_of=array(self.streams), group_of=array(self.groups))

    @property
    def target(self) -> FlowMap:
        return FlowMap(stream_of=array(self.target_streams), group_of=array(self.target_groups))

    @property
    def moves(self) -> tuple[Move, ...]:
        return migration(self.problem, self.former, self.target)

    def cost(self, streams: Sequence[int], groups: Sequence[int]) -> Fraction:
        """Return what a map costs, by sets and fractions; without a group nothing is received."""
        names = [flow["id"] for flow in self.text["flows"]]
        stream_of = {
            name: stream
            for name, stream in zip(names, streams, strict=True)
            if stream != NOWHERE and groups[stream] != NOWHERE
        }
        return sum(recount(self.text, stream_of, dict(enumerate(groups))), Fraction(0))


def array(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


@st.composite
def cases(draw: st.DrawFn, **named: Any) -> Case:
    """Return a problem with any map in force, however odd, and any map that it is to become."""
    text = draw(plains(**named))
    streams = st.integers(0, text["max_streams"] - 1)
    groups = st.integers(0, text["max_groups"] - 1)
    nowhere = st.just(NOWHERE)
    names = [flow["id"] for flow in text["flows"]]
    wanted = {*wanted_flows(text)}
    target_streams = [draw(streams) if name in wanted else NOWHERE for name in names]
    return Case(
        text,
        [draw(streams | nowhere) for _ in names],
        [draw(groups | nowhere) for _ in range(text["max_streams"])],
        target_streams,
        [draw(groups) if at in target_streams else NOWHERE for at in range(text["max_streams"])],
    )


def walk(case: Case, moves: Sequence[Move]) -> Iterator[tuple[Move, list[int], list[int]]]:
    """Return each move with the map that it meets, having checked that it meets what it says."""
    streams, groups = list(case.streams), list(case.groups)
    for move in moves:
        changed = streams if move.what == "flow" else groups
        assert changed[move.place] == move.before != move.after
        yield move, list(streams), list(groups)
        changed[move.place] = move.after


def ended(case: Case, moves: Sequence[Move]) -> tuple[list[int], list[int]]:
    streams, groups = list(case.streams), list(case.groups)
    for move in moves:
        (streams if move.what == "flow" else groups)[move.place] = move.after
    return streams, groups


@settings(max_examples=effort(300, 5000))
@given(cases(flows=10, users=7))
def test_each_move_saves_what_a_recount_says(case: Case) -> None:
    moves = case.moves
    exact = [case.cost(streams, groups) for _, streams, groups in walk(case, moves)]
    exact.append(case.cost(*ended(case, moves)))
    saved = [before - after for before, after in pairwise(exact)]
    assert [move.saves for move in moves] == [float(each) for each in saved]
    ends = range(len(moves) + 1)
    costs = costs_along(case.problem, case.former, moves, ends)
    assert costs == [float(each) for each in exact]
    assert exact[0] - sum(saved) == case.cost(case.target_streams, case.target_groups)


@settings(max_examples=effort(300, 5000))
@given(cases(flows=10, users=7))
def test_the_moves_lead_to_the_target_and_touch_nothing_else(case: Case) -> None:
    moves = case.moves
    streams, groups = ended(case, moves)
    assert streams == case.target_streams
    for stream, group in enumerate(case.target_groups):
        # What the target does not use keeps its group.
        assert groups[stream] == (case.groups[stream] if group == NOWHERE else group)
    assert len({(move.what, move.place) for move in moves}) == len(moves)
    assert costs_along(case.problem, case.former, moves, [len(moves)]) == [
        filtering_cost(case.problem, case.target.stream_of, case.target.group_of).total
    ]


@settings(max_examples=effort(300, 5000))
@given(cases(flows=10, users=7))
def test_no_flow_enters_a_stream_without_a_group(case: Case) -> None:
    for move, _, groups in walk(case, case.moves):
        if move.what == "flow" and move.after != NOWHERE:
            assert groups[move.after] != NOWHERE


def turn(case: Case, move: Move, streams: list[int], groups: list[int]) -> int:
    """Return when a move may come at the earliest: 0 first groups, 1 what somebody lacks, 2 all
    else."""
    if move.what == "stream":
        return 0 if move.before == NOWHERE else 2
    received = streams[move.place] != NOWHERE and groups[streams[move.place]] != NOWHERE
    return 2 if received or move.after == NOWHERE else 1


@settings(max_examples=effort(300, 5000))
@given(cases(flows=10, users=7))
def test_first_groups_come_first_and_then_what_somebody_lacks(case: Case) -> None:
    turns = [turn(case, *at) for at in walk(case, case.moves)]
    assert turns == sorted(turns)


@settings(max_examples=effort(200, 3000))
@given(st.one_of(cases(flows=8, users=5, rates=COMPARABLE), cases(flows=8, users=5, rates=RATES)))
def test_each_move_of_a_few_is_the_one_that_saves_most(case: Case) -> None:
    moves = case.moves
    turns = [turn(case, *at) for at in walk(case, moves)]
    for at, (_, streams, groups) in enumerate(walk(case, moves)):
        now = case.cost(streams, groups)
        rivals = []
        for other, when in zip(moves[at:], turns[at:], strict=True):
            if when == turns[at]:
                tried = [*streams], [*groups]
                tried[other.what == "stream"][other.place] = other.after
                rivals.append((case.cost(*tried) - now, other.what, other.place))
        assert min(rivals)[1:] == (moves[at].what, moves[at].place)


@given(cases())
def test_the_same_question_has_the_same_answer_and_stays_as_it_was(case: Case) -> None:
    problem, former, target = case.problem, case.former, case.target
    moves = migration(problem, former, target)
    costs_along(problem, former, moves, [0, len(moves)])
    assert (former.stream_of.tolist(), former.group_of.tolist()) == (case.streams, case.groups)
    assert target.stream_of.tolist() == case.target_streams
    assert migration(case.problem, former, target) == moves


@given(cases())
def test_without_a_map_in_force_all_is_put_in_place(case: Case) -> None:
    nothing = case._replace(
        streams=[NOWHERE] * len(case.streams), groups=[NOWHERE] * len(case.groups)
    )
    moves = migration(case.problem, None, case.target)
    assert moves == nothing.moves
    assert ended(nothing, moves) == (case.target_streams, case.target_groups)
    ends = [len(moves), 0]
    assert costs_along(case.problem, None, moves, ends) == costs_along(
        case.problem, nothing.former, moves, ends
    )


@given(cases())
def test_from_the_target_nothing_moves(case: Case) -> None:
    there = case._replace(streams=case.target_streams, groups=case.target_groups)
    assert there.moves == ()
    assert costs_along(there.problem, there.former, (), []) == []
    assert (
        costs_along(there.problem, there.former, (), [0, 0])
        == [float(case.cost(case.target_streams, case.target_groups))] * 2
    )


def test_a_flow_that_nobody_wants_any_more_leaves_and_saves_what_it_cost() -> None:
    # f0001 is sent to both users, who dropped it: 8.0 for each of them, at the messaging layer.
    text = plain([1.0, 8.0], [[0], [0]], streams=2, groups=2)
    case = Case(text, [0, 0], [1, 0], [0, NOWHERE], [1, NOWHERE])
    assert case.moves == (Move(what="flow", place=1, before=0, after=NOWHERE, saves=2 * 8.0),)


def test_a_stream_without_a_group_gets_one_and_brings_its_flows() -> None:
    # Stream 1 has f0001, which reaches nobody; f0002 comes to it from nowhere.
    text = plain([1.0, 4.0, 2.0], [[0, 1, 2], [2]], streams=2, groups=1, costs=(2.0, 1.0, 8.0))
    case = Case(text, [0, 1, NOWHERE], [0, NOWHERE], [0, 1, 1], [0, 0])
    assert case.moves == (
        Move(what="stream", place=1, before=NOWHERE, after=0, saves=0.0),
        # u0001 joins the group for it: it takes f0001, and drops f0000.
        Move(what="flow", place=2, before=NOWHERE, after=1, saves=-(4.0 + 0.25 * 1.0)),
    )


@pytest.mark.parametrize(
    ("rate", "saves"), [(1.0, {"stream": 5.0, "flow": 1.5}), (10.0, {"flow": 15.0, "stream": 5.0})]
)
def test_streams_and_flows_come_mixed_by_what_they_save(
    rate: float, saves: dict[str, float]
) -> None:
    # Two streams share group 0, and two flows stream 2, though nobody wants something of both.
    text = plain([10.0, 10.0, rate, rate], [[0, 2], [1, 3]], streams=4, groups=3)
    case = Case(text, [0, 1, 2, 2], [0, 0, 1, 1], [0, 1, 2, 3], [0, 2, 1, 1])
    assert {move.what: move.saves for move in case.moves} == saves
    assert [move.what for move in case.moves] == list(saves)


def markets(seed: int) -> tuple[MappingProblem, FlowMap]:
    """Return a market load that has drifted since it was mapped, and its map made anew."""
    shape = MarketShape(flows=2000, users=100)
    load = market_load(seed, shape, max_streams=60, max_groups=12)
    method = clusterer("joint")

    def mapped(problem: MappingProblem) -> FlowMap:
        return method.cluster(
            problem,
            method.Params(effort=1),
            seed=seed,
            stop=lambda: False,
            report=lambda progress: None,
        )

    before = mapped(load)
    former = FormerMap(stream_of=before.stream_of, group_of=before.group_of)
    drifted_load = replace(drifted(load, 0.1, seed), former=former)
    return drifted_load, mapped(drifted_load)


def test_who_stops_halfway_has_gained_more_than_by_any_order_of_numbers() -> None:
    gained = []
    for seed in range(3):
        problem, target = markets(seed)
        moves = migration(problem, problem.former, target)
        assert len(moves) > 200
        numbered = sorted(moves, key=lambda move: (move.what == "flow", move.place))
        half = len(moves) // 2
        start, middle, end = costs_along(problem, problem.former, moves, [0, half, len(moves)])
        (by_number,) = costs_along(problem, problem.former, numbered, [half])
        assert start > end == filtering_cost(problem, target.stream_of, target.group_of).total
        assert math.fsum(move.saves for move in moves) == pytest.approx(start - end, rel=1e-9)
        gained.append([(start - cost) / (start - end) for cost in (middle, by_number)])
    in_order, by_number = np.mean(gained, axis=0)
    assert in_order > max(0.4, by_number + 0.2)
