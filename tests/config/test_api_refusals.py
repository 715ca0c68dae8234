"""Every operation of the schema declares each status with which it can refuse a request."""

import ast
import inspect
import re
import textwrap
import types
import uuid
from functools import cache
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from apps.common.api.schema import PROBLEMS
from apps.common.problem_codes import PROBLEM_CODES
from tests.conftest import client_of

GENERATOR = SchemaGenerator()
SCHEMA: dict[str, Any] = GENERATOR.get_schema(request=None, public=True)
VIEWS = {
    (method.lower(), path): view
    for path, _, method, view in GENERATOR._get_paths_and_endpoints()
    if path in SCHEMA["paths"]
}
OPERATIONS = sorted(VIEWS)
# These words stand in the source for other things, too; their statuses are declared by rule.
AMBIGUOUS = {"invalid", "not_found", "in_force", "forbidden", "gone"}


def declared(method: str, path: str) -> set[str]:
    return {status for status in SCHEMA["paths"][path][method]["responses"] if status[0] in "45"}


@cache
def syntax(function: types.FunctionType) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except OSError:
        # A dataclass makes its `__init__` without a source.
        return ast.Module(body=[], type_ignores=[])


def of_apps(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("apps.")


def meant(node: ast.AST, function: types.FunctionType, view: type | None) -> Any:
    """What a name or an attribute in a function stands for, where that is plain."""
    if isinstance(node, ast.Name):
        return function.__globals__.get(node.id)
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "self" and view:
            return getattr(view, node.attr, None)
        base = meant(node.value, function, view)
        if isinstance(base, types.ModuleType | type):
            return getattr(base, node.attr, None)
    return None


class Reached:
    """The problem codes that a handler can reach through functions of the apps."""

    def __init__(self, handler: Any, view: type) -> None:
        self.codes: set[str] = set()
        self._seen: set[Any] = set()
        self._walk(handler, view)

    def _walk(self, function: Any, view: type | None) -> None:
        function = inspect.unwrap(function)
        function = getattr(function, "__func__", function)
        if (function, view) in self._seen or not of_apps(function):
            return
        self._seen.add((function, view))
        if not isinstance(function, types.FunctionType):
            return
        for node in ast.walk(syntax(function)):
            if isinstance(node, ast.Constant) and node.value in PROBLEM_CODES:
                self.codes.add(str(node.value))
            elif isinstance(node, ast.Name | ast.Attribute):
                self._follow(meant(node, function, view), node, view)

    def _follow(self, thing: Any, node: ast.AST, view: type | None) -> None:
        if isinstance(thing, type) and of_apps(thing):
            for name in dir(thing):
                if name == "__init__" or name.startswith(("validate", "to_internal_value")):
                    self._walk(getattr(thing, name), thing)
        elif callable(thing):
            own = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"
            self._walk(thing, view if own else None)


@cache
def reached(method: str, path: str) -> frozenset[str]:
    view = VIEWS[method, path]
    handler = getattr(type(view), getattr(view, "action", method))
    codes = Reached(handler, type(view)).codes - AMBIGUOUS
    return frozenset(str(PROBLEM_CODES[code][0]) for code in codes)


def test_services_refuse_with_declared_statuses_only() -> None:
    missing = {
        f"{method} {path}": sorted(undeclared)
        for method, path in OPERATIONS
        if (undeclared := reached(method, path) - declared(method, path))
    }
    assert missing == {}
    assert sum("409" in reached(*one) for one in OPERATIONS) > 60, "nothing is followed any more"


def test_no_view_declares_what_its_services_never_do() -> None:
    never = {}
    for method, path in OPERATIONS:
        view = VIEWS[method, path]
        said = getattr(view, "refuses", {}).get(getattr(view, "action", method), ())
        if idle := {str(status) for status in said} - reached(method, path) - {"404"}:
            never[f"{method} {path}"] = idle
    assert never == {}


def test_views_say_which_of_their_services_refuse_for_want_of_room() -> None:
    """Every operation declares 429, for tokens that ask too often, so that the two rules above
    notice no other reason for one."""
    undeclared, reaching = [], 0
    for method, path in OPERATIONS:
        view = VIEWS[method, path]
        refused = getattr(view, "refuses", {}).get(getattr(view, "action", method), ())
        if "429" in reached(method, path):
            reaching += 1
            if 429 not in refused and not view.get_throttles():
                undeclared.append(f"{method} {path}")
    assert undeclared == []
    assert reaching > 2, "nothing is followed any more"


def test_every_refusal_is_described_once_as_a_problem_document() -> None:
    described = SCHEMA["components"]["responses"]
    for method, path in OPERATIONS:
        responses = SCHEMA["paths"][path][method]["responses"]
        for status in declared(method, path):
            assert responses[status] == {"$ref": f"#/components/responses/Problem{status}"}
    for status in PROBLEMS:
        one = described[f"Problem{status}"]
        assert list(one["content"]) == ["application/problem+json"]
        assert ("Retry-After" in one.get("headers", {})) == (status in ("429", "503"))


def ask(client: APIClient, method: str, path: str, **headers: str) -> Any:
    address = re.sub(r"\{[^}]+\}", str(uuid.uuid4()), path)
    body = {"content_type": "application/json", "data": b"{}"} if method != "get" else {}
    return client.generic(method.upper(), address, headers=headers, **body)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_operation_answers_what_it_declares(api: APIClient, method: str, path: str) -> None:
    said = declared(method, path)
    stranger = client_of(None)
    answers = {
        "401": ask(stranger, method, path, authorization="Bearer weir_unknown"),
        "406": ask(api, method, path, accept="application/x-nothing"),
        "428": ask(api, method, path),
        "404": ask(api, method, path, **{"if-match": '"1"'}),
    }
    for status, answer in answers.items():
        answered = str(answer.status_code)
        assert answered[0] not in "45" or answered in said, (status, answer.content)
    assert answers["401"].status_code == 401
    assert answers["406"].status_code == 406
    if "428" in said:
        # Some look the object up first.
        assert answers["428"].status_code in (404, 428)


@pytest.mark.parametrize(("method", "path"), [one for one in OPERATIONS if "415" in declared(*one)])
def test_a_body_of_another_kind_is_refused_as_declared(
    api: APIClient, method: str, path: str
) -> None:
    address = re.sub(r"\{[^}]+\}", str(uuid.uuid4()), path)
    for kind, body in (("text/plain", b"x"), ("application/json", b"{")):
        answer = api.generic(
            method.upper(), address, body, content_type=kind, headers={"if-match": '"1"'}
        )
        assert str(answer.status_code) in declared(method, path), answer.content


@pytest.mark.parametrize("path", [p for m, p in OPERATIONS if m == "get" and "{" not in p])
def test_a_query_that_names_nothing_is_refused_as_declared(api: APIClient, path: str) -> None:
    queries = [{"system": str(uuid.uuid4())}, {"cursor": "x"}, {"broker": str(uuid.uuid4())}]
    for query in [*queries, {"system": "x"}, {"page_size": "x"}]:
        answer = api.get(path, query)
        assert answer.status_code < 400 or str(answer.status_code) in declared("get", path), (
            query,
            answer.content,
        )
