"""The allocation format: what is read, what is refused, what the hash depends on."""

from __future__ import annotations

import copy
import json
import pickle
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.suites import effort
from tests.weir.kernel_strategies import problem_dicts, shuffled
from weir.codec import (
    canonical_bytes,
    content_hash,
    problem_from_dict,
    problem_from_json,
    problem_to_dict,
)
from weir.errors import InvalidProblem

GOOD: dict[str, Any] = {
    "resources": ["cpu"],
    "nodes": [{"id": "S0", "capacity": {"cpu": 900000}}],
    "links": [{"id": "l0", "capacity": 1000000}],
    "flows": [
        {
            "id": "f0",
            "rate_min": 10,
            "rate_max": 1000,
            "node_costs": {"S0": {"cpu": 3}},
            "link_costs": {"l0": 1},
        }
    ],
    "classes": [
        {
            "id": "c0",
            "flow": "f0",
            "node": "S0",
            "population_max": 400,
            "costs": {"cpu": 19},
            "utility": {"kind": "log", "weight": 20},
        }
    ],
}
GONE = object()
NAN, INF = float("nan"), float("inf")


def changed(path: list[str | int], value: Any) -> dict[str, Any]:
    """GOOD with one value replaced, added or (GONE) removed; an index past the end appends."""
    entries = copy.deepcopy(GOOD)
    at: Any = entries
    for key in path[:-1]:
        at = at[key]
    if value is GONE:
        del at[path[-1]]
    elif isinstance(at, list) and path[-1] == len(at):
        at.append(value)
    else:
        at[path[-1]] = value
    return entries


def refused(entries: Any) -> InvalidProblem:
    with pytest.raises(InvalidProblem) as caught:
        problem_from_dict(entries)
    assert "\n" not in str(caught.value)
    return caught.value


def test_reads_the_example_of_the_format() -> None:
    problem = problem_from_dict(GOOD)
    assert problem.resources == ("cpu",)
    assert problem.flows[0].node_costs == {"S0": {"cpu": 3.0}}
    assert problem.classes[0].population_max == 400


