"""How the streams of the reliable class are configured, and how their messages read.

| stream | holds | limit |
|---|---|---|
| `WEIR_IN_F` | what publishers were told is safe, until forwarded | refuses what is too much |
| `WEIR_TO_B` | what waits for neighbour B, until B has forwarded it | refuses what is too much |
| `WEIR_MSG_F` | what consumers read | forgets what is older than `KEEP_S` |
| `WEIR_INTEREST` | the last word of each neighbour | one message per neighbour |

A refusal is backpressure: a full outbox stops the pump, a full ingress stream the publisher.
Publishers' own `Nats-Msg-Id` is honoured at the ingress (their retries are stored once) and travels
on as `Weir-Id`: further on positions do its work, without a window and without memory.
"""

from __future__ import annotations

import json
from typing import Any

from agent.drivers.base import Batch, Interest, Message, Source
from agent.drivers.nats import jetstream, names
from agent.drivers.nats.stream_reader import Read, Stored
from agent.drivers.nats.stream_writer import POSITION

PUBLISHER_ID = b"Nats-Msg-Id"
WEIR_ID = b"Weir-Id"
INGRESS_MESSAGES = 100_000
OUTBOX_MESSAGES = 200_000
KEEP_S = 3_600
_DEDUPLICATE_S = 120


def ingress_config(flow: str) -> dict[str, Any]:
    """The stream before a flow's gate."""
    return {
        "name": names.ingress_stream(flow),
        "subjects": [names.ingress_subject(flow)],
        "max_msgs": INGRESS_MESSAGES,
        "discard": "new",
        "duplicate_window": _DEDUPLICATE_S * jetstream.NANOSECONDS,
    }


def outbox_config(neighbour: str) -> dict[str, Any]:
    """The stream of everything reliable for a neighbour."""
    return {
        "name": names.outbox_stream(neighbour),
        "subjects": [f"{names.OUT}.{names.token(neighbour)}.*.*"],
        "max_msgs": OUTBOX_MESSAGES,
        "discard": "new",
        "allow_atomic": True,
        "duplicate_window": jetstream.NANOSECONDS,
    }


def delivery_config(flow: str) -> dict[str, Any]:
    """The stream that a flow's consumers read."""
    return {
        "name": names.delivery_stream(flow),
        "subjects": [f"{names.delivery_subject(flow)}.*"],
        "max_age": KEEP_S * jetstream.NANOSECONDS,
        "allow_atomic": True,
        "duplicate_window": jetstream.NANOSECONDS,
    }


def interest_config() -> dict[str, Any]:
    """The stream of what neighbours want of us."""
    return {
        "name": names.INTEREST_STREAM,
        "subjects": [f"{names.INTEREST}.*"],
        "max_msgs_per_subject": 1,
        "duplicate_window": jetstream.NANOSECONDS,
    }


def origin(broker: str, created: str) -> str:
    """The origin of messages that came in at `broker` in one life of its ingress stream."""
    moment = "".join(c for c in created if c.isalnum())
    return f"{names.token(broker)}-{moment}"


def ingress_messages(flow: str, broker: str, read: Read, source: Source) -> Batch:
    """What was read before the gate, with the identity it will keep everywhere."""
    where = origin(broker, read.created)
    prefix = f"{names.token(flow)}:{where}:".encode()
    messages = []
    for sequence, _, header, payload in read.messages:
        own, rest = (b"", b"") if not header else _taken(header, PUBLISHER_ID)
        lines = b"%b: %d\r\n%b: %b\r\n%b" % (
            POSITION,
            sequence,
            WEIR_ID,
            own or prefix + b"%d" % sequence,
            rest,
        )
        messages.append(Message(flow, payload, where, sequence, lines))
    return Batch(source, messages)


def interest_of(stored: Stored) -> Interest:
    """What a neighbour wrote; `unreadable` says why when it is nothing that one can want."""
    word = stored.subject.decode(errors="replace").rsplit(".", 1)[1]
    neighbour = names.name_of(word)
    try:
        body = json.loads(stored.payload)
        flows, epoch = body["flows"], body["epoch"]
        if not isinstance(flows, list) or not all(isinstance(f, str) for f in (*flows, epoch)):
            raise TypeError("not names")
        return Interest(neighbour=neighbour, flows=frozenset(flows), epoch=epoch)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        return Interest(neighbour=neighbour, flows=frozenset(), unreadable=why)


class OutboxMessages:
    """Cuts what was read of an outbox into batches of one flow, or one mark."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[bytes, tuple[str, str]] = {}

    def batches(self, read: Read) -> list[Batch]:
        """In an order that keeps every flow's; the last one settles them all."""
        out: list[Batch] = []
        flows: dict[str, list[Message]] = {}
        name = b"\r\n" + POSITION
        for stored in read.messages:
            flow, where = self._known.get(stored.subject) or self._learn(stored.subject)
            if flow == names.MARK:
                out += self._cut(flows)
                flows = {}
                out.append(Batch(self._source, [Message("", stored.payload, mark=True)]))
                continue
            header = stored.header
            # Before it stands what the last append needed.
            start = header.index(name) + 2
            end = header.index(b"\r\n", start)
            position = int(header[start + len(POSITION) + 1 : end])
            message = Message(flow, stored.payload, where, position, header[start:-2])
            if flow in flows:
                flows[flow].append(message)
            else:
                flows[flow] = [message]
        out += self._cut(flows)
        out[-1].token = read.messages[-1].sequence
        return out

    def _cut(self, flows: dict[str, list[Message]]) -> list[Batch]:
        return [Batch(self._source, messages) for messages in flows.values()]

    def _learn(self, subject: bytes) -> tuple[str, str]:
        words = subject.decode().split(".")
        flow, where = words[3], words[4]
        known = (names.MARK if flow == names.MARK else names.name_of(flow), where)
        self._known[subject] = known
        return known


def _taken(header: bytes, name: bytes) -> tuple[bytes, bytes]:
    """A header's value, and the lines of all other headers that may travel on."""
    value, lines = b"", []
    for line in header.split(b"\r\n")[1:]:
        key, _, text = line.partition(b":")
        if key == name:
            value = text.strip()
        elif line and not key.startswith(b"Nats-Expected"):
            lines.append(line + b"\r\n")
    return value, b"".join(lines)
