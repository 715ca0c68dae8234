"""Subjects and streams: every name the agent uses at a NATS broker, in one place.

| place | subject | reliable: subject | stream |
|---|---|---|---|
| ingress of flow F | `weir.in.F` | the same | `WEIR_IN_F` |
| marks of the agent in it | `weir.in.F.!` | the same | `WEIR_IN_F` |
| delivery of flow F | `weir.msg.F` | `weir.msg.F.O` | `WEIR_MSG_F` |
| outbox for broker B | `weir.to.B.F` | `weir.to.B.F.O` | `WEIR_TO_B` |
| marks for broker B | `weir.to.B.!` | `weir.to.B.!.!` | `WEIR_TO_B` |
| questions of neighbour N to the agent | `weir.ask.N`, answered to the reply subject | | |
| question of a publisher of flow F | `weir.where.F`, answered to the reply subject | | |
| notice to publishers of flow F that their place has changed | `weir.moved.F` | | |
| what consumers of class C counted of delays | `weir.delays.C` | | |
| interest of broker A | | `weir.interest.A` | `WEIR_INTEREST`, one message per subject |
| request of a class for a consumer of stream S | `weir.consumer.create.S.…`, `….durable.S.C` | | |
| who acts for the broker | | `weir.fence` | `WEIR_FENCE`, one message |
| nothing: of flow F, which comes in here no more | | `weir.closed.F` | `WEIR_IN_F` |
| on which streams flow F was | | `weir.courses.F` | `WEIR_COURSES`, one message per subject |
| what could not be carried, of flow F | | `weir.dead.F` | `WEIR_DEAD` |

Answers come to inboxes: an agent's at its own broker to `_WEIR.agent`, a neighbour's agent's to
`_WEIR.link.A`, those of consumers of class C to `_INBOX_C`, publishers' to `_INBOX`. What
subscribers of streams use is listed in `weir_client.subjects`.

Names may hold any character, tokens not. Reliable messages have one token more, so that the last
message of an origin O can be asked for: the ingress broker and the life of its ingress stream.
"""

from __future__ import annotations

from urllib.parse import unquote

from weir.coordination.wire import DELIVERY_STREAM, INGRESS_STREAM, OUTBOX_STREAM, token
from weir_client.subjects import DELAYS as DELAYS
from weir_client.subjects import IN as IN
from weir_client.subjects import MOVED as MOVED
from weir_client.subjects import WHERE as WHERE
from weir_client.subjects import delays_subject as delays_subject
from weir_client.subjects import ingress_subject as ingress_subject
from weir_client.subjects import moved_subject as moved_subject
from weir_client.subjects import where_subject as where_subject

CLOSED = "weir.closed"
CONSUMER = "weir.consumer"
OUT = "weir.to"
DELIVERY = "weir.msg"
INTEREST = "weir.interest"
INQUIRIES = "weir.ask"
FENCE = "weir.fence"
DEAD = "weir.dead"
COURSES = "weir.courses"

INTEREST_STREAM = "WEIR_INTEREST"
FENCE_STREAM = "WEIR_FENCE"
DEAD_STREAM = "WEIR_DEAD"
COURSES_STREAM = "WEIR_COURSES"

AGENT_INBOX = "_WEIR.agent"
ACROSS_ACCOUNTS = b"_R_."
"""How reply subjects begin that the server makes for requests from the clients' account; it lets
nobody else use such."""

MARK = "!"
"""The token that marks have in place of a flow; no name is quoted to it."""
_MARK_END = f".{MARK}".encode()
STORED_MARK = f".{MARK}.{MARK}"
"""The end of the subject of a mark in the stream of an outbox."""


def name_of(quoted: str) -> str:
    """Return the name whose `token` this is."""
    return unquote(quoted)


def ingress_mark_subject(flow: str) -> str:
    """Return where the agent appends marks to an ingress; no publisher may publish there."""
    return f"{IN}.{token(flow)}.{MARK}"


def is_ingress_mark(subject: bytes) -> bool:
    """Return whether a subject of an ingress is that of its marks."""
    return subject.endswith(_MARK_END)


def closed_subject(flow: str) -> str:
    """Return the subject of an ingress whose publishers are refused; nobody publishes there."""
    return f"{CLOSED}.{token(flow)}"


def delivery_subject(flow: str) -> str:
    """Return where consumers of a flow listen."""
    return f"{DELIVERY}.{token(flow)}"


def outbox_subject(neighbour: str, flow: str) -> str:
    """Return where a neighbour's agent finds what is for it."""
    return f"{OUT}.{token(neighbour)}.{token(flow)}"


def stored_mark_subject(neighbour: str) -> str:
    """Return the subject of marks in the stream that a neighbour's agent reads."""
    return f"{OUT}.{token(neighbour)}{STORED_MARK}"


def interest_subject(broker: str) -> str:
    """Return where a neighbour's broker stores a broker's interest."""
    return f"{INTEREST}.{token(broker)}"


def inquiry_subject(asker: str) -> str:
    """Return where a neighbour's agent (its token, or `*`) asks ours; nobody else may publish
    there."""
    return f"{INQUIRIES}.{asker}"


def dead_subject(flow: str) -> str:
    """Return where messages of a flow are set aside that cannot be carried."""
    return f"{DEAD}.{token(flow) or MARK}"


def course_subject(flow: str) -> str:
    """Return where it is recorded on which streams a reliable flow was and is."""
    return f"{COURSES}.{token(flow)}"


def ingress_stream(flow: str) -> str:
    """Return the stream that holds a reliable flow before the gate."""
    return f"{INGRESS_STREAM}{token(flow)}"


def delivery_stream(flow: str) -> str:
    """Return the stream that consumers of a reliable flow read."""
    return f"{DELIVERY_STREAM}{token(flow)}"


def outbox_stream(neighbour: str) -> str:
    """Return the stream of all reliable messages for one neighbour, in one order."""
    return f"{OUTBOX_STREAM}{token(neighbour)}"


def link_inbox(reader: str) -> str:
    """Return the prefix of a neighbour's inboxes at the broker whose outbox it reads."""
    return f"_WEIR.link.{token(reader)}"


def class_inbox(name: str) -> str:
    """Return the prefix of the inboxes of a class' consumers; clients set it as their inbox
    prefix."""
    return f"_INBOX_{token(name)}"
