"""Receive questions of neighbours' agents: requests to our broker, which this agent answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from agent.drivers.base import Inquiry, Retryable
from agent.drivers.nats import names, wire
from agent.drivers.nats.session import Session

MOST = 256
"""The number of questions that may wait for their answer; whoever asked more asks again."""


async def inquiries(session: Session) -> AsyncIterator[Inquiry]:
    """Return the questions that arrive at our own broker."""
    waiting: deque[Inquiry] = deque(maxlen=MOST)
    news = asyncio.Event()

    def arrived(frames: list[wire.Frame]) -> None:
        for subject, reply, _, payload in frames:
            if reply:
                word = subject.decode(errors="replace").rsplit(".", 1)[1]
                waiting.append(Inquiry(names.name_of(word), payload, reply))
        news.set()

    while True:
        connection = await session.connection()
        connection.on_lost(news.set)
        sid = 0
        try:
            with contextlib.suppress(Retryable):
                sid = connection.subscribe(names.inquiry_subject("*"), arrived)
            while connection.alive:
                while waiting:
                    yield waiting.popleft()
                news.clear()
                if connection.alive and not waiting:
                    await news.wait()
        finally:
            connection.forget(news.set)
            connection.unsubscribe(sid)
        waiting.clear()
