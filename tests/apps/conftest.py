"""Fixtures of the backend's tests."""

import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.models.signals import post_init

from apps.accounts.api.throttle import PREFIX
from apps.audit import services as audit_services
from apps.audit.models import AuditEntry
from apps.webhooks.domain.event_types import KINDS
from tests.factories.kinds import World, make_world
from tests.factories.quay import Quay, make_quay

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def _what_is_recorded_is_an_event_that_webhooks_can_name() -> Iterator[None]:
    """Whatever a service writes into the history in any test is in the list of events."""
    services = Path(audit_services.__file__)

    def check(instance: AuditEntry, **_: Any) -> None:
        if instance.pk is not None:
            return  # it is read
        frame = sys._getframe()
        while not _is_ours(frame.f_code.co_filename) or Path(frame.f_code.co_filename) == services:
            assert frame.f_back is not None
            frame = frame.f_back
        if Path(frame.f_code.co_filename).is_relative_to(ROOT / "tests"):
            return  # a test made it up
        kind, action = instance.object_kind, instance.action
        assert kind in KINDS, (
            f"{kind} is new: say in apps/webhooks/domain/event_types.py what it is"
        )
        assert action in KINDS[kind].actions, f"{kind}.{action} is new: add it to its kind there"

    post_init.connect(check, sender=AuditEntry, weak=False)
    yield
    post_init.disconnect(check, sender=AuditEntry)


def _is_ours(file: str) -> bool:
    return file != __file__ and any(
        Path(file).is_relative_to(ROOT / folder) for folder in ("apps", "tests")
    )


@pytest.fixture(scope="session")
def _valkey() -> Iterator[redis.Redis]:
    """One client for what every test asks of Valkey: to connect takes longer than to ask."""
    with redis.Redis.from_url(django_settings.WEIR_BROKER_URL) as client:
        yield client


@pytest.fixture(autouse=True)
def _no_throttling_between_tests(_valkey: redis.Redis) -> None:
    """Sign-in attempts are counted in Valkey; each test starts with a clean count."""
    counts = list(_valkey.scan_iter(f"{PREFIX}*", count=1000))
    if counts:
        _valkey.delete(*counts)


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
