"""Hold our own server and the right to act there: session, fence and admission. `probe` finds out
which broker answers at an address, and how fast.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets as random
import ssl
import time

import nats

from agent.drivers.base import BrokerFacts, Fenced, Retryable, Unsupported
from agent.drivers.nats import names, wire
from agent.drivers.nats.admission import Admission
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.fence import Fence, cut_off_predecessors
from agent.drivers.nats.server_config import BrokerSecrets
from agent.drivers.nats.session import Session
from agent.drivers.nats.system_account import cluster_problem

log = logging.getLogger("weir.agent")

OPEN_S = 3.0


class OwnServer:
    """Connect to the server that this agent controls."""

    def __init__(
        self,
        *,
        url: str,
        own_url: str,
        broker: str,
        secrets: BrokerSecrets | None,
        lease_s: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take `own_url`, which holds the agent's user, and `url`, which holds none. Without
        `secrets` there is no admission, and a predecessor's connections cannot be closed. `tls`
        verifies the server."""
        life = random.token_hex(8)
        self.guard = Fence(life, self._end)
        self.session = Session(
            own_url,
            name=f"weir agent {broker} {life}",
            greet=self._greet,
            inbox=names.AGENT_INBOX,
            tls=tls,
            is_ordered=True,
        )
        self.admission = (
            Admission(
                url=url,
                secrets=secrets,
                broker=broker,
                lease_s=lease_s,
                tls=tls,
                life=life,
                check_ours=self.check_ours,
                moved=self._notify_moved,
            )
            if secrets is not None
            else None
        )
        self._started: tuple[str, int] = ("", 0)

    @property
    def incarnation(self) -> int:
        """Return the incarnation as which we act; 0 before `fence`."""
        return self.guard.own_record.incarnation if self.guard.own_record is not None else 0

    async def close(self) -> None:
        """Disconnect from the server; its contents stay."""
        if self.admission is not None:
            await self.admission.close()
        await self.session.close()

    async def fence(self, incarnation: int, *, recorded: bool) -> None:
        """Fence the server; see `Driver.fence`. Without a stream (`recorded` False) no record can
        be kept, and predecessors are disconnected without a reason."""
        if recorded:
            connection = await self.session.connection(OPEN_S)
            await self.guard.claim(connection, incarnation)
            self.guard.watch(connection)
        if self.admission is not None:
            await cut_off_predecessors(self.admission.system, self.guard.life)
        await self.check_ours()

    def _notify_moved(self, flow: str) -> None:
        """Notify the publishers of a flow, unless the server is away; nobody relies on it."""
        connection = self.session.current
        if connection is not None:
            with contextlib.suppress(Retryable):
                connection.write(wire.publication(names.moved_subject(flow).encode(), b""))

    async def note_state(self, number: int) -> None:
        """Record the number of the state directory; see `Driver.note_state`."""
        if self.guard.own_record is not None:
            await self.guard.note_state(await self.session.connection(OPEN_S), number)

    async def noted_state(self) -> int:
        """Return the recorded number; see `Driver.noted_state`."""
        if self.guard.own_record is None:
            return 0
        return await self.guard.noted_state(await self.session.connection(OPEN_S))

    async def check_ours(self) -> None:
        """Check that we still act. Raises Fenced when a newer agent does, Retryable when that is
        unknown."""
        if self.guard.own_record is not None:
            await self.guard.verify(await self.session.connection(OPEN_S))

    async def began(self, connection: Connection) -> int | None:
        """Return when the process behind a connection began, in nanoseconds of its clock; None
        without the system account, which alone can tell. Raises Retryable."""
        if self.admission is None:
            return None
        server = str(connection.info.get("server_id", ""))
        if self._started[0] != server:
            self._started = await self.admission.system.started()
            if self._started[0] != server:
                raise Retryable("the broker was restarted; its system account is not back yet")
        return self._started[1]

    async def _greet(self, connection: Connection) -> None:
        """Check the server and the record, as the first thing on every connection."""
        reason = cluster_problem(connection.info)
        if reason:
            raise Unsupported(reason)
        if self.admission is not None and not connection.nonce:
            raise Unsupported(
                "the broker's configuration is of an older Weir, under which neighbours cannot "
                "prove who they are: render it anew (python -m agent.drivers.nats.configure) and "
                "restart the broker"
            )
        await self.guard.admit(connection)

    def _end(self, error: Fenced) -> None:
        """Stop acting: nothing that is still in this process takes effect any more."""
        log.error("fenced: %s", error)
        self.session.end(error)
        if self.admission is not None:
            self.admission.stop()


async def probe(
    url: str, *, tls: ssl.SSLContext | None = None, timeout_s: float = 2.0
) -> BrokerFacts:
    """Connect, read the server's INFO, and time one round trip.

    Raises OSError, nats.errors.Error, Unsupported (no agent may stand beside this server).
    """

    async def remember(error: Exception) -> None:
        problems.append(error)

    problems: list[Exception] = []
    try:
        # The client retries for ever by itself; a probe needs an answer.
        client = await asyncio.wait_for(
            nats.connect(url, tls=tls, connect_timeout=timeout_s, error_cb=remember), timeout_s
        )
    except TimeoutError as error:
        raise (problems or [error])[-1] from error
    try:
        start = time.perf_counter()
        await asyncio.wait_for(client.flush(), timeout_s)
        round_trip_s = time.perf_counter() - start
        info = client._server_info
        if reason := cluster_problem(info):
            raise Unsupported(reason)
        return BrokerFacts(
            name=str(info.get("server_name", "")),
            version=str(info.get("version", "")),
            jetstream=bool(info.get("jetstream", False)),
            max_payload_bytes=int(info.get("max_payload", 0)),
            round_trip_s=round_trip_s,
        )
    finally:
        await client.close()
