"""Convert whole chunks of the NATS client protocol: bytes to frames and back, without input or
output.

nats-py parses with one regular expression and one coroutine per message; the agent forwards many
small messages, so it cuts a chunk of the socket into frames with two searches per message and
hands them over by subscription in one piece (measured: benchmarks/forwarding.py).
Protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Frame: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""subject, reply subject, header block (empty without headers), payload"""

CRLF = b"\r\n"
HEADER_START = b"NATS/1.0"
_M = ord("M")
_MESSAGE = b"MH"
_LONGEST_LINE = 1 << 20  # an INFO line lists a cluster's addresses; nothing honest is longer


class ProtocolViolation(ValueError):
    """Signal that the other side does not speak NATS, or that the stream was misread."""


class Parser:
    """Cut a byte stream into frames, wherever its chunks end."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> tuple[dict[int, list[Frame]], list[bytes]]:
        """Return the frames of a chunk by subscription id, in order, and the control lines among
        them.

        Raises ProtocolViolation; the connection is then of no further use.
        """
        if self._rest:
            data = self._rest + data
        frames: dict[int, list[Frame]] = {}
        lines: list[bytes] = []
        position, end = 0, len(data)
        find = data.find
        while position < end:
            eol = find(CRLF, position)
            if eol < 0:
                if end - position > _LONGEST_LINE:
                    raise ProtocolViolation("a line without end")
                break
            first = data[position]
            if first in _MESSAGE:
                words = data[position:eol].split()
                try:
                    size = int(words[-1])
                    sid = int(words[2])
                    start = eol + 2
                    stop = start + size
                    if size < 0:
                        raise ValueError
                    if stop + 2 > end:
                        break
                    if first == _M:
                        frame = (
                            words[1],
                            words[3] if len(words) == 5 else b"",
                            b"",
                            data[start:stop],
                        )
                    else:
                        body = start + int(words[-2])
                        if not start <= body <= stop:
                            raise ValueError
                        frame = (
                            words[1],
                            words[3] if len(words) == 6 else b"",
                            data[start:body],
                            data[body:stop],
                        )
                except (ValueError, IndexError) as error:
                    raise ProtocolViolation(repr(data[position:eol][:80])) from error
                position = stop + 2
                if sid in frames:
                    frames[sid].append(frame)
                else:
                    frames[sid] = [frame]
            else:
                lines.append(data[position:eol])
                position = eol + 2
        self._rest = data[position:] if position else data
        return frames, lines


def publication(
    subject: bytes, payload: bytes, *, reply: bytes = b"", header: bytes = b""
) -> bytes:
    """Return one PUB or HPUB as it goes to the server."""
    middle = subject + b" " + reply + b" " if reply else subject + b" "
    if not header:
        return b"PUB %b%d\r\n%b\r\n" % (middle, len(payload), payload)
    return b"HPUB %b%d %d\r\n%b%b\r\n" % (
        middle,
        len(header),
        len(header) + len(payload),
        header,
        payload,
    )


def header_block(fields: dict[bytes, bytes]) -> bytes:
    """Return the headers as they stand before a payload."""
    lines = b"".join(b"%b: %b\r\n" % pair for pair in fields.items())
    return HEADER_START + CRLF + lines + CRLF


def header_value(header: bytes, name: bytes) -> bytes:
    """Return the first value of a header, empty when it is absent. Names are case-sensitive as in
    NATS."""
    start = header.find(CRLF + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    return header[start : header.find(CRLF, start)].strip()


def without_orders(header: bytes) -> bytes:
    """Return a publisher's header block without the lines that tell a server what to do. A server
    obeys them with the rights of whoever sends them, so an agent must not pass them on."""
    if b"nats-" not in header.lower():
        return header
    first, *lines = header.split(CRLF)
    kept = [line for line in lines if line and line[:5].lower() != b"nats-"]
    if not kept and first == HEADER_START:
        return b""
    return CRLF.join((first, *kept, b"", b""))


def status(header: bytes) -> int:
    """Return the number of a status message such as `NATS/1.0 404 No Messages`; 0 for an ordinary
    one."""
    word = header[8:12].strip()
    return int(word) if word.isdigit() else 0


def server_info(line: bytes) -> dict[str, Any]:
    """Return what an INFO line says. Raises ProtocolViolation for any other line."""
    if not line.startswith(b"INFO"):
        raise ProtocolViolation(f"a NATS server begins with INFO, not {line[:40]!r}")
    info = json.loads(line[4:])
    if not isinstance(info, dict):
        raise ProtocolViolation("INFO is not an object")
    return info
