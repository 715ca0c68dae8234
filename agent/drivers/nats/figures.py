"""What a server and its agent count, as the runtime reports it."""

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


async def figures(
    *,
    ingress: Mapping[str, CoreReader],
    losses: Losses,
    admission: Admission | None,
    connection: Connection | None,
) -> Stats:
    """Counters and gauges. `connection`: to ask for what waits in streams; None: nobody is asked,
    as the server is away or keeps none."""
    stats = Stats(
        ingress_backlog={flow: reader.waiting for flow, reader in ingress.items()},
        ingress_shed={flow: reader.shed for flow, reader in ingress.items()},
        lost=losses.counts,
        problems=losses.said,
    )
    if admission is not None:
        load = admission.load
        stats = replace(
            stats,
            connections=load.connections,
            in_messages=load.in_messages,
            out_messages=load.out_messages,
            cpu_ratio=load.cpu_ratio,
            cores=load.cores,
            memory_bytes=load.memory_bytes,
            sync_always=load.sync_always,
            delivered=admission.delivered(),
            classes=admission.classes(),
            unmanaged=admission.unmanaged(),
        )
    if connection is not None:
        with contextlib.suppress(DriverError, asyncio.TimeoutError):
            stats = await _with_backlogs(connection, stats)
    return stats


async def _with_backlogs(connection: Connection, stats: Stats) -> Stats:
    held = await jetstream.message_counts(connection)
    ingress, outbox = dict(stats.ingress_backlog), dict(stats.outbox_backlog)
    for name, count in held.items():
        if name.startswith(_INGRESS):
            ingress[names.name_of(name.removeprefix(_INGRESS))] = count
        elif name.startswith(_OUTBOX):
            outbox[names.name_of(name.removeprefix(_OUTBOX))] = count
    return replace(stats, ingress_backlog=ingress, outbox_backlog=outbox)
