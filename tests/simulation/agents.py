"""A virtual agent: the runtime that a real one has around the same pure cores.

What `disk` and the brokers hold survives a crash; everything else is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.brokers import Message
from tests.simulation.kernel import Crash
from weir.coordination import effects as ask
from weir.coordination.effects import Effect, Mark
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Here, ParticipantState
from weir.coordination.reconcile import ClearGate, ClearLimit, SetGate, SetLimit, reconcile
from weir.coordination.tables import (
    Tables,
    destinations,
    interest_accepted,
    interest_towards,
)
from weir.coordination.termination import Answer, Question
from weir.coordination.wire import Document, Observed, Report

if TYPE_CHECKING:
    from tests.simulation.world import World

INGRESS = ""
"""The source that publishers write to."""

POLL_S = 1.5
HEARTBEAT_S = 2.0
ASK_LOSS = 0.1
"""Of the questions between agents, which a request without an answer stands for."""


class Disk:
    """The agent's state directory."""

    def __init__(self, tables: Tables, document: Document) -> None:
        self.states: dict[str, ParticipantState] = {}
        self.tables = tables
        self.document = document


class SimAgent:
    """One agent beside one broker."""

    book_class: type[OrderBook] = OrderBook

    def __init__(self, world: World, name: str, tables: Tables, document: Document) -> None:
        self.world, self.name = world, name
        self.clock = world.clock
        self.broker = world.brokers[name]
        self.disk = Disk(tables, document)
        self.life = 0
        self.alive = False
        self.effects_to_live: int | None = None
        self.dies_copying = self.dies_answering = False
        self.restart_after = 1.0
        self.start()

    # --- life and death

    def start(self) -> None:
        """A new process: what it knows comes from the disk and from its broker."""
        if self.name in self.world.gone.destroyed:
            return
        self.life += 1
        self.alive = True
        self.running = False
        self.effects_to_live, self.dies_copying, self.dies_answering = None, False, False
        self.tables = self.disk.tables
        self.take(self.disk.document)
        self.book = self.book_class(self.disk.states.values())
        self.book.doubts.doubt_s = self.world.doubt_s
        self.paused: tuple[str, int] | None = None
        self.keep: frozenset[str] = frozenset()
        self.held: set[str] = set()
        self.taken: dict[str, int] = {}
        """Gone broker -> what it had taken of its outbox when its removal began."""
        self.flying: set[str] = set()
        self.published: dict[str, tuple[str, frozenset[str]]] = {}
        self.publishing: set[str] = set()
        self.synced_tables: Tables | None = None
        self.synced_local: frozenset[str] | None = None
        self.gates = dict(self.document.gates)
        self.limits: dict[str, int] = {}
        self.incarnation = 0
        self.poll_id = (self.life, 0)
        self.report_seq = 0
        self.beating = False
        self.next_tick = float("inf")
        self.world.say("%s starts, life %d", self.name, self.life)
        self._begin(self.life)

    def _begin(self, life: int) -> None:
        if life != self.life or not self.alive:
            return
        if not self.broker.up:
            # It forwards nothing until it knows what its neighbours want.
            self.clock.after(0.1, self._begin, life)
            return
        self.running = True
        self.enforce(self.document, links=False)
        for neighbour in sorted(self.tables.links):
            self.read_interest(neighbour)
        self.carry_out(self.book.on_restart(self.here))
        self.settle()
        self.open_session(life)

    def die(self, why: str) -> None:
        """The process ends; somebody starts it again."""
        if not self.alive:
            return
        self.world.say("%s dies, %s", self.name, why)
        self.world.counts["agent_crashes"] += 1
        for source in sorted(self.flying):
            if self.clock.rng.random() < 0.3:
                # What the dead process had handed to its kernel still reaches the broker.
                delay = self.clock.rng.random() * 0.1
                self.clock.after(delay, self._ghost, source, self.tables, self.local)
        self.alive = self.running = False
        self.life += 1
        self.clock.after(self.restart_after, self.start)

    @property
    def here(self) -> Here:
        """What the participants see."""
        return Here(
            local=self.local,
            tables=self.tables,
            now=self.clock.now,
            answering=frozenset(n for n in self.tables.links if self.world.brokers[n].up),
        )

    def take(self, document: Document) -> None:
        """Go by this document from now on."""
        self.document = document
        self.local = frozenset(c.flow for c in document.classes.values() if c.limit != 0)

    def settle(self) -> None:
        """After any input: go on reading, tell the neighbours, plan the next tick."""
        self.sync_interest()
        self.kick(INGRESS)
        for neighbour in sorted(self.tables.links):
            self.kick(neighbour)
        at = self.book.next_tick
        if at < self.next_tick:
            self.next_tick = at
            self.clock.after(max(0.0, at - self.clock.now), self._tick, self.life)

    def wake(self) -> None:
        """A broker came back."""
        if self.running:
            self.settle()

    def _tick(self, life: int) -> None:
        if life == self.life:
            self.next_tick = float("inf")
            self.carry_out(self.book.tick(self.here))
            self.settle()

    # --- forwarding

    def readable(self, source: str) -> bool:
        """Whether the next message of this source may be forwarded."""
        if not self.running or source in self.held:
            return False
        if self.paused and source not in self.keep:
            return False
        return source == INGRESS or source in self.tables.links

    def queue_of(self, source: str):  # type: ignore[no-untyped-def]
        if source == INGRESS:
            return self.broker.ingress
        outbox = self.world.brokers[source].outboxes.get(self.name)
        return outbox.queue if outbox is not None else ()

    def kick(self, source: str) -> None:
        """Read from a source if there is something and nothing of it is under way."""
        if source in self.flying or not self.readable(source):
            return
        waiting = len(self.queue_of(source))
        if waiting:
            rng = self.clock.rng
            self.flying.add(source)
            self.clock.after(
                0.005 + rng.random() * self.world.hop_s,
                self._forward,
                self.life,
                source,
                min(waiting, 1 + int(rng.random() * 3)),
            )

    def _forward(self, life: int, source: str, read: int) -> None:
        if life != self.life:
            return
        if source in self.world.gone.destroyed:
            self.flying.discard(source)
            self._check_drained()
            return
        there = self.broker if source == INGRESS else self.world.brokers[source]
        if not (there.up and self.broker.up):
            self.clock.after(0.05, self._forward, life, source, read)
            return
        queue = self.queue_of(source)
        heard = False
        for _ in range(read):
            if not queue:
                break
            head = queue[0]
            if isinstance(head, Mark):
                queue.popleft()
                heard = True
                self.carry_out(self.book.on_mark(head, self.here))
                if not self.readable(source):
                    break
            else:
                self._copy(head, source)
                queue.popleft()
                if source != INGRESS:
                    there.outboxes[self.name].taken += 1
        self.flying.discard(source)
        self._check_drained()
        if heard:
            self.settle()
        else:
            self.kick(source)

    def _copy(self, message: Message, source: str) -> None:
        """Publish to the local consumers and to the outboxes; settled by the caller."""
        flow = message[0]
        targets: list[str | None] = list(destinations(flow, source or None, self.tables))
        if flow in self.local:
            targets.insert(0, None)
        cut = len(targets) + 1
        if self.dies_copying:
            cut = self.clock.rng.randrange(len(targets) + 1)
        self.world.counts["forwarded"] += 1
        for target in targets[:cut]:
            if target is None:
                self.world.audit.delivered(self, message)
            elif target not in self.broker.outboxes:
                self.world.audit.fail(f"{self.name} forwards to {target} without an outbox")
            else:
                self.broker.outboxes[target].write(message)
                self.world.agents[target].kick(self.name)
        if self.dies_copying:
            raise Crash(self)

    def _ghost(self, source: str, tables: Tables, local: frozenset[str]) -> None:
        """Copies of the next message by tables of the past; the source was not settled."""
        queue = self.queue_of(source)
        if not queue or isinstance(queue[0], Mark) or not self.broker.up:
            return
        message = queue[0]
        self.world.counts["ghost_writes"] += 1
        if message[0] in local:
            self.world.audit.delivered(self, message)
        for target in destinations(message[0], source or None, tables):
            if target in self.broker.outboxes:
                self.broker.outboxes[target].write(message)
                self.world.agents[target].kick(self.name)

    def _check_drained(self) -> None:
        if self.paused and not self.flying - self.keep:
            self.clock.after(0.0, self._drained, self.life, self.paused)

    def _drained(self, life: int, paused: tuple[str, int]) -> None:
        if life == self.life and paused == self.paused and not self.flying - self.keep:
            self.carry_out(self.book.on_drained(*paused, self.here))
            self.settle()

    # --- interest

    def sync_interest(self) -> None:
        """Write what is wanted from each neighbour to that neighbour's broker, if it changed."""
        if not self.running or (
            self.synced_tables is self.tables and self.synced_local is self.local
        ):
            return
        self.synced_tables, self.synced_local = self.tables, self.local
        for neighbour in sorted(self.tables.links):
            if neighbour not in self.publishing and self._wanted(neighbour) != self.published.get(
                neighbour
            ):
                self.publishing.add(neighbour)
                self.clock.after(
                    self.clock.rng.random() * self.world.hop_s, self._publish, self.life, neighbour
                )

    def _wanted(self, neighbour: str) -> tuple[str, frozenset[str]]:
        return self.tables.epoch(neighbour), interest_towards(neighbour, self.local, self.tables)

    def _publish(self, life: int, neighbour: str) -> None:
        if life != self.life:
            return
        if neighbour not in self.tables.links:
            self.publishing.discard(neighbour)
            return
        broker = self.world.brokers[neighbour]
        if not broker.up:
            self.clock.after(0.1, self._publish, life, neighbour)
            return
        self.publishing.discard(neighbour)
        wanted = self._wanted(neighbour)
        broker.interest[self.name] = wanted
        self.published[neighbour] = wanted
        self.clock.after(
            self.clock.rng.random() * self.world.hop_s,
            self.world.agents[neighbour].heard_interest,
            self.name,
        )

    def heard_interest(self, neighbour: str) -> None:
        """A neighbour wrote a new value to this broker."""
        if self.running:
            self.read_interest(neighbour)
            self.settle()

    def read_interest(self, neighbour: str) -> None:
        """Take in the last value that a neighbour wrote."""
        if neighbour in self.broker.interest:
            epoch, flows = self.broker.interest[neighbour]
            self.tables = interest_accepted(self.tables, neighbour, epoch, flows)

    # --- effects

    def carry_out(self, effects: list[Effect]) -> None:
        """Each in its turn; a doomed agent dies between two of them."""
        for effect in effects:
            if self.effects_to_live is not None:
                self.effects_to_live -= 1
                if self.effects_to_live < 0:
                    raise Crash(self)
            self.carry_out_one(effect)

    def carry_out_one(self, effect: Effect) -> None:
        """One effect."""
        world = self.world
        match effect:
            case ask.Persist(state, tables):
                self.disk.states[state.action] = state
                world.audit.persisted(self.name, state)
                if tables is not None:
                    self.disk.tables = tables
            case ask.Forget(action):
                self.disk.states.pop(action, None)
            case ask.PauseIntake(action, attempt, keep):
                self.paused, self.keep, self.held = (action, attempt), keep, set()
                self._check_drained()
                world.counts["pauses"] += 1
            case ask.HoldLink(broker):
                self.held.add(broker)
            case ask.ResumeIntake():
                self.paused, self.keep, self.held = None, frozenset(), set()
            case ask.EnsureLink(broker, _):
                self.broker.ensure_outbox(broker)
                self.clock.after(
                    self.clock.rng.random() * world.hop_s, self._probe, self.life, broker, 5
                )
            case ask.DropLink(broker):
                self.broker.drop_outbox(broker)
            case ask.LiftBound(broker):
                self.taken[broker] = self.broker.outboxes[broker].taken
            case ask.CarryOver():
                self.clock.after(
                    self.clock.rng.random() * world.hop_s, self.carry_over, self.life, effect
                )
            case ask.SendMark(to, mark):
                if self.broker.up and to in self.broker.outboxes:
                    self.broker.outboxes[to].queue.append(mark)
                    world.agents[to].kick(self.name)
            case ask.SwapTables(tables):
                self.tables = tables
                for neighbour in sorted(tables.links):
                    self.read_interest(neighbour)
            case ask.Say(report):
                world.say("%s says %s", self.name, report)
                self.report((report,))
            case ask.AskPeer(broker, question):
                world.counts["asked"] += 1
                delay = self.clock.rng.random() * world.hop_s
                self.clock.after(delay, self._ask, self.life, broker, question)

    def _probe(self, life: int, broker: str, tries: int) -> None:
        if life != self.life:
            return
        if self.broker.up and self.world.brokers[broker].up:
            effects = self.book.on_link_ready(broker, self.here)
        elif tries:
            self.clock.after(0.2, self._probe, life, broker, tries - 1)
            return
        else:
            effects = self.book.on_link_failed(broker, "connection refused", self.here)
        self.carry_out(effects)
        self.settle()

    # --- peers

    def _ask(self, life: int, broker: str, question: Question) -> None:
        """A question arrives at the peer, and an answer leaves; either may get lost."""
        peer, clock = self.world.agents[broker], self.clock
        if life != self.life or not (peer.running and peer.broker.up):
            return
        if clock.rng.random() < ASK_LOSS:
            return
        effects, answer = peer.book.on_question(question, peer.here)
        peer.carry_out(effects)
        peer.settle()
        self.world.say("%s answers %s: %s", broker, self.name, answer.stance)
        self.world.counts[f"answered_{answer.stance}"] += 1
        clock.after(clock.rng.random() * self.world.hop_s, self._peer_answered, life, answer)
        if peer.dies_answering:
            raise Crash(peer)

    def _peer_answered(self, life: int, answer: Answer) -> None:
        if life == self.life and self.running:
            self.carry_out(self.book.on_answer(answer, self.here))
            self.settle()

    def carry_over(self, life: int, effect: ask.CarryOver) -> None:
        """Copy what waits for who is gone; a doomed agent dies in the middle of it."""
        outboxes = self.broker.outboxes
        if life != self.life or effect.to not in outboxes or effect.gone not in outboxes:
            return
        if not self.broker.up:
            self.clock.after(0.1, self.carry_over, life, effect)
            return
        gone = outboxes[effect.gone]
        held = [m for m in gone.queue if not isinstance(m, Mark)]
        cut = self.clock.rng.randrange(len(held) + 1) if self.dies_copying else len(held)
        for message in held[:cut]:
            outboxes[effect.to].write(message)
        self.world.counts["carried_over"] += cut
        if self.dies_copying:
            raise Crash(self)
        why = "it has read meanwhile" if gone.taken != self.taken[effect.gone] else ""
        self.carry_out(
            self.book.on_carried(effect.action, effect.attempt, effect.to, why, self.here)
        )
        self.settle()

    # --- the control plane

    def heard(self, life: int) -> None:
        """The control plane has answered."""
        if life == self.life:
            self.book.doubts.heard(self.clock.now)

    def open_session(self, life: int) -> None:
        """Ask for the next incarnation until there is an answer."""
        if life == self.life and not self.incarnation:
            control = self.world.control
            self.world.network.send(self.name, control.open_session, self.name, life)
            self.clock.after(0.5, self.open_session, life)

    def session_opened(self, life: int, incarnation: int) -> None:
        """The answer; of two sessions the newer one counts."""
        self.heard(life)
        if life == self.life and incarnation > self.incarnation:
            self.incarnation, self.report_seq = incarnation, 0
            if not self.beating:
                self.beating = True
                self.heartbeat(life)
            self.poll()

    def fenced(self, life: int, incarnation: int) -> None:
        """The control plane knows a newer session: a repeated request of ours opened it."""
        if life == self.life and incarnation == self.incarnation:
            self.incarnation = 0
            self.open_session(life)

    def poll(self) -> None:
        """Ask for a document other than the last one; one request at a time."""
        self.poll_id = (self.life, self.poll_id[1] + 1)
        control = self.world.control
        self.world.network.send(
            self.name, control.poll, self.name, self.incarnation, self.poll_id, self.seen
        )
        self.clock.after(POLL_S, self._poll_lost, self.poll_id)

    @property
    def seen(self) -> str:
        """The version this process fetched last; none right after a start."""
        return self.document.version if self.fetched else ""

    @property
    def fetched(self) -> bool:
        return self.fetched_in == self.life

    fetched_in = 0

    def _poll_lost(self, poll_id: tuple[int, int]) -> None:
        if poll_id == self.poll_id and self.alive:
            self.poll()

    def answered(self, poll_id: tuple[int, int], document: Document | None) -> None:
        """A poll's answer; late ones are forgotten."""
        if poll_id != self.poll_id or not self.running:
            return
        self.heard(self.life)
        if document is not None:
            self.fetched_in = self.life
            self.take(document)
            self.disk.document = document
            self.carry_out(self.book.on_orders(document.orders, self.here))
            self.enforce(document, links=True)
            self.report(())
        else:
            self.carry_out(self.book.on_unchanged(self.here))
        self.settle()
        self.poll()

    def enforce(self, document: Document, *, links: bool) -> None:
        """Carry out what `reconcile` says; in these runs links change by orders only."""
        operations = reconcile(document, self.observed, document.flows, self.book.busy, links=links)
        for operation in operations:
            match operation:
                case SetGate(flow, gate):
                    self.gates[flow] = gate
                case ClearGate(flow):
                    del self.gates[flow]
                case SetLimit(name, limit):
                    self.limits[name] = limit
                    self.world.consumers.limit_changed(self.name, name, limit)
                case ClearLimit(name):
                    del self.limits[name]
                    self.world.consumers.limit_changed(self.name, name, None)
                case _:
                    self.world.audit.fail(f"{self.name} was told to {operation}")

    @property
    def observed(self) -> Observed:
        """What is in force here."""
        return Observed(
            version=self.document.version,
            gates=dict(self.gates),
            limits=dict(self.limits),
            links=tuple(sorted(self.tables.links)),
        )

    def heartbeat(self, life: int) -> None:
        """Keep the lease."""
        if life == self.life:
            self.report(())
            self.clock.after(HEARTBEAT_S, self.heartbeat, life)

    def report(self, reports: tuple[Report, ...]) -> None:
        """Say something and what is observed; nobody repeats it but the participant's tick."""
        if self.incarnation:
            self.report_seq += 1
            self.world.network.send(
                self.name,
                self.world.control.report,
                self.name,
                self.incarnation,
                self.report_seq,
                self.life,
                reports,
                self.observed,
            )
