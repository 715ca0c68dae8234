"""Placement files: what is read, what is refused and by which name, what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.weir.placement.problems import plain, problem
from weir.codec.placement import (
    placement_bytes,
    placement_from_dict,
    placement_from_json,
    placement_result_to_dict,
)
from weir.errors import InvalidProblem
from weir.placement import DEFAULT, placer

EXAMPLE = {
    "topic": {"id": "t", "rate": 10000, "token_rate": 11000, "bucket": 120, "slo_p99_s": 0.001},
    "brokers": [{"id": "b1", "max_rate": 80000, "allocated_rate": 10000}],
    "publishers": [{"id": "p1", "rate": 10, "group": "g1"}],
}


def answer(text: dict[str, Any]) -> dict[str, Any]:
    given = placement_from_dict(text)
    chosen = placer(DEFAULT)
    return placement_result_to_dict(given, chosen.place(given, chosen.Params(), seed=0))


def test_the_published_example() -> None:
    placed = answer(EXAMPLE)
    assert list(placed) == [
        *("status", "assignments", "unassigned", "buckets", "predicted", "need_brokers")
    ]
    assert placed["status"] == "solved"
    assert placed["assignments"] == {"p1": "b1"}
    assert (placed["unassigned"], placed["need_brokers"]) == ([], None)
    assert placed["buckets"] == {"b1": {"rate": 11000.0, "size": 120.0}}
    assert set(placed["predicted"]) == {"b1"}
    assert set(placed["predicted"]["b1"]) == {"p99_s"}
    json.dumps(placed, allow_nan=False)


def test_bytes_are_canonical_and_read_back() -> None:
    keys: list[str | None] = ["h", None, "g"]
    one = problem([1.0, 2.0, 3.0], [10.0, 20.0], groups=keys, more={"pins": {"p0001": "b1"}})
    text = plain([1.0, 2.0, 3.0], [10.0, 20.0], groups=keys, more={"pins": {"p0001": "b1"}})
    for part in ("brokers", "publishers"):
        text[part].reverse()
    assert placement_bytes(placement_from_dict(text)) == placement_bytes(one)
    assert placement_bytes(placement_from_json(placement_bytes(one))) == placement_bytes(one)


def test_means_are_written_only_where_there_are_some() -> None:
    interval = {"p99_s": 0.2, "low_s": 0.1, "high_s": None}
    delays = {"messages": 9, "seconds": 3.0, "delay": interval, "processing": interval}
    text = plain([1.0], [10.0], more={"measured": {"b0": delays}})
    without = placement_bytes(placement_from_dict(text))
    assert b"mean" not in without
    for high_s in (0.06, None):
        mean = {"mean_s": 0.05, "low_s": 0.04, "high_s": high_s}
        text["topic"]["slo_mean_s"], text["measured"]["b0"] = 0.07, {**delays, "mean": mean}
        given = placement_from_dict(text)
        written = json.loads(placement_bytes(given))
        assert written["topic"]["slo_mean_s"] == 0.07
        assert written["measured"]["b0"]["mean"] == mean
        assert placement_bytes(placement_from_json(placement_bytes(given))) == placement_bytes(
            given
        )


def test_a_recorded_bucket_is_written_only_where_there_is_one() -> None:
    text = plain([1.0], [10.0])
    assert b"recorded" not in placement_bytes(placement_from_dict(text))
    text["topic"]["recorded_bucket"] = 7
    written = placement_bytes(placement_from_dict(text))
    assert json.loads(written)["topic"]["recorded_bucket"] == 7.0
    assert placement_bytes(placement_from_json(written)) == written


def test_a_mean_outside_of_its_interval_is_refused() -> None:
    interval = {"p99_s": 0.2, "low_s": 0.1, "high_s": None}
    mean = {"mean_s": 0.05, "low_s": 0.06}
    delays = {"messages": 9, "seconds": 3.0, "delay": interval, "processing": interval}
    text = plain([1.0], [10.0], more={"measured": {"b0": {**delays, "mean": mean}}})
    with pytest.raises(InvalidProblem, match=r"^measured\.b0\.mean: must have low_s <= mean_s"):
        placement_from_dict(text)


def test_what_has_no_room_is_listed() -> None:
    placed = answer(plain([10.0] * 3, [20.0]))
    assert placed["status"] == "infeasible"
    assert len(placed["unassigned"]) == 1
    assert placed["need_brokers"] == 1


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (r"publishers\[1\]\.rate", lambda text: text["publishers"][1].update(rate=-1.0)),
        (r"publishers\[0\]\.rate", lambda text: text["publishers"][0].update(rate=0)),
        (r"publishers\[0\]\.rate", lambda text: text["publishers"][0].update(rate=True)),
        (r"publishers\[1\]", lambda text: text["publishers"][1].update(id="p0000")),
        (r"publishers\[0\]\.id", lambda text: text["publishers"][0].update(id="")),
        (r"publishers\[0\]\.group", lambda text: text["publishers"][0].update(group="")),
        (r"publishers\[0\]", lambda text: text["publishers"][0].update(weight=1)),
        ("publishers", lambda text: text.update(publishers=[])),
        ("topic.bucket", lambda text: text["topic"].update(bucket=0.5)),
        ("topic.token_rate", lambda text: text["topic"].update(token_rate=0)),
        ("topic.rate", lambda text: text["topic"].update(rate=-5)),
        ("topic.batch", lambda text: text["topic"].update(batch=0)),
        ("topic.slo_p99_s", lambda text: text["topic"].update(slo_p99_s=0)),
        ("topic.slo_mean_s", lambda text: text["topic"].update(slo_mean_s=0)),
        ("topic.recorded_bucket", lambda text: text["topic"].update(recorded_bucket=0.5)),
        (r"brokers\[0\]\.max_rate", lambda text: text["brokers"][0].update(max_rate=-1)),
        (r"brokers\[1\]", lambda text: text["brokers"][1].update(id="b0")),
        ("pins.p0001", lambda text: text.update(pins={"p0001": "b9"})),
        ("pins.stranger", lambda text: text.update(pins={"stranger": "b0"})),
        ("previous.stranger", lambda text: text.update(previous={"stranger": "b0"})),
    ],
)
def test_bad_input_names_entry_and_field(path: str, change: Any) -> None:
    text = plain([1.0, 2.0], [10.0, 10.0])
    change(text)
    with pytest.raises(InvalidProblem, match=f"^{path}: "):
        placement_from_dict(text)


def test_a_pin_to_a_drained_broker_is_refused() -> None:
    text = plain([1.0], [10.0, 10.0], more={"pins": {"p0000": "b0"}})
    text["brokers"][0]["drained"] = True
    with pytest.raises(InvalidProblem, match=r'pins.p0000: "b0" is drained'):
        placement_from_dict(text)


def test_a_name_that_is_no_plain_word_is_shown_in_one_line() -> None:
    text = plain([1.0], [10.0], more={"pins": {"x\ny": "b0"}})
    with pytest.raises(InvalidProblem, match=r'^pins\["x\\ny"\]: no publisher') as refused:
        placement_from_dict(text)
    assert str(refused.value).isprintable()
