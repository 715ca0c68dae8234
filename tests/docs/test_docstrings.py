"""Docstrings say something, in a sentence."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agent", "apps", "config", "spark_tasks", "weir", "weir_cli", "weir_client")
VERB_FIRST = ("agent", "apps", "config", "spark_tasks", "weir_cli", "weir_client")
"""In these packages the docstring of a function begins with its verb."""
NO_VERBS = frozenset(
    re.findall(
        r"\w+",
        """
    A All An And As At Both But By Each Every Everybody Everything For From Here How If In Into Is
    It Its Neither No Nobody None Nor Nothing Now Of On Once One Or Our Since So Somebody Such
    That The Their Then These They This Those Through To Until We What When Where Whether Which
    While Who Whoever Whom Whose Why With Without Yes
    """,
    )
)
"""Words that begin ellipses such as `The mean of the window.`; none of them is a verb."""

Node = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(package: str) -> Iterator[tuple[str, Node, str]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Node) and (text := ast.get_docstring(node)):
                yield name, node, text


def fault(text: str) -> str:
    """Return what the first paragraph lacks; empty where it has the shape of a sentence."""
    first = " ".join(re.split(r"\n\s*\n", text)[0].split())
    if len(text.split()) < 4:
        return "fewer than four words"
    if not re.match(r"[A-Z`]", first):
        return "no capital letter"
    if not first.endswith((".", ":", ".`", "?")):
        return "no full stop"
    return ""


def begins_with(text: str) -> str:
    return re.split(r"[^\w-]", text, maxsplit=1)[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_docstring_has_the_shape_of_a_sentence(package: str) -> None:
    faults = [
        f"{path}: {getattr(node, 'name', 'module')}: {why}: {text[:60]!r}"
        for path, node, text in docstrings(package)
        if (why := fault(text))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("package", VERB_FIRST)
def test_the_docstring_of_a_function_begins_with_its_verb(package: str) -> None:
    others = [
        f"{path}: {node.name}: {text[:60]!r}"
        for path, node, text in docstrings(package)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and begins_with(text) in NO_VERBS
    ]
    assert not others, "\n".join(others)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Mean of the window.", ""),
        ("It went well.", "fewer than four words"),
        ("return the mean of it.", "no capital letter"),
        ("Return the mean of it", "no full stop"),
        ("Return the mean of it.\n\nmore", ""),
    ],
)
def test_the_rule_finds_what_it_should(text: str, why: str) -> None:
    assert fault(text) == why
    assert begins_with("What, if any") == "What"
