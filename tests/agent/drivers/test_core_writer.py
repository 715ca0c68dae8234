"""Best effort at a connection that breaks: gone, counted, and nothing else stops for it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.drivers.base import Channel, Message, Place, Retryable
from agent.drivers.nats.core import CoreWriter
from agent.drivers.nats.stats import NOT_CONNECTED, Losses
from weir.coordination.wire import Delivery

TO_B = Channel(place=Place.OUTBOX, delivery=Delivery.BEST_EFFORT, neighbour="b")


class Broken:
    info: dict[str, Any] = {}

    def write(self, data: bytes) -> None:
        return

    async def writable(self) -> None:
        raise Retryable("connection lost")


@pytest.mark.asyncio
@pytest.mark.parametrize("connection", [Broken(), None])
async def test_what_a_broken_connection_swallows_is_counted(connection: Broken | None) -> None:
    losses = Losses()
    writer = CoreWriter(cast("Any", SimpleNamespace(current=connection)), losses)
    await writer.publish(TO_B, [Message("f", b"1", "a", 1), Message("f", b"2", "a", 2)])
    assert losses.counts == {"f": {NOT_CONNECTED: 2}}
