"""The way from agents to the control plane: calls that may be lost, late, repeated or cut off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from agent.client import Away, Introduction, Refused, Session, Superseded
from tests.lives.control import POLL_S, Control
from tests.lives.loop import PROCESS
from tests.lives.network import CONTROL, WORLD
from weir.coordination.wire import Document, Observed, Report, document_from_dict, to_dict

if TYPE_CHECKING:
    from tests.lives.world import World

ANSWER_S = 2.0


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

        def poll(control: Control) -> Any:
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

    async def _call(self, do: Callable[[Control], Any], patience_s: float) -> Any:
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
        self, world: World, control: Control, broker: str, incarnation: int, seen: str
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
