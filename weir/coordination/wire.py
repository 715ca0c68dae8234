"""Define the agent protocol: what the control plane wants of a broker and what an agent reports.

A `Document` is level-triggered: it says everything that shall be true at one broker, not what
changed. An agent that missed ten documents loses nothing by reading the eleventh. `Order`s are
its only part with a sequence: the one running attempt of each action that concerns the broker.
Plain forms (`to_dict`, `document_from_dict`, `report_from_dict`) are JSON, read by the types below;
unknown keys are ignored by agents, so that an older agent survives a newer control plane.

Names: a broker writes them into subjects and names of streams, quoted, because a name may hold any
character and a token may not. NATS takes 255 bytes in the name of a stream (`JSMaxNameLen` of
nats-server), of which Weir needs a few for what the stream holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import msgspec

from weir.errors import InvalidProblem

FORMAT = 1
KEEP_S = 3600
"""For how long a broker keeps delivered reliable messages where nobody says otherwise."""

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0)]


class Delivery(StrEnum):
    """Name what is promised about the delivery of each message."""

    BEST_EFFORT = "best_effort"
    RELIABLE = "reliable"


class Unmanaged(StrEnum):
    """What happens to clients that belong to no class. None of them hears anything of Weir's."""

    REFUSE = "refuse"
    REPORT = "report"
    """Let in for subjects of their own, named and counted."""
    ALLOW = "allow"
    """The same, neither named nor counted."""

    @classmethod
    def of(cls, text: str) -> Unmanaged:
        """The value named so; a word of a newer control plane refuses."""
        return cls(text) if text in tuple(cls) else cls.REFUSE


class OrderPhase(StrEnum):
    """Name what a participant has to do now in an action's running attempt."""

    PREPARE = "prepare"
    COMMIT = "commit"
    ABORT = "abort"


