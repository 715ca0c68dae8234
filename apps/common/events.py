"""Send live events to browsers: published to Valkey on commit, with one subscription per
process."""

import asyncio
import contextlib
import json
import logging
import math
import time
from functools import cache, partial
from typing import Any

import redis
import redis.asyncio
from django.conf import settings
from django.db import transaction

CHANNEL = "weir:events"
QUEUE_LENGTH = 256

logger = logging.getLogger(__name__)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.WEIR_BROKER_URL, socket_timeout=1.0, socket_connect_timeout=1.0
    )


def _publish(message: str) -> None:
    # Events are hints, the truth is in Postgres: without Valkey pages are only less fresh.
    try:
        _client().publish(CHANNEL, message)
    except redis.RedisError as error:
        logger.warning("event not published: %s", error)


def publish(kind: str, /, **data: Any) -> None:
    """Send an event to every open browser once the surrounding transaction has committed."""
    message = json.dumps({"kind": kind, **data}, default=str)
    transaction.on_commit(partial(_publish, message))


_told: dict[str, float] = {}


def publish_seldom(kind: str, /, *, key: str, every_s: float, **data: Any) -> None:
    """Publish at most once in `every_s` seconds per `key`, over all processes.

    This is for events that only say "look again": the next one replaces a dropped one.
    """
    name, now = f"weir:published:{kind}:{key}", time.monotonic()
    if now - _told.get(name, -math.inf) < every_s:
        return
    _told[name] = now
    try:
        first = _client().set(name, 1, nx=True, px=int(every_s * 1000))
    except redis.RedisError as error:
        logger.warning("event not published: %s", error)
        return
    if first:
        publish(kind, **data)


class Hub:
    """Share one Valkey subscription per process; each listener's short queue drops its oldest
    events."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[str]] = set()
        self._pump: asyncio.Task[None] | None = None

    @property
    def listeners(self) -> int:
        """Return how many queues there are."""
        return len(self._queues)

    def join(self) -> asyncio.Queue[str]:
        """Return a queue that receives all events from now on."""
        queue: asyncio.Queue[str] = asyncio.Queue(QUEUE_LENGTH)
        self._queues.add(queue)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run())
        return queue

    def leave(self, queue: asyncio.Queue[str]) -> None:
        """Remove a queue; with the last one the subscription ends."""
        self._queues.discard(queue)
        if not self._queues and self._pump is not None:
            self._pump.cancel()
            self._pump = None

    def _offer(self, message: str) -> None:
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(message)

    async def _run(self) -> None:
        while True:
            client = redis.asyncio.Redis.from_url(settings.WEIR_BROKER_URL)
            try:
                async with client.pubsub() as subscription:
                    await subscription.subscribe(CHANNEL)
                    # Listeners may have missed events during a gap; tell them to look again.
                    self._offer(json.dumps({"kind": "resync"}))
                    async for item in subscription.listen():
                        if item["type"] == "message":
                            self._offer(item["data"].decode())
            except (redis.RedisError, OSError) as error:
                logger.warning("event subscription lost, trying again: %s", error)
                await asyncio.sleep(1.0)
            finally:
                with contextlib.suppress(redis.RedisError, OSError):
                    await client.aclose()


hub = Hub()
