"""Define what the agent asks of a broker product.

Runtime, router, pumps and shifts use this module and know no product. A driver acts for
ONE broker (the agent's own) and, over links, reads the outboxes that neighbouring brokers hold for
it. Everything is asynchronous; every method may raise the four errors below and nothing else that
is foreseeable.

| place | at whose broker | written by | read by |
|---|---|---|---|
| ingress of a flow | own | publishers | this agent, through the gate |
| delivery of a flow | own | this agent | consumers |
| outbox for a neighbour | own | this agent | the neighbour's agent, over its link |
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, NoReturn, Protocol, runtime_checkable

from agent.class_delays import ClassDelays
from weir.coordination.wire import (
    KEEP_S,
    ClassSpec,
    Delivery,
    HandOver,
    Publishers,
    StreamPlace,
)

MOST_PUBLISHERS = 5_000
LONGEST_NAME = 200
"""The control plane takes as many names of publishers in a message, and none that is longer."""
UNRANKED = 2**32
"""Beyond the ranks of all names that are reported."""


class DriverError(Exception):
    """Signal that a driver could not do what was asked."""


class Retryable(DriverError):
    """Signal that nothing happened; the same call may succeed later (the broker is away, full or
    slow)."""


class Unknown(DriverError):
    """Signal that it may or may not have happened; repeat the call, which is idempotent by message
    id."""


class Fenced(DriverError):
    """Signal that a newer agent acts for this broker; `incarnation` is its number, 0 if unknown."""

    def __init__(self, text: str, *, incarnation: int = 0) -> None:
        super().__init__(text)
        self.incarnation = incarnation


class Unsupported(DriverError):
    """Signal that this product, version or configuration cannot do it; the text says what would
    help."""


class NameTooLong(Unsupported):
    """Signal that the product takes no name as long as this one, whatever else works."""


class NotGone(DriverError):
    """Signal that a neighbour that was declared gone for good is still there."""


class LimiterScope(StrEnum):
    """Name where a flow's rate is limited."""

    AGENT = "agent"
    """The agent limits the rate with its own token bucket, exactly at the gate."""
    BROKER = "broker"
    """The broker limits the rate per client or tenant, as exactly as the product does it."""


class Enforcement(StrEnum):
    """Name how a consumer limit is enforced."""

    ENFORCED = "enforced"
    """The broker refuses consumers that are not admitted."""
    COOPERATIVE = "cooperative"
    """Consumers ask and respect the answer; the broker would let them in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Describe what a product can do; sent to the control plane with each session."""

    product: str
    deliveries: tuple[Delivery, ...]
    limiter_scope: LimiterScope
    burst_settable: bool
    admission: Enforcement


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFacts:
    """Describe a broker as it presents itself to a client that connects."""

    name: str
    version: str
    jetstream: bool
    max_payload_bytes: int
    round_trip_s: float


class Place(StrEnum):
    """Name the three kinds of channel at a broker; see the table above."""

    INGRESS = "ingress"
    DELIVERY = "delivery"
    OUTBOX = "outbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Identify one place where messages wait at the agent's own broker. An outbox holds all flows
    of its `delivery` class towards `neighbour`, in one order; the others hold `flow` alone."""

    place: Place
    delivery: Delivery
    flow: str = ""
    neighbour: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Identify what can be read: an own ingress (`flow`), or the outbox that the broker of
    `neighbour` keeps for this broker."""

    delivery: Delivery
    flow: str = ""
    neighbour: str = ""


class Message(NamedTuple):
    """Hold one message, or a mark (`mark`, payload its JSON) that a shift sends in band."""

    flow: str
    payload: bytes
    origin: str = ""
    """Where a reliable message entered, and in which life of that ingress."""
    position: int = 0
    """It rises with every message of its flow and origin; the three identify the message."""
    headers: bytes = b""
    """All further headers, in the product's own form."""
    mark: bool = False


