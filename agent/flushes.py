"""Make sure that what was published here has passed other brokers before publishers go on there.

A publisher that leaves this broker may go on at another one of `to` as soon as everything that it
had published here is before anything that it publishes there, for every consumer. Messages keep
their order from link to link, so a mark behind them shows where they are:

1. Where the flow enters here, a mark goes into its ingress, behind what publishers had sent. It has
   passed when the targets hold everything before it.
2. A mark that names `to` goes to all links, and every agent hands it on to all its other links, in
   the order of the flow's messages. The overlay is a tree, so it comes to each broker once.
3. Each broker of `to` answers with a mark of its own that goes the same ways. Whichever way a
   consumer's messages take, those from here have turned into it before those from there.

Marks may be lost, with a link or with a broker that does not store them, so they are sent again
until all have answered. Nothing is concluded from a mark that does not come. An agent of an older
version ignores these marks; then the flush does not end, and `problems` say for whom it waits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass, field

from agent.drivers.base import Channel, Driver, DriverError, Message, Place, Source
from agent.flows import Flows
from agent.outcomes import duration
from agent.tasks import Watched
from weir.coordination.wire import Delivery

log = logging.getLogger("weir.agent")

AGAIN_S = 2.0
"""The pause after which marks are sent again."""
LONGEST_AGAIN_S = {Delivery.BEST_EFFORT: AGAIN_S, Delivery.RELIABLE: 10.0}
"""The longest pause: marks that are stored wait for a link or a gate, and need no repetition."""
LONGEST_INGRESS_S = 30.0
"""The longest pause between marks for the own ingress, which may wait long at a gate."""
INGRESS_RETRY_S = 0.5
"""The pause after an ingress has not taken a mark."""
SHOW_S = 3.0
"""After this time a flush that has not ended is reported as a problem."""
MOST_AT_A_TIME = 64
"""The number of flows of this broker that begin to send marks to others within `AGAIN_S` while
those of before are not answered: after a start of the agent all its flows are flushed."""
REMEMBERED = 20_000
"""The number of marks that an agent remembers, so that it hands each on once."""
_TICK_S = 0.1
_SHOWN_S = (SHOW_S, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0)
_PROBLEM = "flush of "


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """A mark behind everything that was published at `origin`; `to` are to answer it."""

    flow: str
    id: str
    origin: str
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed:
    """The answer of the broker `by` to the mark `id`: everything before that has come here."""

    flow: str
    id: str
    origin: str
    by: str


FlushMark = Flush | Flushed


def read_mark(payload: bytes) -> FlushMark | None:
    """Return the mark of a flush; None for any other mark."""
    try:
        plain = json.loads(payload)
        if "flush" in plain:
            return Flush(
                flow=str(plain["flush"]),
                id=str(plain["id"]),
                origin=str(plain["from"]),
                to=tuple(str(name) for name in plain["to"]),
            )
        if "flushed" in plain:
            return Flushed(
                flow=str(plain["flushed"]),
                id=str(plain["id"]),
                origin=str(plain["from"]),
                by=str(plain["by"]),
            )
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def write_mark(mark: FlushMark) -> bytes:
    """Return a mark as it travels."""
    if isinstance(mark, Flush):
        plain: dict[str, object] = {"flush": mark.flow, "id": mark.id, "from": mark.origin}
        plain["to"] = list(mark.to)
    else:
        plain = {"flushed": mark.flow, "id": mark.id, "from": mark.origin, "by": mark.by}
    return json.dumps(plain).encode()


class Flood:
    """Decide over which links one broker sends a mark; does no input or output."""

    def __init__(self, broker: str, *, remembered: int = REMEMBERED) -> None:
        self._broker = broker
        self._remembered = remembered
        self._known: OrderedDict[FlushMark, None] = OrderedDict()

    def begin(self, mark: Flush, links: Collection[str]) -> list[tuple[str, FlushMark]]:
        """Return what to send for a flush of this broker, each with the neighbour."""
        self._remember(mark)
        return [(link, mark) for link in sorted(links)]

    def take(
        self, mark: FlushMark, over: str, links: Collection[str]
    ) -> list[tuple[str, FlushMark]]:
        """Return what to send when a mark has come over a link and everything before it is held by
        this broker's targets. A mark that is known is handed on no more."""
        if mark.origin == self._broker or not self._remember(mark):
            return []
        out = [(link, mark) for link in sorted(links) if link != over]
        if isinstance(mark, Flush) and self._broker in mark.to:
            answer = Flushed(flow=mark.flow, id=mark.id, origin=mark.origin, by=self._broker)
            self._remember(answer)
            out += [(link, answer) for link in sorted(links)]
        return out

    def _remember(self, mark: FlushMark) -> bool:
        """Return whether the mark is new."""
        if mark in self._known:
            return False
        self._known[mark] = None
        if len(self._known) > self._remembered:
            self._known.popitem(last=False)
        return True


