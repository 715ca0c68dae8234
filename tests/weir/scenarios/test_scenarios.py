"""Edits of a problem and the studies made of them."""

import json
import math
from pathlib import Path

import pytest

from weir.codec import content_hash, problem_from_json
from weir.errors import InvalidProblem
from weir.optimizers import method
from weir.scenarios import (
    AS_IS,
    applied,
    check,
    count_cases,
    edit_from_dict,
    expand,
    repeatable,
    solve_unit,
    study_csv,
    study_document,
    study_from_dict,
    study_to_dict,
)
from weir.scenarios.consumers import scaled_population, scaled_utility
from weir.stop import never
from weir.utility import kinds, utility_from_dict

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "lrgp" / "log-6-flows-3-nodes.json"
LRGP = [{"method": "lrgp", "parameters": {"max_iterations": 30}}]
UTILITIES = {
    "log": {"weight": 20},
    "power": {"weight": 3, "exponent": 0.5},
    "linear": {"weight": 7},
    "piecewise": {"points": [[0, -1], [10, 40], [50, 60]]},
    "latency": {"max_utility": 6000, "threshold_s": 0.5, "senders": 20, "think_s": 0.1}
    | {"exec_s": 0.008},
}


@pytest.fixture(scope="module")
def problem():
    return problem_from_json(GOLDEN.read_bytes())


def edited(problem, *edits):
    return applied(problem, [edit_from_dict(edit) for edit in edits]).problem


def refused(edits, problem):
    with pytest.raises(InvalidProblem) as caught:
        edited(problem, *edits)
    return str(caught.value)


def solved(problem, spec):
    study = study_from_dict(spec)
    check(study, problem)
    ticks = iter(range(10**6))
    return [
        row
        for unit in expand(study)
        for row in solve_unit(problem, study, unit, clock=lambda: float(next(ticks)))
    ]


def outcomes(rows):
    """What became of each row; how soon a method stops is not our matter here."""
    return [
        "answer"
        if row["status"] in ("optimal", "solved", "not_converged", "time_limit")
        else row["status"]
        for row in rows
    ]


def capacities(problem):
    return {node.id: node.capacity["cpu"] for node in problem.nodes}


def test_capacity_of_one_node_is_scaled_and_of_all_is_set(problem):
    one = {"kind": "node_capacity", "nodes": ["S2"], "scale": 0.5}
    assert capacities(edited(problem, one)) == {"S0": 9e5, "S1": 9e5, "S2": 4.5e5}
    every = {"kind": "node_capacity", "nodes": "all", "resource": "cpu", "set": 7}
    assert set(capacities(edited(problem, every)).values()) == {7.0}


def test_populations_are_chosen_by_class_flow_or_node(problem):
    def wanted(**which):
        after = edited(problem, {"kind": "population", "set": 0, **which})
        return {row.id for row in after.classes if row.population_max == 0}

    assert wanted(classes=["c3"]) == {"c3"}
    assert wanted(flows=["f1"]) == {row.id for row in problem.classes if row.flow == "f1"}
    assert wanted(nodes=["S2"]) == {row.id for row in problem.classes if row.node == "S2"}
    assert wanted() == wanted(classes="all") == {row.id for row in problem.classes}


@pytest.mark.parametrize(
    ("population", "factor", "gives"),
    [(100, 0.25, 25), (5, 0.5, 3), (3, 0.1, 0), (7, 0, 0), (2**53, 1, 2**53), (0, 9, 0)],
)
def test_populations_round_to_the_nearest_and_halves_upwards(population, factor, gives):
    assert scaled_population(population, factor, "c") == gives


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_scaled_utility_is_the_curve_times_the_factor(kind):
    utility = utility_from_dict({"kind": kind, **UTILITIES[kind]})
    twice = scaled_utility(utility, 2.0, "class c")
    for rate in (0.0, 5.0, 33.4, 180.0, 1000.0):
        assert float(twice.value(rate)) == pytest.approx(2 * float(utility.value(rate)), rel=1e-12)


