"""Maps to choose from, read back from answers: every array as the kernel had it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.weir.clustering.problems import plain, plains
from weir.clustering import joint
from weir.clustering._improve import Watch
from weir.clustering.adaptive import Point, curve
from weir.clustering.answer import answer_of, fault_of
from weir.clustering.cost import filtering_cost, moved, moved_streams
from weir.codec.mapping import (
    choices_from_answer,
    curve_to_list,
    mapping_from_dict,
    mapping_result_to_dict,
)
from weir.errors import InvalidProblem
from weir.kernel import Call
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem


def equal(one: FlowMap, other: FlowMap) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        and getattr(one, name).dtype == getattr(other, name).dtype
        for name in ("stream_of", "group_of")
    )


def figures(of: MappingProblem, flow_map: FlowMap) -> tuple[int, float]:
    moves = moved(of, flow_map) + moved_streams(of, flow_map)
    return moves, filtering_cost(of, flow_map.stream_of, flow_map.group_of).total


@st.composite
def followed(draw: st.DrawFn) -> tuple[MappingProblem, FlowMap, list[FlowMap]]:
    """Return a problem with any former map, a map of a method, and some on a curve."""
    text = draw(plains())
    streams, groups = text["max_streams"], text["max_groups"]
    flows = [flow["id"] for flow in text["flows"]]
    text["previous"] = {
        "stream_of": draw(
            st.dictionaries(st.sampled_from([*flows, "gone"]), st.integers(0, streams))
        ),
        "group_of": draw(st.dictionaries(st.integers(0, streams).map(str), st.integers(0, groups))),
    }
    of = mapping_from_dict(text)
    wanted = of.interests.audiences > 0

    def any_map() -> FlowMap:
        draws = draw(st.lists(st.integers(0, streams - 1), min_size=8, max_size=8))
        stream_of = np.array(draws[: len(flows)], dtype=np.int64)
        stream_of = np.where(of.pinned_stream == NOWHERE, stream_of, of.pinned_stream)
        stream_of = np.where(wanted, stream_of, NOWHERE)
        into = draw(st.lists(st.integers(0, groups - 1), min_size=streams, max_size=streams))
        group_of = np.where(of.pinned_group == NOWHERE, into, of.pinned_group)
        used = np.isin(np.arange(streams), stream_of)
        flow_map = FlowMap(stream_of=stream_of, group_of=np.where(used, group_of, NOWHERE))
        assert fault_of(of, flow_map) == ""
        return flow_map

    points = [any_map() for _ in range(draw(st.integers(1, 5)))]
    own = draw(st.sampled_from([*points, None])) or any_map()
    return of, own, points


@given(followed())
def test_choices_are_the_maps_worth_choosing(case: Any) -> None:
    of, own, points = case
    plain = mapping_result_to_dict(of, own)
    drawn = [Point(move_cost=1.0, flow_map=each) for each in points]
    plain["curve"] = json.loads(json.dumps(curve_to_list(of, drawn)))
    choices = choices_from_answer(of, plain)
    assert equal(choices.maps[choices.proposed], own)
    assert equal(choices.maps[0], points[0])
    ranks = [figures(of, each) for each in choices.maps]
    assert ranks[1:] == sorted(ranks[1:], key=lambda rank: rank[0])
    for at, (each, (moves, cost)) in enumerate(zip(choices.maps, ranks, strict=True)):
        assert any(equal(each, other) for other in [*points, own])
        if at not in (0, choices.proposed):
            before = ranks[:at] + ranks[at + 1 :]
            assert not any(more <= moves and less <= cost for more, less in before)
    # What is left out is no cheaper than something with as few moves.
    for other in points:
        moves, cost = figures(of, other)
        assert any(more <= moves and less <= cost for more, less in ranks[1:]) or (
            cost >= ranks[0][1]
        )
    same = [equal(a, b) for at, a in enumerate(choices.maps) for b in choices.maps[:at]]
    assert not any(same)


def market(flows: int = 80, users: int = 15, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    rates = (1.0 + rng.integers(0, 9, flows)).tolist()
    near = rng.normal(rng.random(users)[:, None] * flows, 5, (users, 9)).astype(int) % flows
    wanted = [sorted(set(row)) for row in near.tolist()]
    return plain(rates, wanted, streams=12, groups=4, more=more)


def former_of(text: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a map of some of the flows, wanted or not, in some of the streams."""
    rng = np.random.default_rng(seed)
    names = [flow["id"] for flow in text["flows"] if rng.random() < 0.8]
    return {
        "stream_of": {name: int(rng.integers(0, 10)) for name in names},
        "group_of": {str(stream): int(rng.integers(0, 4)) for stream in range(9)},
    }


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_answer_comes_back_as_the_kernel_had_it(seed: int) -> None:
    text = market(pins={"flow_to_stream": {"f0010": 3}, "stream_to_group": {"4": 1}})
    text |= {"previous": former_of(text, seed), "move_cost": 5.0}
    of = mapping_from_dict(text)
    inputs = {"curve": True, "compare": True}
    plain_answer = json.loads(answer_of(of, Call(inputs=inputs, seed=seed)))
    params = joint.Params()
    watch = Watch(stop=lambda: False, report=lambda seen: None)
    drawn = curve(of, trials=params.trials(of), seed=seed, watch=watch)
    own = joint.cluster(of, params, seed=seed, stop=lambda: False, report=lambda progress: None)
    choices = choices_from_answer(of, plain_answer)
    assert equal(choices.maps[choices.proposed], own)
    assert equal(choices.maps[0], drawn.points[0].flow_map)
    assert len(choices.maps) > 3
    # Some flows had a stream and nobody wants them: they are in none of the maps.
    assert of.former is not None
    retired = (of.former.stream_of != NOWHERE) & (of.interests.audiences == 0)
    assert retired.any()
    for each in choices.maps:
        assert fault_of(of, each) == ""
        assert each is choices.maps[choices.proposed] or any(
            equal(each, point.flow_map) for point in drawn.points
        )
    cheaper = [figures(of, each)[1] for each in choices.maps]
    assert min(cheaper) == min(figures(of, point.flow_map)[1] for point in drawn.points) or (
        min(cheaper) == figures(of, own)[1]
    )


