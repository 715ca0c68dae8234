"""The control plane: sessions, documents, reports and the coordinator over a database in memory.

Executions, their application and their order are those of `tests.simulation.control`; this adds
what agents of production ask and say: sessions with incarnations, long polls, observed states.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.client import Away, Introduction, Refused, Session, Superseded
from tests.lives.loop import PROCESS
from tests.lives.network import WORLD
from tests.simulation.control import Control
from tests.simulation.lease import Fenced
from weir.coordination.coordinator import UNDER_WAY
from weir.coordination.views import ActionView
from weir.coordination.wire import (
    Document,
    FlowSpec,
    Neighbour,
    Observed,
    Order,
    OrderPhase,
    Report,
    document_from_dict,
    to_dict,
)

if TYPE_CHECKING:
    from tests.lives.world import World
    from tests.simulation.actions import Change

CONTROL = "control plane"
POLL_S = 3.0
ANSWER_S = 2.0
LEASE_S = 5.0


STRANGE = Order(
    action="from-the-future",
    attempt=1,
    kind="dance",
    phase=OrderPhase.PREPARE,
    role="i",
    peers={"i": "b0", "j": "b1"},
)


class LivesControl(Control):
    """The control plane's side."""

    world: World  # type: ignore[assignment]
    hides_who_never_came = False
    """A broker whose agent has never said where it is reached is in no document."""

    def __init__(self, world: World, edges: Any, settings: Any) -> None:
        super().__init__(world, edges, settings)  # type: ignore[arg-type]
        self.listeners: list[Callable[[], None]] = []
        self.addresses: dict[str, str] = {}
        self.strange: set[str] = set()
        """Brokers whose documents hold an order of a kind that no agent knows."""

    # --- what documents say

    def document(self, broker: str) -> Document:
        """Everything that shall be true at a broker now."""
        if self.built.get(broker) == self.revision:
            return self.documents[broker]
        self.built[broker] = self.revision
        scenario = self.world.scenario
        classes, gates = self._enforced(broker, burst=4.0)
        orders = self._orders(broker, self.addresses)
        if broker in self.strange:
            orders.append(STRANGE)
        asked = [
            self.settings[self.changes[action.id].key].changed
            for view in self.executions
            for step in view.steps
            for action in step.actions
            if action.state in UNDER_WAY and broker in action.awaited
        ]
        document = Document(
            system="s",
            broker=broker,
            version=str(self.serials[broker]),
            flows={
                flow: FlowSpec(delivery=self.world.deliveries[flow], ingress=source == broker)
                for flow, source in scenario.ingress.items()
            },
            classes=classes,
            gates=gates,
            neighbours={
                n: Neighbour(address=self.addresses.get(n, ""))
                for n in sorted(self.neighbours(broker))
                if n in self.addresses or not self.hides_who_never_came
            },
            orders=tuple(orders),
            asked=max(asked, default=0),
        )
        before = self.documents.get(broker)
        if before is None or replace(document, number=before.number) != before:
            document = replace(document, version=str(self._next_version(broker)))
        self.documents[broker] = document = replace(document, number=self.revision)
        return document

    def _desire(self, change: Change, value: float | None) -> None:
        """The agent is asked for another value, by documents of this number on."""
        setting = self.settings[change.key]
        setting.desired = value
        setting.changed = self.revision
        self.world.audit.may_enforce(change, value)

    def _tell(self, brokers: tuple[str, ...] = ()) -> None:
        listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener()

    def stop(self) -> None:
        """The process ends; whoever waits for an answer hears that."""
        super().stop()
        self._tell()

    # --- what agents ask and say

    def opened(self, broker: str, introduction: Introduction) -> Session:
        """POST session."""
        now = self.world.clock.now
        self.leases[broker] = lease = self.leases[broker].opened(now, LEASE_S)
        self.observed.pop(broker, None)
        self.addresses[broker] = introduction.address
        self.revision += 1
        self._tell()
        return Session(
            system="s",
            broker=broker,
            incarnation=lease.incarnation,
            lease_s=LEASE_S,
            poll_s=POLL_S,
        )

    def check(self, broker: str, incarnation: int) -> None:
        """Raises Superseded for a session that was replaced."""
        try:
            self.leases[broker].check(incarnation)
        except Fenced as error:
            self.world.counts["fenced"] += 1
            raise Superseded(str(error)) from error

    def heard(
        self,
        broker: str,
        incarnation: int,
        reports: Iterable[Report],
        observed: Observed | None,
        sent: int,
    ) -> float:
        """POST report."""
        self.check(broker, incarnation)
        now = self.world.clock.now
        self.leases[broker] = self.leases[broker].renewed(incarnation, now, LEASE_S)
        changed = False
        if observed is not None and (
            not self.checks_order_of_reports or sent > self.observed.get(broker, (0, 0, None))[0]
        ):
            changed = self.observed.get(broker, (0, 0, None))[2] != observed
            self.observed[broker] = (sent, observed.number, observed)
        for report in reports:
            self._store(broker, report)
            changed = True
        if changed:
            self.advance()
        return LEASE_S

    def _confirmed(self, action: ActionView) -> ActionView:
        if not action.awaited or action.state not in UNDER_WAY:
            return action
        change = self.changes[action.id]
        broker, name = change.key
        setting = self.settings[change.key]
        _, number, observed = self.observed.get(broker, (0, 0, Observed()))
        if change.kind == "set_population":
            shown: float | None = observed.limits.get(name)
        else:
            shown = observed.gates[name].rate_per_s if name in observed.gates else None
        by = frozenset({broker}) if shown == setting.desired else frozenset()
        if by and not self._recent(number, setting):
            by = frozenset()
        return replace(action, confirmed_by=by)


