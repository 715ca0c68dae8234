"""Evaluation problems and answers as plain data: one spelling, refusals that name the entry."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings

from tests.weir.topologies.instances import problem, problems
from weir.codec.evaluation import (
    evaluation_bytes,
    evaluation_from_dict,
    evaluation_from_json,
    evaluation_hash,
    evaluation_to_dict,
)
from weir.errors import InvalidProblem

GOOD = {
    "brokers": [{"id": "a", "capacity_per_s": 100, "degree_max": 2, "x": 0.1}, {"id": "b"}],
    "links": [{"a": "b", "b": "a", "latency_s": 0.004, "capacity_per_s": None}],
    "missing_links": {"latency_s": 0.01, "capacity_per_s": None},
    "traffic": [{"topic": "t", "published": {"a": 1}, "interested": {"b": 1}}],
    "today": [["b", "a"]],
    "weights": {"per_second": 10},
    "disruption": {"pause_s": 0.2},
    "horizon_s": 60,
    "options": {"max_degree": 3, "frozen": [["a", "b"]]},
}


@settings(max_examples=40, deadline=None)
@given(problems())
def test_problem_comes_back_and_has_one_spelling(p):
    raw = evaluation_bytes(p)
    again = evaluation_from_json(raw)
    assert again == p
    assert evaluation_bytes(again) == raw
    plain = evaluation_to_dict(p)
    for key in ("brokers", "links", "traffic", "today"):
        plain[key] = plain[key][::-1]
    assert evaluation_hash(evaluation_from_dict(plain)) == evaluation_hash(p)


def test_one_and_one_point_nought_are_the_same():
    plain = copy.deepcopy(GOOD)
    plain["traffic"][0]["published"]["a"] = 1.0
    plain["horizon_s"] = 60.0
    assert evaluation_hash(evaluation_from_dict(plain)) == evaluation_hash(
        evaluation_from_dict(GOOD)
    )


def test_almost_everything_may_be_left_out():
    p = evaluation_from_dict({"brokers": [{"id": "a"}], "today": []})
    assert p.today_brokers == {"a"}
    assert p.horizon_s == 3600.0


def changed(*path, to):
    plain = copy.deepcopy(GOOD)
    at = plain
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return plain


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ([], "must be an object"),
        ({"today": []}, 'missing key "brokers"'),
        ({**GOOD, "more": 1}, 'unknown key "more"; known are brokers, today, links'),
        ({**GOOD, "brokers": []}, "brokers: must hold at least one broker"),
        ({**GOOD, "today": []}, "today: must be the tree in force"),
        (changed("brokers", 1, "id", to="a"), r'brokers\[1\]: broker "a" is brokers\[0\] already'),
        (changed("brokers", 0, "degree_max", to=1.5), r"brokers\[0\].degree_max: must be a whole"),
        (changed("brokers", 0, "capacity_per_s", to=-1), r"capacity_per_s: must not be negative"),
        (changed("brokers", 0, "x", to=float("nan")), r"brokers\[0\].x: must be finite"),
        (changed("links", 0, "b", to="z"), r'links\[0\]: no broker "z"'),
        (changed("links", 0, "b", to="b"), r'links\[0\]: joins "b" with itself'),
        ({**GOOD, "links": GOOD["links"] * 2}, r'links\[1\]: link "a-b" is links\[0\] already'),
        ({**GOOD, "traffic": GOOD["traffic"] * 2}, r'traffic\[1\]: topic "t" is traffic\[0\]'),
        (
            changed("traffic", 0, "published", to={"z": 1}),
            r'traffic\[0\].published: no broker "z"',
        ),
        (
            changed("traffic", 0, "interested", to={"b": -1}),
            r"traffic\[0\].interested.b: must not be negative",
        ),
        (changed("traffic", 0, "published", to=[1]), r"traffic\[0\].published: must be an object"),
        ({**GOOD, "today": [["a", "b"], ["b", "a"]]}, r"today\[1\]: is today\[0\] again"),
        ({**GOOD, "today": [["a", "b"], ["b", "c"], ["a", "c"]]}, r"today\[2\]: closes a cycle"),
        ({**GOOD, "today": [["a", "b"], ["c", "d"]]}, "today: no way from"),
        ({**GOOD, "today": [["a"]]}, r"today\[0\]: must be a pair of brokers"),
        ({**GOOD, "weights": {"per_hop": 1}}, 'weights: unknown key "per_hop"'),
        ({**GOOD, "disruption": {"pause_s": -1}}, "disruption.pause_s: must not be negative"),
        ({**GOOD, "options": {"max_degree": 0}}, "options.max_degree: must be a whole number"),
        ({**GOOD, "options": {"frozen": ["z"]}}, r'options.frozen\[0\]: no broker "z"'),
        (
            {**GOOD, "today": [["a", "b"], ["b", "c"]], "options": {"frozen": [["b", "c"]]}},
            "options.frozen: b-c joins a broker that leaves",
        ),
        (
            {**GOOD, "today": [["a", "b"], ["b", "c"]], "options": {"frozen": ["c"]}},
            "options.frozen: c comes or goes",
        ),
    ],
)
def test_bad_input_is_refused_by_name(plain, words):
    with pytest.raises(InvalidProblem, match=words):
        evaluation_from_dict(plain)


def test_key_given_twice_is_refused():
    raw = evaluation_bytes(problem(brokers=3, topics=1, seed=0)).decode()
    text = raw.replace('"horizon_s":', '"horizon_s":1,"horizon_s":')
    with pytest.raises(InvalidProblem, match="given twice"):
        evaluation_from_json(text.encode())
    assert json.loads(raw)
