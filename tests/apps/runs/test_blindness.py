"""Runs, plans and schedules know no kind of computation by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.recomputation.models import Kind, default_subject
from apps.recomputation.selectors.watched import watchers
from apps.runs.selectors import computations, schedulable_choices

APPS = Path(__file__).resolve().parents[3] / "apps"
ROOMS = ("runs", "recomputation", "plans")


def modules(room: str) -> Iterator[Path]:
    return (path for path in (APPS / room).rglob("*.py") if "migrations" not in path.parts)


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    whole = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    return whole | named


def test_recomputation_imports_the_app_of_no_kind() -> None:
    """The only one of the three that stands above them; `.importlinter` holds the others."""
    owners = {one.model._meta.app_config.name for one in computations().values()}
    offenders = [
        f"{path.name}: {name}"
        for path in modules("recomputation")
        for name in imports(path)
        if any(name == owner or name.startswith(f"{owner}.") for owner in owners)
    ]
    assert offenders == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_compares_with_the_name_of_a_kind(room: str) -> None:
    """As a text of its own: `kind="allocation"`, `{"overlay": ...}`."""
    kinds = set(computations())
    offenders = [
        f"{path.name}:{node.lineno}: {node.value}"
        for path in modules(room)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in kinds
    ]
    # The deprecated fields of runs.
    assert {line.split(":")[0] for line in offenders} <= {"views.py"}


def test_every_kind_of_trigger_is_read_by_somebody() -> None:
    assert set(watchers()) == set(Kind)


def test_what_is_computed_again_unless_something_else_is_named_can_be() -> None:
    assert default_subject() in dict(schedulable_choices())


def test_every_kind_that_makes_plans_says_what_to_do_when_one_is_stale() -> None:
    sentences = [one.plan_again for one in computations().values() if one.plannable]
    assert all(text[0].isupper() and text.endswith("make a new plan.") for text in sentences)
    assert len(set(sentences)) == len(sentences)
