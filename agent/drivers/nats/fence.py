"""Record at the broker which agent acts for it, and open every connection under that record.

`WEIR_FENCE` holds one message, `{"incarnation": 7, "life": "9f2c...", "state": 31}`: the newest
incarnation, the one process that acts under it, and how far its state directory has come. It is
written against its own last sequence, so of two that claim at once one is second and sees the
other, and never for an older incarnation.

What makes it a fence and not a note:
- an agent's session reads the record **on every connection, before anything else is done on it**,
  and hears it being rewritten for as long as the connection lives;
- a successor writes the record first, then has the server close every connection of the agent
  that is not its own (system account), and waits until they are closed. Only then it reads.
So whatever a predecessor, paused at any instant, still writes, purges or deletes goes into a closed
connection, and each connection it opens from then on begins with the news that it is nobody.

At its neighbours' brokers nobody closes a predecessor's connections. There it can settle and
nothing else that matters, and `verify` is asked at the OWN broker after the messages were handled
and before they are settled. That is enough, and no race: what was handled when nobody newer stood
there was read, routed and stored while this agent was the only one, by tables that were right then.
A successor that comes between the question and the purge finds every one of those messages where
it belongs. Numbers of an outbox are never given twice (`streams.outbox_config`), so a purge that
arrives years later removes what it was meant for.

Without the system account (an agent without secrets) connections cannot be closed: a predecessor
ends when it hears the record, at its next chain or before it settles, whichever is first.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from agent.drivers.base import Fenced, Retryable
from agent.drivers.nats import jetstream, names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.server_config import ADMISSION_USER, AGENT_USER, SYSTEM_USER
from agent.drivers.nats.system_account import SystemAccount

log = logging.getLogger("weir.agent.fence")

LEAVE_S = 5.0
"""How long the server may take to close a connection."""
_LOOK_S = 0.02
_ORDER = (SYSTEM_USER, AGENT_USER, ADMISSION_USER)
"""Close the system connections first: an agent that does not see the server admits nobody."""
_EXPECTED = b"Nats-Expected-Last-Subject-Sequence"


def fence_config() -> dict[str, Any]:
    """Return the configuration of the record's stream."""
    return {
        "name": names.FENCE_STREAM,
        "subjects": [names.FENCE],
        "max_msgs_per_subject": 1,
        "duplicate_window": jetstream.NANOSECONDS,
    }


@dataclass(frozen=True, slots=True)
class Record:
    """Name the agent that acts. `life` names its process, as two may hold copies of one state
    directory."""

    incarnation: int = 0
    life: str = ""
    state: int = 0
    """The number of the state directory when the record was written."""

    def acts_as(self, incarnation: int, life: str) -> bool:
        """Return whether the record names this process in this session."""
        return (self.incarnation, self.life) == (incarnation, life)

    def body(self) -> bytes:
        """Return the record as it is stored."""
        return json.dumps(asdict(self)).encode()


class Fence:
    """Apply the record for one agent: call `claim` once per session, `admit` on every new
    connection."""

    def __init__(self, life: str, on_fenced: Callable[[Fenced], None]) -> None:
        """Take `on_fenced`, which is called at once, in the middle of whatever detected the newer
        agent."""
        self.life = life
        self.own_record: Record | None = None
        """The record that we wrote last; None while nothing is checked yet."""
        self.error: Fenced | None = None
        self._state = 0
        """The largest number of the state directory that this process has recorded."""
        self._on_fenced = on_fenced
        self._fenced = asyncio.Event()

    async def fenced(self) -> Fenced:
        """Wait until a newer agent acts, and return it as an error."""
        await self._fenced.wait()
        assert self.error is not None
        return self.error

    async def claim(self, connection: Connection, incarnation: int) -> None:
        """Act as `incarnation` from now on. Raises Fenced when a newer agent does.

        An equal incarnation is taken over: its process is our own before a restart, or a copy of
        it, and of two copies the one that was started last acts.
        """
        await jetstream.ensure_stream(connection, fence_config())
        while True:
            sequence, record = await _read(connection)
            if record.incarnation > incarnation:
                raise _fenced(record)
            if record.acts_as(incarnation, self.life):
                break
            state = max(record.state, self._state)
            own_record = Record(incarnation=incarnation, life=self.life, state=state)
            if await _write(connection, own_record, sequence):
                break
        self.own_record = Record(incarnation, self.life)

    async def note_state(self, connection: Connection, number: int) -> None:
        """Store the number in the record unless it holds a larger one. Raises Fenced, Retryable."""
        while True:
            await self.verify(connection)
            sequence, record = await _read(connection)
            if record.life != self.life:
                continue  # another agent wrote in between, or the disk was lost: `verify` finds out
            if record.state >= number or await _write(
                connection, replace(record, state=number), sequence
            ):
                self._state = max(self._state, number)
                return

    async def noted_state(self, connection: Connection) -> int:
        """Return the number in the record. Raises Retryable."""
        return (await _read(connection))[1].state

    async def admit(self, connection: Connection) -> None:
        """Check that this connection may be used. Raises Fenced, Retryable."""
        if self.own_record is None:
            return
        connection.subscribe(names.FENCE, self._on_record)
        # A broker that has lost its disk has lost the record, too.
        await jetstream.ensure_stream(connection, fence_config())
        await self.verify(connection)

    async def verify(self, connection: Connection) -> None:
        """Check that no newer agent acts for this broker now. Raises Fenced, Retryable."""
        own_record = self.own_record
        if own_record is None:
            return
        if self.error is not None:
            raise self.error
        sequence, record = await _read(connection)
        if record.incarnation < own_record.incarnation:
            # A broker whose disk was restored has forgotten this agent.
            await self.claim(connection, own_record.incarnation)
        elif record.life == self.life and record.state < self._state:
            # It knows this agent, but not the latest number of the state directory.
            await _write(connection, replace(record, state=self._state), sequence)
        else:
            self._compare(record)
        if self.error is not None:
            raise self.error

    def watch(self, connection: Connection) -> None:
        """Watch on this connection, too, for another agent's claim."""
        connection.subscribe(names.FENCE, self._on_record)

    def _on_record(self, frames: list[wire.Frame]) -> None:
        for frame in frames:
            self._compare(_record(frame[3]))

    def _compare(self, record: Record) -> None:
        own_record = self.own_record
        if own_record is None or record.incarnation < own_record.incarnation:
            return
        if record.life == self.life:
            return  # our own next session
        if self.error is None:
            self.error = _fenced(record)
            self._fenced.set()
            self._on_fenced(self.error)


