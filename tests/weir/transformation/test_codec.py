"""Problems and plans as files: what is written is read again; what is wrong is named."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings

from tests.weir.transformation.strategies import problem, seeds
from weir.codec.transformation import (
    transformation_bytes,
    transformation_from_dict,
    transformation_from_json,
    transformation_plan_from_dict,
    transformation_plan_to_dict,
    transformation_to_dict,
)
from weir.errors import InvalidProblem
from weir.model.transformation import TransformationPlan
from weir.planners.exact.direct_plan import direct
from weir.transformation.scheduling import pack

EXAMPLE: dict[str, Any] = {
    "brokers": ["1", "2", "3", "4"],
    "initial": [["1", "2"], ["1", "3"], ["2", "4"]],
    "goal": [["1", "2"], ["1", "3"], ["3", "4"]],
    "options": {
        "max_degree": None,
        "parallel": "broker-disjoint",
        "action_costs": {},
        "frozen": [],
    },
}


def test_the_published_example_is_read() -> None:
    read = transformation_from_json(json.dumps(EXAMPLE).encode())
    assert read.missing == {("3", "4")}
    assert read.options.parallel == "broker-disjoint"
    assert not read.priced
    assert transformation_from_dict({k: v for k, v in EXAMPLE.items() if k != "options"}) == read


def test_every_option_is_read_and_written() -> None:
    given = copy.deepcopy(EXAMPLE)
    given["options"] = {
        "max_degree": 3,
        "parallel": "paper",
        "action_costs": {
            "shift": 2.0,
            "append": 3.0,
            "detach": 0.5,
            "move": 4.0,
            "exchange": 5.0,
            "brokers": {"1": 0.25},
            "links": [["4", "3", 1.5]],
        },
        "frozen": [["2", "1"]],
        "move_goal_links": True,
    }
    read = transformation_from_dict(given)
    assert read.options.frozen_links == {("1", "2")}
    assert read.options.action_costs.links == {("3", "4"): 1.5}
    assert read.priced
    assert transformation_from_dict(transformation_to_dict(read)) == read


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"goal": [["1", "2"], ["1", "3"], ["2", "3"], ["3", "4"]]}, "goal[2]", "closes a cycle"),
        ({"goal": [["1", "2"], ["3", "4"]]}, "goal", "2 parts"),
        ({"goal": [["1", "2"], ["1", "3"], ["3", "5"]]}, "goal[2]", 'no broker "5"'),
        ({"brokers": ["1", "2", "3", "4", "1"]}, "brokers[4]", "already"),
        ({"goal": [["1", "2"], ["1", "3"], ["2", "1"]]}, "goal[2]", "goal[0] already"),
        ({"initial": [["1", "2"], ["3", "3"]]}, "initial[1]", "to itself"),
        ({"brokers": ["1", "2", "3", "4", "5"]}, "brokers[4]", "neither initial nor goal"),
        ({"options": {"frozen": ["4"]}}, "options.frozen[0]", "frozen, but"),
        ({"options": {"frozen": [["2", "4"]]}}, "options.frozen[0]", "not in the goal"),
        ({"options": {"frozen": ["7"]}}, "options.frozen[0]", 'no broker "7"'),
        ({"options": {"max_degree": 1}}, "options.max_degree", "has 2 links in initial"),
        ({"options": {"max_degree": 2.5}}, "options.max_degree", "whole number"),
        ({"options": {"parallel": "all"}}, "options.parallel", "known are"),
        ({"options": {"action_costs": {"shift": -1}}}, "options.action_costs.shift", "negative"),
        ({"options": {"speed": 1}}, "options", "unknown key"),
        ({"brokers": []}, "brokers", "1 to"),
        ({"initial": [["1", 2]]}, "initial[0]", "must be a string"),
        ({"initial": "none"}, "initial", "must be a list"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        transformation_from_dict({**EXAMPLE, **change})
    assert caught.value.path == path
    assert words in caught.value.message


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_problems_and_plans_survive_their_files(seed: int) -> None:
    made = problem(random.Random(seed), churn=True)
    again = transformation_from_json(transformation_bytes(made))
    assert transformation_bytes(again) == transformation_bytes(made)
    assert (again.initial, again.goal, again.options) == (made.initial, made.goal, made.options)
    plan = TransformationPlan(
        status="solved", steps=pack(made, direct(made)), planner="slides", lower_bound_actions=1
    )
    written = json.loads(json.dumps(transformation_plan_to_dict(plan)))
    assert transformation_plan_from_dict(written) == plan


def test_the_order_of_the_input_changes_nothing() -> None:
    turned = {
        "brokers": EXAMPLE["brokers"][::-1],
        "initial": [pair[::-1] for pair in EXAMPLE["initial"][::-1]],
        "goal": EXAMPLE["goal"][::-1],
    }
    assert transformation_bytes(transformation_from_dict(turned)) == transformation_bytes(
        transformation_from_dict(EXAMPLE)
    )


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ({"op": "turn", "broker": "1"}, "steps[0][0].op"),
        ({"op": "shift", "broker": "1", "from": "2"}, "steps[0][0]"),
        ({"op": "detach", "broker": "1", "from": "2", "to": "3"}, "steps[0][0]"),
        ({"op": "append", "broker": "1", "to": 3}, "steps[0][0].to"),
    ],
)
def test_an_action_that_is_none_is_named(step: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        transformation_plan_from_dict({"status": "solved", "steps": [[step]], "actions": 1})
    assert caught.value.path == path


def test_a_plan_that_miscounts_its_actions_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="the steps have 0"):
        transformation_plan_from_dict({"status": "solved", "steps": [], "actions": 1})
