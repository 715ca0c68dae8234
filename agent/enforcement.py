"""Enforce a document at one broker, and report what is in force there.

Operations come from `weir.coordination.reconcile` in a safe order: those that reduce what passes
come before those that increase it. The latter wait until all of the former have succeeded, so that
no intermediate state lets more through than the larger of the two states.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby

from agent.assignment import PublisherLists
from agent.drivers.base import Driver, DriverError, Stats, Unsupported
from agent.profile import ProfileKey
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
from weir.coordination.wire import (
    Bucket,
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    Observed,
    Publishers,
)

log = logging.getLogger("weir.agent")

NOT_ON_DISK = (
    "the broker acknowledges messages before they are on disk: reliable flows can lose "
    "acknowledged messages in a power failure; set `sync_interval: always` in its jetstream block"
)


class Enforcer:
    """Enforce the settings of one broker: channels, gates, limits and links."""

    def __init__(
        self,
        *,
        driver: Driver,
        router: Router,
        busy: Callable[[], frozenset[str]],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """Take `busy`, which returns the brokers of running actions, whose links must be left
        alone, and `changed`, which is called when something has come into force by itself."""
        self._driver = driver
        self._router = router
        self._busy = busy
        self._changed = changed
        self._lists = PublisherLists(
            driver,
            router.flushes,
            problems=router.problems,
            tasks=router.tasks,
            changed=self._on_lists,
        )
        self._channels: dict[str, FlowSpec] = {}
        self._limits: dict[str, int] = {}
        """Class -> the limit that no class exceeds."""
        self._parts: Mapping[str, Bucket] = {}
        """Flow -> the part of its bucket that the last document gives this broker."""
        self._admitting: tuple[dict[str, ClassSpec], str] | None = None
        """The admission settings that the driver has put into force last."""
        self._made = ""
        """The broker's process in which every channel and outbox was ensured."""
        self._swept = ""
        """The broker's process in which no outbox of a former link is left."""
        self._closed: tuple[str, frozenset[str]] | None = None
        """The broker's process, and the flows whose ingress stays open there."""
        self.version = ""
        """Version of the last document that was enforced completely."""
        self.number = 0
        """Number of the last document that was enforced, completely or not."""
        self._problems: dict[str, str] = {}
        self._flow_failures: dict[str, str] = {}
        self._class_failures: dict[str, str] = {}
        self._classes: Mapping[str, ClassSpec] = {}
        self._places: frozenset[str] = frozenset()
        """The flows that subscribers here receive on streams."""

    async def apply(self, document: Document, *, current: Callable[[], bool]) -> bool:
        """Enforce what differs. Returns False when something is left to do; call again after a
        moment.

        `current` returns whether this document is the last one that was fetched. An older one, from
        the disk or from before the last orders, may name links that the tables no longer have.
        """
        problems: dict[str, str] = {}
        self._router.set_addresses({name: n.address for name, n in document.neighbours.items()})
        failures: dict[str, str] = {}
        await self._know(problems, document, None)
        # Who is let in no more goes before anything else; who comes anew comes last.
        await self._assign(problems, document, self._lists.shrink)
        # Delivery starts before consumers are admitted, and stops after the last one has left.
        undelivered = await self._want(
            problems, {**self._classes, **document.classes}, {*self._places, *document.places}
        )
        self._classes, self._places = document.classes, frozenset(document.places)
        self._driver.map_flows(
            document.places,
            {
                flow: spec.keep_s
                for flow in document.places
                if (spec := document.flows.get(flow)) is not None
                and spec.delivery is Delivery.RELIABLE
            },
        )
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
        self._parts = document.buckets
        self._router.flows.count(
            {flow: part for flow, part in document.buckets.items() if part.count_only}
        )
        whole = True
        for kind, group in groupby(operations, self._kind):
            if kind in ("fewer", "more"):
                whole = await self._admit(problems, document, tuple(group))
            else:
                for operation in group:
                    await self._carry_out(problems, failures, operation, current)
            if not whole:
                break
        if whole:
            # Classes without limits and the rule for strangers have no operation of their own.
            await self._admit(problems, document, ())
            undelivered = await self._want(problems, document.classes, self._places)
            # A flow whose ingress could not be made cannot take publishers.
            await self._assign(
                problems, document, lambda lists: self._lists.set(lists, but=failures)
            )
            for flow in [flow for flow in self._channels if flow not in document.flows]:
                await self._forget(problems, flow)
        self._profile()
        if anew and await self._remake(problems) and whole and not problems:
            self._made = server
        if current():
            # Last, when all else is in place: from here on messages without a target are discarded.
            await self._know(problems, document, document.neighbours.keys())
            await self._sweep(problems, document, current)
            await self._close_ingress(problems, document)
        # With the number: an observation that confirms this document says what is missing of it.
        self._flow_failures = {**failures, **undelivered}
        self._class_failures = (
            dict.fromkeys(document.classes, problems["admission"])
            if "admission" in problems
            else {}
        )
        self.number = document.number
        if not problems and self.version != document.version:
            log.info("document %s is in force", document.version[:12])
            self.version = document.version
        self._tell(problems)
        return not problems

    def observed(self, stats: Stats, others: Iterable[str] = ()) -> Observed:
        """Return what is in force, for the control plane; `others` are further problems to
        report."""
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
            gates=self._router.flows.gates,
            buckets={flow: part for flow, part in self._parts.items() if self._holds(flow, part)},
            publishers=self._lists.in_force,
            limits=dict(self._limits),
            admitted={name: state.admitted for name, state in stats.classes.items()},
            waiting={name: state.waiting for name, state in stats.classes.items()},
            ingress=self._router.flows.ingress,
            served={name: spec.flow for name, spec in self._served().items()},
            flow_failures=self._flow_failures,
            class_failures=self._class_failures,
            hand_overs=self._driver.hand_overs(),
            links=tuple(sorted(self._router.tables.links)),
            problems=tuple(sorted(set(problems))),
        )

    # --- inside

    def _on_lists(self) -> None:
        self._profile()
        self._changed()

    def _profile(self) -> None:
        """Have the waits of flows recorded whose part of a bucket is enforced here: from the moment
        at which part and list came into force."""
        self._router.flows.set_profiles(
            {
                flow: ProfileKey(
                    rate_per_s=part.rate_per_s,
                    size=part.size,
                    publishers=self._lists.let_in(flow),
                    is_settled=self._lists.is_settled(flow),
                )
                for flow, part in self._parts.items()
                if part.rate_per_s > 0 and not part.count_only
            }
        )

    def _served(self) -> Mapping[str, ClassSpec]:
        return {} if self._admitting is None else self._admitting[0]

    def _holds(self, flow: str, part: Bucket) -> bool:
        """Return whether a part of a bucket is in force, and the flow enters here or not as it
        says."""
        flows = self._router.flows
        if part.rate_per_s == 0:
            return flow not in flows.ingress
        in_place = part.count_only or flows.gates.get(flow) == part.gate
        return in_place and flow in flows.ingress

    def _now(self) -> Observed:
        """Return the state that reconciling starts from."""
        return Observed(
            gates=self._router.flows.gates,
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
        failures: dict[str, str],
        operation: Operation,
        current: Callable[[], bool],
    ) -> None:
        if isinstance(operation, AddLink | RemoveLink) and not current():
            return  # newer orders have arrived
        try:
            match operation:
                case EnsureChannel(flow, spec):
                    await self._router.flows.ensure_flow(flow, spec)
                    self._channels[flow] = spec
                case SetGate(flow, gate):
                    self._router.flows.set_gate(flow, gate)
                case ClearGate(flow):
                    self._router.flows.set_gate(flow, None)
                case AddLink(broker, address):
                    await self._router.add_link(broker, address)
                case RemoveLink(broker):
                    waiting = await self._router.remove_link(broker, current)
                    if waiting:
                        problems[str(operation)] = (
                            f"the link to {broker} cannot be removed yet: {waiting} reliable "
                            f"messages still "
                            "wait on it. It stays until the agents have fetched them"
                        )
        except (DriverError, StoreError) as error:
            problems[str(operation)] = f"{_what(operation)}: {error}"
            if isinstance(operation, EnsureChannel):
                failures[operation.flow] = str(error)

    async def _admit(
        self,
        problems: dict[str, str],
        document: Document,
        operations: Sequence[Operation],
    ) -> bool:
        """Set all limits in one call. Returns False while a class is still above a limit that
        fell."""
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
            problems["admission"] = f"limits cannot be set: {error}"
            return False
        self._limits, self._admitting = limits, wanted
        return True

    async def _assign(
        self,
        problems: dict[str, str],
        document: Document,
        change: Callable[[Mapping[str, Publishers]], Awaitable[str]],
    ) -> None:
        try:
            problem = await change(document.publishers)
        except DriverError as error:
            problem = f"lists of publishers cannot be set: {error}"
        if problem:
            problems["publishers"] = problem

    async def _know(
        self, problems: dict[str, str], document: Document, links: Collection[str] | None
    ) -> None:
        try:
            await self._router.know(document.flows, links)
        except StoreError as error:
            problems["tables"] = str(error)

    async def _remake(self, problems: dict[str, str]) -> bool:
        """Ensure the outboxes of all links and all deliveries: another process's disk may lack
        them."""
        try:
            await self._router.ensure_channels()
        except Unsupported:
            return True  # the flows that need them report it
        except DriverError as error:
            problems["outboxes"] = f"outboxes: {error}"
            return False
        return True

    async def _sweep(
        self, problems: dict[str, str], document: Document, current: Callable[[], bool]
    ) -> None:
        """Remove leftover outboxes once in each process of the broker, and again until none is
        left."""
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
        """Refuse publishers of flows whose ingress is not at this broker, whatever an earlier
        document allowed."""
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
            problems["ingress"] = f"cannot refuse publishers of flows that enter elsewhere: {error}"
        else:
            self._closed = server, flows

    async def _want(
        self, problems: dict[str, str], classes: Mapping[str, ClassSpec], mapped: Collection[str]
    ) -> dict[str, str]:
        """Declare interest in the flows of classes that may have consumers, and in those that
        subscribers receive on streams. Returns the flows that are not delivered here, each with
        the reason."""
        wanted = {spec.flow for spec in classes.values() if spec.limit is None or spec.limit > 0}
        wanted.update(mapped)
        try:
            undelivered = await self._router.flows.set_local(wanted)
        except DriverError as error:
            problems["delivery"] = f"cannot prepare delivery to consumers: {error}"
            return dict.fromkeys(wanted - self._router.flows.local, str(error))
        for flow, why in undelivered.items():
            problems[f"deliver {flow}"] = f"flow {flow} cannot be delivered to consumers: {why}"
        return undelivered

    async def _forget(self, problems: dict[str, str], flow: str) -> None:
        try:
            await self._router.flows.forget_flow(flow)
            del self._channels[flow]
        except DriverError as error:
            problems[f"forget {flow}"] = f"flow {flow} cannot be removed: {error}"

    def _tell(self, problems: dict[str, str]) -> None:
        for text in sorted(set(problems.values()) - set(self._problems.values())):
            log.warning("%s", text)
        if self._problems and not problems:
            log.info("all problems with the document are solved")
        self._problems = problems


def _what(operation: Operation) -> str:
    match operation:
        case EnsureChannel(flow) | SetGate(flow) | ClearGate(flow):
            return f"flow {flow}"
        case AddLink(broker) | RemoveLink(broker):
            return f"link to {broker}"
        case SetLimit(name) | ClearLimit(name):
            return f"class {name}"
