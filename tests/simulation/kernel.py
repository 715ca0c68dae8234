"""Virtual time: a queue of events, and a network that loses, delays, repeats and reorders."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random
from typing import Any


class Crash(Exception):
    """An agent's process ends here, in the middle of what it does."""

    def __init__(self, agent: Any) -> None:
        super().__init__(agent)
        self.agent = agent


class Clock:
    """Runs events in the order of their times; equal times in the order of their making."""

    def __init__(self, rng: Random) -> None:
        self.now = 0.0
        self.rng = rng
        self.events = 0
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._made = 0

    def after(self, delay: float, what: Callable[..., None], *args: Any) -> None:
        """Call `what` when `delay` virtual seconds have gone by."""
        self._made += 1
        heapq.heappush(self._queue, (self.now + delay, self._made, what, args))

    def run(self, until: float) -> None:
        """Everything up to this time."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            self.now, _, what, args = heapq.heappop(queue)
            self.events += 1
            try:
                what(*args)
            except Crash as crash:
                crash.agent.die("in the middle of an effect")
        self.now = until


class Network:
    """Between agents and the control plane. Each message has a delay of its own."""

    def __init__(self, clock: Clock, loss: float, repeat: float, delay_s: float) -> None:
        self.clock = clock
        self.loss = loss
        self.repeat = repeat
        self.delay_s = delay_s
        self.cut_off: set[str] = set()
        """Agents that reach nobody now."""
        self.lost = 0
        self.repeated = 0

    def send(self, agent: str, what: Callable[..., None], *args: Any) -> None:
        """One message to or from `agent`: it arrives never, once or twice."""
        rng = self.clock.rng
        if agent in self.cut_off or rng.random() < self.loss:
            self.lost += 1
            return
        self.clock.after(rng.random() * self.delay_s, what, *args)
        if rng.random() < self.repeat:
            self.repeated += 1
            self.clock.after(rng.random() * self.delay_s * 4, what, *args)
