"""Route messages at one broker by the forwarding tables, with a pump for every source.

Every change of the tables is one assignment, between two messages. A message without a target is
settled, so nothing moves before the agent knows its links and its own consumers, and no reliable
message moves before every neighbour has declared its interest. An agent that does not know yet what
is wanted behind it asks for everything: it is better that messages wait here than that they are
discarded there.

The runtime calls the methods below for a document's operations (`weir.coordination.reconcile`),
`agent.shift` calls them for a participant's effects.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace

from agent.drivers.base import (
    Channel,
    Driver,
    Interest,
    Message,
    Place,
    Retryable,
    Source,
)
from agent.flows import Flows
from agent.flushes import Flushes, read_mark
from agent.interest import InterestListener, InterestSender, Wanted, apply_interest
from agent.links import LinkMaker, Outboxes
from agent.memory import Memory
from agent.pump import Pump
from agent.store import Change
from agent.tasks import Watched
from agent.telemetry import Counters, Tally
from weir.coordination.tables import (
    Tables,
    destinations,
    interest_kept,
    interest_towards,
)
from weir.coordination.wire import Delivery

log = logging.getLogger(__name__)


class Router:
    """Run one broker's data plane. Call `start`, then set links, channels and gates; then
    `close`."""

    def __init__(
        self,
        driver: Driver,
        *,
        tables: Tables | None = None,
        save: Callable[[Change], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        memory: Memory | None = None,
        broker: str = "",
    ) -> None:
        """Take the saved `tables` (None on a first start), `save`, which is durable when it returns
        and raises StoreError, `memory`, which bounds the messages on their way, and `broker`, our
        name in documents."""
        self._memory = memory or Memory()
        self._driver = driver
        self._clock = clock
        self._tables = Tables(complete=False) if tables is None else tables
        self._save = save or _save_nothing
        self.changing = asyncio.Lock()
        """This lock is held while the set of links changes, until the change is durable."""
        self._system_flows: frozenset[str] = frozenset()
        """All flows of the system: what this broker asks for while it does not know what is wanted
        behind it."""
        self._link_pumps: dict[str, list[Pump]] = {}
        self._removing: set[str] = set()
        """Links over which nothing is sent any more, while messages on their way still arrive."""
        self._received: Mapping[str, Interest] | None = None
        self._first_revisions: Mapping[str, str] = {}
        """The revisions of interest that were received first."""
        self._asked: dict[str, str] = {}
        """Neighbour -> the last revision in which it asked for our interest."""
        self._keep: frozenset[str] | None = None
        """The links that are still read while paused; None when not paused."""
        self._held: set[str] = set()
        self._routes: dict[tuple[str, Source], tuple[Channel, ...]] = {}
        self._tally = Tally()
        self.flows = Flows(
            driver,
            self._tally,
            pump=lambda source: self._pump(source, gated=True),
            began=self._refresh,
            local_changed=self._local_changed,
            clock=clock,
        )
        self.on_mark: Callable[[Source, bytes], Awaitable[None]] = _ignore_mark
        self.problems: dict[str, str] = {}
        self.tasks = Watched()
        self._outboxes = Outboxes(driver, self.problems, drop=self.drop_link)
        self._interest_sender = InterestSender(driver, self._wanted_of, self.problems, self.tasks)
        self.flushes = Flushes(
            broker,
            driver,
            flows=self.flows,
            links=lambda: self._tables.links - self._removing,
            problems=self.problems,
            tasks=self.tasks,
        )
        self._link_maker = LinkMaker(
            self.tasks,
            self.problems,
            wanted=lambda neighbour: neighbour in self._tables.links,
            connect=self._make_link,
        )
        self._interest_listener = InterestListener(
            driver,
            self.problems,
            received=self._receive_interest,
            save=self._save,
            change=lambda kept: interest_kept(kept, self._tables),
        )

    # --- life

    def start(self) -> None:
        """Start to receive interest; messages move once every neighbour has declared it."""
        self._interest_listener.start(self.tasks)

    async def close(self) -> None:
        """Stop all pumps; unsettled messages are read again next time."""
        await self.tasks.close()
        for pump in self._pumps():
            await pump.close()

    # --- operations of a document

    @property
    def driver(self) -> Driver:
        """Return the driver of this broker."""
        return self._driver

    @property
    def tables(self) -> Tables:
        """Return the forwarding tables in force."""
        return self._tables

    @property
    def known(self) -> bool:
        """Return whether the tables hold all links and the interest of this broker's consumers is
        known."""
        return self._tables.complete and self.flows.local_known

    @property
    def ready(self) -> bool:
        """Return whether reliable messages move: every neighbour has declared its interest."""
        return (
            self._received is not None and self.known and not self._tables.unheard - self._removing
        )

    async def know(self, flows: Iterable[str], links: Collection[str] | None) -> None:
        """Take the flows of the system and, when the control plane itself sends them, the links:
        from then on the tables are complete if they have them all. Raises StoreError."""
        self._system_flows = frozenset(flows)
        if links is not None and not self._tables.complete:
            async with self.changing:
                if self._tables.links >= frozenset(links):
                    await self._change(lambda tables: replace(tables, complete=True))
        self._send_all_interest()

    async def add_link(self, neighbour: str, address: str) -> None:
        """Add a link to the tables. It is made in the background, once `address` is known if it is
        empty. Raises StoreError."""
        self.keep_links((neighbour,))
        if neighbour not in self._tables.links:
            async with self.changing:
                await self._change(lambda tables: tables.with_unheard(neighbour))
        self.set_addresses({neighbour: address})

    def set_addresses(self, addresses: Mapping[str, str]) -> None:
        """Set the addresses of neighbours; idempotent. A link without an address is suspended:
        nothing is read over it, and messages for the neighbour wait."""
        self._link_maker.update(addresses, self._link_pumps.__contains__)

    def keep_links(self, neighbours: Collection[str]) -> None:
        """Keep links that were to be removed: messages are sent over them again."""
        if not self._removing.isdisjoint(neighbours):
            self._removing.difference_update(neighbours)
            self._routes.clear()
            self._refresh()
            self._send_all_interest()

    async def remove_link(self, neighbour: str, current: Callable[[], bool] = lambda: True) -> int:
        """Send nothing more over a link, and remove it from the tables once nothing waits on it and
        `current` still returns true. Returns the number of reliable messages that still wait: call
        again. Raises DriverError, StoreError."""
        if neighbour in self._tables.links and neighbour not in self._removing:
            self._removing.add(neighbour)
            self._routes.clear()
            self._refresh()
            await asyncio.sleep(0)  # messages that a pump has just forwarded are counted by now
        waiting = await self._driver.waiting(neighbour)
        if waiting:
            return waiting
        async with self.changing:
            if not current():
                return 0
            if neighbour in self._tables.links:
                if neighbour not in self._removing:
                    return 0  # the link was kept meanwhile
                await self._change(lambda tables: tables.without_link(neighbour))
        await self.drop_link(neighbour)
        return 0

    async def ensure_channels(self) -> None:
        """Ensure the streams of deliveries and outboxes, whatever disk the broker uses. Raises
        DriverError."""
        await self.flows.ensure_deliveries()
        async with self.changing:
            await self._outboxes.ensure(self._tables.links | self._link_pumps.keys())

    async def sweep(
        self, keep: Callable[[], Collection[str]], current: Callable[[], bool] = lambda: True
    ) -> bool:
        """Remove outboxes and pumps of former links that a forgotten action, an older directory or
        an older disk of the broker has left; `keep` returns neighbours to leave alone. Returns
        False when something is left: the neighbours are not known yet, the document is not
        `current` any more, or messages wait. Raises DriverError."""
        async with self.changing:
            if not self._tables.complete or not current():
                return False
            kept = frozenset(keep())
            held = await self._outboxes.existing() | self._link_pumps.keys()
            left = held - self._tables.links - kept
            return await self._outboxes.sweep(left) and kept <= self._tables.links

    # --- effects of a participant of an action

    async def ensure_link(self, neighbour: str, address: str) -> None:
        """Make both directions of a link usable; nothing moves yet if the tables do not have the
        link. Raises DriverError when that fails or the neighbour has no agent."""
        if not address:
            raise Retryable(f"{neighbour} has no address: enrol its agent and start it")
        self._link_maker.set_address(neighbour, address)
        await self._driver.ensure_link(neighbour, address)
        self._start_link(neighbour)

    async def drop_link(self, neighbour: str) -> None:
        """Stop reading and writing a link that the tables do not have (any more)."""
        self._link_maker.forget(neighbour)
        self._interest_sender.forget(neighbour)
        self._held.discard(neighbour)
        self._removing.discard(neighbour)
        await self._close_pumps(neighbour)
        await self._driver.drop_link(neighbour)

    @property
    def answering(self) -> frozenset[str]:
        """Return the neighbours whose broker answers now."""
        return frozenset(filter(self._driver.answers, self._tables.links))

    async def lift_bound(self, neighbour: str) -> None:
        """Let the outbox for a neighbour that is gone take all messages that wait for room in
        it."""
        await self._driver.lift_bound(neighbour)

    async def set_bounds(self) -> None:
        """Enforce the bounds of all outboxes again. Raises DriverError."""
        await self._driver.set_bounds()

    async def carry_over(self, gone: str, to: str) -> None:
        """Copy the messages that wait for a neighbour that is gone to the outbox for another."""
        count = await self._driver.carry_over(gone, to)
        log.info("carried %d messages that waited for %s over to %s", count, gone, to)

    def pause(self, keep: frozenset[str]) -> None:
        """Stop reading the ingress and all links but those in `keep`."""
        self._keep = keep
        self._held.clear()
        self._refresh()

    def hold(self, neighbour: str) -> None:
        """Stop reading this link before its next message."""
        self._held.add(neighbour)
        self._refresh()

    def resume(self) -> None:
        """Resume reading all sources after a pause."""
        self._keep = None
        self._held.clear()
        self._refresh()

    def swap(self, tables: Tables) -> None:
        """Forward by these tables, which are saved already, from the next message on."""
        self._tables = tables
        # An action relies on every link that it knows; the document repeats what is to be removed.
        self._removing.clear()
        self._routes.clear()
        self._accept()
        self._refresh()
        self._send_all_interest()

    async def drained(self) -> None:
        """Wait until all messages read from a paused source are held by their targets and
        settled."""
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
        """Return the sentences about sources that stand still because of an error of the agent."""
        return [pump.fault for pump in self._pumps() if pump.fault]

    def counters(self) -> Counters:
        """Return how many messages went where so far."""
        return self._tally.read(self._pumps())

    # --- helpers

    def _pumps(self) -> list[Pump]:
        return [*self.flows.pumps.values(), *(p for ps in self._link_pumps.values() for p in ps)]

    def _pump(self, source: Source, *, gated: bool = False) -> Pump:
        return Pump(
            self._driver,
            source,
            route=self._route,
            unsure=self._may_be_wanted,
            memory=self._memory.reliable,
            on_mark=self._marked,
            gated=gated,
            clock=self._clock,
        )

    async def _marked(self, source: Source, payload: bytes) -> None:
        """Handle a mark in a task of its own: the action may then remove this very link, which ends
        the pump that waits here, and the handling must complete all the same."""
        await asyncio.shield(self.tasks.start(self._mark(source, payload), "a mark"))

    async def _mark(self, source: Source, payload: bytes) -> None:
        mark = read_mark(payload)
        if mark is None:
            await self.on_mark(source, payload)
        else:
            self.flushes.on_mark(source, mark)

    def _route(self, flow: str, source: Source) -> tuple[Channel, ...]:
        key = (flow, source)
        known = self._routes.get(key)
        if known is None:
            delivery = source.delivery
            here = (Channel(place=Place.DELIVERY, delivery=delivery, flow=flow),)
            there = destinations(flow, source.neighbour or None, self._tables)
            known = (here if flow in self.flows.local else ()) + tuple(
                Channel(place=Place.OUTBOX, delivery=delivery, neighbour=n)
                for n in there
                if n not in self._removing
            )
            self._routes[key] = known
        return known

    def _may_be_wanted(self, source: Source) -> bool:
        """Return whether a neighbour of unknown interest may want messages of this source."""
        return bool(self._tables.unheard - self._removing - {source.neighbour})

    def _may_move(self, source: Source) -> bool:
        if self._received is None or not self.known:
            return False
        if source.delivery is Delivery.RELIABLE and not self.ready:
            return False
        neighbour = source.neighbour
        if neighbour and (neighbour not in self._tables.links or neighbour in self._held):
            return False
        return self._keep is None or neighbour in self._keep

    def _local_changed(self) -> None:
        self._routes.clear()
        self._refresh()
        self._send_all_interest()

    def _refresh(self) -> None:
        for pump in self._pumps():
            if self._may_move(pump.source):
                pump.open()
            else:
                pump.shut()

    async def _change(self, change: Change) -> None:
        """Change the set of links, on disk first: after a crash, former tables would let messages
        bypass a broker that was served already."""
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
            self._send_interest(neighbour)

    async def _make_link(self, neighbour: str, address: str, moved: bool) -> None:
        """Make a link of the tables, anew where the neighbour's address has changed."""
        if moved:
            await self._close_pumps(neighbour)
        if address:
            await self.ensure_link(neighbour, address)
        else:
            await self._suspend_link(neighbour)

    async def _suspend_link(self, neighbour: str) -> None:
        """Suspend the link to a neighbour without an agent, and keep the messages for it."""
        self._interest_sender.forget(neighbour)
        await self._driver.close_link(neighbour)
        await self._outboxes.ensure((neighbour,))

    # --- interest

    def _receive_interest(
        self, received: Mapping[str, Interest], first_revisions: Mapping[str, str]
    ) -> None:
        self._received, self._first_revisions = received, first_revisions
        self._accept()
        self._refresh()
        for neighbour, interest in received.items():
            if interest.asks and self._asked.get(neighbour) != interest.revision:
                self._asked[neighbour] = interest.revision
                self._send_interest(neighbour, again=True)

    def _accept(self) -> None:
        """Put received interest into the tables, if it belongs to their epoch."""
        tables = apply_interest(self._tables, self._received or {}, self._first_revisions)
        if tables != self._tables:
            self._tables = tables
            self._routes.clear()
            self._interest_listener.save()
            self._send_all_interest()

    def _send_all_interest(self) -> None:
        for neighbour in self._link_pumps:
            self._send_interest(neighbour)

    def _send_interest(self, neighbour: str, *, again: bool = False) -> None:
        if neighbour in self._tables.links and neighbour in self._link_pumps:
            self._interest_sender.send(neighbour, again=again)

    def _wanted_of(self, neighbour: str) -> Wanted | None:
        if neighbour not in self._tables.links or not self.known:
            return None
        flows = interest_towards(neighbour, self.flows.local, self._tables)
        if self._tables.unheard - self._removing - {neighbour}:
            flows |= self._system_flows
        return flows, self._tables.epoch(neighbour), neighbour in self._tables.unheard


async def _save_nothing(change: Change) -> None:
    """Save nothing, for a router without a state directory."""


async def _ignore_mark(source: Source, payload: bytes) -> None:
    log.info("ignored a mark from %s", source.neighbour)