@dataclass(slots=True)
class Batch:
    """Hold messages of one flow in the order of their source, or one mark.

    Marks keep their place among all flows; flows are in order each for itself. What came from an
    ingress may be cut: each piece is a batch that can be settled.
    """

    source: Source
    messages: Sequence[Message]
    token: object = None
    """What `settle` needs to acknowledge this batch and all before it; None when there is nothing
    to do."""
    life: str = ""
    """The broker's process from which it was read; pieces of a batch keep it."""
    arrived_at: Sequence[float] = ()
    """When each message reached the broker, by a clock that is never set back (`time.monotonic`).
    Only of an ingress; empty where that is not known."""
    made: str = ""
    """When the stream was made whose positions these are, as the product writes it. Only of an
    ingress; empty where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """Describe what a neighbour wants of this broker, as stored here, so that it survives
    restarts."""

    neighbour: str
    flows: frozenset[str]
    epoch: str = ""
    """The action that last changed the link; see weir.coordination.tables."""
    unreadable: str = ""
    """Why the stored value cannot be read; empty for a readable one."""
    stale: bool = False
    """Whether it was stored before the broker's process began, whose disk may be older than what
    this agent has received already. The neighbour writes it again as soon as it is back."""
    asks: bool = False
    """Whether the neighbour does not know what this broker wants, and waits for it."""
    revision: str = ""
    """It changes each time that the neighbour writes its interest, even the same again."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Hold a question of a neighbour's agent to this one, and where the answer goes."""

    neighbour: str
    """The neighbour whose agent asks; the broker lets nobody ask as another."""
    payload: bytes
    reply: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassAdmission:
    """Describe the admission of one class as it is at the broker now."""

    limit: int | None
    admitted: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Describe how much a channel holds and may hold; None where the product sets no such limit."""

    size_bytes: int
    most_messages: int | None = None
    most_bytes: int | None = None
    keep_s: float | None = None
    """How old a message may become before the broker drops it."""
    newest: int | None = None
    """The position of the newest message that it ever held; None where the product does not say."""
    made: str = ""
    """When it was made, as the product writes it: one made anew counts positions anew."""


def rank_of(name: str) -> int:
    """Return the rank of a publisher among all others, which does not depend on who they are:
    where there are too many, those of the lowest ranks are reported, always the same ones. A name
    that the control plane cannot store has the rank UNRANKED."""
    storable = len(name) <= LONGEST_NAME and "\x00" not in name
    if not storable or name.encode(errors="replace").decode() != name:
        return UNRANKED
    return zlib.crc32(name.encode())


class Sent(NamedTuple):
    """What one publisher sent in an interval."""

    messages: int
    at_s: float | None
    """A moment at which it sent, in Unix seconds of the broker's clock; None where none can be told
    apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherReading:
    """What publishers sent between two readings of the broker's connections."""

    number: int
    """Rises from reading to reading."""
    sent: Mapping[str, Sent]
    """Publisher -> what it sent; those that sent nothing are left out."""
    left: int = 0
    """Publishers' connections that are not read, because there are too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Hold counters, whose differences over time are rates, and gauges.

    A driver that reads the counters from time to time gives the time of its last reading.
    """

    read_at: float | None = None
    """When the broker's own totals (`in_messages` to `out_bytes`) were read, by the clock of the
    agent, which is never set back; None means just now."""
    life: str = ""
    """The name of the process that counts those."""
    began_at: float | None = None
    """When that process began to count, by the clock of `read_at`; None when not known."""
    connections: int = 0
    in_messages: int = 0
    out_messages: int = 0
    in_bytes: int | None = None
    """Bytes of the messages that came in, with their headers; None where the product does not say.
    """
    out_bytes: int | None = None
    """Bytes of the messages that went out, likewise."""
    out_before: int | None = None
    """What `out_messages` was before `delivered` was read; None where both are of one moment."""
    cpu_ratio: float | None = None
    """Processor use, where 1 is one core in full use."""
    cores: int | None = None
    """The number of cores that the broker may use."""
    memory_bytes: int | None = None
    stored_bytes: int | None = None
    """The bytes of all stored messages; None where the product does not say."""
    most_stored_bytes: int | None = None
    """The bytes that the broker may store; None where it has no such limit or does not say."""
    sync_always: bool | None = None
    """Whether acknowledged messages are on disk; None where the product does not say."""
    ingress_backlog: Mapping[str, int] = field(default_factory=dict)
    """Flow -> messages waiting before the gate."""
    ingress_room: Mapping[str, Room] = field(default_factory=dict)
    """Flow -> the room for messages that wait before its gate, where the product says it."""
    ingress_shed: Mapping[str, int] = field(default_factory=dict)
    """Flow -> best-effort messages discarded before the gate because too many waited."""
    outbox_backlog: Mapping[str, int] = field(default_factory=dict)
    """Neighbour -> messages that it has not yet fetched."""
    streams_read: bool = True
    """Whether the two backlogs include messages in streams; False when those could not be read
    now."""
    delivered: Mapping[str, int] = field(default_factory=dict)
    """Class -> messages handed to its consumers since the driver was opened, or since `life` began
    where that is later, summed over consumers; never falls within a life."""
    delivered_at: float | None = None
    """When `delivered` was read, by the clock of `read_at`."""
    classes: Mapping[str, ClassAdmission] = field(default_factory=dict)
    class_delays: ClassDelays = field(default_factory=ClassDelays)
    """What consumers have reported of delays; whoever takes that empties it."""
    unmanaged: tuple[str, ...] = ()
    """The names of clients that belong to no class."""
    publishers: tuple[PublisherReading, ...] = ()
    """What publishers sent lately, oldest first; empty where the product does not say it."""
    lost: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Flow (empty: unknown) -> reason -> messages that were accepted and did not get further."""
    problems: tuple[str, ...] = ()
    """What a person should know, as sentences."""


@runtime_checkable
class Driver(Protocol):
    """Use a broker product at one broker."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what this product can do."""
        ...

    @property
    def server(self) -> str:
        """Return the name of the own broker's process, since another process may have another disk.
        Empty while it is not connected."""
        ...

    async def open(self) -> BrokerFacts:
        """Connect to the own broker. Nothing is forwarded or admitted yet."""
        ...

    async def close(self) -> None:
        """Disconnect from the broker; its contents stay."""
        ...

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        """Create the channel as described if needed; idempotent.

        `max_message_bytes`: what the smallest broker on the way of an ingress takes in one message
        (0: not known). A reliable message that would not fit everywhere with what Weir adds is
        refused to its publisher. `keep_s`: for how long a reliable delivery keeps messages, those
        that are there already too. Raises NameTooLong for a name that no channel can have.
        """
        ...

    async def ensure_link(self, neighbour: str, address: str) -> None:
        """Create our outbox for `neighbour`, and subscribe to its outbox for us; messages are kept
        until `read`. Idempotent. Raises Retryable when the neighbour cannot be reached."""
        ...

    async def trust(self, public_keys: Mapping[str, str]) -> None:
        """Let these neighbours, each with its public key, read the outboxes kept for them from now
        on, and disconnect all others. Returns when the rule holds for new connections."""
        ...

    async def close_link(self, neighbour: str) -> None:
        """Stop reading a link until `ensure_link`; messages that wait for it stay. Idempotent."""
        ...

    async def drop_link(self, neighbour: str) -> None:
        """Stop reading a link, withdraw our interest and remove our outbox for it; idempotent."""
        ...

    async def waiting(self, neighbour: str) -> int:
        """Return the number of reliable messages on the link that its reader has not settled: in
        our outbox, on their way into it, and, as far as it can be reached, in the neighbour's
        outbox for us."""
        ...

    def answers(self, neighbour: str) -> bool:
        """Return whether a linked neighbour's broker answers now, even if it refuses us: a broker
        whose agent is dead admits nobody, and goes on serving connected clients."""
        ...

    async def lift_bound(self, neighbour: str) -> None:
        """Let our reliable outbox for `neighbour` take all messages that wait for room in it, until
        `set_bounds`; idempotent. The same holds for an outbox that receives messages by
        `carry_over`."""
        ...

    async def set_bounds(self) -> None:
        """Enforce the bounds of all outboxes again; messages in them stay. Idempotent."""
        ...

    async def carry_over(self, gone: str, to: str) -> int:
        """Copy the reliable messages that wait for `gone` behind those that wait for `to`, in
        order, each message once however often it is called; marks stay. Returns the number of
        messages.

        After `lift_bound`, while nobody writes to either. Raises NotGone when `gone` has read
        from its outbox since then.
        """
        ...

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        """Append messages in the order of calls. For reliable ones, return when the broker holds
        all of them, each once, however often it takes; messages that are there already are left
        out. To an ingress only marks may be appended: a mark comes behind all that publishers have
        sent there whose connection has ended."""
        ...

    def read(self, source: Source) -> AsyncIterator[Batch]:
        """Return batches in the source's order, starting with the first unsettled one. Ends when
        dropped."""
        ...

    async def settle(self, batch: Batch) -> None:
        """Acknowledge the batch and everything before it. This may take effect later, but never
        after a newer agent has fenced us."""
        ...

    async def stop_reading(self, source: Source) -> None:
        """Stop reading a former ingress; iterating over `read` of it ends."""
        ...

    async def close_ingress(self, but: Collection[str]) -> None:
        """Refuse publishers of reliable messages of every flow `but` these, until `ensure_channel`,
        as nobody reads what they send. Messages that wait there stay. Idempotent."""
        ...

    async def interest(
        self, neighbour: str, flows: frozenset[str], epoch: str, *, asks: bool = False
    ) -> None:
        """Declare durably to a linked neighbour which flows we want of it. `asks` requests the
        neighbour's own interest."""
        ...

    def interests(self) -> AsyncIterator[Mapping[str, Interest]]:
        """Return the interest of all neighbours, and all of it again after each change. A value
        that cannot be read is one among the others, and is marked as such."""
        ...

    async def ask(self, neighbour: str, payload: bytes) -> bytes:
        """Ask a linked neighbour's agent and wait for its answer. Raises Retryable when it does not
        answer in time. Questions are not stored: the caller asks again."""
        ...

    def inquiries(self) -> AsyncIterator[Inquiry]:
        """Return the questions of neighbours' agents from now on, through every loss of the
        connection."""
        ...

    async def answer(self, inquiry: Inquiry, payload: bytes) -> None:
        """Answer a question; the neighbour may not wait for the answer any more."""
        ...

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str) -> None:
        """Admit by these limits from now on, and disconnect consumers above a limit, newest
        first.

        Returns when no class has more admitted than its limit.
        """
        ...

    async def assign(self, publishers: Mapping[str, Publishers]) -> frozenset[str]:
        """Let only these publishers publish these flows from now on, tell the others where they
        belong, and after a moment disconnect them. Flows that are not named take every publisher.

        Returns the flows which a connection may still publish whose publisher may not: call again.
        """
        ...

    def map_flows(
        self, places: Mapping[str, StreamPlace], reliable: Mapping[str, int] | None = None
    ) -> None:
        """Send subscribers the messages that are published to the deliveries of these flows, and of
        no others, on these streams from now on. A flow whose stream is another than before is
        handed over. `reliable` names the reliable ones among them, and for how many seconds a
        stream keeps their messages; which streams those are on survives this agent."""
        ...

    def hand_overs(self) -> Mapping[str, HandOver] | None:
        """Return the last hand-over of each mapped flow that is on its way now, or has been lately.
        None before the first `map_flows`, or where the product sends on no streams."""
        ...

    async def revoke(self, name: str, consumer: str) -> None:
        """Disconnect one consumer of class `name` by its connection's name."""
        ...

    async def fence(self, incarnation: int) -> None:
        """Make sure that no older incarnation, and no earlier process of this one, reads, writes,
        settles or admits anything here after this has returned.

        Call this before anything is read. Raises Fenced when a newer agent acts; a broker
        remembers the newest incarnation over its restarts.
        """
        ...

    async def note_state(self, number: int) -> None:
        """Record at the broker, over its restarts, that our state directory has reached this
        number, or a larger one. Without a stream (no JetStream) nothing is recorded."""
        ...

    async def noted_state(self) -> int:
        """Return the largest number that was recorded; 0 where none was."""
        ...

    async def fenced(self) -> NoReturn:
        """Wait until another agent has fenced us, then raise Fenced; nothing that this driver was
        given takes effect after that. Raises Died once a part of the driver has ended by an
        internal error, so that none stands still while the others go on."""
        ...

    async def stats(self) -> Stats:
        """Return the counters and gauges of the broker."""
        ...
