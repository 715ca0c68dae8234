"""The pages have a word for every identifier that the record of deeds can hold."""

import re
from pathlib import Path

import pytest

from weir import planners, topologies
from weir.lifecycle.executions import ExecutionCommand
from weir.lifecycle.plans import PlanCommand
from weir.lifecycle.steps import StepState
from weir.utility import kinds

ROOT = Path(__file__).resolve().parents[2]
WORDS = (ROOT / "frontend/src/lib/words.ts").read_text()


def table(name: str) -> set[str]:
    body = WORDS.split(f"const {name}: Record<string, string> = {{", 1)[1].split("};", 1)[0]
    return set(re.findall(r"^  (\w+):", body, re.MULTILINE))


def recorded() -> set[str]:
    """Actions that services write as plain texts."""
    words: set[str] = set()
    for path in (ROOT / "apps").rglob("services*/**/*.py"):
        words |= set(re.findall(r'\baction="(\w+)"', path.read_text()))
    for path in (ROOT / "apps").glob("*/services.py"):
        words |= set(re.findall(r'\baction="(\w+)"', path.read_text()))
    return words


@pytest.mark.parametrize(
    "names",
    [
        {command.value for command in PlanCommand},
        {command.value for command in ExecutionCommand},
        {f"step_{state.value}" for state in StepState},
        recorded(),
    ],
)
def test_every_deed_has_a_word(names: set[str]) -> None:
    assert names
    assert names <= table("ACTIONS")


def test_every_method_with_an_underscore_has_a_word() -> None:
    names = {*planners.planners(), *topologies.designers()}
    assert {name for name in names if "_" in name} <= table("METHODS")


def test_summaries_of_utilities_hold_no_raw_formula() -> None:
    for name, kind in kinds().items():
        assert not re.search(r"_\w|\^", kind.SUMMARY), name