def test_removed_flow_takes_its_classes(problem):
    after = edited(problem, {"kind": "remove_flow", "flows": ["f0"]})
    assert {flow.id for flow in after.flows} == {"f1", "f2", "f3", "f4", "f5"}
    assert all(row.flow != "f0" for row in after.classes)


def test_removed_node_takes_its_classes_and_costs_and_leaves_the_flows(problem):
    after = edited(problem, {"kind": "remove_node", "nodes": ["S1"]})
    assert len(after.flows) == len(problem.flows)
    assert all("S1" not in flow.node_costs for flow in after.flows)
    assert all(row.node != "S1" for row in after.classes)


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([{"kind": "remove_node", "nodes": ["S9"]}], 'edits[0].nodes[0]: no node "S9"; known are'),
        ([{"kind": "remove_node", "nodes": ["S1", "S9"]}], 'edits[0].nodes[1]: no node "S9"'),
        ([{"kind": "remove_flow", "flows": ["f9"]}], 'edits[0].flows[0]: no flow "f9"'),
        ([{"kind": "remove_link", "links": ["l"]}], 'no link "l"; there is none'),
        ([{"kind": "remove_flow", "flows": ["f0"]}] * 2, 'edits[1].flows[0]: no flow "f0"'),
        ([{"kind": "population", "classes": ["x"], "scale": 2}], 'no class "x"'),
        (
            [{"kind": "node_capacity", "nodes": "all", "resource": "io", "scale": 2}],
            'edits[0].resource: no resource "io"; known are cpu',
        ),
        ([{"kind": "node_capacity", "nodes": "all", "scale": 1e30}], "edits[0].scale: would make"),
        ([{"kind": "node_capacity", "nodes": "all", "scale": 1e-29}] * 2, "edits[1].scale: would"),
        ([{"kind": "population", "scale": 1e16}], "edits[0].scale: would give class c0"),
        ([{"kind": "utility_weight", "scale": 1e30}], "edits[0].scale: would make the worth"),
        (
            [
                {"kind": "node_capacity", "nodes": "all", "set": 0},
                {"kind": "budget", "resource": "cpu", "nodes": "all", "total": 5}
                | {"spread": "in_proportion"},
            ],
            "edits[1].spread: these nodes have no cpu",
        ),
    ],
)
def test_edit_that_does_not_fit_names_edit_field_and_thing(problem, edits, words):
    assert words in refused(edits, problem)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (5, "must be an object, not 5"),
        ({}, 'missing key "kind"'),
        ({"kind": "grow"}, 'kind: no edit "grow"; known are node_capacity'),
        ({"kind": "node_capacity", "scale": 2}, 'missing key "nodes"'),
        ({"kind": "node_capacity", "nodes": []}, 'give either "scale"'),
        ({"kind": "node_capacity", "nodes": [], "scale": 2}, "nodes: must not be empty"),
        ({"kind": "node_capacity", "nodes": ["a", "a"], "scale": 2}, "nodes[1]: "),
        ({"kind": "node_capacity", "nodes": "all", "scale": 2, "set": 1}, "either"),
        ({"kind": "node_capacity", "nodes": "all", "scale": -1}, "scale: must not be negative"),
        ({"kind": "node_capacity", "nodes": "all", "scale": True}, "scale: must be a number"),
        ({"kind": "node_capacity", "nodes": "all", "scale": math.inf}, "scale: must be finite"),
        ({"kind": "population", "flows": ["f"], "nodes": ["n"], "scale": 1}, "give one of"),
        ({"kind": "population", "set": 1.5}, "set: must be a whole number"),
        ({"kind": "remove_flow", "flows": "f0"}, "flows: must be a list"),
        ({"kind": "remove_flow", "flows": [3]}, "flows[0]: must be a string"),
        ({"kind": "budget", "resource": "cpu", "nodes": "all"}, "total"),
        ({"kind": "utility_weight", "set": 3}, "unknown key"),
    ],
)
def test_edit_that_is_none_is_refused_with_its_field(edit, words):
    with pytest.raises(InvalidProblem) as caught:
        edit_from_dict(edit)
    assert words in str(caught.value)