BAD: list[tuple[list[str | int], Any, str, str]] = [
    (["resources"], GONE, "", 'missing key "resources"'),
    (["extra"], 1, "", 'unknown key "extra"'),
    (["resources"], "cpu", "resources", "must be a list"),
    (["resources"], [str(index) for index in range(200)], "resources", "more than 100"),
    (["a\nb\ud800"], 1, "", 'unknown key "a\\nb\\ud800"'),
    (["x" * 5000], 1, "", "xxx..."),
    (["nodes", 0, "id"], 10**4000, "nodes[0].id", "must be a string, not a huge number"),
    (["resources", 1], "cpu", "resources[1]", 'duplicate resource "cpu"'),
    (["resources", 1], 7, "resources[1]", "must be a string, not 7"),
    (["nodes"], {}, "nodes", "must be a list, not an object"),
    (["nodes", 0], "S0", "nodes[0]", "must be an object"),
    (["nodes", 0, "id"], 5, "nodes[0].id", "must be a string, not 5"),
    (["nodes", 0, "id"], "", "nodes[0].id", "must not be empty"),
    (["nodes", 0, "id"], "a\x00b", "nodes[0].id", "control character"),
    (["nodes", 0, "id"], "\ud800", "nodes[0].id", "half a character"),
    (["nodes", 0, "id"], "x" * 2000, "nodes[0].id", "longer than"),
    (["nodes", 0, "colour"], "red", "nodes[0]", 'unknown key "colour" (id "S0")'),
    (["nodes", 0, "capacity"], GONE, "nodes[0]", 'missing key "capacity" (id "S0")'),
    (["nodes", 0, "capacity"], 5, "nodes[0].capacity", "must be an object, not 5"),
    (["nodes", 0, "capacity"], {}, "nodes[0].capacity", 'no capacity for "cpu" (node "S0")'),
    (["nodes", 0, "capacity", "ram"], 5, "nodes[0].capacity", 'no resource "ram" (node "S0")'),
    (["nodes", 0, "capacity", "cpu"], -1, "nodes[0].capacity.cpu", "not be negative, but is -1"),
    (["nodes", 0, "capacity", "cpu"], NAN, "nodes[0].capacity.cpu", "must be finite"),
    (["nodes", 0, "capacity", "cpu"], -INF, "nodes[0].capacity.cpu", "must be finite"),
    (["nodes", 0, "capacity", "cpu"], True, "nodes[0].capacity.cpu", "a number, not true"),
    (["nodes", 0, "capacity", "cpu"], "9", "nodes[0].capacity.cpu", 'a number, not "9"'),
    (["nodes", 0, "capacity", "cpu"], 1e300, "nodes[0].capacity.cpu", "larger unit"),
    (["nodes", 0, "capacity", "cpu"], 1e-300, "nodes[0].capacity.cpu", "closer to 0 than 1e-30"),
    (["nodes", 0, "capacity", "cpu"], 10**400, "nodes[0].capacity.cpu", "larger unit"),
    (["nodes", 1], GOOD["nodes"][0], "nodes[1].id", 'duplicate id "S0", already at nodes[0]'),
    (["links", 0, "capacity"], None, "links[0].capacity", "a number, not null"),
    (["links", 0, "capacity"], -0.5, "links[0].capacity", 'negative, but is -0.5 (link "l0")'),
    (["links", 1], GOOD["links"][0], "links[1].id", 'duplicate id "l0"'),
    (["flows", 0, "rate_min"], -1, "flows[0].rate_min", 'but is -1 (flow "f0")'),
    (["flows", 0, "rate_min"], 2000, "flows[0].rate_min", "2000 is above rate_max 1000"),
    (["flows", 0, "rate_max"], INF, "flows[0].rate_max", "must be finite"),
    (["flows", 0, "rate_max"], [1], "flows[0].rate_max", "a number, not a list"),
    (["flows", 0, "node_costs"], [], "flows[0].node_costs", "must be an object, not a list"),
    (["flows", 0, "node_costs", "S9"], {}, "flows[0].node_costs", 'no node "S9" (flow "f0")'),
    (["flows", 0, "node_costs", "S0"], 3, "flows[0].node_costs.S0", "must be an object, not 3"),
    (["flows", 0, "node_costs", "S0", "io"], 3, "flows[0].node_costs.S0", 'no resource "io"'),
    (["flows", 0, "node_costs", "S0", "cpu"], -3, "flows[0].node_costs.S0.cpu", "but is -3"),
    (["flows", 0, "link_costs", "l9"], 3, "flows[0].link_costs", 'no link "l9" (flow "f0")'),
    (["flows", 0, "link_costs", "l0"], NAN, "flows[0].link_costs.l0", "must be finite"),
    (["forwarding"], "sometimes", "forwarding", 'must be "always" or "wanted", not "sometimes"'),
    (["forwarding"], None, "forwarding", "not null"),
    (["flows", 0, "source"], "S9", "flows[0].source", 'no node "S9" (flow "f0")'),
    (["flows", 0, "source"], 5, "flows[0].source", "must be a string, not 5"),
    (["flows", 0, "route"], [], "flows[0].route", "must be an object, not a list"),
    (["flows", 0, "route"], {"S9": {"from": "S0"}}, "flows[0].route", 'no node "S9"'),
    (["flows", 0, "route"], {"S0": {}}, "flows[0].route.S0", 'missing key "from"'),
    (["flows", 0, "route"], {"S0": {"from": "S9"}}, "flows[0].route.S0.from", 'no node "S9"'),
    (["flows", 0, "route"], {"S0": {"from": "S0"}}, "flows[0].route.S0", "lies behind itself"),
    (
        ["flows", 0, "route"],
        {"S0": {"from": "S0", "link": "l9"}},
        "flows[0].route.S0.link",
        'no link "l9" (flow "f0")',
    ),
    (["flows", 1], GOOD["flows"][0], "flows[1].id", 'duplicate id "f0"'),
    (["classes", 0, "flow"], "f99", "classes[0].flow", 'no flow "f99" (class "c0")'),
    (["classes", 0, "flow"], ["f0"], "classes[0].flow", "must be a string, not a list"),
    (["classes", 0, "node"], "S9", "classes[0].node", 'no node "S9" (class "c0")'),
    (["classes", 0, "node"], None, "classes[0].node", "must be a string, not null"),
    (["classes", 0, "population_max"], -1, "classes[0].population_max", "negative, but is -1"),
    (["classes", 0, "population_max"], 1.5, "classes[0].population_max", "a whole number"),
    (["classes", 0, "population_max"], 2**53 + 1, "classes[0].population_max", "more than"),
    (["classes", 0, "population_max"], True, "classes[0].population_max", "not true"),
    (["classes", 0, "population_max"], NAN, "classes[0].population_max", "must be finite"),
    (["classes", 0, "costs", "cpu"], -1, "classes[0].costs.cpu", 'but is -1 (class "c0")'),
    (["classes", 0, "costs", "gpu"], 1, "classes[0].costs", 'no resource "gpu"'),
    (["classes", 0, "costs"], None, "classes[0].costs", "must be an object, not null"),
    (["classes", 0, "utility"], "log", "classes[0].utility", "must be an object"),
    (["classes", 0, "utility", "kind"], "cubic", "classes[0].utility.kind", 'kind "cubic"'),
    (["classes", 0, "utility", "weight"], -2, "classes[0].utility.weight", '(class "c0")'),
    (["classes", 0, "utility", "weight"], True, "classes[0].utility.weight", "not true"),
    (["classes", 1], GOOD["classes"][0], "classes[1].id", 'duplicate id "c0"'),
]


