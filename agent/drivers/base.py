"""What the agent asks of a broker product, and in which words.

The runtime, the router, the pump and the shift know this file and no product. A driver speaks for
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

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, NoReturn, Protocol, runtime_checkable

from weir.coordination.wire import KEEP_S, ClassSpec, Delivery


class DriverError(Exception):
    """Base of what a driver says when it could not do what was asked."""


class Retryable(DriverError):
    """Nothing happened; the same call may succeed later (the broker is away, is full, is slow)."""


class Unknown(DriverError):
    """It may or may not have happened; repeat the call, which is idempotent by message id."""


class Fenced(DriverError):
    """Somebody newer acts for this broker; stop acting. `incarnation`: theirs, 0 if unknown."""

    def __init__(self, text: str, *, incarnation: int = 0) -> None:
        super().__init__(text)
        self.incarnation = incarnation


class Unsupported(DriverError):
    """This product, version or configuration cannot do it; the text says what would help."""


class NotGone(DriverError):
    """Somebody who is said to be gone for good is not."""


class LimiterScope(StrEnum):
    """Where a flow's rate is bounded."""

    AGENT = "agent"
    """By the agent's own token bucket, exact at the gate."""
    BROKER = "broker"
    """By the broker per client or tenant, as exactly as the product does it."""


class Enforcement(StrEnum):
    """How a consumer limit is kept."""

    ENFORCED = "enforced"
    """The broker refuses whoever is not admitted."""
    COOPERATIVE = "cooperative"
    """Consumers ask and abide by the answer; the broker would let them in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a product can do; told to the control plane with each session."""

    product: str
    deliveries: tuple[Delivery, ...]
    limiter_scope: LimiterScope
    burst_settable: bool
    admission: Enforcement


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFacts:
    """What a broker says about itself when one connects."""

    name: str
    version: str
    jetstream: bool
    max_payload_bytes: int
    round_trip_s: float


class Place(StrEnum):
    """The three kinds of channel at a broker; see the table above."""

    INGRESS = "ingress"
    DELIVERY = "delivery"
    OUTBOX = "outbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One place messages wait at the agent's own broker. An outbox carries all flows of its
    `delivery` class towards `neighbour`, in one order; the others carry `flow` alone."""

    place: Place
    delivery: Delivery
    flow: str = ""
    neighbour: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What can be read: an own ingress (`flow`), or the outbox that the broker of `neighbour`
    keeps for us."""

    delivery: Delivery
    flow: str = ""
    neighbour: str = ""


class Message(NamedTuple):
    """One message, or a mark (`mark`, payload its JSON) that a shift sends in band."""

    flow: str
    payload: bytes
    origin: str = ""
    """Where a reliable message came in, and in which life of that ingress."""
    position: int = 0
    """Rises with every message of its flow and origin; with them it is the message's identity."""
    headers: bytes = b""
    """Whatever else travels with it, in the product's own form."""
    mark: bool = False