SWEEP = {
    "kind": "sweep",
    "methods": LRGP,
    "axes": [
        {
            "label": "Capacity of S2",
            "edit": {"kind": "node_capacity", "nodes": ["S2"]},
            "field": "scale",
            "values": {"from": 0.5, "to": 1.5, "count": 3},
        },
        {
            "label": "Without",
            "edit": {"kind": "remove_flow"},
            "field": "flows",
            "values": ["f0", "f5"],
        },
    ],
    "scenarios": [{"label": "Twice gold", "edits": [{"kind": "utility_weight", "scale": 2}]}],
}


def test_grid_holds_every_combination_beside_the_problem_as_it_is(problem):
    study = study_from_dict(SWEEP)
    assert count_cases(study) == 1 + 1 + 3 * 2
    cases = [case for unit in expand(study) for case in unit.cases]
    assert [case.index for case in cases] == list(range(8))
    assert cases[0].label == AS_IS
    assert cases[2].label == "Capacity of S2 50 %, Without: f0"
    assert cases[-1].coordinates == (1.5, "f5")
    rows = solved(problem, SWEEP)
    assert set(outcomes(rows)) == {"answer"}
    assert rows[2]["quantities"] == [450_000.0, None]
    assert rows[2]["marginals"][0] == next(
        price["price"] for price in rows[2]["prices"] if price["id"] == "S2"
    )
    assert rows[1]["utility"] == pytest.approx(2 * rows[0]["utility"], rel=1e-3)


def test_study_survives_the_round_through_its_plain_form():
    for spec in (SWEEP, DAY):
        plain = study_to_dict(study_from_dict(spec))
        assert study_to_dict(study_from_dict(json.loads(json.dumps(plain)))) == plain


def test_scenario_that_fails_is_a_row_and_the_others_go_on(problem, monkeypatch):
    starved = {"kind": "node_capacity", "nodes": ["S0"], "set": 0}
    twice = {"kind": "remove_flow", "flows": ["f0"]}
    spec = {"kind": "sweep", "methods": LRGP} | {
        "axes": [
            {"label": "S0", "edit": {"kind": "node_capacity", "nodes": ["S0"]}, "field": "set"}
            | {"values": [0, 900_000]}
        ],
    }
    rows = solved(problem, spec)
    assert outcomes(rows) == ["answer", "infeasible", "answer"]
    assert "S0" in rows[1]["reason"]
    assert rows[1]["utility"] is None
    study = study_from_dict(
        {"kind": "sweep", "methods": LRGP}
        | {
            "scenarios": [
                {"label": "x", "edits": [twice, twice]},
                {"label": "y", "edits": [starved]},
            ]
        }
    )
    got = [
        row for unit in expand(study) for row in solve_unit(problem, study, unit, clock=lambda: 0.0)
    ]
    assert outcomes(got) == ["answer", "invalid", "infeasible"]
    assert got[1]["reason"] == 'edits[1].flows[0]: no flow "f0"; known are f1, f2, f3, f4, f5'

    def broken(*_, **__):
        raise ZeroDivisionError("somewhere deep")

    monkeypatch.setattr(method("lrgp"), "solve", broken)
    got = list(solve_unit(problem, study, expand(study)[0], clock=lambda: 0.0))
    assert got[0]["status"] == "failed"
    assert got[0]["reason"] == "ZeroDivisionError: somewhere deep"


DAY = {
    "kind": "schedule",
    "methods": [*LRGP, {"method": "lrgp", "label": "short", "parameters": {"max_iterations": 5}}],
    "groups": [
        {"name": "Gold", "classes": ["c18", "c19"]},
        {"name": "Bronze", "classes": ["c4", "c5"]},
    ],
    "segments": [
        {"label": "Start of day", "percent": {"Gold": 100}},
        {"label": "Lunch", "percent": {"Gold": 0, "Bronze": 50}, "duration_s": 1800},
        {"label": "End of day", "percent": {}},
    ],
}


