"""Hold our end of an overlay link: a session at the neighbour's server, subscribed to our
outbox."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from agent.drivers.base import Retryable, Source
from agent.drivers.nats import jetstream, names, neighbours
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.core import CoreReader
from agent.drivers.nats.link_access import LinkKey
from agent.drivers.nats.neighbours import Declared
from agent.drivers.nats.session import Session
from agent.drivers.nats.stats import LINK_FULL, Losses
from agent.memory import Memory
from weir.coordination.wire import Delivery, token

READY_S = 4.0
"""How long a link may take to be ready. It is longer than the first attempt at a shift waits and
shorter than the later ones, so that a busy machine gets more time and the error of an unreachable
neighbour is reported."""
DECLARE_S = 3.0
WAITING = 50_000
"""The number of best-effort messages that may wait here while intake is paused; more are shed."""


class Link:
    """Keep a link until it is closed, whatever happens to the neighbour's server."""

    def __init__(
        self,
        neighbour: str,
        address: str,
        *,
        own: str,
        reliable: bool,
        incarnation: Callable[[], int],
        losses: Losses,
        memory: Memory,
        key: LinkKey | None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take `incarnation`, which returns our current one. `key` proves who we are; without
        one the neighbour's server must not ask for a proof. No secret is sent there, whoever
        answers."""
        self.neighbour = neighbour
        self.address = address
        self._own = own
        self._reliable = reliable
        self._incarnation = incarnation
        self._declared: Declared | None = None
        self._declared_to = ""
        """The server process that stores what we declared."""
        self._key = key
        self.session = Session(
            _place(address),
            name=f"weir link {own}",
            greet=self._greet,
            inbox=names.link_inbox(own),
            tls=tls,
            proof=self._proof,
        ).start()
        self.core = CoreReader(
            self.session,
            f"{names.OUT}.{token(own)}.*",
            Source(delivery=Delivery.BEST_EFFORT, neighbour=neighbour),
            FlowOfOutbox(),
            limit=WAITING,
            losses=losses,
            reason=LINK_FULL,
            memory=memory.best_effort,
        )

    def _proof(self, nonce: str) -> dict[str, str]:
        if self._key is None:
            return {}
        signature = self._key.sign(reader=self._own, owner=self.neighbour, nonce=nonce)
        return {"nkey": self._key.public, "sig": signature}

    @property
    def answers(self) -> bool:
        """Return whether the neighbour's server is there, though it may refuse us. Another server
        at its address does not count."""
        return self.session.meets({self.neighbour})

    async def declare(self, interest: Declared) -> None:
        """Declare our interest at the neighbour's broker, and again to every new process of its
        server. Raises Retryable, Fenced."""
        connection = await self.session.connection(DECLARE_S)
        self._declared = interest
        await self._say(connection)

    async def _say(self, connection: Connection) -> None:
        if self._declared is not None:
            await neighbours.declare(connection, self._own, self._declared, self._incarnation())
            self._declared_to = str(connection.info.get("server_id", ""))

    async def _greet(self, connection: Connection) -> None:
        if self._declared_to and self._declared_to != connection.info.get("server_id"):
            # It may have an older disk, with an older declaration of ours.
            await self._say(connection)

    async def ready(self, timeout_s: float = READY_S) -> None:
        """Wait until our outbox there can be read. Raises Retryable after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.core.subscribed.wait()
                while self._reliable and not await self._outbox_exists():
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            why = self.session.problem or f"{self.neighbour} has no outbox for us"
            raise Retryable(why) from error

    async def _outbox_exists(self) -> bool:
        connection = await self.session.connection()
        return await jetstream.stream_state(connection, names.outbox_stream(self._own)) is not None

    async def close(self) -> None:
        """Disconnect from the neighbour's server."""
        await self.core.close()
        await self.session.close()


def _place(address: str) -> str:
    """Return the address with nothing but scheme, host and port. Raises Retryable."""
    parts = urlsplit(address)
    if parts.scheme not in ("nats", "tls") or not parts.hostname:
        raise Retryable(f"{address!r} is not a nats:// or tls:// address")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class FlowOfOutbox:
    """Return the flow of an outbox subject, empty for marks."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def __call__(self, subject: bytes) -> str:
        flow = self._known.get(subject)
        if flow is None:
            word = subject.decode(errors="replace").rsplit(".", 1)[1]
            flow = "" if word == names.MARK else names.name_of(word)
            self._known[subject] = flow
        return flow
