"""Send mapped flows on streams at our own NATS server, and hear what their subscribers say.

`weir_client.subjects` lists the subjects. A subscriber may write anything there, and name any
subject for an answer. The agent publishes with rights of its own, so it answers to subscribers'
inboxes alone, where nothing but answers is heard.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from agent.drivers.base import DriverError, Message, Retryable
from agent.drivers.nats import wire
from agent.drivers.nats.session import Session
from agent.drivers.nats.stats import TOO_LARGE, Losses
from agent.mapped_flows import MappedFlows, Places
from agent.tasks import end
from weir.coordination.wire import HandOver, StreamPlace
from weir_client import subjects
from weir_client.frames import Place, frame_to_bytes, reply_from_bytes
from weir_client.sending import Sent

log = logging.getLogger(__name__)

MOST_BYTES = 400_000
"""The size of one message that says where flows are; servers take more than twice as much."""
ASK_AGAIN_S = 1.0
"""The least pause between two requests to all subscribers to repeat what they want."""
_INBOX = f"{subjects.INBOX}.".encode()
_PLACED = subjects.PLACED.encode()


class MappedStreams:
    """The streams at one server. Call `start` once its session is open."""

    def __init__(self, session: Session, broker: str, losses: Losses) -> None:
        """Take the session at our own server, `broker`, our name in documents, and the `losses`
        that count messages too large for a frame."""
        self._session = session
        self._losses = losses
        self._subjects: dict[str, tuple[Place, bytes]] = {}
        """Flow -> the stream that it was sent on last, and its subject there."""
        self._to_ask = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_mapped = False
        self._strangers: frozenset[str] = frozenset()
        """Receivers that had no connection at the last `compare_receivers`."""
        self.kept_places: Callable[[Collection[str]], Places] = lambda _: {}
        """Returns where those of the flows are that are kept on streams; see `kept_streams`."""
        self._flows = MappedFlows(
            broker,
            transmit=self._transmit,
            announce=self._announce,
            ask_again=self._to_ask.set,
        )

    def start(self) -> None:
        """Begin to hear subscribers and to go on with hand-overs; idempotent."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._flows.run(), name="hand-overs"),
                asyncio.create_task(self._listen(), name="subscribers of streams"),
                asyncio.create_task(self._ask(), name="questions to subscribers"),
            ]

    async def close(self) -> None:
        """Stop; hand-overs that are under way end by time at the receivers."""
        tasks, self._tasks = self._tasks, []
        await end(*tasks)

    # --- what drivers use

    def map_to(self, places: Mapping[str, StreamPlace]) -> None:
        """Send these flows, and no others, on these streams from now on."""
        self._is_mapped = True
        self._flows.map_to(places)
        if len(self._subjects) > 2 * len(places):
            self._subjects = {f: each for f, each in self._subjects.items() if f in places}

    def send(self, flow: str, messages: Sequence[Message]) -> None:
        """Send messages of a flow; nothing where the flow is not mapped."""
        for message in messages:
            self._flows.send(flow, message.payload, message.headers)

    def remove_receiver(self, receiver: str) -> None:
        """Wait no more for a receiver whose connection has ended."""
        self._flows.remove_receiver(receiver)

    def compare_receivers(self, connected: Collection[str]) -> None:
        """Forget who wants something and has no connection, now and at the last call: what it wants
        may arrive before the news of its connection, and after those of its end."""
        strangers = frozenset(self._flows.receivers) - frozenset(connected)
        for receiver in strangers & self._strangers:
            self._flows.remove_receiver(receiver)
        self._strangers = strangers

    def observed(self) -> dict[str, HandOver] | None:
        """Return the last hand-over of flows that are on their way or were lately; None before the
        first `map_to`."""
        return self._flows.observed() if self._is_mapped else None

    # --- to subscribers

    def _transmit(self, sent: Sequence[Sent], header: bytes) -> None:
        connection = self._session.current
        if connection is None:
            return  # whoever hands messages over counts them, and receivers see the gap
        most = int(connection.info.get("max_payload", 1 << 20))
        publications = []
        for place, frame in sent:
            data = frame_to_bytes(frame)
            if len(data) + len(header) > most:
                if len(frame.payload) + len(header) <= most:
                    self._losses.add(frame.flow, TOO_LARGE)
                continue
            publications.append(
                wire.publication(self._subject(place, frame.flow), data, header=header)
            )
        with contextlib.suppress(Retryable):
            connection.write(b"".join(publications))

    def _subject(self, place: Place, flow: str) -> bytes:
        last = self._subjects.get(flow)
        if last is None or last[0] != place:
            last = place, subjects.frame_subject(place, flow).encode()
            self._subjects[flow] = last
        return last[1]

    def _announce(self, places: Places) -> None:
        self._publish(*(wire.publication(_PLACED, piece) for piece in _in_pieces(places)))

    def _publish(self, *publications: bytes) -> None:
        connection = self._session.current
        if connection is not None and publications:
            with contextlib.suppress(Retryable):
                connection.write(b"".join(publications))

    async def _ask(self) -> None:
        """Have subscribers repeat what they want when that is in doubt, not too often."""
        while True:
            await self._to_ask.wait()
            self._to_ask.clear()
            self._publish(wire.publication(subjects.WHO.encode(), b""))
            await asyncio.sleep(ASK_AGAIN_S)

    # --- from subscribers

    async def _listen(self) -> None:
        """Hear subscribers through every loss of the connection, or until the session has ended
        for good."""
        while True:
            try:
                connection = await self._session.connection()
            except DriverError:
                return
            handlers = {
                f"{subjects.HEARD}.*": self._on_replies,
                subjects.WANT: self._on_wants,
                subjects.PLACE: self._on_questions,
            }
            sids: list[int] = []
            try:
                sids += [connection.subscribe(subject, on) for subject, on in handlers.items()]
                self._announce(self._flows.places(self._flows.flows))
                self._flows.learn()
                await connection.lost.wait()
            except Retryable:
                pass
            finally:
                for sid in sids:
                    with contextlib.suppress(Retryable):
                        connection.unsubscribe(sid)
            await asyncio.sleep(0.01)

    def _on_replies(self, frames: list[wire.Frame]) -> None:
        for _, _, _, payload in frames:
            try:
                self._flows.take(reply_from_bytes(payload))
            except ValueError as error:
                log.debug("a subscriber's reply was not read: %s", error)

    def _on_wants(self, frames: list[wire.Frame]) -> None:
        for _, _, _, payload in frames:
            match _json(payload):
                case {"receiver": str(receiver), "flows": list(flows), **rest}:
                    wanted = [flow for flow in flows if isinstance(flow, str)]
                    self._flows.take_wants(receiver, wanted, more=rest.get("more") is True)

    def _on_questions(self, frames: list[wire.Frame]) -> None:
        for _, reply, _, payload in frames:
            flows = _json(payload)
            if not reply.startswith(_INBOX) or not isinstance(flows, list):
                continue
            names = [flow for flow in flows if isinstance(flow, str)]
            places = {**self._flows.places(names), **self.kept_places(names)}
            # One answer: what has no room in it, and what is on no stream, is asked for again.
            pieces = _in_pieces({flow: where for flow, where in places.items() if where})
            self._publish(wire.publication(reply, next(pieces, b"{}")))


def _in_pieces(places: Places) -> Iterator[bytes]:
    """Return JSON objects that together say where flows are, each small enough for any server."""
    piece: dict[str, tuple[Place, ...]] = {}
    size = 0
    for flow, where in places.items():
        # At most six bytes for each character, and for each stream two numbers.
        cost = 6 * len(flow) + 24 * len(where) + 8
        if piece and size + cost > MOST_BYTES:
            yield json.dumps(piece).encode()
            piece, size = {}, 0
        piece[flow] = where
        size += cost
    if piece:
        yield json.dumps(piece).encode()


def _json(payload: bytes) -> object:
    """Return what a payload says; None for what cannot be read."""
    try:
        value: object = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return value