@dataclass(slots=True)
class _Open:
    """A flush of one flow."""

    waiting: set[str]
    """The brokers that have not answered yet."""
    since: float
    passed: bool = False
    """Whether the mark has passed the own ingress, or the flow does not enter here."""
    ids: set[str] = field(default_factory=set)
    """The marks since then, of which each counts when it is answered."""
    ingress_ids: set[str] = field(default_factory=set)
    sent_at: float = float("-inf")
    """When its first mark went to neighbours."""
    due_at: float = 0.0
    pause_s: float = AGAIN_S

    @property
    def complete(self) -> bool:
        return self.passed and not self.waiting


class Flushes:
    """Send marks for the flows of one broker until all have answered, and hand on those of
    others."""

    def __init__(
        self,
        broker: str,
        driver: Driver,
        *,
        flows: Flows,
        links: Callable[[], frozenset[str]],
        problems: MutableMapping[str, str],
        tasks: Watched,
    ) -> None:
        """Take `broker`, our name in documents, and `links`, which returns the neighbours that
        messages are sent to now."""
        self._broker = broker
        self._driver = driver
        self._flows = flows
        self._links = links
        self._problems = problems
        self._tasks = tasks
        self._flood = Flood(broker)
        self._open: dict[str, _Open] = {}
        self._ticking: asyncio.Task[None] | None = None
        self.ended: Callable[[], None] = lambda: None
        """This function is called whenever a flush is complete."""

    def start(self, flow: str, to: Collection[str]) -> None:
        """Begin a flush of a flow, or begin it anew, until all brokers `to` have answered."""
        self.stop(flow)
        self._open[flow] = _Open(waiting={*to} - {self._broker}, since=self._now())
        self._tick_from_now()

    def stop(self, flow: str) -> None:
        """Forget the flush of a flow."""
        self._open.pop(flow, None)
        self._problems.pop(_PROBLEM + flow, None)

    def extend(self, flow: str, to: Collection[str]) -> None:
        """Wait for these brokers too; everything that has left here is before their marks."""
        one = self._open.get(flow)
        gained = {*to} - {self._broker}
        if one is not None and not gained <= one.waiting:
            if one.complete:
                one.since = self._now()
            one.waiting |= gained
            if one.passed:
                one.due_at, one.pause_s = 0.0, AGAIN_S
            self._tick_from_now()

    def reduce(self, flow: str, to: Collection[str]) -> None:
        """Wait for no other brokers than these."""
        one = self._open.get(flow)
        if one is not None and not one.waiting <= {*to}:
            one.waiting &= {*to}
            self._check(flow, one)

    def complete(self, flow: str) -> bool:
        """Return whether a flush of the flow was begun and all have answered."""
        one = self._open.get(flow)
        return one is not None and one.complete

    def on_mark(self, source: Source, mark: FlushMark) -> None:
        """Handle a mark behind everything that came from its source before it. Returns once all
        that is to be sent has its place in the outboxes; storing it may take longer."""
        if not source.neighbour:
            one = self._open.get(mark.flow)
            if one is not None and not one.passed and mark.id in one.ingress_ids:
                self._passed(mark.flow, one)
                if self._room() > 0:
                    self._send_round(mark.flow, one, source.delivery)
                else:
                    one.due_at = 0.0
            return
        if isinstance(mark, Flushed) and mark.origin == self._broker:
            one = self._open.get(mark.flow)
            if one is not None and mark.id in one.ids and mark.by in one.waiting:
                one.waiting.discard(mark.by)
                self._check(mark.flow, one)
            return
        self._send(self._flood.take(mark, source.neighbour, self._links()), source.delivery)

    # --- inside

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    def _tick_from_now(self) -> None:
        if self._ticking is None or self._ticking.done():
            self._ticking = self._tasks.start(self._tick(), "flushes")

    async def _tick(self) -> None:
        while any(not one.complete for one in self._open.values()):
            now, room = self._now(), self._room()
            for flow, one in tuple(self._open.items()):
                if not one.complete:
                    stopped = not one.passed and flow not in self._flows.pumps
                    at_gate = not one.passed and not stopped
                    if (now >= one.due_at or stopped) and (one.ids or at_gate or room > 0):
                        before = len(one.ids)
                        self._go_on(flow, one, now)
                        room -= len(one.ids) - before
                    self._show(flow, one, now)
            await asyncio.sleep(_TICK_S)

    def _go_on(self, flow: str, one: _Open, now: float) -> None:
        """Send the marks of a flush, for the first time or again."""
        if not one.passed and flow in self._flows.pumps:
            one.due_at = now + one.pause_s
            one.pause_s = min(2 * one.pause_s, LONGEST_INGRESS_S)
            self._tasks.start(self._mark_ingress(flow, one), "a mark for an ingress")
            return
        if not one.passed:
            self._passed(flow, one)
        self._send_round(flow, one, self._flows.delivery_of(flow))

    def _room(self) -> int:
        """Return how many more flows may send their first marks to neighbours now."""
        # A broker that does not answer must not hold up the flows of others.
        since = self._now() - AGAIN_S
        sent = sum(one.waiting != set() and one.sent_at > since for one in self._open.values())
        return MOST_AT_A_TIME - sent

    def _passed(self, flow: str, one: _Open) -> None:
        one.passed, one.pause_s = True, AGAIN_S
        self._check(flow, one)

    async def _mark_ingress(self, flow: str, one: _Open) -> None:
        pump = self._flows.pumps.get(flow)
        if pump is None:
            return
        mark = Flush(flow=flow, id=secrets.token_hex(8), origin=self._broker)
        # Known before it is sent: it may be read before the broker's answer.
        one.ingress_ids.add(mark.id)
        channel = Channel(place=Place.INGRESS, delivery=pump.source.delivery, flow=flow)
        if not await self._append(channel, mark):
            # An ingress may be full, or its broker away; such a mark does not wait there.
            one.due_at, one.pause_s = self._now() + INGRESS_RETRY_S, AGAIN_S

    def _send_round(self, flow: str, one: _Open, delivery: Delivery) -> None:
        if not one.waiting:
            return
        one.due_at = self._now() + one.pause_s
        one.pause_s = min(2 * one.pause_s, LONGEST_AGAIN_S[delivery])
        to = tuple(sorted(one.waiting))
        mark = Flush(flow=flow, id=secrets.token_hex(8), origin=self._broker, to=to)
        if not one.ids:
            one.sent_at = self._now()
        one.ids.add(mark.id)
        self._send(self._flood.begin(mark, self._links()), delivery)

    def _send(self, marks: Collection[tuple[str, FlushMark]], delivery: Delivery) -> None:
        # The tasks begin in this order, and before those of messages that are forwarded later.
        for neighbour, mark in marks:
            channel = Channel(place=Place.OUTBOX, delivery=delivery, neighbour=neighbour)
            self._tasks.start(self._hand_on(channel, mark), "a mark for a neighbour")

    async def _hand_on(self, channel: Channel, mark: FlushMark) -> None:
        await self._append(channel, mark)

    async def _append(self, channel: Channel, mark: FlushMark) -> bool:
        try:
            await self._driver.publish(channel, [Message("", write_mark(mark), mark=True)])
        except DriverError as error:
            # It is sent again.
            log.info("could not send a mark to %s: %s", channel.neighbour or channel.flow, error)
            return False
        return True

    def _check(self, flow: str, one: _Open) -> None:
        if one.complete:
            self._problems.pop(_PROBLEM + flow, None)
            self.ended()

    def _show(self, flow: str, one: _Open, now: float) -> None:
        waited = max((step for step in _SHOWN_S if step <= now - one.since), default=0.0)
        if not waited:
            return
        if one.passed:
            names = ", ".join(sorted(one.waiting))
            why = f"have not passed {names}, whose agents have to answer (and to be new enough)"
        else:
            why = f"still wait here at {self._broker}, before the gate or for a paused link"
        self._problems[_PROBLEM + flow] = (
            f"publishers of {flow} that left {self._broker} cannot go on elsewhere: for "
            f"{duration(waited)} messages that they had published {why}"
        )
