"""The folder of optimizers, the description of parameters, stop criteria, loads."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field, is_dataclass

import pytest

from weir import __version__
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem, UnknownMethod, WeirError, join_path
from weir.model import loads
from weir.optimizers import method, methods
from weir.plugins import Registry, about, check_fields, describe, discover, from_dict
from weir.stop import Progress, after_iterations, at_utility, first_of, never, time_limit

METHODS = sorted(methods())


def test_lrgp_is_registered() -> None:
    assert "lrgp" in METHODS
    assert method("lrgp").NAME == "lrgp"
    with pytest.raises(UnknownMethod, match='no optimizer "best"; known are'):
        method("best")


def test_a_module_without_a_name_is_not_left_out_in_silence() -> None:
    # Each file of `weir.transformation` helps others, and none is a method.
    with pytest.raises(TypeError, match=r"weir\.transformation\.bounds defines no NAME"):
        Registry("weir.transformation", "").members()


@pytest.mark.parametrize("name", METHODS)
def test_optimizer_keeps_the_contract(name: str) -> None:
    module = discover("weir.optimizers")[name]
    assert name == module.NAME
    assert module.TITLE
    assert module.SUMMARY
    assert is_dataclass(module.Params)
    parameters = inspect.signature(module.solve).parameters
    assert list(parameters) == ["problem", "params", "stop", "seed", "on_progress", "start"]
    for described in describe(module.Params):
        assert described["help"]
        assert not described["required"]  # a run without parameters is possible
    json.dumps(describe(module.Params))
    assert from_dict(module.Params, {}) == module.Params()


@pytest.mark.parametrize("name", METHODS)
def test_optimizer_answers_an_empty_problem(name: str) -> None:
    module = methods()[name]
    empty = problem_from_dict(
        {key: [] for key in ("resources", "nodes", "links", "flows", "classes")}
    )
    result = module.solve(empty, module.Params(), stop=never, seed=5)
    assert result.method == name
    assert result.kernel_version == __version__
    assert result.seed == 5
    assert len(result.problem_hash) == 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    share: float = field(metadata=about(help="a share", unit="1", min=0, max=1, exclusive=True))
    count: int = field(default=3, metadata=about(help="a count", min=1))
    quick: bool = field(default=False, metadata=about(help="a switch"))
    label: str = field(default="x", metadata=about(help="a label"))
    way: str = field(
        default="up", metadata=about(help="a way", label="Way there", choices=("up", "down"))
    )
    steps: int = field(default=1, metadata=about(help="steps", only_with={"way": "up"}))

    def __post_init__(self) -> None:
        check_fields(self)


def test_description_says_what_a_form_needs() -> None:
    share, count, quick, label, way, steps = describe(Sample)
    assert share == {
        "name": "share",
        "type": "number",
        "default": None,
        "unit": "1",
        "minimum": 0,
        "maximum": 1,
        "exclusive": True,
        "help": "a share",
        "required": True,
        "label": "",
        "choices": [],
        "only_with": {},
    }
    assert (way["label"], way["choices"], way["default"]) == ("Way there", ["up", "down"], "up")
    assert steps["only_with"] == {"way": "up"}
    assert (count["type"], count["default"], count["required"]) == ("integer", 3, False)
    assert (quick["type"], label["type"]) == ("boolean", "string")


@pytest.mark.parametrize(
    ("obj", "path", "words"),
    [
        ([], "p", "must be an object, not a list"),
        ({}, "p", 'missing key "share"'),
        ({"share": 0.5, "extra": 1}, "p", 'unknown key "extra"; known are share, count'),
        ({"share": 1}, "p.share", "must be below 1"),
        ({"share": 0.5, "count": 0}, "p.count", "must be at least 1"),
        ({"share": 0.5, "count": 1.5}, "p.count", "must be a whole number, not 1.5"),
        ({"share": 0.5, "quick": 1}, "p.quick", "must be true or false, not 1"),
        ({"share": 0.5, "label": 1}, "p.label", "must be a string, not 1"),
        ({"share": 0.5, "way": "left"}, "p.way", "must be one of up, down"),
        ({"share": 0.5, "way": ""}, "p.way", "must be one of up, down"),
    ],
)
def test_bad_parameters_are_named(obj: object, path: str, words: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        from_dict(Sample, obj, "p")
    assert caught.value.path == path
    assert words in caught.value.message


def test_whole_floats_are_integers_and_integers_floats() -> None:
    sample = Sample(share=0.5, count=4.0)  # type: ignore[arg-type]
    assert isinstance(sample.count, int)
    assert isinstance(from_dict(Sample, {"share": 0.5}).share, float)


def test_paths_join() -> None:
    assert [join_path("a", "b"), join_path("a", "[1]"), join_path("", "b"), join_path("a", "")] == [
        "a.b",
        "a[1]",
        "b",
        "a",
    ]
    assert issubclass(InvalidProblem, WeirError)


def test_stop_criteria() -> None:
    progress = Progress(iteration=5, utility=1.0, best_utility=2.0)
    assert not never(progress)
    assert after_iterations(5)(progress)
    assert not after_iterations(6)(progress)
    assert at_utility(2.0)(progress)
    assert not at_utility(2.1)(progress)
    assert first_of(never, at_utility(2.0))(progress)
    assert not first_of()(progress)
    times = iter([100.0, 104.9, 105.0])
    late = time_limit(5, lambda: next(times))
    assert [late(progress), late(progress)] == [False, True]


def test_loads_follow_equations_4_and_5() -> None:
    problem = problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "n", "capacity": {"cpu": 1}}, {"id": "m", "capacity": {"cpu": 1}}],
            "links": [{"id": "l", "capacity": 1}],
            "flows": [
                {
                    "id": "f",
                    "rate_min": 0,
                    "rate_max": 9,
                    "node_costs": {"n": {"cpu": 3}},
                    "link_costs": {"l": 2},
                }
            ],
            "classes": [
                {
                    "id": "c",
                    "flow": "f",
                    "node": "n",
                    "population_max": 9,
                    "costs": {"cpu": 19},
                    "utility": {"kind": "log", "weight": 1},
                }
            ],
        }
    )
    assert loads(problem, {"f": 5.0}, {"c": 2}) == (
        {"n": {"cpu": 3 * 5 + 19 * 2 * 5}, "m": {"cpu": 0}},
        {"l": 10},
    )
    assert loads(problem, {}, {}) == ({"n": {"cpu": 0}, "m": {"cpu": 0}}, {"l": 0})
