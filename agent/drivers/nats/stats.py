"""Collect the statistics of a server and its agent for the runtime."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace

from agent.drivers.base import DriverError, Stats
from agent.drivers.nats import jetstream, names
from agent.drivers.nats.admission import Admission
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.core_reader import CoreReader
from agent.drivers.nats.losses import Losses

_INGRESS = names.ingress_stream("")
_OUTBOX = names.outbox_stream("")


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