class ReportPhase(StrEnum):
    """What a participant says about an attempt. Each is said at least once, counted once."""

    READY = "ready"
    """Prepared: drained, marked, able to switch; it waits for the outcome whatever happens."""
    REFUSED = "refused"
    """Cannot prepare; `detail` says why. It has undone what it began."""
    SWITCHED = "switched"
    """The commit has been carried out: new tables in force, forwarding again."""
    RELEASED = "released"
    """The abort has been carried out: old tables in force, forwarding again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Describe the token bucket of one flow at this ingress: at most b + r t messages in any t
    seconds."""

    rate_per_s: float
    burst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Describe this broker's part of the token bucket of a flow that enters at several brokers."""

    rate_per_s: float
    """0: nothing of the flow may enter here."""
    size: float
    """May be below one message: then each waits until it has collected a whole token."""
    count_only: bool = False
    """What the part would hold is counted, and passes."""

    @property
    def gate(self) -> Gate | None:
        """Return what the flow has to pass because of it; None: nothing."""
        if self.count_only:
            return None
        return Gate(rate_per_s=self.rate_per_s, burst=self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishers:
    """Say which publishers of a flow send to this broker, and where the others belong. Nobody else
    may publish the flow."""

    here: tuple[str, ...] = ()
    """Names of those that are let in here, sorted."""
    everyone: tuple[str, ...] = ()
    """Other brokers that let every publisher in: the lists of the flow have ended, and it does not
    enter here any more."""
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Broker -> names of those that it lets in, sorted. Who is in neither has to wait."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Broker of `everyone` or `elsewhere` -> where it is reached; absent where that is not known.
    """
    next: tuple[str, ...] = ()
    """The other brokers at which publishers of the flow may be let in, sorted. Whoever was let in
    here has left once all that it published here has passed each of them: then it may go on there.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSpec:
    """Describe a flow that may pass this broker."""

    delivery: Delivery = Delivery.BEST_EFFORT
    ingress: bool = False
    """Publishers send it here, through the gate."""
    max_message_bytes: Count = 0
    """What the smallest broker on its way takes in one message; 0: as much as its ingress does. The
    ingress refuses reliable messages that would not fit, with room for what Weir adds."""
    keep_s: Annotated[int, msgspec.Meta(ge=1)] = KEEP_S
    """Reliable: for how many seconds a broker keeps what it has delivered. A consumer that is away
    for longer misses messages, and what is read again after longer may be delivered twice."""


class HandOverPhase(StrEnum):
    """Name where one hand-over of a flow from stream to stream is."""

    PREPARING = "preparing"
    """Messages are on the former stream, and subscribers are asked to listen to the new one."""
    DRAINING = "draining"
    """Messages are on the new stream, and subscribers may still read the former one."""
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlace:
    """Name a stream, in its group, by their numbers in the system."""

    group: Count
    stream: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Describe the last hand-over of one flow at a broker."""

    source: StreamPlace
    target: StreamPlace
    phase: HandOverPhase
    began_at: float
    """In Unix seconds of the agent's clock."""
    took_s: float | None = None
    """From Change until every subscriber had all of the former stream, or was given up; None until
    then."""
    unready: Count = 0
    """Subscribers that the switch did not wait for any longer: they may have missed messages."""
    next: StreamPlace | None = None
    """Where the flow goes once this hand-over is done; None: nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSpec:
    """A consumer class at this broker. `limit` None: everybody who asks is admitted."""

    flow: str
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Describe a broker at the other end of an overlay link."""

    address: str
    """Where its agent and ours reach it, such as `nats://127.0.0.1:4223`. Empty: nowhere for now,
    because its agent never came, was revoked or is still to come anew. The link is there all the
    same: it rests, and what is reliable waits."""
    key: str = ""
    """The public key by which we know its agent; empty: it may not come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One running attempt of an action, as its participant `role` sees it.

    kind `shift_link`: SHIFT(i, j, k) turns link i-j into i-k along j-k; roles `i`, `j`, `k`.
    kind `append_broker`: (broker i, to k); roles `i`, `k`. `detach_broker`: (broker i, from j);
    roles `i`, `j`. `remove_broker`: see `weir.coordination.removal`.
    `peers` maps each role to its broker, `addresses` each broker to its address, `keys` to its
    agent's public key.
    `interests` (phase commit only) maps each role to the flows wanted on that participant's own
    side, that is by itself and by its neighbours outside the action.
    """

    action: str
    attempt: int
    kind: str
    phase: OrderPhase
    role: str
    peers: Mapping[str, str]
    addresses: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    interests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Describe everything that must be true at one broker."""

    system: str
    broker: str
    version: str
    """SHA-256 of the rest but `number`: equal versions say equal things."""
    number: Count = 0
    """Only rises within a system, with every change of what documents say. An agent obeys none with
    a smaller number than the largest it has obeyed: the database behind it has gone back."""
    asked: Count = 0
    """The largest number by which one of this broker's settings was asked for. A document that asks
    again for what was in force before is so another one than the one before."""
    flows: Mapping[str, FlowSpec] = field(default_factory=dict)
    gates: Mapping[str, Gate] = field(default_factory=dict)
    buckets: Mapping[str, Bucket] = field(default_factory=dict)
    """Flow -> this broker's part of its bucket, instead of a gate."""
    publishers: Mapping[str, Publishers] = field(default_factory=dict)
    """Flow -> its publishers, where each has a broker of its own. Flows that are not named here
    take every publisher."""
    classes: Mapping[str, ClassSpec] = field(default_factory=dict)
    places: Mapping[str, StreamPlace] = field(default_factory=dict)
    """Flow -> the stream on which subscribers at this broker receive it, of flows of the map that
    have some here."""
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()
    unmanaged: str = Unmanaged.REFUSE.value
    """What to do with clients that name no class; a value of `Unmanaged`."""
    format: int = FORMAT

    @property
    def keys(self) -> dict[str, str]:
        """Broker -> public key of those whose agents may open links: neighbours, and whoever
        takes part in an order with us."""
        mine = {broker: key for order in self.orders for broker, key in order.keys.items()}
        mine |= {name: neighbour.key for name, neighbour in self.neighbours.items()}
        return {name: key for name, key in mine.items() if key and name != self.broker}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Report what a participant says about one attempt of one action."""

    action: str
    attempt: int
    phase: ReportPhase
    interest: tuple[str, ...] = ()
    """With `ready`: the flows wanted on this participant's own side."""
    pause_s: float | None = None
    """With `switched` and `released`: for how long this participant forwarded nothing."""
    detail: str = ""
    interests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """With `switched`: role -> flows, by which it has switched."""
    by_hand: str = ""
    """With `switched` and `released`: why a person decided so, when one did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What is really in force at the broker, by the agent's own look at its driver."""

    version: str = ""
    """The document that was reconciled last."""
    number: Count = 0
    """Of the document that was gone by last, as a whole or in part. It confirms what was asked for
    by this number or a smaller one."""
    gates: Mapping[str, Gate] = field(default_factory=dict)
    buckets: Mapping[str, Bucket] = field(default_factory=dict)
    """Flow -> this broker's part of its bucket, enforced or counted."""
    publishers: Mapping[str, str] = field(default_factory=dict)
    """Flow -> `publishers_digest` of those that are let in here. Nobody else has a connection that
    may publish it, and all that others had published here has passed the brokers they may go to."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Class -> limit enforced; a class without a limit is absent."""
    admitted: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    ingress: Mapping[str, Delivery] | None = None
    """Flow -> the promise with which it is read from publishers here. None: an older agent, which
    does not say."""
    served: Mapping[str, str] | None = None
    """Class -> the flow that its consumers receive here. None: an older agent."""
    flow_failures: Mapping[str, str] = field(default_factory=dict)
    """Flow -> why what the document asks for it is not in force here: it is not delivered, or its
    publishers are not let in."""
    class_failures: Mapping[str, str] = field(default_factory=dict)
    """Class -> why its consumers are not admitted as the document asks."""
    hand_overs: Mapping[str, HandOver] | None = None
    """Flow -> its last hand-over, of those that are under way or were done lately. A flow that is
    not here is where the document of `number` places it. None: an older agent, or a broker that
    sends on no streams."""
    links: tuple[str, ...] = ()
    """The neighbours in the forwarding tables, sorted."""
    problems: tuple[str, ...] = ()
    """What the agent could not do, in sentences a person can act on."""


def publishers_digest(names: Iterable[str]) -> str:
    """Return a short text that stands for a set of publishers in observations."""
    text = json.dumps(sorted(names), separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def to_dict(value: Any) -> dict[str, Any]:
    """Write any dataclass of this module as a plain dict."""
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain


def document_from_dict(plain: object) -> Document:
    """A document from its JSON form. Raises InvalidProblem naming the member."""
    return _read(plain, Document, "")


def report_from_dict(plain: object, path: str = "") -> Report:
    """A report from its JSON form. Raises InvalidProblem naming the member."""
    return _read(plain, Report, path)


def observed_from_dict(plain: object, path: str = "") -> Observed:
    """What an agent observed, from its JSON form. Raises InvalidProblem naming the member."""
    return _read(plain, Observed, path)


def _read(plain: object, cls: type[T], path: str) -> T:
    try:
        return msgspec.convert(plain, cls)
    except msgspec.ValidationError as error:
        # It ends with the place: "Expected `int`, got `str` - at `$.flows[...].keep_s`".
        said, _, place = str(error).partition(" - at `$")
        member = f"{path}{place.removesuffix('`')}".removeprefix(".")
        raise InvalidProblem(member or cls.__name__.lower(), said) from error


STREAM_NAME_BYTES = 255
"""The longest name of a stream that NATS takes."""

INGRESS_STREAM = "WEIR_IN_"
DELIVERY_STREAM = "WEIR_MSG_"
OUTBOX_STREAM = "WEIR_TO_"

RELIABLE_FLOW_BYTES = STREAM_NAME_BYTES - len(DELIVERY_STREAM)
"""The longest token of a reliable flow, whose ingress and deliveries are streams."""
BROKER_BYTES = STREAM_NAME_BYTES - len(OUTBOX_STREAM)
"""The longest token of a broker, for which its neighbours keep a stream."""


def reliable_flow_too_long(name: str) -> str:
    """Return why no stream can be named after a reliable flow, without the subject of the
    sentence; empty where one can."""
    return _too_long(name, RELIABLE_FLOW_BYTES)


def broker_too_long(name: str) -> str:
    """Return why no stream can be named after a broker, as above."""
    return _too_long(name, BROKER_BYTES)


def _too_long(name: str, most: int) -> str:
    size = len(token(name))
    if size <= most:
        return ""
    return (
        f"takes {size} bytes in the names of streams, of which brokers take {most} at most "
        "(characters other than ASCII letters, digits, _ and - take three bytes or more)"
    )


def token(name: str) -> str:
    """Return a name as one token of a subject, or part of a stream's name: ASCII letters, digits, _
    and - as they are, every other byte of it in UTF-8 as three characters."""
    return quote(name, safe="").replace(".", "%2E").replace("~", "%7E")