def test_schedule_sets_each_segment_from_the_model_and_counts_its_groups(problem):
    rows = solved(problem, DAY)
    assert [row["index"] for row in rows] == list(range(6))
    assert [row["label"] for row in rows[:3]] == ["Start of day", "Lunch", "End of day"]
    wanted = [{g["name"]: g["wanted"] for g in row["groups"]} for row in rows[:3]]
    assert wanted == [
        {"Gold": 3000, "Bronze": 4000},
        {"Gold": 0, "Bronze": 2000},
        {"Gold": 3000, "Bronze": 4000},
    ]
    assert rows[0]["moved"] is None
    assert rows[1]["moved"] >= rows[0]["groups"][0]["admitted"] > 0
    assert {row["method"] for row in rows[3:]} == {"short"}


def test_segment_begins_where_the_one_before_left_off(problem, monkeypatch):
    optimizer = method("lrgp")
    given = []
    solve = optimizer.solve

    def watched(*args, start=None, **kwargs):
        given.append(start)
        return solve(*args, start=start, **kwargs)

    monkeypatch.setattr(optimizer, "solve", watched)
    one = {**DAY, "methods": LRGP}
    rows = solved(problem, one)
    assert [start is None for start in given] == [True, False, False]
    first = optimizer.solve(problem, optimizer.Params(max_iterations=30), stop=never, seed=0)
    assert given[1].node_prices == first.node_prices
    assert rows[0]["utility"] == first.utility
    given.clear()
    solved(problem, {**one, "warm": False})
    assert given == [None] * 3


def test_day_that_is_infeasible_has_a_reason_in_every_row(problem):
    starved = edited(problem, {"kind": "node_capacity", "nodes": ["S0"], "set": 0})
    rows = solved(starved, {**DAY, "methods": LRGP})
    assert [row["status"] for row in rows] == ["infeasible"] * 3


