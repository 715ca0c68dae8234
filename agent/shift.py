"""Carries out a participant's effects on the data plane, and tells the participant what happened.

The decisions are those of `weir.coordination.order_book`, which is pure; here are the waiting, the
disk and the broker. Effects are carried out one at a time, in their order, under one lock: what
takes long (a link, draining) runs beside it and comes back as an input.

A promise that cannot be written is not made: nothing that stands behind it is said or done. The
participants then go back to what the disk holds, as after a crash, and try again when it can be
written; messages go on meanwhile wherever nothing stands paused.

A mark travels through every delivery class of a link, because each has an order of its own; the
participant is told when it has come through all of them.
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

from agent.doubts import Doubts, sentence
from agent.drivers.base import DriverError, NotGone, Source
from agent.noting import Noting
from agent.router import Router
from agent.store import Store, StoreError
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
from weir.coordination.questions import Answer, Question
from weir.coordination.termination import Outcome
from weir.coordination.wire import Delivery, Order, Report
from weir.errors import InvalidProblem

log = logging.getLogger(__name__)

_TICK_S = 0.1
_DROP_RETRY_S = 0.5
_CARRY_RETRY_S = 0.2
_WAITS = "waits "
_BOUNDS = ""
"""Among what is carried: the task that sets bounds again."""
_WRITE_RETRY_S = 1.0


class Shifts:
    """All actions this broker takes part in. `start` before anything moves; `close`."""

    def __init__(
        self,
        router: Router,
        store: Store,
        *,
        say: Callable[[Report], None],
        deliveries: Iterable[Delivery] = tuple(Delivery),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`say` hands a report to whoever speaks with the control plane; it must not wait.
        `clock`: seconds, the same before and after a restart."""
        self._router = router
        self._store = store
        self._noting = Noting(router.driver, store, say)
        self._clock = clock
        tables = store.saved.tables
        self._remembers = tables is not None and tables.complete
        """Whether what this agent has voted before is still known."""
        self._heard_at = float("-inf")
        self._book = self._new_book()
        self._doubts = Doubts(router.driver, self, self._beside, store.directory)
        # A switch is computed from the tables, written and put in force: one step for all others.
        self._lock = router.changing
        self._marks = _Marks(frozenset(deliveries))
        self.tasks = Watched()
        self._linking: dict[str, asyncio.Task[None]] = {}
        self._carrying: dict[str, asyncio.Task[None]] = {}
        self._lifted: set[str] = set()
        """Neighbours whose outboxes have no bound in the attempt that runs."""
        self._orders: tuple[Order, ...] | None = None
        """Of the newest document; None before the first."""
        self._stumbled = False
        self.problem = ""
        """Why no promise can be made now; empty while they can."""

    @property
    def busy(self) -> frozenset[str]:
        """Brokers of attempts without an outcome: reconciling leaves links to them alone."""
        if self._stumbled:
            # What was decided and could not be written is not done; what is written still binds.
            return self._book.busy | OrderBook(self._store.saved.states.values()).busy
        return self._book.busy

    async def start(self) -> None:
        """Take up what was promised before a restart. The router has its saved tables, knows
        where neighbours are, and has not started."""
        self._router.on_mark = self._marked
        async with self._lock:
            await self._carry_out(self._book.on_restart(self._here()))
        self.tasks.start(self._tick(), "ticks of actions")
        self.tasks.start(self._noting.run(), "noting the state")
        self.tasks.start(self._stand_up(), "writing promises again")
        self.tasks.start(self._doubts.listen(), "questions of participants")
        self.tasks.start(self._doubts.look(), "decisions by hand")

    async def close(self) -> None:
        """Stop; promises stay where they are kept."""
        await self.tasks.close()

    async def on_orders(self, orders: Iterable[Order]) -> None:
        """The orders of a newer document than any before. Returns when they are carried out."""
        self._orders = tuple(orders)
        async with self._lock:
            if self._stumbled:
                await self._begin_again()
            else:
                await self._carry_out(self._book.on_orders(self._orders, self._here()))

    async def on_unchanged(self) -> None:
        """The control plane has no other document than the last one."""
        await self._hear(lambda book, here: book.on_unchanged(here))

    def heard(self) -> None:
        """The control plane has answered, whatever it was."""
        self._heard_at = self._clock()
        self._book.doubts.heard(self._heard_at)

    def _new_book(self) -> OrderBook:
        """From what the disk holds, and from what this process has heard."""
        book = OrderBook(self._store.saved.states.values(), remembers=self._remembers)
        book.doubts.heard(self._heard_at)
        return book

    # --- doubts

    async def on_question(self, question: Question) -> Answer | None:
        """See `agent.doubts.Participants`."""
        async with self._lock:
            if self._stumbled:
                return None
            effects, answer = self._book.on_question(question, self._here())
            await self._carry_out(effects)
            # An answer is a promise, too: what could not be written is not said.
            return None if self._stumbled else answer

    async def on_answer(self, answer: Answer) -> None:
        """See `agent.doubts.Participants`."""
        await self._hear(lambda book, here: book.on_answer(answer, here))

    async def decide(self, action: str, outcome: Outcome, reason: str) -> None:
        """See `agent.doubts.Participants`."""
        await self._hear(lambda book, here: book.doubts.decide(action, outcome, reason, here))
        if self._stumbled:
            raise InvalidProblem(
                "state", f"cannot be written, so nothing is decided: {self.problem}"
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
            local=router.local,
            tables=router.tables,
            now=self._clock(),
            known=router.known,
            answering=router.answering,
        )

    async def _hear(self, what: Callable[[OrderBook, Here], list[Effect]]) -> None:
        """One input for the participants, and what follows from it."""
        async with self._lock:
            # Who has stumbled hears nothing: all of it is said again, or comes of standing up.
            if not self._stumbled:
                await self._carry_out(what(self._book, self._here()))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._show_waits()
            self._noting.look()
            if self._book.next_tick <= self._clock():
                await self._hear(lambda book, here: book.tick(here))

    async def _marked(self, source: Source, payload: bytes) -> None:
        mark = _mark_of(payload)
        if mark is None:
            log.warning("a mark from %s that is none: %r", source.neighbour, payload[:80])
            return
        if self._marks.complete(source, mark):
            await self._hear(lambda book, here: book.on_mark(mark, here))

    async def _drain(self, action: str, attempt: int) -> None:
        await self._router.drained()
        await self._hear(lambda book, here: book.on_drained(action, attempt, here))

    async def _link(self, broker: str, address: str) -> None:
        try:
            await self._router.ensure_link(broker, address)
        except DriverError as error:
            why = str(error)
            log.info("link to %s: %s", broker, why)
            await self._hear(lambda book, here: book.on_link_failed(broker, why, here))
            return
        await self._hear(lambda book, here: book.on_link_ready(broker, here))

    async def _lift(self, broker: str) -> None:
        while True:
            with contextlib.suppress(DriverError):
                return await self._router.lift_bound(broker)
            await asyncio.sleep(_CARRY_RETRY_S)

    def _end_lifting(self) -> None:
        """The attempt is over, however it ended."""
        if self._lifted:
            for broker in self._lifted:
                self._stop(self._carrying, broker)
            self._lifted.clear()
            self._carrying[_BOUNDS] = self._beside(self._set_bounds())

    async def _set_bounds(self) -> None:
        while True:
            with contextlib.suppress(DriverError):
                return await self._router.set_bounds()
            await asyncio.sleep(_CARRY_RETRY_S)

    async def _carry(self, effect: CarryOver) -> None:
        """Until it is done or the link is dropped: an abort drops it."""
        why = ""
        while True:
            try:
                await self._router.carry_over(effect.gone, effect.to)
            except NotGone as error:
                why = str(error)
            except DriverError as error:
                log.info("what waits for %s: %s", effect.gone, error)
                await asyncio.sleep(_CARRY_RETRY_S)
                continue
            break
        action, attempt, to = effect.action, effect.attempt, effect.to
        await self._hear(lambda book, here: book.on_carried(action, attempt, to, why, here))

    # --- a disk that cannot be written

    def _stumble(self, error: StoreError) -> None:
        """The promise was not made; what the disk holds is all that counts."""
        if not self._stumbled:
            log.error("%s", error)
        self._stumbled, self.problem = True, str(error)

    async def _stand_up(self) -> None:
        while True:
            await asyncio.sleep(_WRITE_RETRY_S)
            if self._stumbled:
                async with self._lock:
                    try:
                        await self._store.probe()
                    except StoreError as error:
                        self.problem = str(error)
                        continue
                    await self._begin_again()

    async def _begin_again(self) -> None:
        """As after a restart: from the promises that were kept, then the orders of today."""
        self._stumbled = False
        self._book = self._new_book()
        await self._carry_out(self._book.on_restart(self._here()))
        if self._orders is not None and not self._stumbled:
            await self._carry_out(self._book.on_orders(self._orders, self._here()))
        if not self._stumbled:
            log.info("promises can be kept again")
            self.problem = ""

    # --- effects

    async def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            try:
                await self._do(effect)
            except StoreError as error:
                self._stumble(error)
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
                self._beside(self._drain(action, attempt))
            case HoldLink(broker):
                self._router.hold(broker)
            case ResumeIntake():
                self._router.resume()
                self._end_lifting()
            case EnsureLink(broker, address):
                self._stop(self._linking, broker)
                self._linking[broker] = self._beside(self._link(broker, address))
            case LiftBound(broker):
                self._stop(self._carrying, _BOUNDS)
                self._stop(self._carrying, broker)
                self._lifted.add(broker)
                self._carrying[broker] = self._beside(self._lift(broker))
            case CarryOver():
                self._stop(self._carrying, effect.to)
                self._carrying[effect.to] = self._beside(self._carry(effect))
            case DropLink(broker):
                await self._drop(broker)
            case SendMark(to, mark):
                # Its place in the outbox is taken now; that it is stored may take longer.
                self._beside(self._send(to, mark))
                await asyncio.sleep(0)
            case SwapTables(tables):
                self._router.swap(tables)
            case Say(report):
                self._noting.say(report)
            case AskPeer():
                self._doubts.ask(effect)

    async def _drop(self, broker: str) -> None:
        """The link must be gone before the next effect, the outbox at our broker soon after."""
        self._stop(self._linking, broker)
        self._stop(self._carrying, broker)
        try:
            await self._router.drop_link(broker)
        except DriverError as error:
            log.info("outbox for %s: %s", broker, error)
            self._beside(self._drop_later(broker))

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
            log.info("a mark for %s: %s", to, error)  # sent again by the next tick

    def _stop(self, tasks: dict[str, asyncio.Task[None]], broker: str) -> None:
        task = tasks.pop(broker, None)
        # The task itself may be the one that carries this out, after it has failed.
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.tasks.start(work, "part of an action")


class _Marks:
    """Through which classes of which link a mark has come.

    Whoever comes first need not wait for the others: messages of the new order follow the commit,
    the commit follows our vote, and we vote when the mark has come through all of them.
    """

    def __init__(self, deliveries: frozenset[Delivery]) -> None:
        self._deliveries = deliveries
        self._seen: dict[tuple[str, Mark], set[Delivery]] = {}

    def complete(self, source: Source, mark: Mark) -> bool:
        """Take note; whether it has come through all of them now (it may come again)."""
        seen = self._seen.setdefault((source.neighbour, mark), set())
        seen.add(source.delivery)
        return seen >= self._deliveries

    def forget(self, action: str) -> None:
        """The action is over for good."""
        for key in [key for key in self._seen if key[1].action == action]:
            del self._seen[key]


def _mark_of(payload: bytes) -> Mark | None:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        plain = json.loads(payload)
        return Mark(str(plain["action"]), int(plain["attempt"]), str(plain["origin"]))
    return None
