"""Where at a NATS broker publishers publish, mapped flows are, and receivers speak.

| subject | who publishes | what |
|---|---|---|
| `weir.in.F` | publishers | messages of flow F |
| `weir.where.F` | publishers | a request: where does a publisher of flow F belong? |
| `weir.moved.F` | the agent | the place of some publisher of flow F has changed |
| `weir.delays.C` | consumers of class C | what they counted of delays (`delays.py`) |
| `weir.on.G.S.F` | the sender | frames of flow F on stream S of group G; a group is `weir.on.G` |
| `weir.heard.F` | receivers | their replies to the flow's senders |
| `weir.want` | receivers | which flows they want, as JSON |
| `weir.who` | the agent | everybody say again what they want |
| `weir.place` | receivers | a request: where are these flows? |
| `weir.placed` | the agent | where flows are from now on, as JSON |
| `weir.carry` | receivers | a request: which groups are sent by multicast? |
| `weir.carried` | the agent | the same as the answer, when it changes (`weir_client.multicast`) |
| `weir.kept.G.S.F.O` | the agent | messages of flow F and origin O, kept in `WEIR_ON_G_S` |
| `weir.kept.G.S.F.!` | the agent | the flow's signals in that stream (`keeping.py`) |
| `weir.course` | readers | a request: on which kept streams were these reliable flows? |
| `weir.read.R` | reader R | requests about its consumers and its record (`keeping.py`) |
| `weir.reader.R` | the agent | what reader R reads and how far, kept in `WEIR_READERS` |

Frames of groups that are sent by multicast are not published while all receivers hear multicast.

Flows are url-quoted, dots too, as everywhere at a broker.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from weir_client.frames import Place

IN = "weir.in"
WHERE = "weir.where"
MOVED = "weir.moved"
DELAYS = "weir.delays"
ON = "weir.on"
HEARD = "weir.heard"
WANT = "weir.want"
WHO = "weir.who"
PLACE = "weir.place"
PLACED = "weir.placed"
CARRY = "weir.carry"
CARRIED = "weir.carried"
PUBLISHER_INBOX = "_INBOX"
"""The prefix of publishers' inboxes."""
KEPT = "weir.kept"
COURSE = "weir.course"
READ = "weir.read"
READER = "weir.reader"
READERS_STREAM = "WEIR_READERS"
SIGNAL = "!"
"""The token that a flow's signals have in place of an origin."""
LANES = "ab"
"""A reader has one of two consumers in a stream: the next one is there before the last one ends."""
INBOX = "_INBOX_weir_subscriber"
"""The prefix of the inboxes to which the agent answers subscribers."""
READER_INBOX = "_WEIR.reader"
"""The same of readers of kept streams, and of where those streams are sent: with one more token for
each reader, as nobody else may listen there."""


def token(name: str) -> str:
    """Return a name as one token of a subject."""
    return quote(name, safe="").replace(".", "%2E").replace("~", "%7E")


def name_of(quoted: str) -> str:
    """Return the name whose `token` this is."""
    return unquote(quoted)


def delays_subject(consumer_class: str) -> str:
    """Return where consumers of a class report delays to the agent."""
    return f"{DELAYS}.{token(consumer_class)}"


def ingress_subject(flow: str) -> str:
    """Return where publishers of a flow publish."""
    return f"{IN}.{token(flow)}"


def where_subject(flow: str) -> str:
    """Return where a publisher of a flow asks the agent at which broker it belongs."""
    return f"{WHERE}.{token(flow)}"


def moved_subject(flow: str) -> str:
    """Return where publishers of a flow hear that some of them have to leave the broker."""
    return f"{MOVED}.{token(flow)}"


def frame_subject(place: Place, flow: str) -> str:
    """Return where frames of a flow go on a stream."""
    return f"{ON}.{place.group}.{place.stream}.{token(flow)}"


def group_subject(group: int) -> str:
    """Return what whoever listens to a group subscribes to."""
    return f"{ON}.{group}.>"


def place_of(subject: str) -> Place:
    """Return the stream of a frame's subject. Raises ValueError for another subject."""
    tokens = subject.split(".")
    if len(tokens) != 5 or tokens[:2] != ON.split(".") or not all(map(_is_number, tokens[2:4])):
        raise ValueError(f"no subject of a stream: {subject!r}")
    return Place(int(tokens[2]), int(tokens[3]))


def flow_of(subject: str) -> str:
    """Return the flow whose frames or replies have this subject."""
    return name_of(subject.rpartition(".")[2])


def reply_subject(flow: str) -> str:
    """Return where receivers reply to senders of a flow."""
    return f"{HEARD}.{token(flow)}"


def kept_stream(place: Place) -> str:
    """Return the JetStream stream that keeps the reliable flows of a place."""
    return f"WEIR_ON_{place.group}_{place.stream}"


def kept_subject(place: Place) -> str:
    """Return how the subjects of all messages in a kept stream begin."""
    return f"{KEPT}.{place.group}.{place.stream}"


def consumer_of(reader: str, lane: str) -> str:
    """Return the name of a reader's consumer in each stream that it reads."""
    return f"reader-{token(reader)}-{lane}"


def read_subject(reader: str) -> str:
    """Return where a reader asks for its consumers and its record."""
    return f"{READ}.{token(reader)}"


def reader_subject(reader: str) -> str:
    """Return where it is kept what a reader reads and how far."""
    return f"{READER}.{token(reader)}"


def reader_inbox(reader: str) -> str:
    """Return the prefix of the inboxes that a reader alone may listen to."""
    return f"{READER_INBOX}.{token(reader)}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 2**32
