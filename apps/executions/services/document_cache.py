"""Keep the documents of a system fresh in this process while its agents wait for them.

One look per change serves all who wait. A desk is never older than what an agent can have seen
before it asked: who arrives brings the stamp of that moment, and the desk looks again when it
does not cover it. So documents never go back in time, whichever process answers.

A document is the flows, which nearly all brokers share, and a small rest of its own. Whoever looks
again compares the rests; equal ones keep their text. None of this belongs on an event loop.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DatabaseError

from apps.common.events import hub
from apps.executions.services.documents import (
    Facts,
    Stamp,
    document_of,
    facts_of,
    stamp_of,
    version_of,
)
from apps.executions.services.pool import in_pool
from weir.coordination import wire

logger = logging.getLogger(__name__)

RECHECK_S = 1.0
LINGER_S = 5.0
"""How long a desk is kept after the last agent has gone; most return at once."""


class Texts:
    """Hold version and JSON of each broker's document, as of one look at the facts."""

    def __init__(self, facts: Facts, former: "Texts | None" = None) -> None:
        """Take `former`, an earlier look: unchanged texts are taken over from it, and changed ones
        are made now for those brokers that it was made for."""
        self.facts = facts
        self.rendered = 0
        """How many texts were made, not taken over."""
        self._flows: Mapping[str, dict[str, Any]] = {
            flow: wire.to_dict(wire.FlowSpec(delivery=delivery, keep_s=facts.keep_s))
            for flow, delivery in facts.deliveries.items()
        }
        self._texts: dict[str, tuple[wire.Document, str, bytes]] = {}
        if former is None:
            return
        same_flows = _of_all_flows(former.facts) == _of_all_flows(facts)
        for broker, (rest, version, text) in list(former._texts.items()):
            fresh = self._rest(broker)
            enters = facts.ingress.get(broker), former.facts.ingress.get(broker)
            if same_flows and enters[0] == enters[1] and fresh == rest:
                self._texts[broker] = rest, version, text
            else:
                self._render(broker, fresh)

    def known(self, broker: str) -> tuple[str, int, bytes] | None:
        """Return the version, number and text of the document, if it was made before."""
        if broker not in self._texts:
            return None
        _, version, text = self._texts[broker]
        # The number is of this look, whenever the rest was made.
        number = self.facts.number
        return version, number, b'{"number":%d,' % number + text[1:]

    def document(self, broker: str) -> tuple[str, int, bytes]:
        """Return the version, number and text of the document."""
        if broker not in self._texts:
            self._render(broker, self._rest(broker))
        found = self.known(broker)
        assert found is not None
        return found

    def _rest(self, broker: str) -> wire.Document:
        return replace(document_of(self.facts, broker, flows=False), number=0)

    def _render(self, broker: str, rest: wire.Document) -> None:
        flows = dict(self._flows)
        for flow in self.facts.ingress.get(broker, ()):
            most = self.facts.max_message_bytes
            flows[flow] = {**flows[flow], "ingress": True, "max_message_bytes": most}
        plain = {**wire.to_dict(rest), "flows": flows}
        version = version_of(plain)
        del plain["number"]
        text = json.dumps({**plain, "version": version}, separators=(",", ":"), ensure_ascii=False)
        self._texts[broker] = rest, version, text.encode()
        self.rendered += 1


def _of_all_flows(facts: Facts) -> object:
    """Return what stands in the flows of every broker's document."""
    return facts.deliveries, facts.keep_s, facts.max_message_bytes


class SystemGone(Exception):
    """Signal that the system was deleted while its agents waited."""


