"""Fixtures that every room of tests may use."""

import gc
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from django.db import connection
from django.test.client import ClientHandler
from hypothesis import HealthCheck, settings
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.systems.models import System
from tests import database, embedded, tables
from tests.factories import make_base_workload, make_user
from tests.schema import SCHEMA
from tests.suites import effort, is_thorough

# How long an example takes to draw says how busy the machine is, and nothing of the code.
_ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples every time: what fails was broken by the change at hand. `make thorough` draws
# others each time.
settings.register_profile("weir", _ANY_MACHINE, derandomize=effort(True, False))
settings.load_profile("weir")


database.install()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make thorough` has the time for."""
    if not is_thorough():
        left_out = [item for item in items if item.get_closest_marker("thorough") is not None]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(scope="module", autouse=True)
def _only_what_is_new_is_collected() -> None:
    """Keep what was imported and collected so far away from the garbage collector. It stays until
    the end, and there is so much of it that looking at it took most of the time of some suites."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, django_db_blocker: Any, django_db_use_migrations: bool
) -> None:
    """Have Django copy a migrated database: the migrations take longer than most files of tests.
    Somebody's own server keeps nothing of ours."""
    if django_db_use_migrations and embedded.has_own_postgres():
        with django_db_blocker.unblock():
            connection.settings_dict["TEST"]["TEMPLATE"] = tables.template(embedded.OF_ALL)
            connection.close()


@pytest.fixture
def admin(db: None) -> User:
    """A person with all roles."""
    return make_user("admin", *Role)


@pytest.fixture
def api(admin: User) -> APIClient:
    """The API as somebody who may do everything."""
    return client_of(admin)


@pytest.fixture
def base_workload(db: None) -> System:
    """The paper's base workload as a system."""
    return make_base_workload()


@cache
def _operations() -> list[tuple[str, re.Pattern[str], set[str]]]:
    """Method, address and statuses of every published operation; `/plans/outcomes` before
    `/plans/{id}`, whose pattern it fits, too."""
    return [
        (method, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), set(one["responses"]))
        for path, item in sorted(SCHEMA["paths"].items(), key=lambda one: one[0].count("{"))
        for method, one in item.items()
    ]


@cache
def _middleware() -> Callable[..., Any]:
    """The middleware of the installation, made once: WhiteNoise looks at every file of the front
    end when it is made, and Django makes all of it for each client."""
    handler = ClientHandler(enforce_csrf_checks=False)
    handler.load_middleware()
    chain: Callable[..., Any] = handler._middleware_chain  # type: ignore[attr-defined]
    return chain


class DeclaredClient(APIClient):
    """A client that takes no refusal which the published schema does not declare."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.handler._middleware_chain = _middleware()  # type: ignore[attr-defined]

    def generic(self, method: str, path: str, *args: Any, **kwargs: Any) -> Any:
        answer = super().generic(method, path, *args, **kwargs)
        address = path.split("?")[0].removeprefix("http://testserver")
        if 400 <= answer.status_code < 500:
            for published, pattern, statuses in _operations():
                if published == method.lower() and pattern.fullmatch(address):
                    said = f"{method} {address} answers {answer.status_code}: declare it"
                    assert str(answer.status_code) in statuses, said
                    break
        return answer


def tagged_version(answer: Any) -> int:
    """The version that the tag of an answer names; behind it stands a hash of the body."""
    version, digest = answer["ETag"].strip('"').split("-")
    assert digest, answer["ETag"]
    return int(version)


def client_of(user: User | None) -> APIClient:
    """The API as this person; None is somebody who is not signed in."""
    client = DeclaredClient()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def as_role(db: None) -> Any:
    """The API as somebody with exactly the given roles."""

    def client(*roles: Role) -> APIClient:
        return client_of(make_user("-".join(roles) or "nobody", *roles))

    return client
