"""Whatever is sent, and of whichever object: each role is let in exactly as the table says, and
everybody gets answers that the schema names."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apps.accounts.domain.roles import Role
from apps.accounts.services import token_create
from tests.apps.accounts.test_roles import EVERYBODY, who_may
from tests.apps.common.test_schema import KEPT, OPERATIONS
from tests.conftest import client_of
from tests.database import requests_in_the_test_transaction, taken_back
from tests.factories import make_user
from tests.factories.everything import AT_MOST, PARAMETER, Everything, make_everything

pytestmark = pytest.mark.slow
STREAMS = {"GET /api/v1/event-stream", "GET /api/v1/interests/export"}
"""WSGI serves no asynchronous stream; who may read them is in test_roles.py."""
NAMES = sorted(OPERATIONS.keys() - STREAMS)
# What a member of a body needs beside what its operation needs.
MORE = {("POST /api/v1/plans/{id}/roll-back", "accept_overload"): Role.APPROVER}
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Which objects members of bodies and queries name.
REFERENCES = {
    **dict.fromkeys(["system", "systems"], "systems"),
    **dict.fromkeys(["broker", "brokers", "source", "target", "a", "b"], "brokers"),
    **dict.fromkeys(["topic", "topics"], "topics"),
    **dict.fromkeys(["stream", "pinned_stream"], "streams"),
    **dict.fromkeys(["group", "pinned_group"], "groups"),
    **{"link": "links", "utility": "utility-functions", "correlation_key": "correlation-keys"},
    **{"subscriber": "subscribers", "goal": "overlays", "goals": "overlays", "run": "runs"},
    **{"plan": "plans", "allocation": "allocations", "other": "allocations"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who asks, with what they send to say who they are."""

    name: str
    roles: frozenset[Role] | None
    """None: somebody who is not signed in."""
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)

    def may(self, allowed: frozenset[Role] | None) -> bool:
        """Whether the table lets them in."""
        if allowed is None:
            return True
        return self.roles is not None and (allowed == EVERYBODY or bool(allowed & self.roles))


