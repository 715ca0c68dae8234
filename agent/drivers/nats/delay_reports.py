"""Hear what consumers counted of delays, each for its own class (`weir.delays.<class>`)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Container

from agent.class_delays import ClassDelays
from agent.drivers.base import DriverError, Retryable
from agent.drivers.nats import names, wire
from agent.drivers.nats.session import Session


async def hear(
    session: Session, counted: ClassDelays, classes: Callable[[], Container[str]]
) -> None:
    """Count all reports of `classes` at our own broker until cancelled, through every loss of the
    connection, or until the session has ended for good."""

    def arrived(frames: list[wire.Frame]) -> None:
        known = classes()
        for subject, _, _, payload in frames:
            name = names.name_of(subject.decode(errors="replace").rsplit(".", 1)[1])
            if name in known:
                counted.add(name, payload)

    while True:
        try:
            connection = await session.connection()
        except DriverError:
            return
        with contextlib.suppress(Retryable):
            sid = connection.subscribe(f"{names.DELAYS}.*", arrived)
            try:
                await connection.lost.wait()
            finally:
                connection.unsubscribe(sid)
        await asyncio.sleep(0.01)
