"""Makes a document true at one broker, and says what is true there.

Operations come from `weir.coordination.reconcile` in a safe order: what takes away before what
gives. What gives waits until all that takes away has succeeded, so that no moment between lets
more through than the larger of the two states.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby

from agent.drivers.base import Driver, DriverError, Stats, Unsupported
from agent.router import Router
from agent.store import StoreError
from weir.coordination.reconcile import (
    AddLink,
    ClearGate,
    ClearLimit,
    EnsureChannel,
    Operation,
    RemoveLink,
    SetGate,
    SetLimit,
    reconcile,
)
from weir.coordination.wire import ClassSpec, Delivery, Document, FlowSpec, Observed

log = logging.getLogger("weir.agent")

NOT_ON_DISK = (
    "the broker acknowledges messages before they are on disk: reliable flows can lose "
    "acknowledged messages in a power failure; set `sync_interval: always` in its jetstream block"
)


class Enforcer:
    """One broker's settings: channels, gates, limits, links."""

    def __init__(
        self, *, driver: Driver, router: Router, busy: Callable[[], frozenset[str]]
    ) -> None:
        """`busy`: brokers of running actions, whose links are none of our business now."""
        self._driver = driver
        self._router = router
        self._busy = busy
        self._channels: dict[str, FlowSpec] = {}
        self._limits: dict[str, int] = {}
        """Class -> limit that nobody is above."""
        self._admitting: tuple[dict[str, ClassSpec], str] | None = None
        """What the driver was told last and has carried out."""
        self._made = ""
        """The broker's process in which every channel and outbox was ensured."""
        self._swept = ""
        """The broker's process in which nothing is left of links that are none."""
        self._closed: tuple[str, frozenset[str]] | None = None
        """The broker's process, and the flows but which none comes in there."""
        self.version = ""
        """Of the document that was carried out last, as a whole."""
        self.number = 0
        """Of the document that was gone by last, carried out as a whole or not."""
        self._problems: dict[str, str] = {}
        self._classes: Mapping[str, ClassSpec] = {}

    async def apply(self, document: Document, *, current: Callable[[], bool]) -> bool:
        """Carry out what differs. False: not all of it; call again after a moment.

        `current`: whether it is the last one that was fetched. The links of an older one, from the
        disk or from before orders that have been obeyed since, may be older than our tables.
        """
        problems: dict[str, str] = {}
        self._router.meet({name: n.address for name, n in document.neighbours.items()})
        await self._know(problems, document, None)
        # Messages come before consumers do, and stop coming after them.
        await self._want(problems, {**self._classes, **document.classes})
        self._classes = document.classes
        server = self._driver.server
        anew = server not in ("", self._made)
        channels = {} if anew else self._channels
        if current():
            self._router.keep_links(document.neighbours)
        operations = reconcile(
            document,
            self._now(),
            channels,
            self._busy(),
            links=current(),
            complete=self._router.tables.complete,
        )
        whole = True
        for kind, group in groupby(operations, self._kind):
            if kind in ("fewer", "more"):
                whole = await self._admit(problems, document, tuple(group))
            else:
                for operation in group:
                    await self._carry_out(problems, document, operation, current)
            if not whole:
                break
        if whole:
            # Classes without limits and the rule for strangers have no operation of their own.
            await self._admit(problems, document, ())
            await self._want(problems, document.classes)
            for flow in [flow for flow in self._channels if flow not in document.flows]:
                await self._forget(problems, flow)
        if anew and await self._remake(problems) and whole and not problems:
            self._made = server
        if current():
            # Last, when everything else is in place: from here on what goes nowhere is let go.
            await self._know(problems, document, document.neighbours.keys())
            await self._sweep(problems, document, current)
            await self._close_ingress(problems, document)
        self.number = document.number
        if not problems and self.version != document.version:
            log.info("document %s is in force", document.version[:12])
            self.version = document.version
        self._tell(problems)
        return not problems

    def observed(self, stats: Stats, others: Iterable[str] = ()) -> Observed:
        """What is in force, for the control plane; `others`: problems outside of it."""
        problems = [
            *others,
            *self._problems.values(),
            *self._router.problems.values(),
            *self._router.faults,
            *stats.problems,
        ]
        reliable = any(spec.delivery is Delivery.RELIABLE for spec in self._channels.values())
        if reliable and stats.sync_always is False:
            problems.append(NOT_ON_DISK)
        return Observed(
            version=self.version,
            number=self.number,
            gates=self._router.gates,
            limits=dict(self._limits),
            admitted={name: state.admitted for name, state in stats.classes.items()},
            waiting={name: state.waiting for name, state in stats.classes.items()},
            ingress=self._router.ingress,
            served={name: spec.flow for name, spec in self._served().items()},
            links=tuple(sorted(self._router.tables.links)),
            problems=tuple(sorted(set(problems))),
        )

    # --- inside

    def _served(self) -> Mapping[str, ClassSpec]:
        return {} if self._admitting is None else self._admitting[0]

    def _now(self) -> Observed:
        """What reconciling starts from."""
        return Observed(
            gates=self._router.gates,
            limits=dict(self._limits),
            links=tuple(sorted(self._router.tables.links)),
        )

    def _kind(self, operation: Operation) -> str:
        match operation:
            case SetLimit(name, limit):
                return "fewer" if limit < self._limits.get(name, limit + 1) else "more"
            case ClearLimit():
                return "more"
        return "other"

    async def _carry_out(
        self,
        problems: dict[str, str],
        document: Document,
        operation: Operation,
        current: Callable[[], bool],
    ) -> None:
        if isinstance(operation, AddLink | RemoveLink) and not current():
            return  # orders have come meanwhile
        try:
            match operation:
                case EnsureChannel(flow, spec):
                    await self._router.ensure_flow(flow, spec)
                    self._channels[flow] = spec
                case SetGate(flow, gate):
                    self._router.set_gate(flow, gate)
                case ClearGate(flow):
                    self._router.set_gate(flow, None)
                case AddLink(broker, address):
                    await self._router.add_link(broker, address)
                case RemoveLink(broker):
                    waiting = await self._router.remove_link(broker, current)
                    if waiting:
                        problems[str(operation)] = (
                            f"the link to {broker} is to go, but {waiting} reliable messages still "
                            "wait on it: it stays until the agents have fetched them"
                        )
        except (DriverError, StoreError) as error:
            problems[str(operation)] = f"{_what(operation)}: {error}"

    async def _admit(
        self,
        problems: dict[str, str],
        document: Document,
        operations: Sequence[Operation],
    ) -> bool:
        """One call for all limits. False: somebody is still above a limit that fell."""
        limits = {name: n for name, n in self._limits.items() if name in document.classes}
        for operation in operations:
            match operation:
                case SetLimit(name, limit):
                    limits[name] = limit
                case ClearLimit(name):
                    limits.pop(name, None)
        classes = {
            name: ClassSpec(flow=spec.flow, limit=limits.get(name))
            for name, spec in document.classes.items()
        }
        wanted = (classes, document.unmanaged)
        if wanted == self._admitting:
            return True
        try:
            await self._driver.admit(classes, unmanaged=document.unmanaged)
        except Unsupported as error:
            problems["admission"] = f"limits are not enforced: {error}"
            return True
        except DriverError as error:
            problems["admission"] = f"limits: {error}"
            return False
        self._limits, self._admitting = limits, wanted
        return True

    async def _know(
        self, problems: dict[str, str], document: Document, links: Collection[str] | None
    ) -> None:
        try:
            await self._router.know(document.flows, links)
        except StoreError as error:
            problems["tables"] = str(error)

    async def _remake(self, problems: dict[str, str]) -> bool:
        """Outboxes of all links and what was delivered to: another process' disk may lack them."""
        try:
            await self._router.ensure_channels()
        except Unsupported:
            return True  # the flows that would need them say so
        except DriverError as error:
            problems["outboxes"] = f"outboxes: {error}"
            return False
        return True

    async def _sweep(
        self, problems: dict[str, str], document: Document, current: Callable[[], bool]
    ) -> None:
        """Once in each process of the broker, and again until nothing is left."""
        server = self._driver.server
        if server in ("", self._swept):
            return
        peers = {broker for order in document.orders for broker in order.peers.values()}
        try:
            if await self._router.sweep(
                lambda: self._busy() | document.neighbours.keys() | peers, current
            ):
                self._swept = server
        except DriverError as error:
            problems["outboxes"] = f"outboxes: {error}"

    async def _close_ingress(self, problems: dict[str, str], document: Document) -> None:
        """Publishers of flows that come in here no more hear it: whatever this agent, or one before
        it, was told while they did."""
        server = self._driver.server
        flows = frozenset(
            flow
            for flow, spec in document.flows.items()
            if spec.ingress and spec.delivery is Delivery.RELIABLE
        )
        if not server or self._closed == (server, flows):
            return
        try:
            await self._driver.close_ingress(flows)
        except DriverError as error:
            problems["ingress"] = f"publishers of flows that come in elsewhere: {error}"
        else:
            self._closed = server, flows

    async def _want(self, problems: dict[str, str], classes: Mapping[str, ClassSpec]) -> None:
        """Flows of classes that may have consumers are wanted of the neighbours."""
        try:
            await self._router.set_local(
                {spec.flow for spec in classes.values() if spec.limit is None or spec.limit > 0}
            )
        except DriverError as error:
            problems["delivery"] = f"delivery to consumers: {error}"

    async def _forget(self, problems: dict[str, str], flow: str) -> None:
        try:
            await self._router.intake.forget_flow(flow)
            del self._channels[flow]
        except DriverError as error:
            problems[f"forget {flow}"] = f"flow {flow} cannot be taken away: {error}"

    def _tell(self, problems: dict[str, str]) -> None:
        for text in sorted(set(problems.values()) - set(self._problems.values())):
            log.warning("%s", text)
        if self._problems and not problems:
            log.info("everything could be carried out now")
        self._problems = problems


def _what(operation: Operation) -> str:
    match operation:
        case EnsureChannel(flow) | SetGate(flow) | ClearGate(flow):
            return f"flow {flow}"
        case AddLink(broker) | RemoveLink(broker):
            return f"link to {broker}"
        case SetLimit(name) | ClearLimit(name):
            return f"class {name}"
