"""Copy the messages that wait for one neighbour to the outbox for another, at our own server.

For a neighbour that is gone for good: nothing is written to its outbox any more, and nobody reads
the other one yet. Messages keep their order and their identity, so that copying again after a
crash leaves out what is there. Marks of shifts stay behind: they are promises to nobody.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

from agent.drivers.base import NotGone, Retryable, Source
from agent.drivers.nats import jetstream, names, streams
from agent.drivers.nats.session import Session
from agent.drivers.nats.stream_reader import Read, Stored, StreamReader
from agent.drivers.nats.stream_writer import Outgoing, StreamWriter
from weir.coordination.wire import Delivery, token

OPEN_S = 3.0


class Carrier:
    """Implement `lift_bound`, `set_bounds` and `carry_over` of `agent.drivers.base.Driver`."""

    def __init__(
        self,
        own: Session,
        writer: Callable[[str], StreamWriter],
        changing: asyncio.Lock,
        unreadable: Callable[[str, Stored], Awaitable[None]],
    ) -> None:
        """Take `changing`, the lock for changes of streams' settings, and `unreadable`, which keeps
        a message of an outbox that Weir did not write."""
        self._own = own
        self._writer = writer
        self._changing = changing
        self._unreadable = unreadable
        self._lifted: set[str] = set()
        """Neighbours whose outboxes have no bound, also while a lost link is tried again."""
        self._fronts: dict[str, int] = {}
        """Neighbour that is gone -> the sequence of the first message that it has not settled."""

    def outbox_config(self, neighbour: str) -> dict[str, Any]:
        """Return the configuration of a neighbour's outbox as it should be now."""
        config = streams.without_bound if neighbour in self._lifted else streams.outbox_config
        return config(neighbour, time.time())

    def dropped(self, neighbour: str) -> None:
        """Forget a neighbour whose outbox was removed."""
        self._lifted.discard(neighbour)

    async def set_bounds(self) -> None:
        """Enforce the bounds of all outboxes again."""
        for neighbour in sorted(self._lifted):
            connection = await self._own.connection(OPEN_S)
            async with self._changing:
                if await jetstream.stream_state(connection, names.outbox_stream(neighbour)):
                    config = streams.outbox_config(neighbour, time.time())
                    await jetstream.ensure_stream(connection, config)
                self._lifted.discard(neighbour)

    async def lift_bound(self, neighbour: str) -> None:
        """Let the neighbour's outbox take all messages that wait for it."""
        connection = await self._own.connection(OPEN_S)
        name = names.outbox_stream(neighbour)
        state = await jetstream.stream_state(connection, name)
        if state is not None:
            await self._lift(neighbour)
            self._fronts[neighbour] = _front(state)

    async def carry_over(self, gone: str, to: str) -> int:
        """Copy the messages that wait for `gone` to the outbox for `to`."""
        connection = await self._own.connection(OPEN_S)
        name = names.outbox_stream(gone)
        state = await jetstream.stream_state(connection, name)
        if state is None:
            return 0
        if gone not in self._fronts:
            raise Retryable(f"the outbox for {gone} was not prepared for copying")
        await self._lift(to)
        carried = await self._copy(gone, to, state.last) if state.messages else 0
        after = await jetstream.stream_state(connection, name)
        if after is None or _front(after) != self._fronts[gone]:
            raise NotGone(f"{gone} has read from its outbox meanwhile, so it is not gone for good")
        return carried

    async def _lift(self, neighbour: str) -> None:
        self._lifted.add(neighbour)
        connection = await self._own.connection(OPEN_S)
        async with self._changing:
            await jetstream.ensure_stream(connection, self.outbox_config(neighbour))

    async def _copy(self, gone: str, to: str, last: int) -> int:
        writer = self._writer(names.outbox_stream(to))
        cutter = streams.OutboxMessages(Source(delivery=Delivery.RELIABLE, neighbour=gone))
        prefix = f"{names.OUT}.{token(to)}"
        carried = 0
        async with aclosing(StreamReader(self._own, names.outbox_stream(gone)).read()) as pieces:
            async for piece in pieces:
                carried += await self._copied(piece, cutter, gone, prefix, writer)
                if piece.messages[-1].sequence >= last:
                    break
        return carried

    async def _copied(
        self,
        piece: Read,
        cutter: streams.OutboxMessages,
        gone: str,
        prefix: str,
        writer: StreamWriter,
    ) -> int:
        copies = [
            Outgoing(
                f"{prefix}.{token(message.flow)}.{message.origin}".encode(),
                message.position,
                message.headers,
                message.payload,
            )
            for batch in cutter.batches(piece)
            for message in batch.messages
            if not message.mark
        ]
        for stored in cutter.unreadable:
            await self._unreadable(gone, stored)
        if copies:
            await writer.append(copies)
        return len(copies)


def _front(state: jetstream.StreamState) -> int:
    """Return the sequence of the first message that is or will be there: it rises with each
    purge."""
    return state.first if state.messages else state.last + 1
