"""Beat's call follows plans and starts a worker for each connection with something to do."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
import redis
from django.conf import settings as django_settings

from apps.accounts.models import User
from apps.integrations.models import Connection
from apps.integrations.tasks import follow, work
from tests.apps.integrations.conftest import due
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.factories.fleet import Harbour
from tests.factories.plans import make_plan, submitted

Callbacks = Callable[..., Any]


@pytest.fixture
def queue(settings: Any, valkey: redis.Redis) -> Iterator[str]:
    """A queue of this test alone, that no worker reads."""
    name = f"test-{uuid4()}"
    routes = django_settings.CELERY_TASK_ROUTES
    settings.CELERY_TASK_ROUTES = {**routes, "integrations.work": {"queue": name}}
    yield name
    valkey.delete(name)


def test_beat_s_calls_carry_a_plan_to_servicenow_and_rest_where_nothing_is_due(
    connection: Connection,
    servicenow: FakeServiceNow,
    harbour: Harbour,
    ines: User,
    queue: str,
    valkey: redis.Redis,
    django_capture_on_commit_callbacks: Callbacks,
) -> None:
    def call() -> list[str]:
        with django_capture_on_commit_callbacks(execute=True):
            follow()
        taken = valkey.lrange(queue, 0, -1)
        valkey.delete(queue)
        return [json.loads(raw)["headers"]["kwargsrepr"] for raw in taken]  # type: ignore[union-attr]

    assert call() == []
    submitted(make_plan(harbour.system, ines), ines)
    assert call() == [f"{{'connection': '{connection.public_id}'}}"]
    assert work(connection=str(connection.public_id)) == 1
    assert call() == [], "the change was looked at a moment ago"
    due(connection)
    assert len(call()) == 1
    assert len(servicenow.rows) == 1


def test_call_for_a_connection_that_was_deleted_does_nothing(db: None) -> None:
    assert work(connection=str(uuid4())) == 0