@pytest.mark.parametrize(("where", "value", "path", "words"), BAD)
def test_refuses_by_entry_and_field(
    where: list[str | int], value: Any, path: str, words: str
) -> None:
    error = refused(changed(where, value))
    assert error.path == path
    assert words in error.message
    assert len(str(error)) < 300
    assert str(error) == (f"{path}: {error.message}" if path else error.message)


def test_message_starts_as_the_format_says() -> None:
    entries = copy.deepcopy(GOOD)
    entries["classes"] = [GOOD["classes"][0] | {"id": f"c{index}"} for index in range(13)]
    entries["classes"][12]["flow"] = "f99"
    assert str(refused(entries)).startswith('classes[12].flow: no flow "f99"')


def test_one_and_true_are_not_confused_by_sharing() -> None:
    entries = copy.deepcopy(GOOD)
    first, second = copy.deepcopy(GOOD["classes"][0]), copy.deepcopy(GOOD["classes"][0])
    first["costs"], second["costs"] = {"cpu": 1}, {"cpu": True}
    entries["classes"] = [first, second | {"id": "c1"}]
    assert refused(entries).path == "classes[1].costs.cpu"


@pytest.mark.parametrize("top", [None, 3, "x", [], [GOOD]])
def test_refuses_what_is_not_an_object(top: Any) -> None:
    assert "must be an object" in str(refused(top))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not JSON at line 1 column 1"),
        (b'{"a": 1,\n  "b" 2}', "not JSON at line 2 column 7"),
        (b'{"a": 1} x', "not JSON at line 1 column 10"),
        (b"[1]", "the top level must be an object"),
        (b"\xff\xfe{}", "not UTF-8 at byte 0 (line 1)"),
        (b'{"a":\n "\xc3"}', "not UTF-8 at byte 8 (line 2)"),
        (b'{"nodes": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"nodes": 1, "nodes": 2}', 'key "nodes" is given twice'),
        (b'{"x": 1e400}', 'unknown key "x"'),
        (json.dumps(GOOD).replace("900000", "NaN").encode(), "nodes[0].capacity.cpu: must be fin"),
        (json.dumps(GOOD).replace("900000", "Infinity").encode(), "capacity.cpu: must be finite"),
        (json.dumps(GOOD).replace("900000", "-Infinity").encode(), "capacity.cpu: must be finite"),
        (json.dumps(GOOD).replace("900000", "1e400").encode(), "capacity.cpu: must be finite"),
        (json.dumps(GOOD).replace("900000", "9" * 5000).encode(), "nodes[0].capacity.cpu: must"),
        (
            json.dumps(GOOD).replace('"cpu": 19', '"cpu": 19, "cpu": 20').encode(),
            'classes[0].costs: key "cpu" is given twice',
        ),
        (
            json.dumps(GOOD).replace('"id": "f0",', '"id": "f0", "id": "f1",').encode(),
            'flows[0]: key "id" is given twice',
        ),
        (
            json.dumps(GOOD).replace('"weight": 20', '"weight": 20, "weight": 2').encode(),
            'classes[0].utility: key "weight" is given twice',
        ),
    ],
)
def test_refuses_bad_text(raw: bytes, words: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        problem_from_json(raw)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reads_a_byte_order_mark() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(GOOD).encode()
    assert problem_from_json(raw) == problem_from_dict(GOOD)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with pytest.raises(InvalidProblem):
        problem_from_json(raw)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(deadline=None, max_examples=300)
@given(problem_dicts(), json_values, st.integers(0, 2**32))
def test_any_value_anywhere_is_read_or_refused(entries: dict, value: Any, seed: int) -> None:
    choose = random.Random(seed)
    at: Any = entries
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = choose.choice(keys)
        if isinstance(at[key], dict | list) and at[key] and choose.random() < 0.8:
            at = at[key]
            continue
        at[key] = value
        break
    try:
        problem = problem_from_dict(entries)
    except InvalidProblem:
        return
    canonical_bytes(problem)


@settings(deadline=None)
@given(problem_dicts())
def test_round_trip_through_plain_form(entries: dict) -> None:
    problem = problem_from_dict(entries)
    again = problem_from_dict(problem_to_dict(problem))
    assert canonical_bytes(again) == canonical_bytes(problem)
    assert problem_from_dict(problem_to_dict(again)) == again
    assert problem_from_json(canonical_bytes(problem)) == again


@settings(deadline=None)
@given(problem_dicts(), st.integers(0, 2**32))
def test_hash_ignores_order(entries: dict, seed: int) -> None:
    other = shuffled(entries, random.Random(seed))
    assert content_hash(problem_from_dict(other)) == content_hash(problem_from_dict(entries))


def test_hash_ignores_spelling_of_numbers() -> None:
    hashes = {
        content_hash(problem_from_json(json.dumps(GOOD).replace("900000", number).encode()))
        for number in ("900000", "900000.0", "9e5", "9000.00e+2")
    }
    assert len(hashes) == 1
    zeros = {
        content_hash(problem_from_json(json.dumps(GOOD).replace("900000", number).encode()))
        for number in ("0", "0.0", "-0.0", "-0")
    }
    assert len(zeros) == 1


def test_hash_depends_on_every_value() -> None:
    hashes = {content_hash(problem_from_dict(GOOD))}
    others: list[tuple[list[str | int], Any]] = [
        (["nodes", 0, "capacity", "cpu"], 900001),
        (["links", 0, "capacity"], 1),
        (["flows", 0, "rate_min"], 11),
        (["flows", 0, "rate_max"], 999),
        (["flows", 0, "node_costs"], {}),
        (["flows", 0, "link_costs"], {}),
        (["flows", 0, "source"], "S0"),
        (["forwarding"], "wanted"),
        (["classes", 0, "population_max"], 401),
        (["classes", 0, "costs"], {}),
        (["classes", 0, "utility", "weight"], 21),
        (["classes", 0, "utility", "kind"], "linear"),
    ]
    for path, value in others:
        hashes.add(content_hash(problem_from_dict(changed(path, value))))
    assert len(hashes) == len(others) + 1


def test_problems_travel_by_pickle() -> None:
    problem = problem_from_dict(GOOD)
    assert pickle.loads(pickle.dumps(problem)) == problem


def test_empty_problem() -> None:
    empty: dict[str, Any] = {key: [] for key in GOOD}
    problem = problem_from_dict(empty)
    assert problem_to_dict(problem) == empty


@pytest.mark.slow
@pytest.mark.parametrize("flaw", ["reference", "number", "duplicate"])
def test_a_flaw_in_the_last_of_many_lines_is_found(flaw: str) -> None:
    size = effort(100_000, 1_000_000)
    entry = json.dumps(GOOD["classes"][0])
    lines = [entry.replace('"c0"', f'"c{index}"') for index in range(size)]
    if flaw == "reference":
        lines[-1] = lines[-1].replace('"f0"', '"f99"')
    elif flaw == "duplicate":
        lines[-1] = lines[0]
    else:
        lines[-1] = lines[-1].replace("400", "-400")
    head = json.dumps(GOOD | {"classes": []})[: -len("]}")]
    raw = (head + ",\n".join(lines) + "]}").encode()
    del lines
    with pytest.raises(InvalidProblem, match=rf"classes\[{size - 1}\]"):
        problem_from_json(raw)


@pytest.mark.slow
def test_a_million_broken_lines_are_refused_at_the_right_one() -> None:
    raw = b'{"resources": [],\n' + b'"x": 1,\n' * 999_998 + b"oops}"
    with pytest.raises(InvalidProblem, match="not JSON at line 1000000 column 1"):
        problem_from_json(raw)
