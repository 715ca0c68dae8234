"""Send mapped flows on streams at our own NATS server, and hear what their subscribers say.

`weir_client.subjects` lists the subjects. With multicast, frames of groups that have an address go
there, and to NATS only while a subscriber needs that; all else stays on NATS. A subscriber may
write anything there, and name any subject for an answer. The agent publishes with rights of its
own, so it answers to subscribers' inboxes alone, where nothing but answers is heard, and to
requests from the clients' account, whose answers stay there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from agent.drivers.base import DriverError, Message, Retryable
from agent.drivers.nats import names, wire
from agent.drivers.nats.multicast import MulticastOptions, MulticastSending
from agent.drivers.nats.session import Session
from agent.drivers.nats.stats import TOO_LARGE, Losses
from agent.mapped_flows import LEARN_S, MOST_RECEIVERS, MappedFlows, Places
from agent.tasks import Watched, end
from weir.coordination.wire import HandOver, StreamPlace
from weir_client import subjects
from weir_client.frames import Place, frame_to_bytes, reply_from_bytes
from weir_client.multicast import groups_to_json
from weir_client.sending import Sent

log = logging.getLogger(__name__)

MOST_BYTES = 400_000
"""The size of one message that says where flows are; servers take more than twice as much."""
ASK_AGAIN_S = 1.0
"""The least pause between two requests to all subscribers to repeat what they want."""
REPEAT_S = 60.0
"""How often those that hear no multicast are to repeat it where their connections are not known."""
MOST_SILENT_S = 3 * REPEAT_S
"""Whoever has not repeated it for so long is forgotten."""
_INBOXES = (f"{subjects.INBOX}.".encode(), names.ACROSS_ACCOUNTS)
_PLACED = subjects.PLACED.encode()
_CARRIED = subjects.CARRIED.encode()


class MappedStreams:
    """The streams at one server. Call `start` once its session is open."""

    def __init__(
        self,
        session: Session,
        broker: str,
        losses: Losses,
        tasks: Watched,
        multicast: MulticastOptions | None = None,
    ) -> None:
        """Take the session at our own server, `broker`, our name in documents, the `losses` that
        count messages which did not leave, and `tasks`, which watch ours."""
        self._session = session
        self._watched = tasks
        self._losses = losses
        self._subjects: dict[str, tuple[Place, bytes]] = {}
        """Flow -> the stream that it was sent on last, and its subject there."""
        self._to_ask = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_mapped = False
        self._multicast = (
            None
            if multicast is None
            else MulticastSending(multicast, losses, changed=self._announce_groups)
        )
        self._by_nats: dict[str, float] = {}
        """Receivers that hear no multicast -> when that was last heard of them."""
        self._knows_connections = False
        self._by_both_until = 0.0
        """Until when somebody may be there who has not said yet that it hears no multicast, or who
        does not know yet that there is multicast."""
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
                self._watched.start(self._flows.run(), "hand-overs"),
                self._watched.start(self._listen(), "subscribers of streams"),
                self._watched.start(self._ask(), "questions to subscribers"),
            ]
            if self._multicast is not None:
                self._multicast.open()
                self._tasks += [
                    self._watched.start(self._multicast.run(), "multicast"),
                    self._watched.start(self._forget_silent(), "subscribers without multicast"),
                ]

    async def close(self) -> None:
        """Stop; hand-overs that are under way end by time at the receivers."""
        tasks, self._tasks = self._tasks, []
        await end(*tasks)
        if self._multicast is not None:
            self._multicast.close()

    # --- what drivers use

    def map_to(self, places: Mapping[str, StreamPlace]) -> None:
        """Send these flows, and no others, on these streams from now on."""
        self._is_mapped = True
        if self._multicast is not None:
            self._multicast.note_groups(at.group for at in places.values())
        self._flows.map_to(places)
        if len(self._subjects) > 2 * len(places):
            self._subjects = {f: each for f, each in self._subjects.items() if f in places}

    def send(self, flow: str, messages: Sequence[Message]) -> None:
        """Send messages of a flow; nothing where the flow is not mapped."""
        for message in messages:
            self._flows.send(flow, message.payload, message.headers)

    def remove_receiver(self, receiver: str) -> None:
        """Wait no more for a receiver whose connection has ended."""
        self._by_nats.pop(receiver, None)
        self._flows.remove_receiver(receiver)

    def compare_receivers(self, connected: Collection[str]) -> None:
        """Forget who wants something and has no connection, now and at the last call: what it wants
        may arrive before the news of its connection, and after those of its end."""
        self._knows_connections = True
        strangers = frozenset(self._flows.receivers) | self._by_nats.keys()
        strangers -= frozenset(connected)
        for receiver in strangers & self._strangers:
            self.remove_receiver(receiver)
        self._strangers = strangers

    def observed(self) -> dict[str, HandOver] | None:
        """Return the last hand-over of flows that are on their way or were lately; None before the
        first `map_to`."""
        return self._flows.observed() if self._is_mapped else None

    @property
    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each thing that multicast cannot do now."""
        return () if self._multicast is None else self._multicast.problems

    # --- to subscribers

    def _transmit(self, sent: Sequence[Sent], header: bytes) -> None:
        connection = self._session.current
        if connection is None:
            return  # whoever hands messages over counts them, and receivers see the gap
        most = int(connection.info.get("max_payload", 1 << 20))
        is_by_both = bool(self._by_nats) or time.monotonic() < self._by_both_until
        publications = []
        for place, frame in sent:
            data = frame_to_bytes(frame)
            if self._multicast is not None and self._multicast.carries(place.group):
                self._multicast.send(place, frame, data)
                if not is_by_both:
                    continue
            if len(data) + len(header) > most:
                if len(frame.payload) + len(header) <= most:
                    self._losses.add(frame.flow, TOO_LARGE)
                continue
            publications.append(
                wire.publication(self._subject(place, frame.flow), data, header=header)
            )
        with contextlib.suppress(Retryable):
            connection.write(b"".join(publications))

    def _announce_groups(self) -> None:
        """Say which groups are sent by multicast, and until all know it send to NATS, too."""
        self._by_both_until = time.monotonic() + LEARN_S
        self._publish(wire.publication(_CARRIED, self._carried()))

    def _carried(self) -> bytes:
        return groups_to_json(None if self._multicast is None else self._multicast.groups)

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

    async def _forget_silent(self) -> None:
        """Forget who hears no multicast and has gone, where no connection tells of that."""
        while True:
            await asyncio.sleep(REPEAT_S)
            if self._by_nats and not self._knows_connections:
                oldest = time.monotonic() - MOST_SILENT_S
                for receiver, heard_at in list(self._by_nats.items()):
                    if heard_at < oldest:
                        del self._by_nats[receiver]
                self._to_ask.set()

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
                subjects.CARRY: self._on_questions_of_groups,
            }
            sids: list[int] = []
            try:
                sids += [connection.subscribe(subject, on) for subject, on in handlers.items()]
                self._announce_groups()
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
                    if rest.get("by") == "multicast":
                        self._by_nats.pop(receiver, None)
                    elif receiver in self._by_nats or len(self._by_nats) < MOST_RECEIVERS:
                        self._by_nats[receiver] = time.monotonic()

    def _on_questions(self, frames: list[wire.Frame]) -> None:
        for _, reply, _, payload in frames:
            flows = _json(payload)
            if not reply.startswith(_INBOXES) or not isinstance(flows, list):
                continue
            requested = [flow for flow in flows if isinstance(flow, str)]
            places = {**self._flows.places(requested), **self.kept_places(requested)}
            # One answer: what has no room in it, and what is on no stream, is asked for again.
            pieces = _in_pieces({flow: where for flow, where in places.items() if where})
            self._publish(wire.publication(reply, next(pieces, b"{}")))

    def _on_questions_of_groups(self, frames: list[wire.Frame]) -> None:
        answer = self._carried()
        self._publish(
            *(
                wire.publication(reply, answer)
                for _, reply, _, _ in frames
                if reply.startswith(_INBOXES)
            )
        )


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
