"""Plans as dicts and bytes: round trip, one hash per plan, errors that name the entry."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.plan_strategies import plan_hash, plans
from weir.codec.plan import plan_bytes, plan_from_dict, plan_to_dict
from weir.errors import InvalidProblem
from weir.model.plan import Plan


def shuffled_keys(value: Any, rng: random.Random) -> Any:
    """The same objects with their keys in another order; lists keep theirs."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled_keys(value[key], rng) for key in keys}
    if isinstance(value, list):
        return [shuffled_keys(entry, rng) for entry in value]
    return value


@settings(deadline=None)
@given(plans())
def test_a_plan_survives_json(plan: Plan) -> None:
    again = plan_from_dict(json.loads(plan_bytes(plan)))
    assert again == plan
    assert plan_bytes(again) == plan_bytes(plan)


@settings(deadline=None)
@given(plans(), st.integers())
def test_the_hash_does_not_depend_on_the_order_of_keys(plan: Plan, seed: int) -> None:
    plain = shuffled_keys(plan_to_dict(plan), random.Random(seed))
    assert plan_hash(plan_from_dict(plain)) == plan_hash(plan)


@settings(deadline=None)
@given(plans(), st.data())
def test_the_hash_changes_with_whatever_a_person_reads(plan: Plan, data: st.DataObject) -> None:
    plain = plan_to_dict(plan)
    field = data.draw(st.sampled_from(["title", "why", "model_version", "effect", "steps"]))
    if field == "title":
        plain["title"] += "!"
    elif field == "why":
        plain["why"].append("One more reason.")
    elif field == "model_version":
        plain["model_version"] += 1
    elif field == "effect":
        plain["steps"][0]["actions"][0]["effect"] += " More."
    else:
        plain["steps"].append({"actions": [_sample()["steps"][0]["actions"][0]]})
        plain["steps"][-1]["actions"][0]["target"]["flow"] = "another flow"
    assert plan_hash(plan_from_dict(plain)) != plan_hash(plan)


def _sample() -> dict[str, Any]:
    return {
        "format": 1,
        "kind": "allocation",
        "system": "s",
        "model_version": 3,
        "snapshot_hash": "",
        "source": {"kind": "allocation", "id": "x", "name": "A-1"},
        "title": "Allocation A-1",
        "why": ["Because."],
        "steps": [
            {
                "actions": [
                    {
                        "kind": "set_flow_rate",
                        "target": {"flow": "f", "broker": "b"},
                        "before": None,
                        "after": {"rate_per_s": 10, "burst": 2},
                        "effect": "",
                    },
                    {
                        "kind": "shift_link",
                        "target": {"i": "a", "j": "b", "k": "c"},
                        "before": None,
                        "after": None,
                        "effect": "",
                    },
                ]
            }
        ],
        "envelope": [{"name": "x", "unit": "1", "low": 0, "high": 1, "measured": None}],
        "promise": [{"name": "utility", "unit": "", "before": None, "after": 2}],
    }


def test_whole_and_broken_spelling_of_a_number_are_the_same_plan() -> None:
    plain = _sample()
    same = copy.deepcopy(plain)
    same["steps"][0]["actions"][0]["after"]["rate_per_s"] = 10.0
    assert plan_hash(plan_from_dict(plain)) == plan_hash(plan_from_dict(same))


def test_the_hash_of_a_known_plan_never_moves() -> None:
    """Approvals are bound to it: a change of spelling would void every approval in force."""
    assert plan_hash(plan_from_dict(_sample())) == KNOWN


KNOWN = "af1d262e800b3a314e01679592035436245ebe2d04beff2a0bf6ed759e946686"


def test_a_plan_without_a_pace_is_the_plan_that_it_was_before_there_were_paces() -> None:
    plain = _sample()
    assert "pace_s" not in plan_to_dict(plan_from_dict(plain))
    for nothing in (0, 0.0, -0.0):
        assert plan_hash(plan_from_dict({**plain, "pace_s": nothing})) == KNOWN


