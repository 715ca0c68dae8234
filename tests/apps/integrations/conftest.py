"""A ServiceNow that answers, and the harbour connected to it."""

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.integrations.models import Change, Connection, Message
from apps.integrations.services import (
    changes_follow,
    connection_create,
    connection_work,
)
from tests.apps.integrations.faulty_server import served
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.factories import make_user
from tests.factories.fleet import Harbour, make_harbour

SECRET = "correct horse"


@pytest.fixture
def allowed(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine may be reached, without TLS, with a credential of the environment."""
    settings.WEIR_PLAIN_HTTP = True
    settings.WEIR_PRIVATE_NETWORKS = (ip_network("127.0.0.0/8"),)
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW", f"weir:{SECRET}")


@pytest.fixture
def servicenow() -> FakeServiceNow:
    return FakeServiceNow(f"weir:{SECRET}")


@pytest.fixture
def address(servicenow: FakeServiceNow) -> Iterator[str]:
    with served(servicenow) as address:
        yield address


@pytest.fixture
def harbour(db: None) -> Harbour:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


@pytest.fixture
def ines(db: None) -> User:
    """Makes plans."""
    return make_user("ines", Role.EDITOR)


@pytest.fixture
def jon(db: None) -> User:
    """Reviews them."""
    return make_user("jon", Role.APPROVER)


@pytest.fixture
def olga(db: None) -> User:
    """Carries them out."""
    return make_user("olga", Role.OPERATOR)


@pytest.fixture
def connection(allowed: None, address: str, harbour: Harbour) -> Connection:
    """The harbour's plans open normal changes in ServiceNow and wait for them."""
    return connect(address, harbour)


def connect(address: str, harbour: Harbour, **values: Any) -> Connection:
    """A connection of the harbour to this address."""
    settings = values.pop("settings", {"assignment_group": "Messaging"})
    return connection_create(
        actor=make_user("root", Role.ADMIN),
        values={
            "name": "ServiceNow",
            "product": "servicenow",
            "credential": "env:WEIR_CREDENTIAL_SERVICENOW",
            "settings": {"address": address, **settings},
            "systems": [harbour.system],
            **values,
        },
    )


def tick(connection: Connection) -> int:
    """What beat and a worker do within a while: whatever was put off is due again."""
    changes_follow()
    due(connection)
    return connection_work(connection.public_id)


def due(connection: Connection) -> None:
    """All pauses are over, and what was read of changes is old."""
    Connection.objects.filter(pk=connection.pk).update(retry_at=None, problem="")
    Message.objects.filter(sent_at=None).update(next_at=timezone.now(), settles_at=None)
    Change.objects.update(next_look_at=None)
    Change.objects.exclude(looked_at=None).update(looked_at=timezone.now() - timedelta(seconds=60))
