"""Live news that was really sent to Valkey."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from apps.common.events import CHANNEL


class News:
    """What browsers would hear."""

    def __init__(self, subscription: Any) -> None:
        self.subscription = subscription

    def about(
        self, public_id: Any, within_s: float = 60.0, enough: int = 1
    ) -> list[dict[str, Any]]:
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
