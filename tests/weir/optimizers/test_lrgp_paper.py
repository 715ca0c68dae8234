"""LRGP against tables 2 and 3 of its paper, over the files of `tests/golden/lrgp`."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path

import pytest

from benchmarks.plain_lrgp import lrgp as plain_lrgp
from weir.codec import problem_from_json
from weir.model import Problem, Result
from weir.optimizers import lrgp
from weir.stop import after_iterations, never

FOLDER = Path(__file__).parents[2] / "golden" / "lrgp"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
WORKLOADS = sorted(EXPECTED)
LOG_WORKLOADS = [name for name in WORKLOADS if name.startswith("log-")]


def problem(name: str) -> Problem:
    return problem_from_json((FOLDER / f"{name}.json").read_bytes())


@cache
def result(name: str) -> Result:
    return lrgp.solve(problem(name), lrgp.Params(), stop=never, seed=0)


@pytest.mark.parametrize("name", WORKLOADS)
def test_comes_within_a_thousandth_of_the_published_utility(name: str) -> None:
    assert result(name).utility >= EXPECTED[name]["published_utility"] * (1 - 1e-3)
    assert result(name).status == "solved"


def test_square_root_is_not_below_the_published_utility() -> None:
    assert result("power-0.5").utility >= 2_003_225


@pytest.mark.parametrize("name", WORKLOADS)
def test_never_exceeds_the_optimum(name: str) -> None:
    assert result(name).utility <= EXPECTED[name]["integral_optimum"] + 0.01 * 8


@pytest.mark.parametrize("name", LOG_WORKLOADS)
def test_logarithmic_workloads_settle_within_25_iterations(name: str) -> None:
    trace = result(name).trace

    def amplitude(end: int) -> float:
        return (max(trace[end - 5 : end]) - min(trace[end - 5 : end])) / trace[end - 1]

    assert min(amplitude(end) for end in range(5, 26)) < 1e-3
    assert amplitude(25) < 1e-3
    assert amplitude(len(trace)) < 1e-3


@pytest.mark.parametrize("name", WORKLOADS)
def test_same_utility_in_every_iteration_as_the_plain_transcription(name: str) -> None:
    trace, _, _ = plain_lrgp(problem(name), 60)
    ours = lrgp.solve(problem(name), lrgp.Params(), stop=after_iterations(60), seed=0)
    assert ours.trace == pytest.approx(trace, rel=1e-9)


def test_files_are_what_the_script_writes() -> None:
    spec = importlib.util.spec_from_file_location("lrgp_workloads", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, content in script.files().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == content