def make_callers() -> list[Caller]:
    """A person of each role in a browser, a token that may only read though its owner may do all,
    and nobody."""
    csrf = "c" * 32
    people = [
        Caller(
            name=role.value,
            roles=frozenset({role}),
            headers={"X-CSRFToken": csrf},
            cookies={
                "csrftoken": csrf,
                "sessionid": client_of(make_user(f"only-{role}", role)).cookies["sessionid"].value,
            },
        )
        for role in Role
    ]
    _, secret = token_create(
        owner=make_user("owner", *Role), name="reads", roles=[Role.VIEWER.value]
    )
    token = Caller(
        name="token",
        roles=frozenset({Role.VIEWER}),
        headers={"Authorization": f"Bearer {secret}"},
    )
    return [*people, token, Caller(name="nobody", roles=None)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What there is, and who asks about it."""

    everything: Everything
    callers: list[Caller]


@pytest.fixture(scope="module")
def _made(django_db_setup: None, django_db_blocker: Any) -> Iterator[Place]:
    with django_db_blocker.unblock(), taken_back():
        yield Place(everything=make_everything(), callers=make_callers())


@pytest.fixture
def place(_made: Place, db: None) -> Iterator[Place]:
    """Made once for all tests and operations, as that takes longer than to ask for any: each
    request is taken back."""
    with requests_in_the_test_transaction():
        yield _made


def referring(value: Any, everything: Everything, name: str = "") -> Any:
    """The body or query with objects that there are, where it names any."""
    if isinstance(value, Mapping):
        return {key: referring(each, everything, str(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [referring(each, everything, name) for each in value]
    if isinstance(value, str) and name in REFERENCES and UUID.fullmatch(value):
        return everything.ids[f"/api/v1/{REFERENCES[name]}"][0]
    return value


def aim(case: Any, everything: Everything, number: int) -> None:
    """Have a request name the `number`th of the objects that there are, in the version that it
    has, and nobody as its caller."""
    path, parameters = case.operation.path, {}
    version = None
    for parameter in PARAMETER.finditer(path):
        known = everything.ids[path[: parameter.start()]]
        chosen = parameters[parameter[0][2:-1]] = known[number % len(known)]
        version = version or everything.versions.get(chosen)
    case.path_parameters = parameters
    case.body = referring(case.body, everything)
    case.query = referring(dict(case.query or {}), everything)
    case.cookies = {}
    case.headers = {
        name: value
        for name, value in dict(case.headers or {}).items()
        if name.lower() not in ("authorization", "if-match", "x-csrftoken", "cookie")
    }
    if version is not None and "If-Match" in {one.name for one in case.operation.headers}:
        case.headers["If-Match"] = version


def lacks_more(case: Any, caller: Caller) -> bool:
    """Whether the body has a member that the caller's role is not enough for."""
    body = case.body if isinstance(case.body, Mapping) else {}
    name = f"{case.operation.method.upper()} {case.operation.path}"
    return any(
        name == operation and bool(body.get(member)) and role not in (caller.roles or ())
        for (operation, member), role in MORE.items()
    )


def check(case: Any, place: Place) -> None:
    """Send a request as everybody."""
    operation = case.operation
    declared = operation.definition.raw["responses"]
    allowed = who_may(operation.method.lower(), operation.path)
    for caller in place.callers:
        with taken_back():
            answer = case.call_and_validate(
                headers={**case.headers, **caller.headers},
                cookies=dict(caller.cookies),
                checks=KEPT,
            )
        status = answer.status_code
        shown = (caller.name, status, answer.text[:300])
        assert str(status) in declared, shown
        code = answer.json()["code"] if status >= 400 else ""
        if caller.may(allowed) and lacks_more(case, caller):
            assert status >= 400, shown
        elif caller.may(allowed):
            assert code not in ("permission_denied", "not_authenticated"), shown
        elif caller.roles is None:
            assert (status, code) == (401, "not_authenticated"), shown
        else:
            assert (status, code) == (403, "permission_denied"), shown


def published(operation: Any) -> Any:
    """The request that the schema gives as an example; None where it gives none."""
    content = operation.definition.raw.get("requestBody", {}).get("content", {})
    example = content.get("application/json", {}).get("example")
    if example is None:
        return None
    return operation.Case(body=example, media_type="application/json")


def attack(name: str, place: Place, *, examples: int, objects: int) -> None:
    """Send what the schema gives as an example, of so many objects, and so many requests that it
    allows or nearly does; at least one of both."""
    operation = OPERATIONS[name]
    for number in range(objects if "{" in operation.path else 1):
        case = published(operation)
        if case is not None:
            aim(case, place.everything, number)
            check(case, place)
    if published(operation) is None:
        examples = max(examples, 1)
    if not examples:
        return

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), number=st.integers(0, AT_MOST - 1))
    def holds(case: Any, number: int) -> None:
        aim(case, place.everything, number)
        check(case, place)

    holds()


def test_there_is_an_object_for_every_address(place: Place) -> None:
    assert [address for address, ids in place.everything.ids.items() if not ids] == []
    assert len(place.everything.versions) > 50


# Some two thousand requests in one test: a minute on a quiet machine, five on a busy one.
@pytest.mark.timeout(1800)
def test_each_caller_is_let_in_as_the_table_says(place: Place, subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name):
            attack(name, place, examples=0, objects=1)


@pytest.mark.thorough
@pytest.mark.timeout(0)
def test_each_caller_is_let_in_as_the_table_says_whatever_is_sent(
    place: Place, subtests: pytest.Subtests
) -> None:
    for name in NAMES:
        with subtests.test(name):
            attack(name, place, examples=20, objects=AT_MOST)
