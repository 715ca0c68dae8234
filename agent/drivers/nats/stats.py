"""Count what happens to messages at one server, and collect its statistics for the runtime.

| class or function | what it counts |
|---|---|
| `Losses` | messages that were accepted and did not get further, by flow and reason |
| `Deliveries` | messages that the consumers of each class have received |
| `read_stats` | all of that, the server's load and what waits in its streams |
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.drivers.base import DriverError, Stats
from agent.drivers.nats import jetstream, names

if TYPE_CHECKING:
    from agent.drivers.nats.admission import Admission
    from agent.drivers.nats.connection import Connection
    from agent.drivers.nats.core import CoreReader

NOT_CONNECTED = "broker_away"
"""Our broker was not connected when a best-effort message was to be written."""
TOO_LARGE = "too_large"
"""The message, with Weir's headers, exceeds what the broker takes."""
INGRESS_FULL = "ingress_full"
"""Too many messages waited before the gate."""
LINK_FULL = "link_full"
"""Too many messages waited at the end of a link."""
LINK_AWAY = "link_away"
"""The neighbour's agent was not connected to our broker when a message for it was written."""
NOT_READ = "not_read"
"""The message waited in this agent for a source that is no longer read."""
MULTICAST_FULL = "multicast_full"
"""The kernel had no room for the datagram of a mapped flow's message."""
MULTICAST_AWAY = "multicast_away"
"""The network did not take the datagram of a mapped flow's message."""
UNREADABLE = "unreadable"
"""The message is in an outbox, but Weir did not write it."""
REMEMBER_S = 10.0
"""How long the number of an ended connection may still turn up in an answer of the server."""
_INGRESS = names.ingress_stream("")
_OUTBOX = names.outbox_stream("")


class Losses:
    """Count losses; counts only rise, and `sentences` has one for each flow and reason."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}
        self._sentences: dict[tuple[str, str], str] = {}

    def add(self, flow: str, reason: str, count: int = 1, sentence: str = "") -> None:
        """Count a loss; an empty `flow` means that it is unknown."""
        counts = self._counts.setdefault(flow, {})
        counts[reason] = counts.get(reason, 0) + count
        if sentence:
            self._sentences[flow, reason] = sentence

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Return the lost messages: flow -> reason -> count."""
        return {flow: dict(counts) for flow, counts in self._counts.items()}

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the last sentence about each loss."""
        return tuple(self._sentences.values())


@dataclass(slots=True)
class _Connection:
    """Hold what one consumer's connection received; the server never uses its number again."""

    name: str
    """The name of the class."""
    start: int
    """The messages that it had received before this object counted."""
    count: int
    ended_at: float | None = None

    @property
    def delivered(self) -> int:
        return max(0, self.count - self.start)


class Deliveries:
    """Count messages that the consumers of each class have received since this object was made, or
    since the server was restarted.

    The totals fall with a restart only. The server says one connection's count in two ways, in its
    list of connections and in the event of the connection's end, and these overtake each other: a
    list may name a connection whose end is known already, or lack one that is known already. So
    each connection keeps the largest count that was ever seen of it, and it keeps it for
    `REMEMBER_S` after its end; only then is it added to those of its class that have ended.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take `clock`, whose seconds are never set back."""
        self._clock = clock
        self._ended: dict[str, int] = {}
        self._connections: dict[int, _Connection] = {}

    def saw(self, number: int, name: str, count: int, *, began_before: bool = False) -> None:
        """Record that a connection of a class has received `count` messages. With `began_before` it
        is older than this object, so what it had received when first seen does not count."""
        known = self._connections.get(number)
        if known is None:
            start = count if began_before else 0
            self._connections[number] = _Connection(name=name, start=start, count=count)
        else:
            known.count = max(known.count, count)

    def ended(self, number: int, count: int, *, name: str = "") -> None:
        """Record that a connection was closed after it had received `count` messages. `name` is its
        class, if it had a place until now; others count only if they were seen before."""
        if name:
            self.saw(number, name, count)
        known = self._connections.get(number)
        if known is not None:
            known.count = max(known.count, count)
            known.ended_at = self._clock()

    def present(self, here: AbstractSet[int]) -> None:
        """Take the connections that the server lists. A missing one keeps its last known count."""
        now = self._clock()
        for number, connection in list(self._connections.items()):
            if number in here:
                connection.ended_at = None
            elif connection.ended_at is None:
                connection.ended_at = now
            if connection.ended_at is not None and now - connection.ended_at > REMEMBER_S:
                self._settle(number)

    def restarted(self) -> None:
        """Begin anew with a restarted server: new connections may have the numbers of former ones.

        What the former process delivered since it was last read is in no total of that process, so
        a total that went on would grow by more than all that the broker says it has sent."""
        self._ended = dict.fromkeys(self.totals(), 0)
        self._connections.clear()

    def totals(self) -> dict[str, int]:
        """Return the messages that each class has received."""
        totals = dict(self._ended)
        for connection in self._connections.values():
            totals[connection.name] = totals.get(connection.name, 0) + connection.delivered
        return totals

    def _settle(self, number: int) -> None:
        connection = self._connections.pop(number)
        ended = self._ended.get(connection.name, 0)
        self._ended[connection.name] = ended + connection.delivered


async def read_stats(
    *,
    ingress: Mapping[str, CoreReader],
    losses: Losses,
    admission: Admission | None,
    connection: Connection | None,
    streams: bool,
) -> Stats:
    """Return counters and gauges. `connection` is used to ask for what waits in streams (None: the
    server is away), `streams` says whether the server keeps any."""
    stats = Stats(
        ingress_backlog={flow: reader.waiting for flow, reader in ingress.items()},
        ingress_shed={flow: reader.shed for flow, reader in ingress.items()},
        lost=losses.counts,
        problems=losses.sentences,
        streams_read=not streams,
    )
    if admission is not None:
        load = admission.load
        stats = replace(
            stats,
            read_at=load.read_at,
            life=load.server,
            began_at=load.began_at,
            connections=load.connections,
            in_messages=load.in_messages,
            out_messages=load.out_messages,
            in_bytes=load.in_bytes,
            out_bytes=load.out_bytes,
            out_before=admission.counted.out_before,
            cpu_ratio=load.cpu_ratio,
            cores=load.cores,
            memory_bytes=load.memory_bytes,
            stored_bytes=load.stored_bytes,
            most_stored_bytes=load.most_stored_bytes,
            sync_always=load.sync_always,
            delivered=admission.counted.delivered,
            delivered_at=admission.counted.at,
            classes=admission.classes(),
            unmanaged=admission.unmanaged(),
            publishers=admission.publisher_times.readings,
        )
    if streams and connection is not None:
        with contextlib.suppress(DriverError, asyncio.TimeoutError):
            stats = await _with_backlogs(connection, stats)
    return stats


async def _with_backlogs(connection: Connection, stats: Stats) -> Stats:
    held = await jetstream.contents(connection)
    ingress, outbox = dict(stats.ingress_backlog), dict(stats.outbox_backlog)
    rooms = {}
    for name, (count, room) in held.items():
        if name.startswith(_INGRESS):
            flow = names.name_of(name.removeprefix(_INGRESS))
            ingress[flow], rooms[flow] = count, room
        elif name.startswith(_OUTBOX):
            outbox[names.name_of(name.removeprefix(_OUTBOX))] = count
    return replace(
        stats,
        ingress_backlog=ingress,
        ingress_room=rooms,
        outbox_backlog=outbox,
        streams_read=True,
    )
