"""Fixtures that every room of tests may use."""

from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.systems.models import System
from tests.factories import make_base_workload, make_user

# How long an example takes to draw says how busy the machine is, and nothing of the code.
_ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples every time: what fails was broken by the change at hand. `make chaos` draws
# others each time.
settings.register_profile("weir", _ANY_MACHINE, derandomize=True)
settings.register_profile("others", _ANY_MACHINE, derandomize=False)
settings.load_profile("weir")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Tests with transactions of their own are cleaned up after with TRUNCATE, which the audit
    record refuses everywhere else; `tests/apps/common/test_integrity.py` sees to that."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_auditentry DISABLE TRIGGER audit_never_emptied")


@pytest.fixture
def admin(db: None) -> User:
    """A person with all five roles."""
    return make_user("admin", *Role)


@pytest.fixture
def api(admin: User) -> APIClient:
    """The API as somebody who may do everything."""
    return client_of(admin)


@pytest.fixture
def base_workload(db: None) -> System:
    """The paper's base workload as a system."""
    return make_base_workload()


def client_of(user: User | None) -> APIClient:
    """The API as this person; None is somebody who is not signed in."""
    client = APIClient()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def as_role(db: None) -> Any:
    """The API as somebody with exactly the given roles."""

    def client(*roles: Role) -> APIClient:
        return client_of(make_user("-".join(roles) or "nobody", *roles))

    return client