def test_a_map_that_is_kept_is_proposed_once() -> None:
    text = market()
    former = json.loads(answer_of(mapping_from_dict(text), Call(method="joint")))
    text["previous"] = {name: former[name] for name in ("stream_of", "group_of")}
    text["move_cost"] = 1e9
    of = mapping_from_dict(text)
    choices = choices_from_answer(of, json.loads(answer_of(of, Call(inputs={"curve": True}))))
    assert choices.proposed == 0
    assert of.former is not None
    assert np.array_equal(choices.maps[0].stream_of, of.former.stream_of)
    assert not any(equal(choices.maps[0], each) for each in choices.maps[1:])


@pytest.mark.parametrize("previous", [None, {"stream_of": {}, "group_of": {}}])
def test_an_answer_without_a_curve_is_the_only_choice(previous: Any) -> None:
    text = market(**({} if previous is None else {"previous": previous}))
    of = mapping_from_dict(text)
    plain_answer = json.loads(answer_of(of, Call(method="flat")))
    choices = choices_from_answer(of, plain_answer)
    (only,) = choices.maps
    assert choices.proposed == 0
    assert mapping_result_to_dict(of, only) == plain_answer


SMALL = plain(
    [1.0, 2.0, 4.0, 8.0],
    [[0, 1], [1, 2]],
    streams=3,
    groups=2,
    more={"previous": {"stream_of": {"f0000": 0, "f0003": 1}, "group_of": {"0": 0, "1": 1}}},
)
POINT = {"stream_of": {"f0001": 0, "f0002": 0}, "group_of": {}, "cost": 1.0}
POINT |= {"moved": 0, "moved_streams": 0}
OWN = {**POINT, "stream_of": {"f0000": 0, "f0001": 0, "f0002": 2}, "group_of": {"0": 1, "2": 0}}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the small answer with one member replaced, or taken away."""
    plain_answer = json.loads(json.dumps({**OWN, "curve": [POINT, POINT]}))
    at: Any = plain_answer
    *inside, last = path.split("/")
    for key in inside:
        at = at[int(key) if isinstance(at, list) else key]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return plain_answer


def test_the_small_answer_is_read() -> None:
    of = mapping_from_dict(SMALL)
    choices = choices_from_answer(of, changed("cost", 0.5))
    assert [each.stream_of.tolist() for each in choices.maps] == [[0, 0, 0, -1], [0, 0, 2, -1]]
    assert [each.group_of.tolist() for each in choices.maps] == [[0, -1, -1], [1, -1, 0]]


@pytest.mark.parametrize(
    ("path", "value", "refusal"),
    [
        ("stream_of", None, "stream_of: is missing from the answer"),
        ("cost", None, "cost: is missing from the answer"),
        ("cost", "1", 'cost: must be a cost in work/s, not "1"'),
        ("cost", True, "cost: must be a cost in work/s, not true"),
        ("moved", -1, "moved: must be at least 0"),
        ("stream_of", [], "stream_of: must be an object, not a list"),
        ("stream_of/f0009", 0, 'stream_of.f0009: no flow "f0009"'),
        ("stream_of/f0000", 3, "stream_of.f0000: no stream 3; streams are 0 to 2"),
        ("stream_of/f0000", True, "stream_of.f0000: must be a number, not true"),
        ("stream_of/f0000", -1, "stream_of.f0000: must be at least 0"),
        ("stream_of/f0001", None, 'stream_of: flow "f0001" is in no stream'),
        ("stream_of/f0003", 0, 'stream_of: flow "f0003" is in a stream, and nobody wants it'),
        ("group_of/3", 0, "group_of.3: no stream 3"),
        ("group_of/x", 0, "group_of.x: must be the number of a stream"),
        ("group_of/0", 2, "group_of.0: no group 2; groups are 0 to 1"),
        ("group_of/0", None, "group_of: stream 0 carries flows and is in no group"),
        ("group_of/1", 0, "group_of.1: the stream carries nothing"),
        ("curve", {}, "curve: must be a list, not an object"),
        ("curve/1/moved_streams", None, "curve[1].moved_streams: is missing"),
        ("curve/1/stream_of/f0001", None, 'curve[1].stream_of: flow "f0001" is in no stream'),
        ("curve/0/stream_of/f0009", 0, 'curve[0].stream_of.f0009: no flow "f0009"'),
        ("curve/0/group_of/2", 0, "curve[0].group_of.2: the stream carries nothing"),
        ("curve/1/stream_of/f0001", 2, "curve[1].group_of: stream 2 carries flows and is in no"),
    ],
)
def test_what_does_not_belong_to_the_problem_is_named(path: str, value: Any, refusal: str) -> None:
    with pytest.raises(InvalidProblem) as refused:
        choices_from_answer(mapping_from_dict(SMALL), changed(path, value))
    assert str(refused.value).startswith(refusal)


def test_a_curve_without_a_former_map_is_refused() -> None:
    text = {name: value for name, value in SMALL.items() if name != "previous"}
    with pytest.raises(InvalidProblem, match=r"^curve: begins at the former map"):
        choices_from_answer(mapping_from_dict(text), changed("cost", 1.0))
