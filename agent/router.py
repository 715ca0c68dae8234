"""Which message goes where at one broker: the pumps, the forwarding tables, who wants what.

Every change of the tables is one assignment, between two messages. Nothing moves before the
agent knows what its neighbours want: best effort waits for what our broker keeps of it, reliable
until every link of the tables has said something. Interest towards a neighbour is told again
whenever it changed and after every loss.

The runtime calls the methods below for a document's operations (`weir.coordination.reconcile`),
`agent.shift` calls them for a participant's effects.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

from agent.counters import Counters, Tally
from agent.drivers.base import (
    Channel,
    Driver,
    DriverError,
    Interest,
    Message,
    Place,
    Retryable,
    Source,
)
from agent.pump import Pump
from agent.telling import Telling, Wanted
from weir.coordination.tables import (
    Tables,
    destinations,
    interest_accepted,
    interest_towards,
)
from weir.coordination.wire import Delivery, FlowSpec, Gate

log = logging.getLogger(__name__)

_RETRY_S = 0.2


class Router:
    """One broker's data plane. `start`, then links, channels and gates; `close`."""

    def __init__(
        self,
        driver: Driver,
        *,
        tables: Tables | None = None,
        save_tables: Callable[[Tables], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tables`: what was saved, None on a first start. `save_tables` is durable."""
        self._driver = driver
        self._clock = clock
        self._tables = tables or Tables()
        self._save_tables = save_tables
        self._local: frozenset[str] = frozenset()
        self._ingress: dict[str, Pump] = {}
        self._deliveries: dict[str, Delivery] = {}
        self._gates: dict[str, Gate] = {}
        self._link_pumps: dict[str, list[Pump]] = {}
        self._addresses: dict[str, str] = {}
        self._linking: dict[str, asyncio.Task[None]] = {}
        self._heard: Mapping[str, Interest] | None = None
        self._keep: frozenset[str] | None = None
        """While paused: the links that are read all the same."""
        self._held: set[str] = set()
        self._routes: dict[tuple[str, Source], tuple[Channel, ...]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._tally = Tally()
        self.on_mark: Callable[[Source, bytes], Awaitable[None]] = _ignore_mark
        self.problems: dict[str, str] = {}
        self._telling = Telling(driver, self._wanted, self.problems)

    # --- life

    def start(self) -> None:
        """Listen to neighbours' interest; what the tables hold begins to move once it is known."""
        self._listening = asyncio.create_task(self._listen(), name="interest")

    async def close(self) -> None:
        """Stop everything that moves; what is not settled is read again next time."""
        await self._telling.close()
        tasks = [*self._linking.values()]
        if self._listening is not None:
            tasks.append(self._listening)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
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
        """Flows that this broker's own consumers want."""
        return self._local

    @property
    def gates(self) -> Mapping[str, Gate]:
        """Flow -> gate in force."""
        return dict(self._gates)

    @property
    def ready(self) -> bool:
        """Whether reliable messages move: every neighbour has said what it wants."""
        return self._heard is not None and self._tables.links <= self._tables.interest.keys()

    async def ensure_flow(self, flow: str, spec: FlowSpec) -> None:
        """The flow can pass here, and comes in here if it is an ingress. Raises DriverError."""
        pump = self._ingress.get(flow)
        changed = pump is not None and pump.source.delivery is not spec.delivery
        if changed and spec.delivery is Delivery.RELIABLE:
            await self._stop_ingress(flow)
        if spec.ingress:
            try:
                await self._driver.ensure_channel(
                    Channel(place=Place.INGRESS, delivery=spec.delivery, flow=flow)
                )
            except Retryable:
                # Perhaps reliable messages have to pass first (and we died on the way to that).
                if pump is None and spec.delivery is Delivery.BEST_EFFORT:
                    self._start_ingress(flow, Delivery.RELIABLE)
                raise
        if changed or not spec.ingress:
            await self._stop_ingress(flow)
        self._deliveries[flow] = spec.delivery
        if spec.ingress and flow not in self._ingress:
            self._start_ingress(flow, spec.delivery)
        if flow in self._local:
            await self._ensure_delivery(flow)

    async def forget_flow(self, flow: str) -> None:
        """No document knows the flow any more."""
        await self._stop_ingress(flow)
        self._deliveries.pop(flow, None)

    async def set_local(self, flows: Iterable[str]) -> None:
        """Flows that consumers here want: those of classes whose limit is not 0."""
        wanted = frozenset(flows)
        for flow in sorted(wanted - self._local):
            await self._ensure_delivery(flow)
        if wanted != self._local:
            self._local = wanted
            self._routes.clear()
            self._tell_all()

    def set_gate(self, flow: str, gate: Gate | None) -> None:
        """Rate and burst of a flow's gate; None takes it away."""
        if gate is None:
            self._gates.pop(flow, None)
        else:
            self._gates[flow] = gate
        if flow in self._ingress:
            self._ingress[flow].set_gate(gate, self._clock())

    def add_link(self, neighbour: str, address: str) -> None:
        """A link of the tables; it is made in the background for as long as it takes."""
        if neighbour not in self._tables.links:
            tables = self._tables
            self._set_tables(
                Tables(
                    links=tables.links | {neighbour},
                    interest=tables.interest,
                    epochs=tables.epochs,
                )
            )
        self.meet({neighbour: address})

    def meet(self, addresses: Mapping[str, str]) -> None:
        """Where neighbours are. Whichever of the tables' links is not read yet, or was read
        under another address, is read as soon as it can be; idempotent."""
        for neighbour, address in addresses.items():
            moved = self._addresses.get(neighbour, address) != address
            self._addresses[neighbour] = address
            task = self._linking.get(neighbour)
            if neighbour not in self._tables.links:
                continue
            if moved or (neighbour not in self._link_pumps and (task is None or task.done())):
                if task is not None:
                    task.cancel()
                self._linking[neighbour] = asyncio.create_task(
                    self._connect(neighbour, moved), name=f"link {neighbour}"
                )

    async def remove_link(self, neighbour: str) -> None:
        """A link leaves the tables, with everything that waits for it."""
        if neighbour in self._tables.links:
            self._set_tables(self._tables.without_link(neighbour))
        await self.drop_link(neighbour)

    # --- what a participant of an action wants

    async def ensure_link(self, neighbour: str, address: str) -> None:
        """Both directions can be used, and nothing moves yet if the tables do not have the link.

        Raises DriverError when it cannot be made in time.
        """
        self._addresses[neighbour] = address
        await self._driver.ensure_link(neighbour, address)
        self._start_link(neighbour)

    async def drop_link(self, neighbour: str) -> None:
        """Neither read nor write any more; the tables do not have the link (any more)."""
        task = self._linking.pop(neighbour, None)
        if task is not None:
            task.cancel()
        self._telling.forget(neighbour)
        self._held.discard(neighbour)
        await self._close_pumps(neighbour)
        await self._driver.drop_link(neighbour)

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

    def counters(self) -> Counters:
        """Where everything went so far."""
        return self._tally.read(self._pumps())

    # --- inside

    def _pumps(self) -> list[Pump]:
        return [*self._ingress.values(), *(p for ps in self._link_pumps.values() for p in ps)]

    def _pump(self, source: Source, *, gated: bool = False) -> Pump:
        return Pump(
            self._driver,
            source,
            route=self._route,
            on_mark=self._marked,
            gated=gated,
            clock=self._clock,
        )

    async def _marked(self, source: Source, payload: bytes) -> None:
        await self.on_mark(source, payload)

    def _route(self, flow: str, source: Source) -> tuple[Channel, ...]:
        key = (flow, source)
        known = self._routes.get(key)
        if known is None:
            delivery = source.delivery
            here = (Channel(place=Place.DELIVERY, delivery=delivery, flow=flow),)
            there = destinations(flow, source.neighbour or None, self._tables)
            known = (here if flow in self._local else ()) + tuple(
                Channel(place=Place.OUTBOX, delivery=delivery, neighbour=n) for n in there
            )
            self._routes[key] = known
        return known

    def _may_move(self, source: Source) -> bool:
        if self._heard is None or (source.delivery is Delivery.RELIABLE and not self.ready):
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

    def _set_tables(self, tables: Tables) -> None:
        if tables == self._tables:
            return
        self._save_tables(tables)
        self.swap(tables)

    def _start_ingress(self, flow: str, delivery: Delivery) -> None:
        pump = self._pump(Source(delivery=delivery, flow=flow), gated=True)
        pump.set_gate(self._gates.get(flow), self._clock())
        self._ingress[flow] = pump
        self._refresh()

    async def _stop_ingress(self, flow: str) -> None:
        pump = self._ingress.pop(flow, None)
        if pump is not None:
            self._tally.end(pump)
            await pump.close()
            await self._driver.stop_reading(pump.source)

    async def _close_pumps(self, neighbour: str) -> None:
        pumps = self._link_pumps.pop(neighbour, [])
        # All before any is waited for: whoever reads the counters meanwhile misses none of them.
        for pump in pumps:
            self._tally.end(pump)
        for pump in pumps:
            await pump.close()

    async def _ensure_delivery(self, flow: str) -> None:
        delivery = self._deliveries.get(flow, Delivery.BEST_EFFORT)
        await self._driver.ensure_channel(
            Channel(place=Place.DELIVERY, delivery=delivery, flow=flow)
        )

    def _start_link(self, neighbour: str) -> None:
        if neighbour not in self._link_pumps:
            self._link_pumps[neighbour] = [
                self._pump(Source(delivery=delivery, neighbour=neighbour))
                for delivery in self._driver.capabilities.deliveries
            ]
            self._refresh()
            self._tell(neighbour)

    async def _connect(self, neighbour: str, moved: bool) -> None:
        if moved:
            await self._close_pumps(neighbour)
        while True:
            try:
                await self.ensure_link(neighbour, self._addresses[neighbour])
            except DriverError as error:
                self.problems[neighbour] = f"the link to {neighbour} cannot be used: {error}"
                await asyncio.sleep(_RETRY_S)
                continue
            self.problems.pop(neighbour, None)
            return

    # --- interest

    async def _listen(self) -> None:
        while True:
            try:
                async for heard in self._driver.interests():
                    self._heard = heard
                    self._accept()
                    self._refresh()
            except DriverError as error:
                log.info("interest: %s", error)
                await asyncio.sleep(_RETRY_S)

    def _accept(self) -> None:
        """Take what neighbours said into the tables, if it is of their epoch."""
        tables = self._tables
        for neighbour, said in (self._heard or {}).items():
            if neighbour in tables.links and neighbour not in tables.interest:
                # We know nothing of this link, so whatever was said last is true.
                tables = tables.with_link(neighbour, said.flows, said.epoch)
            tables = interest_accepted(tables, neighbour, said.epoch, said.flows)
        if tables != self._tables:
            self._save_tables(tables)
            self._tables = tables
            self._routes.clear()
            self._tell_all()

    def _tell_all(self) -> None:
        for neighbour in self._link_pumps:
            self._tell(neighbour)

    def _tell(self, neighbour: str) -> None:
        if neighbour in self._tables.links:
            self._telling.tell(neighbour)

    def _wanted(self, neighbour: str) -> Wanted | None:
        if neighbour not in self._tables.links:
            return None
        flows = interest_towards(neighbour, self._local, self._tables)
        return flows, self._tables.epoch(neighbour)


async def _ignore_mark(source: Source, payload: bytes) -> None:
    log.info("a mark from %s that nobody waits for", source.neighbour)
