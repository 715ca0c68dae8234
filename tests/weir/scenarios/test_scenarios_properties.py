"""An edit gives a problem that the codec accepts, or says no, and changes nothing else."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.kernel_strategies import decimals, extreme_problem_dicts, problem_dicts
from weir.codec import canonical_bytes, content_hash, problem_from_dict, problem_from_json
from weir.errors import InvalidProblem
from weir.model import Problem
from weir.scenarios import applied, edit_from_dict, edit_to_dict, expand, study_from_dict
from weir.scenarios.edits import KINDS

factors = st.sampled_from([0.0, 1e-30, 0.1, 0.5, 1.0, 1.5, 3.0, 1e9, 1e30])
costs = st.sampled_from([1e-6, 0.5, 1.0, 2.5, 1e6])
amounts = st.sampled_from([0.0, 1e-30, 1.0, 37.5, 9e5, 1e30])
problem_dicts_of_all_sizes = st.one_of(problem_dicts(), extreme_problem_dicts())


def chosen(draw: st.DrawFn, ids: list[str]) -> Any:
    """Some of the ids, all of them, or one that is not there."""
    some = st.lists(st.sampled_from([*ids, "nobody"]), min_size=1, max_size=3, unique=True)
    return draw(st.one_of(st.just("all"), some))


@st.composite
def edits(draw: st.DrawFn, plain: dict[str, Any]) -> dict[str, Any]:
    """Edits of every kind; most of them fit the problem."""
    ids = {name: [row["id"] for row in plain[name]] for name in ("nodes", "links", "flows")}
    ids["classes"] = [row["id"] for row in plain["classes"]]
    kind = draw(st.sampled_from(sorted(KINDS)))
    if kind.startswith("remove"):
        field = kind.removeprefix("remove_") + "s"
        names = st.lists(st.sampled_from([*ids[field], "nobody"]), min_size=1, unique=True)
        return {"kind": kind, field: draw(names)}
    if kind == "budget":
        size = draw(st.sampled_from(["total", "scale"]))
        return {
            "kind": kind,
            "resource": draw(st.sampled_from([*plain["resources"], "nothing"])),
            "nodes": chosen(draw, ids["nodes"]),
            "spread": draw(st.sampled_from(["best", "in_proportion"])),
            size: draw(amounts if size == "total" else factors),
            "unit_costs": draw(
                st.dictionaries(st.sampled_from([*ids["nodes"], "nobody"]), costs, max_size=2)
            ),
        }
    if kind in ("node_capacity", "link_capacity"):
        field = kind.removesuffix("_capacity") + "s"
        edit: dict[str, Any] = {"kind": kind, field: chosen(draw, ids[field])}
        if field == "nodes" and draw(st.booleans()):
            edit["resource"] = draw(st.sampled_from([*plain["resources"], "nothing"]))
    else:
        by = draw(st.sampled_from(["classes", "flows", "nodes"]))
        picked = chosen(draw, ids[by])
        edit = {"kind": kind, "classes" if picked == "all" else by: picked}
    if kind != "utility_weight" and draw(st.booleans()):
        return edit | {"set": draw(st.sampled_from([0, 1, 400]))}
    return edit | {"scale": draw(factors)}


def valid(problem: Problem) -> Problem:
    """The problem as the codec reads it back; it refuses what is not valid."""
    again = problem_from_json(canonical_bytes(problem))
    assert content_hash(again) == content_hash(problem)
    return again


@settings(deadline=None)
@given(data=st.data())
def test_edits_give_a_valid_problem_or_an_error_that_names_the_field(data):
    plain = data.draw(problem_dicts_of_all_sizes)
    problem = problem_from_dict(plain)
    before = canonical_bytes(problem)
    given_edits = data.draw(st.lists(edits(plain), min_size=1, max_size=4))
    parsed = [edit_from_dict(edit) for edit in given_edits]
    refusal: InvalidProblem | None = None
    try:
        valid(applied(problem, parsed).problem)
    except InvalidProblem as error:
        refusal = error
    assert refusal is None or (refusal.path.startswith("edits[") and refusal.message)
    assert canonical_bytes(problem) == before


@settings(deadline=None)
@given(data=st.data())
def test_edit_survives_the_round_through_its_plain_form(data):
    edit = edit_from_dict(data.draw(edits(data.draw(problem_dicts()))))
    assert edit_from_dict(edit_to_dict(edit)) == edit


@settings(deadline=None)
@given(plain=problem_dicts_of_all_sizes)
def test_scaling_by_one_is_the_identity(plain):
    problem = problem_from_dict(plain)
    same = [
        {"kind": "node_capacity", "nodes": "all", "scale": 1},
        {"kind": "link_capacity", "links": "all", "scale": 1},
        {"kind": "population", "scale": 1},
        {"kind": "utility_weight", "scale": 1},
    ]
    after = applied(problem, [edit_from_dict(edit) for edit in same]).problem
    assert content_hash(after) == content_hash(problem)


@settings(deadline=None)
@given(plain=problem_dicts(), name=st.sampled_from(["nodes", "flows", "links"]))
def test_removing_what_is_not_there_is_an_error_that_names_it(plain, name):
    edit = edit_from_dict({"kind": f"remove_{name[:-1]}", name: ["not there"]})
    with pytest.raises(InvalidProblem) as caught:
        applied(problem_from_dict(plain), [edit])
    assert '"not there"' in caught.value.message
    assert caught.value.path == f"edits[0].{name}[0]"


@settings(deadline=None)
@given(data=st.data())
def test_edit_touches_only_what_it_names(data):
    plain = data.draw(problem_dicts().filter(lambda one: one["nodes"] and one["resources"]))
    problem = problem_from_dict(plain)
    node = data.draw(st.sampled_from([row["id"] for row in plain["nodes"]]))
    edit = edit_from_dict({"kind": "node_capacity", "nodes": [node], "scale": 0.5})
    after = applied(problem, [edit]).problem
    assert [row for row in after.nodes if row.id != node] == [
        row for row in problem.nodes if row.id != node
    ]
    assert (after.flows, after.classes, after.links) == (
        problem.flows,
        problem.classes,
        problem.links,
    )


@given(
    low=decimals(0, 10), span=decimals(0.01, 10), counts=st.lists(st.integers(2, 12), max_size=3)
)
@settings(max_examples=40, deadline=None)
def test_grid_has_one_case_per_combination_and_method_each_with_its_own_index(low, span, counts):
    axes = [
        {
            "label": f"axis {number}",
            "edit": {"kind": "node_capacity", "nodes": "all"},
            "field": "scale",
            "values": {"from": low, "to": low + span, "count": count},
        }
        for number, count in enumerate(counts)
    ]
    study = study_from_dict(
        {
            "kind": "sweep",
            "methods": [{"method": "lrgp"}, {"method": "lrgp", "label": "again"}],
            "axes": axes,
            "scenarios": [{"label": "one", "edits": []}],
        }
    )
    cases = [case for unit in expand(study) for case in unit.cases]
    combinations = 1
    for count in counts:
        combinations *= count
    assert len(cases) == 2 * (2 + (combinations if counts else 0))
    assert [case.index for case in cases] == list(range(len(cases)))
    assert len({(case.label, case.coordinates, case.method.label) for case in cases}) == len(cases)