def test_cancelled_unit_ends_without_a_half_answer(problem):
    study = study_from_dict(DAY)
    cancelled = iter([False] * 8 + [True] * 1000)
    rows = list(
        solve_unit(
            problem, study, expand(study)[0], clock=lambda: 0.0, cancelled=lambda: next(cancelled)
        )
    )
    assert len(rows) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "guess"}, "kind: must be sweep or schedule"),
        ({"methods": []}, "methods: must not be empty"),
        ({"methods": [{"method": "magic"}]}, 'methods[0].method: no optimizer "magic"'),
        (
            {"methods": [{"method": "lrgp", "parameters": {"max_iterations": 0}}]},
            "methods[0].parameters.max_iterations: must be at least 1",
        ),
        ({"methods": [*LRGP, *LRGP]}, "methods[1].label"),
        ({"axes": [], "scenarios": []}, "axes: nothing varies"),
        ({"seed": -1}, "seed: must lie between 0"),
        ({"seed": 1.5}, "seed: must be a whole number"),
        ({"time_limit_s": 0}, "time_limit_s: must be above 0"),
        ({"surprise": 1}, 'unknown key "surprise"'),
        ({"keep_rates": 1}, "keep_rates: must be true or false"),
        ({"scenarios": [{"label": "", "edits": []}]}, "scenarios[0].label: must not be empty"),
        ({"scenarios": [{"label": "x", "edits": [{"kind": 3}]}]}, "scenarios[0].edits[0].kind"),
    ],
)
def test_study_that_is_none_is_refused_with_its_field(change, words):
    with pytest.raises(InvalidProblem) as caught:
        study_from_dict({**SWEEP, **change})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"field": "speed"}, "axes[0].field: node_capacity varies over scale, set, nodes"),
        ({"edit": {"kind": "node_capacity", "scale": 2}}, "axes[0].edit.scale: is what the axis"),
        ({"edit": {"kind": "node_capacity"}}, 'axes[0].edit: missing key "nodes"'),
        ({"values": []}, "axes[0].values: must not be empty"),
        ({"values": ["S2"]}, "axes[0].values[0]: must be a number"),
        ({"values": [-1]}, "axes[0].edit.scale: must not be negative"),
        ({"values": {"from": 2, "to": 1, "count": 5}}, "axes[0].values.to: must be above"),
        ({"values": {"from": 1, "to": 2, "count": 1}}, "axes[0].values.count: must lie between 2"),
        ({"values": {"from": 0, "to": 2, "count": 2000}}, "4,002 answers would"),
    ],
)
def test_axis_that_is_none_is_refused_with_its_field(change, words):
    axis = {**SWEEP["axes"][0], **change}
    rest = {**SWEEP["axes"][1], "values": ["f0", "f1", "f2"]}
    with pytest.raises(InvalidProblem) as caught:
        study_from_dict({**SWEEP, "axes": [axis, rest]})
    assert words.replace("4,002", "6,002") in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"segments": []}, "segments: must not be empty"),
        ({"segments": [{"label": "x", "percent": {"Tin": 1}}]}, 'segments[0].percent: no group "T'),
        ({"segments": [{"label": "x", "percent": {"Gold": -1}}]}, "segments[0].percent.Gold"),
        ({"segments": [{"label": "x", "percent": {}, "duration_s": 0}]}, "segments[0].duration_s"),
        ({"groups": [{"name": "G", "classes": []}]}, "groups[0].classes: must not be empty"),
        (
            {"groups": [*DAY["groups"], {"name": "Again", "classes": ["c4"]}]},
            'groups[2].classes[0]: "c4" is in group Bronze too',
        ),
    ],
)
def test_schedule_that_is_none_is_refused_with_its_field(change, words):
    with pytest.raises(InvalidProblem) as caught:
        study_from_dict({**DAY, **change})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {**SWEEP, "axes": [{**SWEEP["axes"][1], "values": ["f0", "f7"]}]},
            'axes[0].values[1]: no flow "f7"',
        ),
        (
            {
                **SWEEP,
                "axes": [SWEEP["axes"][0] | {"edit": {"kind": "node_capacity"} | {"nodes": ["X"]}}],
            },
            'axes[0].edit.nodes[0]: no node "X"',
        ),
        ({**SWEEP, "base": [{"kind": "remove_node", "nodes": ["X"]}]}, "base[0].nodes[0]: no node"),
        (
            {
                **SWEEP,
                "scenarios": [{"label": "x", "edits": [{"kind": "remove_link", "links": ["l"]}]}],
            },
            'scenarios[0].edits[0].links[0]: no link "l"',
        ),
        (
            {
                **DAY,
                "groups": [{"name": "Gold", "classes": ["c99"]}],
                "segments": [DAY["segments"][2]],
            },
            'groups[0].classes[0]: no class "c99"',
        ),
    ],
)
def test_study_that_does_not_fit_the_problem_names_the_field(problem, spec, words):
    with pytest.raises(InvalidProblem) as caught:
        check(study_from_dict(spec), problem)
    assert words in str(caught.value)


def test_document_and_table_hold_every_row(problem):
    study = study_from_dict(SWEEP)
    rows = solved(problem, SWEEP)
    document = study_document(study, content_hash(problem), reversed(rows))
    assert document["points"] == rows
    lines = study_csv(study, rows).splitlines()
    assert len(lines) == 1 + len(rows)
    assert lines[0].startswith("index,scenario,method,Capacity of S2,Without,quantity of Capacity")
    assert '"Capacity of S2 50 %, Without: f0"' in lines[3]
    assert all("runtime_s" not in row for row in repeatable(rows))
    assert study_csv(study, [{**rows[0], "label": "=1+1"}]).splitlines()[1].startswith("0,'=1+1,")