@dataclass(slots=True)
class Batch:
    """Messages of one flow in the order of their source, or one mark.

    Marks keep their place among all flows; flows are in order each for itself. What came from an
    ingress may be cut: each piece is a batch that can be settled.
    """

    source: Source
    messages: Sequence[Message]
    token: object = None
    """What `settle` needs to acknowledge this batch and all before it; None: nothing."""
    life: str = ""
    """Of the broker's process it was read from; pieces of a batch keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """What a neighbour wants of us, as last told (kept at our broker, so it survives restarts)."""

    neighbour: str
    flows: frozenset[str]
    epoch: str = ""
    """The action that last changed the link; see weir.coordination.tables."""
    unreadable: str = ""
    """Why what is kept says nothing; empty for what can be read."""
    stale: bool = False
    """It was stored before the broker's process began, whose disk may be older than what this
    agent has heard already. The neighbour says it again as soon as it is back."""
    asks: bool = False
    """The neighbour does not know what we want of it, and waits until we say it (again)."""
    saying: str = ""
    """Another one each time that the neighbour says something, even the same."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What a neighbour's agent asks this one, and where the answer goes."""

    neighbour: str
    """Whose agent asks: the broker lets nobody ask in another's name."""
    payload: bytes
    reply: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassAdmission:
    """Admission of one class as it is at the broker now."""

    limit: int | None
    admitted: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counters since the driver was opened (rates are the caller's difference), and gauges."""

    connections: int = 0
    in_messages: int = 0
    out_messages: int = 0
    cpu_ratio: float | None = None
    """1 is one core in full use."""
    cores: int | None = None
    """That the broker may use."""
    memory_bytes: int | None = None
    sync_always: bool | None = None
    """Whether an acknowledged message is on disk; None where the product does not say."""
    ingress_backlog: Mapping[str, int] = field(default_factory=dict)
    """Flow -> messages waiting before the gate."""
    ingress_shed: Mapping[str, int] = field(default_factory=dict)
    """Flow -> best-effort messages thrown away before the gate because too many waited."""
    outbox_backlog: Mapping[str, int] = field(default_factory=dict)
    """Neighbour -> messages it has not yet fetched."""
    delivered: Mapping[str, int] = field(default_factory=dict)
    """Class -> messages handed to its consumers, summed over consumers."""
    classes: Mapping[str, ClassAdmission] = field(default_factory=dict)
    unmanaged: tuple[str, ...] = ()
    """Names of clients that belong to no class."""
    lost: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Flow (empty: unknown) -> reason -> messages that were accepted and did not get further."""
    problems: tuple[str, ...] = ()
    """What a person should know of, in sentences."""


@runtime_checkable
class Driver(Protocol):
    """A broker product, for one broker."""

    @property
    def capabilities(self) -> Capabilities:
        """What this product can do."""
        ...

    @property
    def server(self) -> str:
        """Names the process of the own broker: another one may stand on another disk. Empty while
        it is not connected."""
        ...

    async def open(self) -> BrokerFacts:
        """Connect to the own broker. Nothing is forwarded or admitted yet."""
        ...

    async def close(self) -> None:
        """Leave the broker; what it holds stays."""
        ...

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        """The channel exists as described; idempotent.

        `max_message_bytes`: what the smallest broker on the way of an ingress takes in one message
        (0: not known). A reliable message that would not fit everywhere with what Weir adds is
        refused to its publisher. `keep_s`: for how long a reliable delivery keeps messages, those
        that are there already too.
        """
        ...

    async def ensure_link(self, neighbour: str, address: str) -> None:
        """Our outbox for `neighbour` exists, and we are subscribed to its outbox for us; what
        comes is kept until `read`. Idempotent. Raises Retryable when it cannot be reached."""
        ...

    async def trust(self, public_keys: Mapping[str, str]) -> None:
        """From now on these neighbours, each with its public key, may read the outboxes kept for
        them; whoever else does is cut off. Returns when the rule holds for newcomers."""
        ...

    async def close_link(self, neighbour: str) -> None:
        """Read nothing more of it until `ensure_link`; what waits for it stays. Idempotent."""
        ...

    async def drop_link(self, neighbour: str) -> None:
        """Read nothing more of it, tell it nothing, remove our outbox for it; idempotent."""
        ...

    async def waiting(self, neighbour: str) -> int:
        """Reliable messages on the link that its reader has not settled: in our outbox, on their
        way into it, and, as far as it can be reached, in the neighbour's outbox for us."""
        ...

    def answers(self, neighbour: str) -> bool:
        """Whether a linked neighbour's broker is there at this moment, though it may let us in or
        not: where its agent is dead it lets nobody in, and goes on for all who are in."""
        ...

    async def lift_bound(self, neighbour: str) -> None:
        """Our reliable outbox for `neighbour` holds whatever waits for room in it, until
        `set_bounds`; idempotent. So does every outbox that something is carried over to."""
        ...

    async def set_bounds(self) -> None:
        """No outbox takes more than it should any more; what is in it stays. Idempotent."""
        ...

    async def carry_over(self, gone: str, to: str) -> int:
        """Copy what is reliable and waits for `gone` behind what waits for `to`, in order, each
        message once however often it is asked for; marks stay. How many messages that were.

        After `lift_bound`, while nobody writes to either. Raises NotGone when `gone` has read
        from its outbox since then.
        """
        ...

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        """Append in order of calls. Reliable: returns when the broker holds all of them, each
        once, however often it takes; whatever is there already is left out."""
        ...

    def read(self, source: Source) -> AsyncIterator[Batch]:
        """Batches in the source's order, from the first unsettled on. Ends when dropped."""
        ...

    async def settle(self, batch: Batch) -> None:
        """The batch and everything before it need never be read again. It may be put into effect
        later, never after somebody newer has fenced us."""
        ...

    async def stop_reading(self, source: Source) -> None:
        """An ingress that is none any more; iterating `read` of it ends."""
        ...

    async def close_ingress(self, but: Collection[str]) -> None:
        """Publishers of reliable messages are refused, of every flow `but` these, until
        `ensure_channel`: nobody reads what they send. What waits there stays. Idempotent."""
        ...

    async def interest(
        self, neighbour: str, flows: frozenset[str], epoch: str, *, asks: bool = False
    ) -> None:
        """Tell a linked neighbour, durably, which flows we want of it. `asks`: that it says to us
        what it wants."""
        ...

    def interests(self) -> AsyncIterator[Mapping[str, Interest]]:
        """What neighbours want of us: everything that is kept, again after each change. A value
        that cannot be read is one among the others, and says so."""
        ...

    async def ask(self, neighbour: str, payload: bytes) -> bytes:
        """Ask a linked neighbour's agent and wait for its answer. Raises Retryable when it does not
        answer in time. Nothing of it is kept: whoever needs an answer asks again."""
        ...

    def inquiries(self) -> AsyncIterator[Inquiry]:
        """What neighbours' agents ask from now on, through every loss of the connection."""
        ...

    async def answer(self, inquiry: Inquiry, payload: bytes) -> None:
        """Answer one of them; who asked may be gone by now."""
        ...

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str) -> None:
        """From now on admit by these limits; whoever is above a limit is released, newest first.

        Returns when no class has more admitted than its limit.
        """
        ...

    async def revoke(self, name: str, consumer: str) -> None:
        """Release one consumer of class `name` by its connection's name."""
        ...

    async def fence(self, incarnation: int) -> None:
        """From its return on nothing is read, written, settled or admitted here by whatever acts
        for an older incarnation, or for this one in a process that was started earlier.

        To be called before anything is read. Raises Fenced when somebody newer acts; a broker
        remembers the newest incarnation over its restarts.
        """
        ...

    async def note_state(self, number: int) -> None:
        """The broker remembers, over its restarts, that our state directory has come to this
        number, or a larger one. Without a stream (no JetStream) nothing is remembered."""
        ...

    async def noted_state(self) -> int:
        """The largest number that was noted; 0 where none was."""
        ...

    async def fenced(self) -> NoReturn:
        """Raises Fenced as soon as somebody else has fenced us; waits for it until then. Nothing
        that was handed to this driver takes effect after that."""
        ...

    async def stats(self) -> Stats:
        """What the broker does now."""
        ...
