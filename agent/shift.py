"""Carry out a participant's effects on the data plane, and report the results to the participant.

`weir.coordination.order_book` decides without input or output; this module waits, writes to the
disk and calls the broker. Effects are carried out one at a time, in their order, under one lock:
what takes long (making a link, draining) runs concurrently and comes back as an input.

A promise that cannot be written is not made: the agent neither sends nor does anything that depends
on it. The participants then return to the state on disk, as after a crash, and try again when it
can be written; messages go on meanwhile wherever nothing is paused.

A mark travels through every delivery class of a link, because each has an order of its own; the
participant receives it when it has come through all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict
from typing import Any

from agent.drivers.base import DriverError, NotGone, Source
from agent.outcomes import OutcomeExchange, sentence
from agent.router import Router
from agent.store import StateRecorder, Store, StoreError
from agent.tasks import Watched
from weir.coordination.effects import (
    AskPeer,
    CarryOver,
    DropLink,
    Effect,
    EnsureLink,
    Forget,
    HoldLink,
    LiftBound,
    Mark,
    PauseIntake,
    Persist,
    ResumeIntake,
    Say,
    SendMark,
    SwapTables,
)
from weir.coordination.order_book import OrderBook
from weir.coordination.participant import Here
from weir.coordination.termination import Answer, Outcome, Question
from weir.coordination.wire import Delivery, Order, Report
from weir.errors import InvalidProblem

log = logging.getLogger(__name__)

_TICK_S = 0.1
_DROP_RETRY_S = 0.5
_CARRY_RETRY_S = 0.2
_WAITS = "waits "
_BOUNDS = ""
"""The key of the task that sets bounds again, among the tasks of carrying over."""
_WRITE_RETRY_S = 1.0


class Shifts:
    """Take part in all actions of this broker. Call `start` before anything moves; then `close`."""

    def __init__(
        self,
        router: Router,
        store: Store,
        *,
        say: Callable[[Report], None],
        deliveries: Iterable[Delivery] = tuple(Delivery),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take `say`, which passes a report to the session with the control plane and must not
        wait, and `clock`, whose seconds continue over a restart."""
        self._router = router
        self._store = store
        self._state_recorder = StateRecorder(router.driver, store, say)
        self._clock = clock
        tables = store.saved.tables
        self._remembers = tables is not None and tables.complete
        """Whether the earlier votes of this agent are still known."""
        self._answered_at = float("-inf")
        self._book = self._new_book()
        self._outcomes = OutcomeExchange(router.driver, self, self._start_task, store.directory)
        # Computing a switch from the tables, writing it and putting it in force is one step.
        self._lock = router.changing
        self._marks = _Marks(frozenset(deliveries))
        self.tasks = Watched()
        self._link_tasks: dict[str, asyncio.Task[None]] = {}
        self._carry_tasks: dict[str, asyncio.Task[None]] = {}
        self._lifted: set[str] = set()
        """Neighbours whose outboxes have no bound during the current attempt."""
        self._orders: tuple[Order, ...] | None = None
        """Orders of the newest document; None before the first."""
        self._disk_failed = False
        self.problem = ""
        """Why no promise can be made now; empty while promises can be made."""

    @property
    def busy(self) -> frozenset[str]:
        """Return the brokers of undecided attempts, whose links reconciling leaves alone."""
        if self._disk_failed:
            # A decision that could not be written does not count; the one on disk still binds.
            return self._book.busy | OrderBook(self._store.saved.states.values()).busy
        return self._book.busy

    async def start(self) -> None:
        """Resume what was promised before a restart. The router has its saved tables and addresses
        of neighbours, and has not started."""
        self._router.on_mark = self._on_mark
        async with self._lock:
            await self._carry_out(self._book.on_restart(self._here()))
        self.tasks.start(self._tick(), "ticks of actions")
        self.tasks.start(self._state_recorder.run(), "recording the state's number")
        self.tasks.start(self._retry_disk(), "retrying the disk")
        self.tasks.start(self._outcomes.listen(), "questions of other agents")
        self.tasks.start(self._outcomes.look(), "decisions by hand")

    async def close(self) -> None:
        """Stop; promises stay on disk."""
        await self.tasks.close()

    async def on_orders(self, orders: Iterable[Order]) -> None:
        """Obey the orders of a document newer than any before. Returns when they are carried
        out."""
        self._orders = tuple(orders)
        async with self._lock:
            if self._disk_failed:
                await self._reload()
            else:
                await self._carry_out(self._book.on_orders(self._orders, self._here()))

    async def on_unchanged(self) -> None:
        """Record that the control plane has no newer document."""
        await self._input(lambda book, here: book.on_unchanged(here))

    def control_plane_answered(self) -> None:
        """Record that the control plane has answered."""
        self._answered_at = self._clock()
        self._book.doubts.heard(self._answered_at)

    def _new_book(self) -> OrderBook:
        """Return an order book made of the state on disk and of what this process knows."""
        book = OrderBook(self._store.saved.states.values(), remembers=self._remembers)
        book.doubts.heard(self._answered_at)
        return book

    # --- questions about outcomes

    async def on_question(self, question: Question) -> Answer | None:
        """Answer a question; see `agent.outcomes.Participants`."""
        async with self._lock:
            if self._disk_failed:
                return None
            effects, answer = self._book.on_question(question, self._here())
            await self._carry_out(effects)
            # An answer is a promise, too: without writing it the agent does not send it.
            return None if self._disk_failed else answer

    async def on_answer(self, answer: Answer) -> None:
        """Take an answer; see `agent.outcomes.Participants`."""
        await self._input(lambda book, here: book.on_answer(answer, here))

    async def decide(self, action: str, outcome: Outcome, reason: str) -> None:
        """Take a person's decision; see `agent.outcomes.Participants`."""
        await self._input(lambda book, here: book.doubts.decide(action, outcome, reason, here))
        if self._disk_failed:
            raise InvalidProblem(
                "state", f"cannot be written, so the decision was not taken: {self.problem}"
            )

    def _show_waits(self) -> None:
        problems, now = self._router.problems, self._clock()
        for key in [key for key in problems if key.startswith(_WAITS)]:
            del problems[key]
        for wait in self._book.doubts.waits(now):
            problems[_WAITS + wait.action] = sentence(wait, now)

    # --- inputs

    def _here(self) -> Here:
        router = self._router
        return Here(
            local=router.flows.local,
            tables=router.tables,
            now=self._clock(),
            known=router.known,
            answering=router.answering,
        )

    async def _input(self, what: Callable[[OrderBook, Here], list[Effect]]) -> None:
        """Pass one input to the participants, and carry out the effects."""
        async with self._lock:
            # Inputs are dropped while the disk fails: all of them are repeated later.
            if not self._disk_failed:
                await self._carry_out(what(self._book, self._here()))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._show_waits()
            self._state_recorder.check()
            if self._book.next_tick <= self._clock():
                await self._input(lambda book, here: book.tick(here))

    async def _on_mark(self, source: Source, payload: bytes) -> None:
        mark = _mark_of(payload)
        if mark is None:
            log.warning("ignored an unreadable mark from %s: %r", source.neighbour, payload[:80])
            return
        if self._marks.complete(source, mark):
            await self._input(lambda book, here: book.on_mark(mark, here))

    async def _drain(self, action: str, attempt: int) -> None:
        await self._router.drained()
        await self._input(lambda book, here: book.on_drained(action, attempt, here))

    async def _link(self, broker: str, address: str) -> None:
        try:
            await self._router.ensure_link(broker, address)
        except DriverError as error:
            why = str(error)
            log.info("could not make the link to %s: %s", broker, why)
            await self._input(lambda book, here: book.on_link_failed(broker, why, here))
            return
        await self._input(lambda book, here: book.on_link_ready(broker, here))

    async def _lift_bound(self, broker: str) -> None:
        while True:
            with contextlib.suppress(DriverError):
                return await self._router.lift_bound(broker)
            await asyncio.sleep(_CARRY_RETRY_S)

    def _end_lifting(self) -> None:
        """Restore the bounds of outboxes when the attempt is over, however it ended."""
        if self._lifted:
            for broker in self._lifted:
                self._stop(self._carry_tasks, broker)
            self._lifted.clear()
            self._carry_tasks[_BOUNDS] = self._start_task(self._set_bounds())

    async def _set_bounds(self) -> None:
        while True:
            with contextlib.suppress(DriverError):
                return await self._router.set_bounds()
            await asyncio.sleep(_CARRY_RETRY_S)

    async def _carry(self, effect: CarryOver) -> None:
        """Carry messages over until it is done or an abort removes the link."""
        why = ""
        while True:
            try:
                await self._router.carry_over(effect.gone, effect.to)
            except NotGone as error:
                why = str(error)
            except DriverError as error:
                log.info("could not carry over the messages for %s: %s", effect.gone, error)
                await asyncio.sleep(_CARRY_RETRY_S)
                continue
            break
        action, attempt, to = effect.action, effect.attempt, effect.to
        await self._input(lambda book, here: book.on_carried(action, attempt, to, why, here))

    # --- a disk that cannot be written

    def _note_disk_failure(self, error: StoreError) -> None:
        """Note that a promise was not made; only the state on disk counts."""
        if not self._disk_failed:
            log.error("%s", error)
        self._disk_failed, self.problem = True, str(error)

    async def _retry_disk(self) -> None:
        while True:
            await asyncio.sleep(_WRITE_RETRY_S)
            if self._disk_failed:
                async with self._lock:
                    try:
                        await self._store.probe()
                    except StoreError as error:
                        self.problem = str(error)
                        continue
                    await self._reload()

    async def _reload(self) -> None:
        """Restart from the promises on disk, then obey the orders of today."""
        self._disk_failed = False
        self._book = self._new_book()
        await self._carry_out(self._book.on_restart(self._here()))
        if self._orders is not None and not self._disk_failed:
            await self._carry_out(self._book.on_orders(self._orders, self._here()))
        if not self._disk_failed:
            log.info("the state directory can be written again")
            self.problem = ""

    # --- effects

    async def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            try:
                await self._do(effect)
            except StoreError as error:
                self._note_disk_failure(error)
                return

    async def _do(self, effect: Effect) -> None:
        log.debug("%s", effect)
        match effect:
            case Persist(state, tables):
                await self._store.persist(state, tables)
            case Forget(action):
                await self._store.forget(action)
                self._marks.forget(action)
            case PauseIntake(action, attempt, keep):
                self._router.pause(keep)
                self._start_task(self._drain(action, attempt))
            case HoldLink(broker):
                self._router.hold(broker)
            case ResumeIntake():
                self._router.resume()
                self._end_lifting()
            case EnsureLink(broker, address):
                self._stop(self._link_tasks, broker)
                self._link_tasks[broker] = self._start_task(self._link(broker, address))
            case LiftBound(broker):
                self._stop(self._carry_tasks, _BOUNDS)
                self._stop(self._carry_tasks, broker)
                self._lifted.add(broker)
                self._carry_tasks[broker] = self._start_task(self._lift_bound(broker))
            case CarryOver():
                self._stop(self._carry_tasks, effect.to)
                self._carry_tasks[effect.to] = self._start_task(self._carry(effect))
            case DropLink(broker):
                await self._drop(broker)
            case SendMark(to, mark):
                # The mark takes its place in the outbox now; storing it may take longer.
                self._start_task(self._send(to, mark))
                await asyncio.sleep(0)
            case SwapTables(tables):
                self._router.swap(tables)
            case Say(report):
                self._state_recorder.send(report)
            case AskPeer():
                self._outcomes.ask(effect)

    async def _drop(self, broker: str) -> None:
        """Remove the link before the next effect, and the outbox at this broker soon after."""
        self._stop(self._link_tasks, broker)
        self._stop(self._carry_tasks, broker)
        try:
            await self._router.drop_link(broker)
        except DriverError as error:
            log.info("could not remove the outbox for %s: %s", broker, error)
            self._start_task(self._drop_later(broker))

    async def _drop_later(self, broker: str) -> None:
        while broker not in self._router.tables.links and broker not in self.busy:
            await asyncio.sleep(_DROP_RETRY_S)
            async with self._lock:
                if broker in self._router.tables.links or broker in self.busy:
                    return
                try:
                    await self._router.drop_link(broker)
                except DriverError:
                    continue
            return

    async def _send(self, to: str, mark: Mark) -> None:
        try:
            await self._router.send_mark(to, json.dumps(asdict(mark)).encode())
        except DriverError as error:
            log.info("could not send a mark to %s: %s", to, error)  # the next tick sends it again

    def _stop(self, tasks: dict[str, asyncio.Task[None]], broker: str) -> None:
        task = tasks.pop(broker, None)
        # This may run in the task itself, after it has failed.
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.tasks.start(work, "part of an action")


class _Marks:
    """Record through which delivery classes of which link a mark has come.

    The first need not wait for the others: messages of the new order follow the commit, the commit
    follows this agent's vote, and the agent votes when the mark has come through all classes.
    """

    def __init__(self, deliveries: frozenset[Delivery]) -> None:
        self._deliveries = deliveries
        self._seen: dict[tuple[str, Mark], set[Delivery]] = {}

    def complete(self, source: Source, mark: Mark) -> bool:
        """Record a mark; return whether it has now come through all classes (it may come again)."""
        seen = self._seen.setdefault((source.neighbour, mark), set())
        seen.add(source.delivery)
        return seen >= self._deliveries

    def forget(self, action: str) -> None:
        """Forget the marks of an action that is over for good."""
        for key in [key for key in self._seen if key[1].action == action]:
            del self._seen[key]


def _mark_of(payload: bytes) -> Mark | None:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        plain = json.loads(payload)
        return Mark(str(plain["action"]), int(plain["attempt"]), str(plain["origin"]))
    return None
