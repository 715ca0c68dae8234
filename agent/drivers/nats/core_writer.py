"""Write best-effort messages to our own broker, and count those that cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.drivers.base import Channel, Message, Place, Retryable
from agent.drivers.nats import names, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.losses import LINK_AWAY, NOT_CONNECTED, TOO_LARGE, Losses
from agent.drivers.nats.session import Session
from weir.coordination.names import token


class CoreWriter:
    """Write best-effort messages, checking their size: a message too large for the server would end
    the connection."""

    def __init__(
        self, session: Session, losses: Losses, misses: Callable[[str], bool] = lambda _: False
    ) -> None:
        """Take `misses`, which returns whether a neighbour is known not to listen at our broker."""
        self._misses = misses
        self._session = session
        self._losses = losses

    async def publish(self, channel: Channel, messages: Sequence[Message]) -> None:
        """Write messages of one flow, or one mark. Messages that a broken connection swallows are
        counted."""
        flow = messages[0].flow
        connection = self._session.current
        if connection is None:
            self._losses.add(flow, NOT_CONNECTED, len(messages))
            return
        subject = _subject(channel, messages[0])
        data = _publications(subject, messages)
        most = int(connection.info.get("max_payload", 1 << 20))
        if len(data) > most:
            # One of them may be too large; only now is it worth checking each.
            messages = self._fitting(flow, messages, most, connection)
            data = _publications(subject, messages)
        if not data:
            return
        try:
            connection.write(data)
            await connection.writable()
        except Retryable:
            self._losses.add(flow, NOT_CONNECTED, len(messages))
            return
        if channel.neighbour and flow and self._misses(channel.neighbour):
            # Write it all the same: the neighbour may be reconnecting at this moment.
            self._losses.add(flow, LINK_AWAY, len(messages))

    def _fitting(
        self, flow: str, messages: Sequence[Message], most: int, connection: Connection
    ) -> list[Message]:
        fitting = [m for m in messages if len(m.headers) + len(m.payload) <= most]
        count = len(messages) - len(fitting)
        if count:
            server = connection.info.get("server_name", "this broker")
            limit = f"flow {flow}: {server} takes no more than {most} bytes in one message"
            self._losses.add(flow, TOO_LARGE, count, f"{limit}; larger ones are lost and counted")
        return fitting


def _subject(channel: Channel, first: Message) -> bytes:
    if channel.place is Place.DELIVERY:
        return names.delivery_subject(first.flow).encode()
    if first.mark:
        return f"{names.OUT}.{token(channel.neighbour)}.{names.MARK}".encode()
    return names.outbox_subject(channel.neighbour, first.flow).encode()


def _publications(subject: bytes, messages: Sequence[Message]) -> bytes:
    start = b"PUB " + subject
    return b"".join(
        [
            b"%b %d\r\n%b\r\n" % (start, len(payload), payload)
            if not header
            else wire.publication(subject, payload, header=header)
            for _, payload, _, _, header, _ in messages
        ]
    )