class Desk:
    """Hold the documents of one system."""

    def __init__(self, system_pk: int, system_id: UUID) -> None:
        self.system_pk = system_pk
        self.system_id = str(system_id)
        self.visitors = 0
        self._stamp: Stamp | None = None
        self._texts: Texts | None = None
        self._looking = asyncio.Lock()
        self._bell = asyncio.Event()
        self._left_at = time.monotonic()
        self._gone = False

    async def catch_up(self, stamp: Stamp | None) -> None:
        """Look again unless the desk shows this moment or a later one; None looks in any case."""
        async with self._looking:
            if stamp is not None and self._covers(stamp):
                return
            found = await in_pool(_look, self.system_pk, self._texts)
            if found is None:
                raise SystemGone(self.system_id)
            self._stamp, self._texts = found
            self._bell.set()
            self._bell = asyncio.Event()

    def _covers(self, stamp: Stamp) -> bool:
        """Return whether the last look was at this moment or later; each part only ever grows,
        unless the database was restored (`document_serve`)."""
        mine = self._stamp
        return mine is not None and all(a >= b for a, b in zip(mine, stamp, strict=True))

    @property
    def held(self) -> bool:
        """Return whether no documents may be sent, as of the last look."""
        return self._texts is not None and self._texts.facts.held

    async def document(self, broker: str) -> tuple[str, int, bytes]:
        """Return version, number and JSON of the broker's document."""
        texts = self._texts
        assert texts is not None
        known = texts.known(broker)
        return await in_pool(texts.document, broker) if known is None else known

    def speaks(self, broker: str, incarnation: int) -> bool:
        """Return whether this session acts for the broker, as of the last look."""
        texts = self._texts
        return texts is not None and texts.facts.sessions.get(broker) == incarnation

    @property
    def bell(self) -> asyncio.Event:
        """Return the event of the next look. Take it before the document is read, so that no look
        in between is missed."""
        return self._bell

    async def change(self, bell: asyncio.Event, within_s: float) -> bool:
        """Wait until the event is set; return False when it was not in time."""
        try:
            await asyncio.wait_for(bell.wait(), within_s)
        except TimeoutError:
            return False
        if self._gone:
            raise SystemGone(self.system_id)
        return True

    async def watch(self) -> None:
        """Look again when there is news, and every second in case news were lost."""
        queue = hub.join()
        try:
            while self.visitors or time.monotonic() - self._left_at < LINGER_S:
                try:
                    await self._look(told=await self._news(queue))
                except DatabaseError as error:
                    logger.warning("documents not read, trying again: %s", error)
                    await asyncio.sleep(RECHECK_S)
        except SystemGone:
            self._gone = True
            self._bell.set()
        finally:
            hub.leave(queue)

    async def _look(self, *, told: bool) -> None:
        if not told:
            stamp = await in_pool(stamp_of, self.system_pk)
            if stamp is None:
                raise SystemGone(self.system_id)
            # Less than before is a difference, too: then the database has gone back.
            if stamp == self._stamp:
                return
        await self.catch_up(None)

    async def _news(self, queue: asyncio.Queue[str]) -> bool:
        """Wait for news, a second at most; return whether documents differ."""
        told = False
        try:
            async with asyncio.timeout(RECHECK_S):
                concerned = False
                # All that has come by now is answered by one look.
                while not concerned or not queue.empty():
                    news = json.loads(await queue.get())
                    match news.get("kind"):
                        case "document" if news.get("system") == self.system_id:
                            told = concerned = True
                        case "system" if news.get("id") == self.system_id:
                            told = concerned = True
                        case "agent" if news.get("system") == self.system_id:
                            concerned = True
                        case "resync":
                            concerned = True
        except TimeoutError:
            pass
        return told

    def leave(self) -> None:
        """Count one visitor fewer of this desk."""
        self.visitors -= 1
        self._left_at = time.monotonic()


def _look(system_pk: int, former: Texts | None) -> tuple[Stamp, Texts] | None:
    """Return the facts of now, and the documents that changed since the former look made them."""
    found = facts_of(system_pk, None if former is None else former.facts)
    if found is None:
        return None
    stamp, facts = found
    return stamp, Texts(facts, former)


_desks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, tuple[Desk, asyncio.Task[None]]]] = (
    WeakKeyDictionary()
)


@asynccontextmanager
async def desk_of(system_pk: int, system_id: UUID) -> AsyncIterator[Desk]:
    """Provide the desk of a system in this process; it stays while somebody uses it."""
    here = _desks.setdefault(asyncio.get_running_loop(), {})
    desk, task = here.get(system_pk, (None, None))
    if desk is None or task is None or task.done():
        desk = Desk(system_pk, system_id)
        here[system_pk] = desk, asyncio.create_task(desk.watch())
    desk.visitors += 1
    try:
        yield desk
    finally:
        desk.leave()
