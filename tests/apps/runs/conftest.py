"""Live news that was really sent to Valkey, and the kind that only tests know."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.apps import apps
from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

from apps.common.events import CHANNEL
from apps.runs.selectors import computations
from tests.apps.runs.toy import kernel


class News:
    """What browsers would hear."""

    def __init__(self, subscription: Any) -> None:
        self.subscription = subscription

    def about(
        self, public_id: Any, within_s: float = 60.0, enough: int = 1
    ) -> list[dict[str, Any]]:
        """News that name this object; stops early when enough of it has come."""
        bodies: list[dict[str, Any]] = []
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and len(bodies) < enough:
            message = self.subscription.get_message(timeout=0.1)
            if message is not None and message["type"] == "message":
                body = json.loads(message["data"])
                if body.get("id") == str(public_id):
                    bodies.append(body)
        return bodies


@pytest.fixture
def news(valkey: redis.Redis) -> Iterator[News]:
    subscription = valkey.pubsub()
    subscription.subscribe(CHANNEL)
    assert subscription.get_message(timeout=2.0)["type"] == "subscribe"
    yield News(subscription)
    subscription.close()


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the toy's AppConfig named its kind."""
    record = ("tests.apps.runs.toy.computation.TALLY",)
    monkeypatch.setattr(apps.get_app_config("toy"), "computations", record, raising=False)
    # Tasks cannot import the tests, so the kernel travels with them.
    register_pickle_by_value(kernel)
    computations.cache_clear()
    yield
    computations.cache_clear()
    unregister_pickle_by_value(kernel)
