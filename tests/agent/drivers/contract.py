"""What the tests of the contract share: the products, and messages that are read."""

from __future__ import annotations

from collections.abc import Sequence

from agent.drivers.base import Batch, Driver, Source
from tests.agent.drivers.products import products

LIMIT_S = 60.0
PRODUCTS = products()


async def read_batches(driver: Driver, source: Source, count: int) -> list[Batch]:
    """Batches until `count` messages have come; marks count."""
    batches, seen = [], 0
    async for batch in driver.read(source):
        batches.append(batch)
        seen += len(batch.messages)
        if seen >= count:
            return batches
    raise AssertionError(f"ended after {seen}")


def payloads(batches: Sequence[Batch]) -> list[bytes]:
    return [message.payload for batch in batches for message in batch.messages]


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % n for n in range(first, last + 1)]