class Line:
    """What `agent.client.ControlPlane` is to an agent: calls that may be lost, late or repeated."""

    def __init__(self, world: World, broker: str, host: str) -> None:
        self._world = world
        self._broker = broker
        self._host = host
        self._known: tuple[Document | None, Document | None] = (None, None)

    async def session(self, introduction: Introduction) -> Session:
        """See `agent.client.ControlPlane`."""
        return await self._call(
            lambda control: control.opened(self._broker, introduction), ANSWER_S
        )

    async def document(self, session: Session, seen: str, number: int) -> Document | None:
        """See `agent.client.ControlPlane`."""
        broker, world = self._broker, self._world

        def poll(control: LivesControl) -> Any:
            control.check(broker, session.incarnation)
            document = control.document(broker)
            if document.version != seen:
                return document
            return _Poll(world, control, broker, session.incarnation, seen)

        document = await self._call(poll, POLL_S + ANSWER_S)
        if document is None:
            return None
        if self._known[0] is not document:
            # As it travels: an agent reads what it was sent, not what the database holds.
            plain = json.loads(json.dumps(to_dict(document)))
            self._known = (document, document_from_dict(plain))
        return self._known[1]

    async def report(
        self,
        session: Session,
        *,
        sequence: int,
        reports: Iterable[Report] = (),
        observed: Observed | None = None,
        telemetry: Mapping[str, Any] | None = None,
    ) -> float:
        """See `agent.client.ControlPlane`."""
        said = tuple(reports)
        return await self._call(
            lambda control: control.heard(
                self._broker, session.incarnation, said, observed, sequence
            ),
            ANSWER_S,
        )

    async def _call(self, do: Callable[[LivesControl], Any], patience_s: float) -> Any:
        world = self._world
        loop, rng, network = world.loop, world.rng, world.network
        process = PROCESS.get()
        assert process is not None
        future: asyncio.Future[Any] = loop.create_future()
        context = copy_context()

        def reply(answer: Any, error: Exception | None) -> None:
            if network.blocked(CONTROL, self._host) or rng.random() < world.loss:
                world.counts["lost_in_network"] += 1
                return
            loop.call_later(
                rng.random() * world.delay_s, _resolve, future, answer, error, context=context
            )

        def arrive(first: bool) -> None:
            control = world.control
            if not control.up:
                reply(None, Away("connection refused"))
                return
            try:
                answer = do(control)
            except (Superseded, Refused, Away) as error:
                if first:
                    reply(None, error)
                return
            if isinstance(answer, _Poll):
                if first:
                    answer.begin(reply)
            elif first:
                reply(answer, None)

        if network.blocked(self._host, CONTROL) or rng.random() < world.loss:
            world.counts["lost_in_network"] += 1
        else:
            delay_s = rng.random() * world.delay_s
            loop.call_later(delay_s, arrive, True, context=WORLD)
            if rng.random() < world.repeat:
                world.counts["repeated_in_network"] += 1
                loop.call_later(rng.random() * world.delay_s * 8, arrive, False, context=WORLD)
        try:
            async with asyncio.timeout(patience_s):
                return await future
        except TimeoutError:
            raise Away("no answer") from None


class _Poll:
    """A request for a document that waits for another one."""

    def __init__(
        self, world: World, control: LivesControl, broker: str, incarnation: int, seen: str
    ) -> None:
        self._world, self._control = world, control
        self._broker, self._incarnation, self._seen = broker, incarnation, seen
        self._over = False

    def begin(self, reply: Callable[[Any, Exception | None], None]) -> None:
        """Answer when there is news, or when it has lasted long."""
        control = self._control

        def end(answer: Any, error: Exception | None = None) -> None:
            self._over = True
            reply(answer, error)

        def look() -> None:
            if self._over:
                return
            if not control.up:
                end(None, Away("connection lost"))
                return
            try:
                control.check(self._broker, self._incarnation)
            except Superseded as error:
                end(None, error)
                return
            document = control.document(self._broker)
            if document.version != self._seen:
                end(document)
            else:
                control.listeners.append(look)

        control.listeners.append(look)
        self._world.loop.call_later(
            POLL_S, lambda: None if self._over else end(None), context=WORLD
        )


def _resolve(future: asyncio.Future[Any], answer: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
        future.exception()
    else:
        future.set_result(answer)
