"""Keep reliable messages that cannot be carried further where a person finds them.

The ingress refuses what would not fit on the way, so this is for what was stored before: under a
larger limit, by a publisher whose headers leave no room for Weir's, or by somebody who writes into
an outbox. Such a message must not stop its flow, and it was acknowledged, so it is not thrown away:
it goes whole, in pieces the broker takes, into `WEIR_DEAD`, subject `weir.dead.F`, with where it
came from in its headers. It counts as lost, as no consumer gets it.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from agent.drivers.base import Retryable
from agent.drivers.nats import jetstream, names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.stats import Losses

log = logging.getLogger("weir.agent")

KEPT = 10_000
"""The number of pieces to keep; the oldest go first."""
PIECE_HEADERS = 4_096
"""The room for the headers that describe a piece."""


def dead_config() -> dict[str, Any]:
    """Return the configuration of the stream of messages that were set aside."""
    return {
        "name": names.DEAD_STREAM,
        "subjects": [f"{names.DEAD}.*"],
        "max_msgs": KEPT,
        "discard": "old",
        "duplicate_window": 120 * jetstream.NANOSECONDS,
    }


class SetAside:
    """Write the stream `WEIR_DEAD` at our own broker."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses

    async def put(
        self,
        connection: Connection,
        *,
        flow: str,
        where: str,
        position: int,
        header: bytes,
        payload: bytes,
        reason: str,
        why: str,
    ) -> None:
        """Store a message; returns when the broker keeps it. `where` and `position` are its
        identity, by which it is kept once however often it is read. Raises Retryable."""
        await jetstream.ensure_stream(connection, dead_config())
        whole = header + payload
        room = max(1, int(connection.info.get("max_payload", 1 << 20)) - PIECE_HEADERS)
        pieces = [whole[start : start + room] for start in range(0, len(whole), room)] or [b""]
        shown_reason = _line(f"{why}; {len(whole)} bytes")
        identity = _line(f"{flow}:{where}:{position}")
        stored_twice = True
        for number, piece in enumerate(pieces, 1):
            fields = {
                b"Nats-Msg-Id": b"%b:%d" % (identity, number),
                b"Weir-Origin": _line(where),
                b"Weir-Position": b"%d" % position,
                b"Weir-Reason": shown_reason,
                b"Weir-Piece": b"%d/%d" % (number, len(pieces)),
                b"Weir-Header-Bytes": b"%d" % len(header),
            }
            frame = await connection.request(
                names.dead_subject(flow), piece, header=wire.header_block(fields)
            )
            answer = json.loads(frame[3])
            if "error" in answer:
                raise Retryable(f"{names.DEAD_STREAM}: {answer['error'].get('description')}")
            stored_twice = stored_twice and bool(answer.get("duplicate"))
        if stored_twice:
            return
        sentence = (
            f"flow {flow or '(unknown)'}: message {position} of {where} cannot be carried ({why}, "
            f"{len(whole)} bytes); it was not delivered and is kept in the stream "
            f"{names.DEAD_STREAM}"
        )
        log.error("%s", sentence)
        self._losses.add(flow, reason, sentence=sentence)


def _line(text: str) -> bytes:
    """Return the text as a header's value: one line, not longer than its part of the room."""
    return text.encode(errors="replace").replace(b"\r", b" ").replace(b"\n", b" ")[:800]
