"""Mapping files: what is read, what is refused and by which name, what is written."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.weir.clustering import in_turn
from tests.weir.clustering.problems import plain, plains
from weir.codec.mapping import (
    mapping_bytes,
    mapping_from_dict,
    mapping_from_json,
    mapping_result_to_dict,
)
from weir.errors import InvalidProblem
from weir.model.mapping import NOWHERE, MappingProblem, Moving

EXAMPLE = {
    "flows": [{"id": "t1", "rate": 10.0}],
    "users": [{"id": "u1", "flows": ["t1"]}],
    "max_streams": 1000,
    "max_groups": 100,
    "costs": {"transport": 1.0, "messaging": 1.0, "aggregation": 1.0},
    "pins": {"flow_to_stream": {"t1": 0}, "stream_to_group": {"0": 3}},
    "previous": {"stream_of": {}, "group_of": {}},
    "move_cost": 0.0,
}


def answer(of: MappingProblem) -> dict[str, Any]:
    flow_map = in_turn.cluster(
        of, in_turn.Params(), seed=0, stop=lambda: False, report=lambda progress: None
    )
    return mapping_result_to_dict(of, flow_map)


def test_the_published_example() -> None:
    result = answer(mapping_from_dict(EXAMPLE))
    assert list(result) == [
        *("status", "stream_of", "group_of", "cost", "transport_cost", "messaging_cost"),
        *("random_cost", "moved", "moved_streams", "pin_prices"),
    ]
    assert (result["stream_of"], result["group_of"]) == ({"t1": 0}, {"0": 3})
    assert (result["cost"], result["random_cost"]) == (0.0, 0.0)
    json.dumps(result, allow_nan=False)


def test_flows_and_users_are_in_the_order_of_their_ids() -> None:
    text = plain([3.0, 1.0, 2.0], [[], [2, 0]], more={"pins": {"flow_to_stream": {"f0002": 1}}})
    for flow, name in zip(text["flows"], ["t", "é", "a"], strict=True):
        flow["id"] = name
    text["users"] = [{"id": "z", "flows": []}, {"id": "b", "flows": ["a", "t"]}]
    text["pins"] = {"flow_to_stream": {"t": 1}}
    of = mapping_from_dict(text)
    assert (of.flows, of.users) == (("a", "t", "é"), ("b", "z"))
    assert of.rates_per_s.tolist() == [2.0, 3.0, 1.0]
    assert of.interests.starts.tolist() == [0, 1, 2, 2]
    assert of.interests.users.tolist() == [0, 0]
    assert of.pinned_stream.tolist() == [NOWHERE, 1, NOWHERE]
    starts, flows = of.interests.by_user
    assert (starts.tolist(), flows.tolist()) == ([0, 2, 2], [0, 1])


def shuffled(value: Any, rng: random.Random) -> Any:
    """Return the same with keys and lists in another order."""
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {key: shuffled(value[key], rng) for key in keys}
    if isinstance(value, list):
        return [shuffled(entry, rng) for entry in rng.sample(value, len(value))]
    return value


@given(plains(), st.randoms(use_true_random=False))
def test_equal_problems_give_equal_bytes_that_are_read_back(
    text: dict[str, Any], rng: random.Random
) -> None:
    raw = mapping_bytes(mapping_from_dict(text))
    assert mapping_bytes(mapping_from_json(raw)) == raw
    assert mapping_bytes(mapping_from_dict(shuffled(text, rng))) == raw
    written = json.loads(raw)
    assert written["pins"] == text["pins"]
    assert {flow["id"]: flow["rate"] for flow in written["flows"]} == {
        flow["id"]: flow["rate"] for flow in text["flows"]
    }
    assert {user["id"]: set(user["flows"]) for user in written["users"]} == {
        user["id"]: set(user["flows"]) for user in text["users"]
    }
    assert "previous" not in written


def test_whole_numbers_are_the_same_as_numbers_with_a_point() -> None:
    text = plain([1.0, 0.0], [[0]], more={"move_cost": 2.0})
    raw = mapping_bytes(mapping_from_dict(text))
    text["flows"][0]["rate"], text["flows"][1]["rate"], text["move_cost"] = 1, -0.0, 2
    text["costs"] = {"transport": 2, "messaging": 1, "aggregation": 8}
    assert mapping_bytes(mapping_from_dict(text)) == raw


def test_what_moving_takes_is_read_back_and_changes_no_map() -> None:
    text = plain([1.0, 2.0, 4.0], [[0, 2], [1]], streams=3, groups=2)
    moving = {"flow_work": 0, "stream_work": 5.5, "horizon_s": 60, "flows_per_s": 0.5}
    without, of = mapping_from_dict(text), mapping_from_dict({**text, "moving": moving})
    assert without.moving is None
    assert "moving" not in json.loads(mapping_bytes(without))
    assert of.moving == Moving(flow_work=0.0, stream_work=5.5, horizon_s=60.0, flows_per_s=0.5)
    raw = mapping_bytes(of)
    assert mapping_bytes(mapping_from_json(raw)) == raw
    assert json.loads(raw)["moving"] == moving
    assert answer(of) == answer(without)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"flow_work": -1}, "moving.flow_work"),
        ({"stream_work": "much"}, "moving.stream_work"),
        ({"horizon_s": 0}, "moving.horizon_s"),
        ({"flows_per_s": 0}, "moving.flows_per_s"),
        ({"speed": 1}, "moving"),
    ],
)
def test_what_moving_cannot_take_is_refused(change: dict[str, Any], path: str) -> None:
    moving = {"flow_work": 1, "stream_work": 1, "horizon_s": 1, "flows_per_s": 1, **change}
    with pytest.raises(InvalidProblem) as caught:
        mapping_from_dict({**EXAMPLE, "moving": moving})
    assert caught.value.path == path


def test_a_former_result_is_read_as_previous() -> None:
    text = plain([1.0, 2.0, 4.0], [[0, 2], [1]], streams=3, groups=2)
    text["previous"] = answer(mapping_from_dict(text))
    of = mapping_from_dict(text)
    assert of.former is not None
    assert of.former.stream_of.tolist() == [0, 1, 2]
    assert of.former.group_of.tolist() == [0, 1, 0]
    assert mapping_bytes(mapping_from_json(mapping_bytes(of))) == mapping_bytes(of)
    assert answer(of)["moved"] == 0


def test_what_is_no_longer_there_was_not_mapped_before() -> None:
    previous = {
        "stream_of": {"f0000": 2, "gone": 0, "f0001": 3, "f0002": 10**20},
        "group_of": {"0": 1, "1": 2, "2": 10**20, "3": 0, "9" * 60: 0},
    }
    of = mapping_from_dict(
        plain([1.0] * 3, [[0]], streams=3, groups=2, more={"previous": previous})
    )
    assert of.former is not None
    assert of.former.stream_of.tolist() == [2, NOWHERE, NOWHERE]
    assert of.former.group_of.tolist() == [1, NOWHERE, NOWHERE]


def test_a_stream_costs_as_much_to_move_as_a_flow_unless_said_otherwise() -> None:
    def costs(**more: Any) -> tuple[float, float]:
        of = mapping_from_dict(plain([1.0], [[0]], more=more))
        again = mapping_from_json(mapping_bytes(of))
        assert (of.move_cost, of.stream_move_cost) == (again.move_cost, again.stream_move_cost)
        return of.move_cost, of.stream_move_cost

    assert costs() == (0.0, 0.0)
    assert costs(move_cost=2) == (2.0, 2.0)
    assert costs(move_cost=2, stream_move_cost=0) == (2.0, 0.0)
    assert costs(stream_move_cost=3.5) == (0.0, 3.5)


def with_pin(kind: str, pins: Any) -> Any:
    return lambda text: text.update(pins={kind: pins})


def with_previous(member: str, value: Any) -> Any:
    return lambda text: text.update(previous={"stream_of": {}, "group_of": {}, member: value})


@pytest.mark.parametrize(
    ("refusal", "change"),
    [
        ('missing key "costs"; add it', lambda text: text.pop("costs")),
        ('unknown key "seed"; known are', lambda text: text.update(seed=1)),
        # flows
        ("flows: must hold at least one flow", lambda text: text.update(flows=[])),
        ("flows: must be a list, not an object", lambda text: text.update(flows={})),
        ("flows[1]: must be an object, not 3", lambda text: text["flows"].append(3)),
        ('flows[0]: unknown key "size"', lambda text: text["flows"][0].update(size=1)),
        ('flows[0]: missing key "rate"', lambda text: text["flows"][0].pop("rate")),
        (
            "flows[0].id: must be a text that is not empty",
            lambda text: text["flows"][0].update(id=""),
        ),
        ("flows[0].id: must be a text that is not", lambda text: text["flows"][0].update(id=7)),
        ("flows[0].id: contains half a", lambda text: text["flows"][0].update(id="\ud800")),
        (
            'flows[1]: flow "f0000" is flows[0] already; keep one',
            lambda text: text["flows"].append({"id": "f0000", "rate": 1.0}),
        ),
        (
            "flows[0].rate: must not be negative, but is -1",
            lambda text: text["flows"][0].update(rate=-1),
        ),
        ("flows[0].rate: must be finite", lambda text: text["flows"][0].update(rate=float("nan"))),
        ("flows[0].rate: must be finite", lambda text: text["flows"][0].update(rate=float("inf"))),
        ("flows[0].rate: must lie within", lambda text: text["flows"][0].update(rate=1e31)),
        ("flows[0].rate: must lie within", lambda text: text["flows"][0].update(rate=10**400)),
        ("flows[0].rate: closer to 0 than", lambda text: text["flows"][0].update(rate=1e-31)),
        ("flows[0].rate: must be a number", lambda text: text["flows"][0].update(rate=True)),
        ("flows[0].rate: must be a number", lambda text: text["flows"][0].update(rate="1")),
        # users
        ("users: must hold at least one user", lambda text: text.update(users=[])),
        ("users: must be a list, not null", lambda text: text.update(users=None)),
        ("users[1]: must be an object", lambda text: text["users"].append([])),
        ('users[0]: unknown key "broker"', lambda text: text["users"][0].update(broker="b")),
        ('users[0]: missing key "flows"', lambda text: text["users"][0].pop("flows")),
        ("users[0].id: must be a text that is not", lambda text: text["users"][0].update(id="")),
        ("users[0].id: contains half a", lambda text: text["users"][0].update(id="\udfff")),
        (
            'users[1]: user "u0000" is users[0] already; keep one',
            lambda text: text["users"].append({"id": "u0000", "flows": []}),
        ),
        ("users[0].flows: must be a list", lambda text: text["users"][0].update(flows="f0000")),
        ('users[0].flows[1]: no flow "f99"', lambda text: text["users"][0]["flows"].append("f99")),
        (
            "users[0].flows[1]: must be the id of a flow, not 0",
            lambda text: text["users"][0]["flows"].append(0),
        ),
        (
            "users[0].flows[1]: must be the id of a flow, not a list",
            lambda text: text["users"][0]["flows"].append(["f0000"]),
        ),
        (
            'users[0].flows[1]: flow "f0000" is users[0].flows[0] already; keep one',
            lambda text: text["users"][0]["flows"].append("f0000"),
        ),
        # limits and costs
        ("max_streams: must lie between 1 and 1,000,000", lambda text: text.update(max_streams=0)),
        ("max_streams: must lie between 1 and", lambda text: text.update(max_streams=1_000_001)),
        ("max_streams: must be a whole number", lambda text: text.update(max_streams=1.5)),
        ("max_streams: must be a number, not true", lambda text: text.update(max_streams=True)),
        ("max_groups: must lie between 1 and 1,000,000", lambda text: text.update(max_groups=0)),
        ("max_groups: must lie between 1 and", lambda text: text.update(max_groups=1_000_001)),
        ("costs: must be an object", lambda text: text.update(costs=1)),
        ('costs: missing key "aggregation"', lambda text: text["costs"].pop("aggregation")),
        ('costs: unknown key "network"', lambda text: text["costs"].update(network=1)),
        ("costs.transport: must not be negative", lambda text: text["costs"].update(transport=-1)),
        ("costs.messaging: must be a number", lambda text: text["costs"].update(messaging=None)),
        (
            "costs.aggregation: must be at least 1 message in a packet, but is 0.5",
            lambda text: text["costs"].update(aggregation=0.5),
        ),
        ("move_cost: must not be negative", lambda text: text.update(move_cost=-1)),
        ("stream_move_cost: must not be negative", lambda text: text.update(stream_move_cost=-1)),
        # pins
        ("pins: must be an object, not null", lambda text: text.update(pins=None)),
        ('pins: unknown key "flows"', with_pin("flows", {})),
        ("pins.flow_to_stream: must be an object", with_pin("flow_to_stream", [])),
        ('pins.flow_to_stream.f99: no flow "f99"', with_pin("flow_to_stream", {"f99": 0})),
        ('pins.flow_to_stream["a b"]: no flow "a b"', with_pin("flow_to_stream", {"a b": 0})),
        (
            "pins.flow_to_stream.f0000: no stream 3; streams are 0 to 2",
            with_pin("flow_to_stream", {"f0000": 3}),
        ),
        (
            "pins.flow_to_stream.f0000: must be at least 0",
            with_pin("flow_to_stream", {"f0000": -1}),
        ),
        ("pins.flow_to_stream.f0000: must be a whole", with_pin("flow_to_stream", {"f0000": 0.5})),
        ("pins.flow_to_stream.f0000: must be a number", with_pin("flow_to_stream", {"f0000": "0"})),
        (
            "pins.stream_to_group.3: no stream 3; streams are 0 to 2",
            with_pin("stream_to_group", {"3": 0}),
        ),
        (
            f"pins.stream_to_group.{'9' * 50}: no stream a huge number; streams are 0 to 2",
            with_pin("stream_to_group", {"9" * 50: 0}),
        ),
        *(
            (
                f"pins.stream_to_group{path}: must be the number of a stream such as 0 or 12",
                with_pin("stream_to_group", {key: 0}),
            )
            for key, path in [
                *(("x", ".x"), ("-1", ".-1"), ("1.0", ".1.0"), ("", "."), ("01", ".01")),
                *((" 1", '[" 1"]'), ("٣", ".٣"), ("²", ".²"), ("1_0", ".1_0"), ("+1", ".+1")),
                ("9" * 5000, f'["{"9" * 57}..."]'),
            ]
        ),
        (
            "pins.stream_to_group.0: no group 2; groups are 0 to 1",
            with_pin("stream_to_group", {"0": 2}),
        ),
        ("pins.stream_to_group.0: must be at least 0", with_pin("stream_to_group", {"0": -1})),
        ("pins.stream_to_group.0: must be a number", with_pin("stream_to_group", {"0": None})),
        # previous
        ("previous: must be an object, not null", lambda text: text.update(previous=None)),
        ('previous: missing key "stream_of"', lambda text: text.update(previous={"group_of": {}})),
        ('previous: missing key "group_of"', lambda text: text.update(previous={"stream_of": {}})),
        ('previous: unknown key "users"', with_previous("users", [])),
        ("previous.stream_of: must be an object", with_previous("stream_of", [])),
        ("previous.stream_of.f0000: must be at least 0", with_previous("stream_of", {"f0000": -1})),
        ("previous.stream_of.gone: must be a number", with_previous("stream_of", {"gone": "0"})),
        ("previous.group_of.x: must be the number of", with_previous("group_of", {"x": 0})),
        ("previous.group_of.7: must be a whole number", with_previous("group_of", {"7": 0.5})),
        ("previous.group_of.0: must be a number, not true", with_previous("group_of", {"0": True})),
    ],
)
def test_bad_input_names_entry_and_field(refusal: str, change: Any) -> None:
    text = plain([1.0], [[0]], streams=3, groups=2)
    mapping_from_dict(text)
    change(text)
    with pytest.raises(InvalidProblem) as refused:
        mapping_from_dict(text)
    assert str(refused.value).startswith(refusal)


def test_a_key_that_is_given_twice_is_refused() -> None:
    raw = (
        json.dumps(plain([1.0], [[0]])).replace('"rate": 1.0', '"rate": 1.0, "rate": 2.0').encode()
    )
    with pytest.raises(InvalidProblem, match=r'^flows\[0\]: key "rate" is given twice'):
        mapping_from_json(raw)
    pins = '"pins": {"stream_to_group": {"1": 0, "1": 1}}, "flows"'
    raw = json.dumps(plain([1.0], [[0]])).replace('"flows"', pins, 1).encode()
    with pytest.raises(InvalidProblem, match=r'^pins\.stream_to_group: key "1" is given twice'):
        mapping_from_json(raw)


def test_what_is_not_json_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidProblem, match="not JSON at line 1 column 2"):
        mapping_from_json(b"{")
    with pytest.raises(InvalidProblem, match="top level must be an object"):
        mapping_from_json(b"[]")


def test_flows_nobody_wants_and_users_who_want_nothing_are_read() -> None:
    of = mapping_from_dict(plain([1.0, 2.0], [[], []]))
    assert of.interests.audiences.tolist() == [0, 0]
    assert of.interests.user_count == 2
    assert of.interests.users.dtype == np.int32
    result = answer(of)
    assert (result["stream_of"], result["group_of"], result["random_cost"]) == ({}, {}, 0.0)
