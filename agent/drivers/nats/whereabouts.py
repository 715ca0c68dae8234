"""Answer publishers that ask at which broker they belong.

A publisher asks on `weir.where.<flow>`; the payload is its name. It may write anything there, and
name any subject for the answer. The agent would publish the answer with rights of its own, so it
answers to publishers' inboxes alone, where nothing but answers is heard, and to requests from the
clients' account, whose answers stay there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping

from agent.drivers.base import DriverError, Retryable
from agent.drivers.nats import names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.session import Session

LONGEST_NAME_BYTES = 4_096
"""The longest name of a publisher; a longer one is in no list."""
_INBOXES = (b"_INBOX.", names.ACROSS_ACCOUNTS)

Where = Callable[[str, str], Mapping[str, str | bool]]
"""A function that returns the answer for a flow and a publisher's name."""


async def answer(session: Session, where: Where) -> None:
    """Answer all questions at our own broker until cancelled, through every loss of the
    connection, or until the session has ended for good."""
    while True:
        try:
            connection = await session.connection()
        except DriverError:
            return
        with contextlib.suppress(Retryable):
            sid = connection.subscribe(f"{names.WHERE}.*", _answering(connection, where))
            try:
                await connection.lost.wait()
            finally:
                connection.unsubscribe(sid)
        await asyncio.sleep(0.01)


def _answering(connection: Connection, where: Where) -> Callable[[list[wire.Frame]], None]:
    def arrived(frames: list[wire.Frame]) -> None:
        for subject, reply, _, payload in frames:
            if not reply.startswith(_INBOXES):
                continue
            flow = names.name_of(subject.decode(errors="replace").rsplit(".", 1)[1])
            body = json.dumps(where(flow, _name(payload))).encode()
            with contextlib.suppress(Retryable):
                connection.write(wire.publication(reply, body))

    return arrived


def _name(payload: bytes) -> str:
    """Return a publisher's name; empty for what is none."""
    if len(payload) > LONGEST_NAME_BYTES:
        return ""
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return ""
