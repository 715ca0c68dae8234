"""`manage.py plan_topology` and `check_plan`: exit statuses, results, and what bad input gets."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from weir.planners import planners

PAPER: dict[str, Any] = {
    "brokers": ["1", "2", "3", "4"],
    "initial": [["1", "2"], ["1", "3"], ["2", "4"]],
    "goal": [["1", "2"], ["1", "3"], ["3", "4"]],
}
"""Figure 1 of the paper: the link 4-2 becomes 4-3 in two shifts."""

KEYS = {
    *("status", "steps", "actions", "lower_bound_actions", "lower_bound_steps"),
    *("planner", "runtime_s"),
}


class Outcome:
    """What a call of a command came to."""

    def __init__(self, status: int, said: str, printed: str = "") -> None:
        self.status = status
        self.said = said
        self.printed = printed


def call(*arguments: str) -> Outcome:
    said, printed = io.StringIO(), io.StringIO()
    try:
        call_command(*arguments, stderr=said, stdout=printed)
    except SystemExit as end:
        return Outcome(int(end.code or 0), said.getvalue(), printed.getvalue())
    return Outcome(0, said.getvalue(), printed.getvalue())


def written(folder: Path, plain: Any, name: str = "in.json") -> Path:
    path = folder / name
    path.write_text(plain if isinstance(plain, str) else json.dumps(plain))
    return path


def plan(folder: Path, plain: Any, *options: str) -> tuple[Outcome, Path]:
    out = folder / "out.json"
    outcome = call("plan_topology", str(written(folder, plain)), "--out", str(out), *options)
    return outcome, out


def changed(**members: Any) -> dict[str, Any]:
    return {**PAPER, **members}


def test_result_has_exactly_the_published_members(tmp_path):
    outcome, out = plan(tmp_path, PAPER)
    assert (outcome.status, outcome.said) == (0, "")
    answer = json.loads(out.read_bytes())
    assert answer.keys() == KEYS
    assert (answer["status"], answer["actions"], answer["lower_bound_actions"]) == ("optimal", 2, 2)
    assert answer["steps"] == [
        [{"op": "shift", "broker": "4", "from": "2", "to": "1"}],
        [{"op": "shift", "broker": "4", "from": "1", "to": "3"}],
    ]


def test_prices_add_what_the_plan_costs(tmp_path):
    outcome, out = plan(tmp_path, changed(options={"action_costs": {"shift": 3}}))
    assert outcome.status == 0
    answer = json.loads(out.read_bytes())
    assert answer.keys() == KEYS | {"cost", "lower_bound_cost"}
    assert answer["cost"] == 6.0


def test_identical_overlays_give_an_empty_plan(tmp_path):
    outcome, out = plan(tmp_path, changed(goal=PAPER["initial"]))
    assert outcome.status == 0
    answer = json.loads(out.read_bytes())
    assert (answer["status"], answer["steps"], answer["actions"]) == ("optimal", [], 0)


def test_brokers_come_first_and_go_last(tmp_path):
    problem = changed(
        brokers=["1", "2", "3", "4", "5"],
        goal=[["1", "2"], ["1", "3"], ["3", "5"]],
    )
    outcome, out = plan(tmp_path, problem)
    assert outcome.status == 0
    moves = [move for step in json.loads(out.read_bytes())["steps"] for move in step]
    assert {move["op"] for move in moves} >= {"append", "detach"}
    assert call("check_plan", str(tmp_path / "in.json"), str(out)).status == 0


@pytest.mark.parametrize("method", sorted(planners()))
@pytest.mark.parametrize("objective", ["actions", "steps"])
def test_every_planner_gives_a_plan_that_check_plan_accepts(tmp_path, method, objective):
    options = ("--method", method, "--objective", objective, "--time-limit", "20")
    outcome, out = plan(tmp_path, PAPER, *options)
    assert outcome.status == 0, outcome.said
    assert json.loads(out.read_bytes())["planner"] == method
    checked = call("check_plan", str(tmp_path / "in.json"), str(out))
    assert checked.status == 0
    assert checked.printed.startswith("valid: 2 actions in 2 steps lead from today's overlay")


REFUSED = {
    "a cycle in the goal": (
        changed(goal=[["1", "2"], ["2", "3"], ["1", "3"], ["3", "4"]]),
        "goal",
    ),
    "a goal in two parts": (changed(goal=[["1", "2"], ["3", "4"]]), "goal"),
    "a cycle today": (
        changed(initial=[["1", "2"], ["2", "3"], ["1", "3"], ["2", "4"]]),
        "initial",
    ),
    "an unknown broker": (changed(goal=[["1", "2"], ["1", "3"], ["3", "9"]]), "goal[2]"),
    "a broker named twice": (changed(brokers=["1", "2", "3", "4", "2"]), "brokers[4]"),
    "a link named twice": (
        changed(goal=[["1", "2"], ["1", "3"], ["3", "4"], ["4", "3"]]),
        "goal[3]",
    ),
    "a link to itself": (changed(goal=[["1", "2"], ["1", "3"], ["4", "4"]]), "goal[2]"),
    "a broker in neither": (changed(brokers=["1", "2", "3", "4", "5"]), "brokers[4]"),
    "a frozen broker that has to change": (
        changed(options={"frozen": ["4"]}),
        "options.frozen[0]",
    ),
    "a frozen link that has to go": (
        changed(options={"frozen": [["2", "4"]]}),
        "options.frozen[0]",
    ),
    "a degree below today's": (changed(options={"max_degree": 1}), "options.max_degree"),
    "an unknown meaning of parallel": (changed(options={"parallel": "all"}), "options.parallel"),
    "an unknown member": (changed(extra=1), "extra"),
    "a negative price": (
        changed(options={"action_costs": {"shift": -1}}),
        "options.action_costs.shift",
    ),
    "no JSON": ("{", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_line_that_names_the_entry(tmp_path, name):
    plain, path = REFUSED[name]
    outcome, out = plan(tmp_path, plain)
    assert outcome.status == 2
    assert outcome.said.startswith("plan_topology: ")
    assert path in outcome.said
    assert outcome.said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--method", "magic"), 'no planner "magic"'),
        (("--param", "rounds"), "write NAME=VALUE"),
        (("--param", "nonsense=1"), "nonsense"),
        (("--seed", "-1"), "--seed"),
        (("--time-limit", "0"), "--time-limit"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(tmp_path, options, said):
    outcome, out = plan(tmp_path, PAPER, *options)
    assert outcome.status == 2
    assert said in outcome.said
    assert not out.exists()


def test_out_that_cannot_be_written_is_refused_first(tmp_path):
    outcome = call(
        "plan_topology", str(written(tmp_path, PAPER)), "--out", str(tmp_path / "no" / "out.json")
    )
    assert outcome.status == 2
    assert "cannot be written" in outcome.said


def test_same_seed_gives_the_same_steps(tmp_path):
    answers = []
    for _ in range(2):
        outcome, out = plan(tmp_path, PAPER, "--seed", "7")
        assert outcome.status == 0
        answers.append(json.loads(out.read_bytes())["steps"])
    assert answers[0] == answers[1]


def checked(folder: Path, steps: Any, **members: Any) -> Outcome:
    result = {"status": "solved", "steps": steps, "actions": sum(map(len, steps)), **members}
    problem = written(folder, PAPER)
    return call("check_plan", str(problem), str(written(folder, result, "plan.json")))


def test_bad_plan_is_one_line_that_names_its_action(tmp_path):
    first = [{"op": "shift", "broker": "4", "from": "2", "to": "1"}]
    wrong = [{"op": "shift", "broker": "4", "from": "2", "to": "3"}]
    outcome = checked(tmp_path, [first, wrong])
    assert outcome.status == 1
    assert outcome.said.startswith("check_plan: steps[1][0]")
    assert outcome.said.count("\n") == 1


def test_plan_that_stops_short_of_the_goal_is_refused(tmp_path):
    outcome = checked(tmp_path, [[{"op": "shift", "broker": "4", "from": "2", "to": "1"}]])
    assert outcome.status == 1
    assert "without the goal's link 3-4" in outcome.said


def test_actions_of_a_step_that_meet_are_refused(tmp_path):
    both = [
        {"op": "shift", "broker": "4", "from": "2", "to": "1"},
        {"op": "shift", "broker": "3", "from": "1", "to": "2"},
    ]
    outcome = checked(tmp_path, [both])
    assert outcome.status == 1
    assert "steps[0]" in outcome.said


def test_bound_above_the_plan_itself_is_refused(tmp_path):
    _, out = plan(tmp_path, PAPER)
    answer = json.loads(out.read_bytes())
    outcome = checked(tmp_path, answer["steps"], lower_bound_actions=3)
    assert outcome.status == 1
    assert "lower_bound_actions" in outcome.said


@pytest.mark.parametrize("plain", ["[", {"status": "solved"}, {"status": "great", "steps": []}])
def test_plan_that_is_none_is_bad_input(tmp_path, plain):
    outcome = call(
        "check_plan",
        str(written(tmp_path, PAPER)),
        str(written(tmp_path, plain, "plan.json")),
    )
    assert outcome.status == 2
    assert "plan.json" in outcome.said
