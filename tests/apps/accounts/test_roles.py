"""Who may do what: every operation of the published schema, against every role alone."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from apps.accounts.domain.roles import Role
from apps.accounts.models import ApiToken
from apps.accounts.services import token_digest
from tests.conftest import client_of
from tests.database import taken_back
from tests.factories import make_user
from tests.factories.kinds import KINDS
from tests.schema import SCHEMA

METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = sorted(
    (method, path) for path, item in SCHEMA["paths"].items() for method in item if method in METHODS
)

EVERYBODY = frozenset(Role)
EDITORS = frozenset({Role.EDITOR})
SENDERS = frozenset({Role.SENDER, Role.EDITOR})
ADMINS = frozenset({Role.ADMIN})
OPERATORS = frozenset({Role.OPERATOR})
MODEL = {
    *("systems", "calibration-settings", "demand-settings", "mapping-settings"),
    "interest-imports",
    *("record-settings", "set-aside-records"),
    *(kind.path for kind in KINDS),
}
READ_ONLY = {
    "audit",
    "calibration-state",
    "computations",
    "connection-products",
    "demand",
    "demand-estimates",
    "event-stream",
    "event-types",
    "exchanges",
    "flow-status",
    "interests",
    "filtering",
    "hand-overs",
    "inbox",
    "map-in-force",
    "mappable",
    "mapping-methods",
    "model-state",
    "overview",
    "optimizers",
    "placement-methods",
    "processes",
    "record-counts",
    "record-metrics",
    "record-quality",
    "record-sums",
    "recordings",
    "request-loops",
    "slo-compliance",
    "telemetry",
    "topology-methods",
    "topology-planners",
    "utility-kinds",
    "waiting-messages",
}
RUNS = {
    *("calibrations", "runs", "allocations", "mappings", "placements", "studies"),
    *("overlay-evaluations", "overlay-candidates", "overlay-transformations", "repairs"),
    "demand-forecasts",
    # A suggestion that is accepted is an edit of the model.
    *("correlation-analyses", "correlation-suggestions"),
}
# Everybody reads them; one role changes them.
KEPT_BY = {
    **dict.fromkeys(["agents", "channels", "connections", "webhooks", "deliveries"], ADMINS),
    **{"executions": OPERATORS, "policies": ADMINS, "automatic-stops": OPERATORS},
}
SYSTEM_COMMANDS = {"access": ADMINS, "retention": ADMINS, "adopt-restored": OPERATORS}
PLAN_COMMANDS = {
    **dict.fromkeys(["submit", "withdraw", "discard", "roll-back"], EDITORS),
    **dict.fromkeys(["approve", "reject", "accept-overload"], frozenset({Role.APPROVER})),
    "execute": OPERATORS,
    "dry-run": EVERYBODY,
    # A plan of the model, made by a person; and the ticket of a plan.
    **dict.fromkeys(["plans", "{id}"], EDITORS),
}


def who_may(method: str, path: str) -> frozenset[Role] | None:
    """The roles that may, each alone; None where nobody needs to sign in."""
    room = path.removeprefix("/api/v1/").split("/")[0]
    if room == "session":
        return EVERYBODY if path.endswith(("/password", "/notifications")) else None
    if room == "users":
        return ADMINS
    if room in ("tokens", "utility-curves") or path.endswith("/utility-kinds/curve"):
        return EVERYBODY
    if room in KEPT_BY:
        return EVERYBODY if method == "get" else KEPT_BY[room]
    if room == "recomputation":
        return EVERYBODY if method == "get" else EDITORS
    if room == "plans":
        return EVERYBODY if method == "get" else PLAN_COMMANDS[path.split("/")[-1]]
    if room == "record-batches":
        return EVERYBODY if method == "get" else SENDERS
    if "/adaptation" in path:
        return EVERYBODY if method == "get" else OPERATORS
    if room == "systems" and method != "get" and path.split("/")[-1] in SYSTEM_COMMANDS:
        return SYSTEM_COMMANDS[path.split("/")[-1]]
    assert room in MODEL | READ_ONLY | RUNS, f"{path} is new: say here who may use it"
    if method == "get":
        return EVERYBODY
    assert room in MODEL | RUNS, f"{method} {path} is new: say here who may use it"
    return EDITORS


def ask(client: Any, method: str, path: str) -> Any:
    address = re.sub(r"\{[^}]+\}", str(uuid.uuid4()), path)
    if method == "get":
        return client.get(address)
    return getattr(client, method)(address, {}, format="json")


def named_roles(answer: Any) -> set[str]:
    """The roles that a refusal names, each as a role that would be let in."""
    return set(re.findall(r'"(\w+)"', answer.json()["detail"]))


PEOPLE: dict[str, tuple[Role, ...]] = {
    **{role.value: (role,) for role in Role},
    "nobody-special": (),
}


@pytest.fixture(scope="module")
def sessions(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, str]]:
    """Name -> session of somebody with these roles. They are made once: to make them takes longer
    than to ask for any operation, and what a test does to them is taken back."""
    with django_db_blocker.unblock(), taken_back():
        yield {
            name: client_of(make_user(name, *roles)).cookies["sessionid"].value
            for name, roles in PEOPLE.items()
        }


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_signed_out_is_401(db, method, path):
    answer = ask(client_of(None), method, path)
    if who_may(method, path) is None:
        assert answer.status_code != 401
        return
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"]
    assert answer.json()["code"] == "not_authenticated"


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_each_role_alone_may_exactly_what_the_table_says(sessions, db, method, path):
    expected = who_may(method, path)
    for name, roles in PEOPLE.items():
        client = client_of(None)
        client.cookies["sessionid"] = sessions[name]
        answer = ask(client, method, path)
        may = expected is None or bool(expected & set(roles)) or expected == EVERYBODY
        assert answer.status_code != 401, name
        assert (answer.status_code != 403) == may, (name, answer.status_code, answer.content)
        assert answer.status_code < 500
        if answer.status_code == 403:
            assert answer.json()["code"] == "permission_denied"
            assert named_roles(answer) == expected, name
            assert answer.json()["detail"].endswith(", which your account lacks.")


RESTRICTED = [one for one in OPERATIONS if who_may(*one) not in (None, EVERYBODY)]


@pytest.mark.parametrize(("method", "path"), RESTRICTED)
def test_a_token_without_the_role_learns_who_has_it(db, method, path):
    needed = who_may(method, path)
    lacking = next(role for role in Role if role not in needed)
    people = {
        "has-it": ([*Role], [lacking], "its owner has it and can make a token with it."),
        "lost-it": ([lacking], [*Role], "which the owner of this token has no more."),
        "never-had-it": ([lacking], [lacking], "which this token and its owner lack."),
    }
    for name, (roles, of_token, end) in people.items():
        token = f"weir_{name}"
        ApiToken.objects.create(
            name=name,
            owner=make_user(name, *roles),
            roles=[role.value for role in of_token],
            digest=token_digest(token),
        )
        client = client_of(None)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        answer = ask(client, method, path)
        assert answer.status_code == 403
        assert named_roles(answer) == needed
        assert answer.json()["detail"].endswith(end), answer.content


def _addresses(resolver: Any, prefix: str = "") -> Any:
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _addresses(entry, route)
        elif isinstance(entry, URLPattern):
            yield route


def test_the_schema_knows_every_address_of_the_api():
    routed = {
        "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
        for route in _addresses(get_resolver())
        if route.startswith("api/v1/")
    }
    without_schema = {"/api/v1/events", "/api/v1/schema"}
    assert routed - without_schema == set(SCHEMA["paths"])


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_schema_names_the_roles_that_may(method, path):
    operation = SCHEMA["paths"][path][method]
    expected = who_may(method, path)
    assert set(operation["x-weir-roles"]) == (expected or set())
    named = re.search(r"\n\nRole: (.+)\.$", operation["description"])
    assert named is not None
    if expected is None:
        assert named[1] == "none; nobody has to sign in"
    elif expected == EVERYBODY:
        assert named[1] == "any"
    else:
        assert set(named[1].split(" or ")) == {role.value for role in expected}