def test_a_pace_is_part_of_what_is_approved() -> None:
    plain = _sample()
    plans_read = [plan_from_dict({**plain, "pace_s": pace}) for pace in (2, 2.0, 2.5)]
    assert [plan.pace_s for plan in plans_read] == [2.0, 2.0, 2.5]
    same, again, slower = map(plan_hash, plans_read)
    assert same == again
    assert len({same, slower, KNOWN}) == 3


@pytest.mark.parametrize("pace_s", [-1.0, float("inf"), float("nan")])
def test_a_pace_that_is_none_does_not_get_lost_in_writing(pace_s: float) -> None:
    plan = replace(plan_from_dict(_sample()), pace_s=pace_s)
    with pytest.raises(InvalidProblem) as caught:
        plan_from_dict(plan_to_dict(plan))
    assert caught.value.path == "pace_s"


ACTION = ("steps", 0, "actions", 0)


@pytest.mark.parametrize(
    ("where", "value", "path", "words"),
    [
        (("format",), 2, "format", "must be 1"),
        (("title",), " ", "title", "must not be empty"),
        (("title",), "\ud800", "title", "half a character"),
        (("why",), "text", "why", "must be a list"),
        (("why", 0), 3, "why[0]", "must be text, not 3"),
        (("model_version",), 1.5, "model_version", "whole number"),
        (("model_version",), -1, "model_version", "at least 0"),
        (("source",), {"kind": "x"}, "source", 'missing key "id"'),
        (("steps",), [], "steps", "at least one step"),
        (("steps", 0), {"actions": []}, "steps[0].actions", "at least one action"),
        (("steps", 0), {"acts": []}, "steps[0]", 'unknown key "acts"'),
        ((*ACTION, "kind"), "paint", "steps[0].actions[0].kind", 'no action kind "paint"'),
        ((*ACTION, "target"), [], "steps[0].actions[0].target", "must be an object"),
        ((*ACTION, "after"), None, "steps[0].actions[0].after", "equals before"),
        (
            (*ACTION, "after", "burst"),
            "2",
            "steps[0].actions[0].after.burst",
            'must be a number, not "2"',
        ),
        (("envelope", 0, "low"), 5, "envelope[0].low", "above high"),
        (("envelope", 0, "high"), float("inf"), "envelope[0].high", "finite"),
        (("promise", 0, "after"), "2", "promise[0].after", "must be a number"),
        (("pace_s",), -0.5, "pace_s", "must not be negative"),
        (("pace_s",), float("inf"), "pace_s", "finite"),
        (("pace_s",), float("nan"), "pace_s", "finite"),
        (("pace_s",), "2", "pace_s", 'must be a number, not "2"'),
        (("pace_s",), None, "pace_s", "must be a number"),
        (("pace_s",), True, "pace_s", "must be a number"),
    ],
)
def test_errors_name_the_entry(where: tuple[Any, ...], value: Any, path: str, words: str) -> None:
    plain = _sample()
    entry = plain
    for key in where[:-1]:
        entry = entry[key]
    entry[where[-1]] = value
    with pytest.raises(InvalidProblem) as caught:
        plan_from_dict(plain)
    assert caught.value.path == path
    assert words in caught.value.message


def test_actions_of_a_step_must_be_independent() -> None:
    plain = _sample()
    actions = plain["steps"][0]["actions"]
    actions.append({**actions[0], "after": {"rate_per_s": 3, "burst": 3}})
    with pytest.raises(InvalidProblem, match=r"actions\[2\]: sets the same as actions\[0\]"):
        plan_from_dict(plain)
    actions[2] = {**actions[1], "target": {"i": "d", "j": "c", "k": "e"}}
    with pytest.raises(InvalidProblem, match=r'"c" takes part in actions\[1\] too'):
        plan_from_dict(plain)


def test_a_step_expects_what_an_earlier_one_left() -> None:
    plain = _sample()
    first = plain["steps"][0]["actions"][0]
    plain["steps"].append({"actions": [{**first, "after": {"rate_per_s": 3, "burst": 3}}]})
    with pytest.raises(InvalidProblem) as caught:
        plan_from_dict(plain)
    assert caught.value.path == "steps[1].actions[0].before"
