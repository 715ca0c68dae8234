"""The published table of problem codes against the code that raises them."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from rest_framework import exceptions

from apps.common.errors import ApplicationError, Conflict, PreconditionFailed, PreconditionRequired
from apps.common.problem_codes import PROBLEM_CODES

ROOT = Path(__file__).resolve().parents[3]
RAISED = {
    one.__name__: one.status
    for one in (ApplicationError, Conflict, PreconditionFailed, PreconditionRequired)
}
ANSWERED = {"problem", "_problem", "_plain"}
"""Functions that answer: the status comes first, then the code."""


def literals() -> Iterator[tuple[str, int | None, str]]:
    """Every code that stands in the source as text, with its status where that does, too."""
    for folder in ("apps", "config"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield from _of_call(node, str(path.relative_to(ROOT)))


def _text(nodes: list[ast.expr], place: int) -> str | None:
    if len(nodes) > place and isinstance(node := nodes[place], ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return None


def _of_call(node: ast.Call, where: str) -> Iterator[tuple[str, int | None, str]]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    status: int | None = None
    if name in RAISED:
        code, status = _text(node.args, 0), RAISED[name]
    elif name in ANSWERED:
        code = _text(node.args, 1)
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, int):
            status = first.value
    elif name == "refused":
        code, status = _text(node.args, 0), 422
    else:
        return
    for keyword in node.keywords:
        if keyword.arg == "status":
            constant = isinstance(keyword.value, ast.Constant)
            status = keyword.value.value if constant else None  # type: ignore[attr-defined]
    if code is not None:
        yield code, status, where


def test_every_raised_code_is_published_with_its_status() -> None:
    codes = list(literals())
    assert len(codes) > 100
    unknown = sorted({(code, where) for code, _, where in codes if code not in PROBLEM_CODES})
    assert unknown == []
    wrong = sorted(
        {
            (code, status, where)
            for code, status, where in codes
            if status is not None and PROBLEM_CODES[code][0] != status
        }
    )
    assert wrong == []


def test_codes_of_the_framework_are_published_with_their_status() -> None:
    for kind in (
        exceptions.NotAuthenticated,
        exceptions.AuthenticationFailed,
        exceptions.PermissionDenied,
        exceptions.MethodNotAllowed,
        exceptions.NotAcceptable,
        exceptions.UnsupportedMediaType,
        exceptions.ParseError,
        exceptions.Throttled,
    ):
        assert kind.default_code in PROBLEM_CODES, kind


def test_no_published_code_is_unknown_to_the_source() -> None:
    """A code that nobody raises would send integrators after nothing."""
    sources = [
        path.read_text()
        for folder in ("apps", "config")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "problem_codes.py"
    ]
    ours = {
        getattr(one, "default_code", "")
        for one in vars(exceptions).values()
        if isinstance(one, type) and issubclass(one, exceptions.APIException)
    }
    never = [
        code
        for code in PROBLEM_CODES
        if code not in ours and not any(f'"{code}"' in text for text in sources)
    ]
    assert never == []


def test_the_schema_lists_the_codes() -> None:
    document = json.loads((ROOT / "frontend" / "openapi.json").read_text())
    text = document["components"]["schemas"]["Problem"]["properties"]["code"]["description"]
    assert all(f"`{code}` ({status})" in text for code, (status, _) in PROBLEM_CODES.items())
