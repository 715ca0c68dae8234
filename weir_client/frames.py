"""What travels on a stream: messages of flows, four signals of a hand-over, and replies to them.

| kind | on | says |
|---|---|---|
| `DATA` | the flow's stream | a message, with its number |
| `CHANGE` | the old stream, repeated | the flow is about to go to `place`: listen there |
| `BEACON` | the new stream, repeated | the flow is about to come here |
| `LAST` | the old stream, repeated | nothing after this number comes here |
| `FIRST` | the new stream, repeated | from this number on messages come here |

Numbers count the messages of one flow by one sender in one life of it, from 1, whatever stream they
are on. `move` counts the hand-overs in that life, from 0.

Source: Y. Tock et al., Adaptive Hierarchical Clustering of Message Flows in a Multicast Data
Dissemination System, "Migration Protocol" (Change, Beacon, Last, First).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class Place(NamedTuple):
    """A stream, in its group."""

    group: int
    stream: int


class Kind(IntEnum):
    """What a frame is."""

    DATA = 0
    CHANGE = 1
    BEACON = 2
    LAST = 3
    FIRST = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """A message of a flow, or a signal about it."""

    kind: Kind
    flow: str
    sender: str
    life: int
    """When the sender began, in nanoseconds of Unix time: a later life is the larger number."""
    move: int
    """The hand-over that this is about; of `DATA` the last one that was done."""
    number: int
    """`DATA`: this message; `CHANGE`: the last one until now; `LAST`: the last one on the old
    stream; `FIRST`: the first one on the new stream; `BEACON`: 0."""
    place: Place
    """`DATA`: where it is; signals: where the flow goes."""
    payload: bytes = b""


class Answer(IntEnum):
    """What a receiver says of a hand-over."""

    READY = 0
    """It hears the new stream."""
    DONE = 1
    """It has all of the old stream, and needs it no more."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A receiver's word to one life of one sender."""

    answer: Answer
    flow: str
    sender: str
    life: int
    move: int
    receiver: str


VERSION = 1
_FRAME = struct.Struct("!BBHHQIQII")
_REPLY = struct.Struct("!BBHHHQI")


def frame_to_bytes(frame: Frame) -> bytes:
    """Write a frame as one packet. Raises ValueError where a name is longer than 65,535 bytes, and
    where a number does not fit."""
    flow, sender = frame.flow.encode(), frame.sender.encode()
    if max(len(flow), len(sender)) > 0xFFFF:
        raise ValueError("names of flows and senders have at most 65,535 bytes")
    head = _pack(
        _FRAME,
        *(VERSION, frame.kind, len(flow), len(sender)),
        *(frame.life, frame.move, frame.number, *frame.place),
    )
    return b"".join((head, flow, sender, frame.payload))


def frame_from_bytes(packet: bytes) -> Frame:
    """Read a packet. Raises ValueError for whatever is no frame of this version."""
    try:
        version, kind, of_flow, of_sender, life, move, number, group, stream = _FRAME.unpack_from(
            packet
        )
    except struct.error as error:
        raise ValueError("not a frame: too short") from error
    end = _FRAME.size + of_flow + of_sender
    if version != VERSION or len(packet) < end:
        raise ValueError(f"not a frame of version {VERSION}")
    return Frame(
        kind=Kind(kind),
        flow=packet[_FRAME.size : _FRAME.size + of_flow].decode(),
        sender=packet[_FRAME.size + of_flow : end].decode(),
        life=life,
        move=move,
        number=number,
        place=Place(group, stream),
        payload=packet[end:],
    )


def reply_to_bytes(reply: Reply) -> bytes:
    """Write a reply as one packet. Raises ValueError where a name is longer than 65,535 bytes, and
    where a number does not fit."""
    names = [name.encode() for name in (reply.flow, reply.sender, reply.receiver)]
    if max(map(len, names)) > 0xFFFF:
        raise ValueError("names of flows, senders and receivers have at most 65,535 bytes")
    head = _pack(_REPLY, VERSION, reply.answer, *map(len, names), reply.life, reply.move)
    return b"".join((head, *names))


def reply_from_bytes(packet: bytes) -> Reply:
    """Read a packet. Raises ValueError for whatever is no reply of this version."""
    try:
        version, answer, of_flow, of_sender, of_receiver, life, move = _REPLY.unpack_from(packet)
    except struct.error as error:
        raise ValueError("not a reply: too short") from error
    names = packet[_REPLY.size :]
    if version != VERSION or len(names) != of_flow + of_sender + of_receiver:
        raise ValueError(f"not a reply of version {VERSION}")
    return Reply(
        answer=Answer(answer),
        flow=names[:of_flow].decode(),
        sender=names[of_flow : of_flow + of_sender].decode(),
        life=life,
        move=move,
        receiver=names[of_flow + of_sender :].decode(),
    )


def _pack(layout: struct.Struct, *numbers: int) -> bytes:
    try:
        return layout.pack(*numbers)
    except struct.error as error:
        raise ValueError(f"a number does not fit: {error}") from error
