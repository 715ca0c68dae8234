"""Between agents and brokers, and between agents and the control plane.

One way of a path keeps the order of what travels on it. A path can be cut in one direction or
both; what meets a cut is gone, and whoever waits for the answer learns it by waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from random import Random
from typing import TYPE_CHECKING, Any

from agent.drivers.base import Fenced, Retryable, Unknown
from tests.lives.broker import ModelBroker, Refusal, Replaced

if TYPE_CHECKING:
    from tests.lives.loop import VirtualLoop

ANSWER_S = 2.0
"""How long a driver waits for a broker's answer."""
CONTROL = "control plane"
"""Its place on the paths; agents and brokers have their names."""
WORLD = Context()
"""What happens outside of all processes."""


class Network:
    """All paths."""

    def __init__(self, loop: VirtualLoop, rng: Random, *, hop_s: float) -> None:
        self.loop = loop
        self.rng = rng
        self.hop_s = hop_s
        self.cut: dict[tuple[str, str], int] = {}
        """(from, to) -> how many cuts lie on this path now; brokers and agents of one name share
        a machine."""

    def block(self, source: str, target: str, seconds: float) -> None:
        """Nothing travels from `source` to `target` for a while."""
        path = (source, target)
        self.cut[path] = self.cut.get(path, 0) + 1
        self.loop.call_later(seconds, self._open, path, context=WORLD)

    def _open(self, path: tuple[str, str]) -> None:
        self.cut[path] -= 1
        if not self.cut[path]:
            del self.cut[path]

    def blocked(self, source: str, target: str) -> bool:
        """Whether what is sent now is gone."""
        return bool(self.cut) and (source, target) in self.cut

    def delay_s(self) -> float:
        """Of one message on its way."""
        return 0.0005 + self.rng.random() * self.hop_s


class Wire:
    """One process' connection to one broker: calls arrive, and are answered, in their order."""

    def __init__(self, network: Network, here: str, broker: ModelBroker) -> None:
        self.network = network
        self.here = here
        self.broker = broker
        self._there = self._back = 0.0

    def arrival(self) -> float:
        """When something that is sent now arrives at the broker."""
        self._there = max(self._there + 1e-6, self.network.loop.time() + self.network.delay_s())
        return self._there

    def return_at(self) -> float:
        """When something that the broker sends now arrives here."""
        self._back = max(self._back + 1e-6, self.network.loop.time() + self.network.delay_s())
        return self._back

    async def ask(self, do: Callable[[ModelBroker], Any], what: str) -> Any:
        """Have something done at the broker. Raises Retryable, Unknown, Fenced."""
        call = self.call(do)
        try:
            async with asyncio.timeout(ANSWER_S):
                return await call
        except TimeoutError:
            raise Unknown(f"{self.broker.name} does not answer: {what}") from None

    def call(self, do: Callable[[ModelBroker], Any]) -> asyncio.Future[Any]:
        """The answer; it never comes when the call or the answer is lost."""
        network, broker, loop = self.network, self.broker, self.network.loop
        future = loop.create_future()
        if not network.blocked(self.here, broker.name):
            loop.call_at(self.arrival(), self._arrive, do, future, copy_context(), context=WORLD)
        return future

    def _arrive(
        self, do: Callable[[ModelBroker], Any], future: asyncio.Future[Any], context: Context
    ) -> None:
        broker = self.broker
        answer: Any = None
        error: Exception | None = None
        if not broker.up:
            error = Retryable(f"{broker.name}: connection refused")
        else:
            try:
                answer = do(broker)
            except Refusal as refusal:
                error = Retryable(str(refusal))
            except Replaced as refusal:
                error = Fenced(str(refusal), incarnation=refusal.incarnation)
        if isinstance(answer, Later):
            answer.then = lambda value: self._reply(future, value, None, context)
            answer.begin()
            return
        self._reply(future, answer, error, context)

    def _reply(
        self, future: asyncio.Future[Any], answer: Any, error: Exception | None, context: Context
    ) -> None:
        if not self.network.blocked(self.broker.name, self.here):
            self.network.loop.call_at(
                self.return_at(), _resolve, future, answer, error, context=context
            )


class Later:
    """An answer that the broker keeps back until there is one."""

    def __init__(self, begin: Callable[[Callable[[Any], None]], None]) -> None:
        self._begin = begin
        self.then: Callable[[Any], None] = lambda _: None

    def begin(self) -> None:
        """Wait for it."""
        self._begin(self.then)


def _resolve(future: asyncio.Future[Any], answer: Any, error: Exception | None) -> None:
    if future.done():
        return
    if isinstance(answer, Exception):
        error = answer
    if error is not None:
        future.set_exception(error)
        future.exception()
    else:
        future.set_result(answer)