def _fenced(record: Record) -> Fenced:
    return Fenced(
        f"incarnation {record.incarnation} acts for this broker in another process",
        incarnation=record.incarnation,
    )


async def _read(connection: Connection) -> tuple[int, Record]:
    """Return the record and its number in the stream; 0 and an empty record when there is none."""
    subject = f"$JS.API.DIRECT.GET.{names.FENCE_STREAM}.{names.FENCE}"
    try:
        frame = await connection.request(subject)
    except Retryable:
        # Somebody may have deleted the stream.
        await jetstream.ensure_stream(connection, fence_config())
        frame = await connection.request(subject)
    code = wire.status(frame[2])
    if code == jetstream.NOT_FOUND:
        return 0, Record()
    if code:
        raise Retryable(f"{names.FENCE_STREAM}: status {code}")
    word = wire.header_value(frame[2], b"Nats-Sequence")
    return (int(word) if word.isdigit() else 0), _record(frame[3])


def _record(payload: bytes) -> Record:
    try:
        plain = json.loads(payload)
        state = int(plain.get("state", 0))  # an older agent's record has none
        return Record(int(plain["incarnation"]), str(plain["life"]), state)
    except (ValueError, KeyError, TypeError):
        log.warning("an unreadable record in %s: %r", names.FENCE_STREAM, payload[:80])
        return Record()


async def _write(connection: Connection, record: Record, sequence: int) -> bool:
    """Store the record after this number; return False when another agent wrote first."""
    header = wire.header_block({_EXPECTED: b"%d" % sequence})
    frame = await connection.request(names.FENCE, record.body(), header=header)
    return not _refused(frame[3])


def _refused(payload: bytes) -> bool:
    """Return whether another agent wrote first. Raises Retryable for any other refusal."""
    fault = json.loads(payload).get("error")
    if not fault:
        return False
    if fault.get("err_code") == jetstream.WRONG_LAST_SEQUENCE:
        return True
    raise Retryable(f"{names.FENCE_STREAM}: {fault.get('description')}")


async def cut_off_predecessors(system: SystemAccount, life: str) -> None:
    """Close every connection of the agent's users whose name does not end in `life`.

    Returns when none is left, so that nothing a predecessor wrote can arrive any more. What it
    opens from now on begins with the record of the fence. Raises Retryable.
    """
    async with asyncio.timeout(LEAVE_S) as limit:
        try:
            while others := _others(await system.connections(), life):
                for other in others:
                    log.warning(
                        "disconnecting another agent of this broker: %s", other.get("name", "")
                    )
                    await system.kick(other["cid"])
                await asyncio.sleep(_LOOK_S)
        except asyncio.CancelledError:
            if limit.expired():
                raise Retryable(f"{len(others)} connections of another agent stay open") from None
            raise


def _others(connections: list[dict[str, Any]], life: str) -> list[Mapping[str, Any]]:
    others = [
        connection
        for connection in connections
        if connection.get("authorized_user") in _ORDER
        and "issuer_key" not in connection
        and not str(connection.get("name", "")).endswith(life)
    ]
    return sorted(others, key=lambda other: _ORDER.index(other["authorized_user"]))
