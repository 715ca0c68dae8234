"""What was really sent to Valkey: task messages and live news."""

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings

from apps.common.events import CHANNEL


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


class News:
    """What browsers would hear."""

    def __init__(self, subscription: Any) -> None:
        self.subscription = subscription

    def about(self, public_id: Any, within_s: float = 2.0, enough: int = 1) -> list[dict[str, Any]]:
        """News that name this object; stops early when enough of it has come."""
        found: list[dict[str, Any]] = []
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and len(found) < enough:
            message = self.subscription.get_message(timeout=0.1)
            if message is not None and message["type"] == "message":
                body = json.loads(message["data"])
                if body.get("id") == str(public_id):
                    found.append(body)
        return found


@pytest.fixture
def news(valkey: redis.Redis) -> Iterator[News]:
    subscription = valkey.pubsub()
    subscription.subscribe(CHANNEL)
    assert subscription.get_message(timeout=2.0)["type"] == "subscribe"
    yield News(subscription)
    subscription.close()
