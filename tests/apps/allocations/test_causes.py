"""What changed in the model between two snapshots."""

import json

from apps.allocations.domain.causes import ModelChange, model_changes, utility_text
from tests.factories.runs import golden_problem
from weir.codec import problem_from_dict, problem_to_dict


def canonical():
    return problem_to_dict(problem_from_dict(golden_problem()))


def test_the_same_model_has_no_changes():
    assert model_changes(canonical(), canonical()) == []


def test_every_kind_of_change_is_named_with_its_values():
    before = canonical()
    after = json.loads(json.dumps(before))
    after["nodes"][2]["capacity"]["cpu"] = 780_000.0
    after["flows"][0]["rate_max"] = 500.0
    after["flows"][1]["node_costs"]["S0"]["cpu"] = 4.0
    after["flows"][1]["link_costs"]["l9"] = 1.0
    after["classes"][0]["population_max"] = 7
    after["classes"][1]["utility"] = {"kind": "log", "weight": 55.0}
    after["classes"][2]["costs"]["cpu"] = 20.0
    after["classes"][3]["node"] = "S2" if after["classes"][3]["node"] != "S2" else "S0"
    gone = after["classes"].pop()["id"]
    after["links"].append({"id": "l9", "capacity": 5.0})
    changes = {(row.what, row.name, row.field): row for row in model_changes(before, after)}
    assert changes["node", "S2", "capacity"] == ModelChange(
        what="node", name="S2", field="capacity", detail="cpu", before=900_000.0, after=780_000.0
    )
    assert changes["flow", before["flows"][0]["id"], "rate_max"].after == 500.0
    assert changes["flow", before["flows"][1]["id"], "node_cost"].detail == "cpu at S0"
    assert changes["flow", before["flows"][1]["id"], "link_cost"].before is None
    assert changes["class", before["classes"][0]["id"], "population_max"].after == 7
    assert changes["class", before["classes"][1]["id"], "utility"].after_text == "log, weight 55"
    assert changes["class", before["classes"][2]["id"], "cost"].after == 20.0
    assert changes["class", before["classes"][3]["id"], "node"].before_text != ""
    assert ("class", gone, "removed") in changes
    assert ("link", "l9", "added") in changes
    assert len(changes) == 10


def test_capacities_are_told_first():
    before = canonical()
    after = json.loads(json.dumps(before))
    after["classes"][0]["population_max"] += 1
    after["nodes"][0]["capacity"]["cpu"] += 1
    assert [row.what for row in model_changes(before, after)] == ["node", "class"]


def test_utilities_read_as_people_write_them():
    assert utility_text({"kind": "power", "weight": 20.0, "exponent": 0.5}) == (
        "power, weight 20, exponent 0.5"
    )
    assert utility_text({"kind": "piecewise", "points": [[0, 0], [1, 2]]}) == "piecewise, 2 points"
