"""Fixtures of the backend's tests."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection, connections
from django.db.backends.utils import CursorWrapper

from apps.accounts.api.throttle import PREFIX
from tests.factories.kinds import World, make_world
from tests.factories.quay import Quay, make_quay


@pytest.fixture(autouse=True)
def _no_throttling_between_tests() -> None:
    """Sign-in attempts are counted in Valkey; each test starts with a clean count."""
    client = redis.Redis.from_url(django_settings.WEIR_BROKER_URL)
    counts = list(client.scan_iter(f"{PREFIX}*"))
    if counts:
        client.delete(*counts)
    client.close()
    return


@pytest.fixture
def world(db: None) -> World:
    """A small system with one object of each kind that others refer to."""
    return make_world()


@pytest.fixture
def quay(db: None) -> Quay:
    """Two flows and their classes in force, without rates and limits."""
    return make_quay()


@pytest.fixture
def moored(quay: Quay) -> Quay:
    """The quay with agents, and its allocation in force."""
    return quay.moor()


@pytest.fixture
def other_process(db: None) -> Iterator[CursorWrapper]:
    """A database cursor of another process; this process holds no lock before and after."""
    locks_release()
    other = connections["default"].copy()
    with other.cursor() as cursor:
        yield cursor
    other.close()
    locks_release()


def locks_release() -> None:
    """Release every lock that this process' connection holds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")


@pytest.fixture
def valkey() -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(django_settings.WEIR_BROKER_URL)
    yield client
    client.close()


class Sent:
    """The task messages in a queue that no worker reads."""

    def __init__(self, client: redis.Redis, queue: str) -> None:
        self.client = client
        self.queue = queue

    def tasks(self) -> list[str]:
        """Their names, oldest first."""
        messages = [json.loads(raw) for raw in self.client.lrange(self.queue, 0, -1)]
        return [message["headers"]["task"] for message in reversed(messages)]


@pytest.fixture
def sent(settings: Any, valkey: redis.Redis) -> Iterator[Sent]:
    settings.CELERY_TASK_DEFAULT_QUEUE = f"test-{uuid.uuid4()}"
    yield Sent(valkey, settings.CELERY_TASK_DEFAULT_QUEUE)
    valkey.delete(settings.CELERY_TASK_DEFAULT_QUEUE)
