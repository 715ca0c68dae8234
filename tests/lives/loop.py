"""An event loop in virtual time, and the processes that live in it.

When nothing is ready, time jumps to the next timer. Nothing waits for the world: no sockets, no
threads (`run_in_executor` runs its function later in virtual time). Callbacks run in the order in
which asyncio promises to run them; all chance is in the delays of disk, network and brokers.

A `Process` can be killed or frozen at any moment: from then on its callbacks are set aside, so no
`finally` of it runs. A frozen one gets them back; a dead one is buried when its life is over.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import base_events, events
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any

PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class Killed(BaseException):
    """The process ends in the middle of a call to its operating system."""


class Stuck(Exception):
    """Nothing is ready and no timer is set: nobody will ever do anything."""


class _Task(asyncio.Task[Any]):
    """A task whose place in a set is the same in every run."""

    serial = 0

    def __hash__(self) -> int:
        return self.serial


class Process:
    """Everything that one operating system process does."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        self.loop = loop
        self.name = name
        self.alive = True
        self.resting = False
        """Frozen, or waiting for a slow disk."""
        self.tasks: list[asyncio.Task[Any]] = []
        self._aside: list[events.Handle] = []
        self.context = copy_context()
        self.context.run(PROCESS.set, self)

    @property
    def running(self) -> bool:
        """Whether its callbacks run now."""
        return self.alive and not self.resting

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Its first task."""
        return self.loop.create_task(work, context=self.context)

    def put_aside(self, handle: events.Handle) -> None:
        """It cannot run now."""
        self._aside.append(handle)

    def freeze(self, seconds: float) -> None:
        """Nothing of it runs for a while, then everything goes on."""
        if not self.resting:
            self.resting = True
            self.loop.call_later(seconds, self._thaw, context=Context())

    def _thaw(self) -> None:
        self.resting = False
        if self.alive:
            self._give_back()

    def kill(self) -> None:
        """Nothing of it ever runs again."""
        self.alive = False

    def _give_back(self) -> None:
        self.loop._ready.extend(self._aside)  # type: ignore[attr-defined]
        self._aside.clear()

    async def bury(self) -> None:
        """Let the dead end, so that no coroutine of it is left; its ports do nothing any more."""
        self.loop.buried.add(self)
        self._give_back()
        for _ in range(1_000):
            left = [task for task in self.tasks if not task.done()]
            if not left:
                break
            for task in left:
                try:
                    task.cancel()
                except RecursionError:
                    # It waits for itself, which a broken variant may bring about.
                    self.tasks.remove(task)
            await asyncio.sleep(0.5)
        else:
            raise RuntimeError(f"{self.name} does not end: {left}")
        for task in self.tasks:
            if not task.cancelled():
                task.exception()
        self.tasks.clear()


class VirtualLoop(base_events.BaseEventLoop):
    """See the module."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._now = 0.0
        self._rng = rng
        self._serial = 0
        self._threads: dict[int, float] = {}
        self._timers: list[tuple[float, int, events.TimerHandle]] = []
        self._timed = 0
        self.buried: set[Process] = set()
        self.turns = 0
        """Callbacks that ran."""
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        return self._now

    def _make_task(self, loop: Any, work: Any, context: Context | None = None) -> _Task:
        task = _Task(work, loop=self, context=context)
        self._serial += 1
        task.serial = self._serial
        process = PROCESS.get() if context is None else context.get(PROCESS)
        if process is not None:
            process.tasks.append(task)
            if len(process.tasks) > 200:
                process.tasks = [t for t in process.tasks if not t.done()]
        return task

    def _write_to_self(self) -> None:
        return

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> events.TimerHandle:
        timer = events.TimerHandle(when, callback, args, self, context)
        self._timed += 1
        heapq.heappush(self._timers, (when, self._timed, timer))
        return timer

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """The function runs once, a moment later; one worker keeps the order of calls."""
        future = self.create_future()

        def run() -> None:
            try:
                result = func(*args)
            except Killed:
                return
            except BaseException as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(result)

        at = self._now + self._rng.random() * 0.004
        if getattr(executor, "_max_workers", 0) == 1:
            at = max(at, self._threads.get(id(executor), 0.0) + 1e-6)
            self._threads[id(executor)] = at
        self.call_at(at, run)
        return future

    def _run_once(self) -> None:
        ready, timers = self._ready, self._timers  # type: ignore[attr-defined]
        while timers and timers[0][2]._cancelled:  # type: ignore[attr-defined]
            heapq.heappop(timers)
        if not ready:
            if not timers:
                raise Stuck
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            ready.append(heapq.heappop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            process = handle._context.get(PROCESS)
            if process is not None and not process.running and process not in self.buried:
                process.put_aside(handle)
                continue
            self.turns += 1
            handle._run()
