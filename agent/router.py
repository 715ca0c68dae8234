"""Which message goes where at one broker: the pumps, the forwarding tables, who wants what.

Every change of the tables is one assignment, between two messages. A message that goes nowhere is
settled, so nothing moves before the agent knows its links and its own consumers, and nothing
reliable before every neighbour has said what it wants. An agent that does not know yet what is
wanted behind it asks for everything: messages rather wait here than are let go there.

The runtime calls the methods below for a document's operations (`weir.coordination.reconcile`),
`agent.shift` calls them for a participant's effects.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace

from agent.counters import Counters, Tally
from agent.drivers.base import (
    Channel,
    Driver,
    Interest,
    Message,
    Place,
    Retryable,
    Source,
)
from agent.intake import Intake
from agent.linking import Linking
from agent.listening import Listening, tables_heard
from agent.memory import Memory
from agent.outboxes import Outboxes
from agent.pump import Pump
from agent.store import Change
from agent.tasks import Watched
from agent.telling import Telling, Wanted
from weir.coordination.tables import (
    Tables,
    destinations,
    interest_kept,
    interest_towards,
)
from weir.coordination.wire import Delivery, FlowSpec, Gate

log = logging.getLogger(__name__)


class Router:
    """One broker's data plane. `start`, then links, channels and gates; `close`."""

    def __init__(
        self,
        driver: Driver,
        *,
        tables: Tables | None = None,
        save: Callable[[Change], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        memory: Memory | None = None,
    ) -> None:
        """`tables`: what was saved, None on a first start. `save` is durable when it returns and
        raises StoreError. `memory`: what messages on their way may take."""
        self._memory = memory or Memory()
        self._driver = driver
        self._clock = clock
        self._tables = Tables(complete=False) if tables is None else tables
        self._save = save or _save_nothing
        self.changing = asyncio.Lock()
        """Held by whoever changes which links there are, until the change is durable."""
        self._flows: frozenset[str] = frozenset()
        """All that there are: what is wanted behind us as long as we do not know better."""
        self._local: frozenset[str] | None = None
        self._link_pumps: dict[str, list[Pump]] = {}
        self._leaving: set[str] = set()
        """Links over which nothing is sent any more, but what is under way still comes."""
        self._heard: Mapping[str, Interest] | None = None
        self._found: Mapping[str, str] = {}
        """The sayings that were heard first."""
        self._answered: dict[str, str] = {}
        """Neighbour -> its last saying that asked what we want of it."""
        self._keep: frozenset[str] | None = None
        """While paused: the links that are read all the same."""
        self._held: set[str] = set()
        self._routes: dict[tuple[str, Source], tuple[Channel, ...]] = {}
        self._tally = Tally()
        self.intake = Intake(
            driver,
            self._tally,
            pump=lambda source: self._pump(source, gated=True),
            began=self._refresh,
            wanted_here=lambda flow: flow in self.local,
            clock=clock,
        )
        self.on_mark: Callable[[Source, bytes], Awaitable[None]] = _ignore_mark
        self.problems: dict[str, str] = {}
        self.tasks = Watched()
        self._outboxes = Outboxes(driver, self.problems, drop=self.drop_link)
        self._telling = Telling(driver, self._wanted, self.problems, self.tasks)
        self._linking = Linking(
            self.tasks,
            self.problems,
            wanted=lambda neighbour: neighbour in self._tables.links,
            connect=self._reach,
        )
        self._listening = Listening(
            driver,
            self.problems,
            heard=self._hear,
            save=self._save,
            change=lambda kept: interest_kept(kept, self._tables),
        )

    # --- life

    def start(self) -> None:
        """Listen to neighbours' interest; what the tables hold begins to move once it is known."""
        self._listening.start(self.tasks)

    async def close(self) -> None:
        """Stop everything that moves; what is not settled is read again next time."""
        await self.tasks.close()
        for pump in self._pumps():
            await pump.close()

    # --- what a document wants

    @property
    def driver(self) -> Driver:
        """Of this broker."""
        return self._driver

    @property
    def tables(self) -> Tables:
        """What is forwarded by now."""
        return self._tables

    @property
    def local(self) -> frozenset[str]:
        """Flows that this broker's own consumers want; none as long as it is not `known`."""
        return self._local or frozenset()

    @property
    def gates(self) -> Mapping[str, Gate]:
        """Flow -> gate in force."""
        return self.intake.gates

    @property
    def known(self) -> bool:
        """Whether all links are in the tables, and it is known what our consumers want."""
        return self._tables.complete and self._local is not None

    @property
    def ingress(self) -> Mapping[str, Delivery]:
        """Flow -> the promise with which it is read from publishers."""
        return {flow: pump.source.delivery for flow, pump in self.intake.pumps.items()}

    @property
    def ready(self) -> bool:
        """Whether reliable messages move: every neighbour has said what it wants."""
        return self._heard is not None and self.known and not self._tables.unheard - self._leaving

    async def know(self, flows: Iterable[str], links: Collection[str] | None) -> None:
        """Which flows there are and, if it comes from the control plane itself, which links: from
        then on the tables are complete if they have them all. Raises StoreError."""
        self._flows = frozenset(flows)
        if links is not None and not self._tables.complete:
            async with self.changing:
                if self._tables.links >= frozenset(links):
                    await self._change(lambda tables: replace(tables, complete=True))
        self._tell_all()

    async def ensure_flow(self, flow: str, spec: FlowSpec) -> None:
        """See `Intake.ensure_flow`. Raises DriverError."""
        await self.intake.ensure_flow(flow, spec)

    def set_gate(self, flow: str, gate: Gate | None) -> None:
        """Rate and burst of a flow's gate; None takes it away."""
        self.intake.set_gate(flow, gate)

    async def set_local(self, flows: Iterable[str]) -> None:
        """Flows that consumers here want: those of classes whose limit is not 0."""
        wanted = frozenset(flows)
        for flow in sorted(wanted - self.local):
            await self.intake.ensure_delivery(flow)
        if wanted != self._local:
            self._local = wanted
            self._routes.clear()
            self._refresh()
            self._tell_all()

    async def add_link(self, neighbour: str, address: str) -> None:
        """A link of the tables; made in the background for as long as it takes, with an empty
        `address` once there is one. Raises StoreError."""
        self.keep_links((neighbour,))
        if neighbour not in self._tables.links:
            async with self.changing:
                await self._change(lambda tables: tables.with_unheard(neighbour))
        self.meet({neighbour: address})

    def meet(self, addresses: Mapping[str, str]) -> None:
        """Where neighbours are; idempotent. Without address a link rests: nothing is read over it,
        and what is for the neighbour waits."""
        self._linking.meet(addresses, self._link_pumps.__contains__)

    def keep_links(self, neighbours: Collection[str]) -> None:
        """Links to them were to go and stay after all: they are sent over again."""
        if not self._leaving.isdisjoint(neighbours):
            self._leaving.difference_update(neighbours)
            self._routes.clear()
            self._refresh()
            self._tell_all()

    async def remove_link(self, neighbour: str, current: Callable[[], bool] = lambda: True) -> int:
        """Send nothing more over a link; it leaves the tables once nothing waits on it, and if it
        is `current` then that it is to go. Returns how many reliable messages still wait: call
        again. Raises DriverError, StoreError."""
        if neighbour in self._tables.links and neighbour not in self._leaving:
            self._leaving.add(neighbour)
            self._routes.clear()
            self._refresh()
            await asyncio.sleep(0)  # what a pump has just handed on is counted by now
        waiting = await self._driver.waiting(neighbour)
        if waiting:
            return waiting
        async with self.changing:
            if not current():
                return 0
            if neighbour in self._tables.links:
                if neighbour not in self._leaving:
                    return 0  # it has been sent over again since
                await self._change(lambda tables: tables.without_link(neighbour))
        await self.drop_link(neighbour)
        return 0

    async def ensure_channels(self) -> None:
        """What is on its way to consumers and neighbours has a place, on whatever disk the broker
        stands. Raises DriverError."""
        await self.intake.ensure_deliveries()
        async with self.changing:
            await self._outboxes.ensure(self._tables.links | self._link_pumps.keys())

    async def sweep(
        self, keep: Callable[[], Collection[str]], current: Callable[[], bool] = lambda: True
    ) -> bool:
        """Drop what a forgotten action, an older directory or an older disk of the broker has left
        of links that are none; `keep`: neighbours to leave alone. False: not all of it, as nobody
        knows yet who is a neighbour, it is no longer `current`, or as messages wait. Raises
        DriverError."""
        async with self.changing:
            if not self._tables.complete or not current():
                return False
            kept = frozenset(keep())
            held = await self._outboxes.held() | self._link_pumps.keys()
            left = held - self._tables.links - kept
            return await self._outboxes.sweep(left) and kept <= self._tables.links

    # --- what a participant of an action wants

    async def ensure_link(self, neighbour: str, address: str) -> None:
        """Both directions can be used, and nothing moves yet if the tables do not have the link.
        Raises DriverError when it cannot be made in time, or nobody speaks for the neighbour."""
        if not address:
            raise Retryable(f"{neighbour} has no address: enrol its agent and start it")
        self._linking.met(neighbour, address)
        await self._driver.ensure_link(neighbour, address)
        self._start_link(neighbour)

    async def drop_link(self, neighbour: str) -> None:
        """Neither read nor write any more; the tables do not have the link (any more)."""
        self._linking.forget(neighbour)
        self._telling.forget(neighbour)
        self._held.discard(neighbour)
        self._leaving.discard(neighbour)
        await self._close_pumps(neighbour)
        await self._driver.drop_link(neighbour)

    @property
    def answering(self) -> frozenset[str]:
        """The neighbours whose broker is there now."""
        return frozenset(filter(self._driver.answers, self._tables.links))

    async def lift_bound(self, neighbour: str) -> None:
        """What waits for room in the outbox for a neighbour that is gone gets it."""
        await self._driver.lift_bound(neighbour)

    async def set_bounds(self) -> None:
        """Bounds hold again at every outbox. Raises DriverError."""
        await self._driver.set_bounds()

    async def carry_over(self, gone: str, to: str) -> None:
        """What waits for a neighbour that is gone waits for another as well."""
        count = await self._driver.carry_over(gone, to)
        log.info("carried %d messages that waited for %s over to %s", count, gone, to)

    def pause(self, keep: frozenset[str]) -> None:
        """Move nothing of the ingress and of links but those in `keep`."""
        self._keep = keep
        self._held.clear()
        self._refresh()

    def hold(self, neighbour: str) -> None:
        """Move nothing further of this link."""
        self._held.add(neighbour)
        self._refresh()

    def resume(self) -> None:
        """Move everything again."""
        self._keep = None
        self._held.clear()
        self._refresh()

    def swap(self, tables: Tables) -> None:
        """Forward by these tables from the next message on; they were saved already."""
        self._tables = tables
        # An action counts on every link that it knows; what is to go is said again by the document.
        self._leaving.clear()
        self._routes.clear()
        self._accept()
        self._refresh()
        self._tell_all()

    async def drained(self) -> None:
        """Returns when whatever was read of a paused source is held by its targets and settled."""
        await asyncio.gather(*(p.drained() for p in self._pumps() if not self._may_move(p.source)))

    async def send_mark(self, neighbour: str, payload: bytes) -> None:
        """Append a mark behind everything that is in the outboxes for a neighbour."""
        mark = [Message("", payload, mark=True)]
        await asyncio.gather(
            *(
                self._driver.publish(
                    Channel(place=Place.OUTBOX, delivery=delivery, neighbour=neighbour), mark
                )
                for delivery in self._driver.capabilities.deliveries
            )
        )

    # --- figures

    @property
    def faults(self) -> list[str]:
        """What does not move because of a fault of the agent, in sentences."""
        return [pump.fault for pump in self._pumps() if pump.fault]

    def counters(self) -> Counters:
        """Where everything went so far."""
        return self._tally.read(self._pumps())

    # --- inside

    def _pumps(self) -> list[Pump]:
        return [*self.intake.pumps.values(), *(p for ps in self._link_pumps.values() for p in ps)]

    def _pump(self, source: Source, *, gated: bool = False) -> Pump:
        return Pump(
            self._driver,
            source,
            route=self._route,
            unsure=self._unsure,
            memory=self._memory.reliable,
            on_mark=self._marked,
            gated=gated,
            clock=self._clock,
        )

    async def _marked(self, source: Source, payload: bytes) -> None:
        """A task of its own: what follows from a mark may drop its very link, which ends the pump
        that waits here, and has to be done to its end all the same."""
        await asyncio.shield(self.tasks.start(self._mark(source, payload), "a mark"))

    async def _mark(self, source: Source, payload: bytes) -> None:
        await self.on_mark(source, payload)

    def _route(self, flow: str, source: Source) -> tuple[Channel, ...]:
        key = (flow, source)
        known = self._routes.get(key)
        if known is None:
            delivery = source.delivery
            here = (Channel(place=Place.DELIVERY, delivery=delivery, flow=flow),)
            there = destinations(flow, source.neighbour or None, self._tables)
            known = (here if flow in self.local else ()) + tuple(
                Channel(place=Place.OUTBOX, delivery=delivery, neighbour=n)
                for n in there
                if n not in self._leaving
            )
            self._routes[key] = known
        return known

    def _unsure(self, source: Source) -> bool:
        """Whether somebody of whom we do not know it yet may want what comes from this source."""
        return bool(self._tables.unheard - self._leaving - {source.neighbour})

    def _may_move(self, source: Source) -> bool:
        if self._heard is None or not self.known:
            return False
        if source.delivery is Delivery.RELIABLE and not self.ready:
            return False
        neighbour = source.neighbour
        if neighbour and (neighbour not in self._tables.links or neighbour in self._held):
            return False
        return self._keep is None or neighbour in self._keep

    def _refresh(self) -> None:
        for pump in self._pumps():
            if self._may_move(pump.source):
                pump.open()
            else:
                pump.shut()

    async def _change(self, change: Change) -> None:
        """Which links there are: durable first. A crash must not bring back tables by which
        messages pass somebody by who was served already."""
        await self._save(change)
        self.swap(change(self._tables))

    async def _close_pumps(self, neighbour: str) -> None:
        await self._tally.end(*self._link_pumps.pop(neighbour, []))

    def _start_link(self, neighbour: str) -> None:
        if neighbour not in self._link_pumps:
            self._link_pumps[neighbour] = [
                self._pump(Source(delivery=delivery, neighbour=neighbour))
                for delivery in self._driver.capabilities.deliveries
            ]
            self._refresh()
            self._tell(neighbour)

    async def _reach(self, neighbour: str, address: str, moved: bool) -> None:
        """A link of the tables: made anew where the neighbour was somewhere else before."""
        if moved:
            await self._close_pumps(neighbour)
        if address:
            await self.ensure_link(neighbour, address)
        else:
            await self._rest(neighbour)

    async def _rest(self, neighbour: str) -> None:
        """Nobody speaks for the neighbour now: leave it, keep what is for it."""
        self._telling.forget(neighbour)
        await self._driver.close_link(neighbour)
        await self._outboxes.ensure((neighbour,))

    # --- interest

    def _hear(self, heard: Mapping[str, Interest], found: Mapping[str, str]) -> None:
        self._heard, self._found = heard, found
        self._accept()
        self._refresh()
        for neighbour, said in heard.items():
            if said.asks and self._answered.get(neighbour) != said.saying:
                self._answered[neighbour] = said.saying
                self._tell(neighbour, again=True)

    def _accept(self) -> None:
        """Take what neighbours said into the tables, if it is of their epoch."""
        tables = tables_heard(self._tables, self._heard or {}, self._found)
        if tables != self._tables:
            self._tables = tables
            self._routes.clear()
            self._listening.save()
            self._tell_all()

    def _tell_all(self) -> None:
        for neighbour in self._link_pumps:
            self._tell(neighbour)

    def _tell(self, neighbour: str, *, again: bool = False) -> None:
        if neighbour in self._tables.links and neighbour in self._link_pumps:
            self._telling.tell(neighbour, again=again)

    def _wanted(self, neighbour: str) -> Wanted | None:
        if neighbour not in self._tables.links or not self.known:
            return None
        flows = interest_towards(neighbour, self.local, self._tables)
        if self._tables.unheard - self._leaving - {neighbour}:
            flows |= self._flows
        return flows, self._tables.epoch(neighbour), neighbour in self._tables.unheard


async def _save_nothing(change: Change) -> None:
    """Nobody keeps the tables."""


async def _ignore_mark(source: Source, payload: bytes) -> None:
    log.info("a mark from %s that nobody waits for", source.neighbour)
