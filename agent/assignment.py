"""Keep the lists of publishers that this broker lets in, and know which of them are in force.

A list is in force when nobody else has a connection that may publish the flow, and what others had
published here has passed the brokers where they may go on (`agent.flushes`). So whenever a list
loses names, and after a start of the agent, which knows nothing of what was before, both are waited
for. A list that only grows is in force at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, MutableMapping
from dataclasses import replace

from agent.drivers.base import Driver, DriverError, Unsupported
from agent.flushes import SHOW_S, Flushes
from agent.tasks import Watched
from weir.coordination.wire import Publishers, publishers_digest

log = logging.getLogger("weir.agent")

_LOOK_S = 0.1
_PROBLEM = "publishers still connected: "


class PublisherLists:
    """Give the driver its lists, and wait until they are in force. Call `shrink`, then `set`."""

    def __init__(
        self,
        driver: Driver,
        flushes: Flushes,
        *,
        problems: MutableMapping[str, str],
        tasks: Watched,
        changed: Callable[[], None],
    ) -> None:
        """Take `changed`, which is called when a list was set, all have left whom it does not name,
        or it has come into force."""
        self._driver = driver
        self._flushes = flushes
        self._problems = problems
        self._tasks = tasks
        self._changed = changed
        flushes.ended = changed
        self._lists: dict[str, Publishers] = {}
        """The lists that the driver has."""
        self._wanted: Mapping[str, Publishers] = {}
        """The lists that were set last."""
        self._held: dict[str, float] = {}
        """Flow -> since when it is waited for others to leave."""
        self._open: frozenset[str] = frozenset()
        """The flows that are set up as the document says: those that enter here are read."""
        self._watching: asyncio.Task[None] | None = None

    @property
    def in_force(self) -> dict[str, str]:
        """Return the digest of each list that is in force."""
        return {
            flow: publishers_digest(one.here)
            for flow, one in self._wanted.items()
            if self._lists.get(flow) == one
            and flow not in self._held
            and self._flushes.complete(flow)
        }

    def let_in(self, flow: str) -> tuple[str, ...] | None:
        """Return the publishers of the flow that are let in here; None: all are."""
        one = self._lists.get(flow)
        return None if one is None else one.here

    def is_settled(self, flow: str) -> bool:
        """Return whether all have left who are not let in any more."""
        return flow not in self._held

    async def shrink(self, wanted: Mapping[str, Publishers]) -> str:
        """Let nobody in any more whom these lists do not name, and nobody yet who comes anew.
        Returns why that is impossible; empty where it is done. Raises DriverError."""
        lists = dict(self._lists)
        for flow, one in wanted.items():
            known = self._lists.get(flow)
            here = one.here if known is None else _both(known.here, one.here)
            lists[flow] = replace(one, here=here)
        return await self._assign(lists)

    async def set(self, wanted: Mapping[str, Publishers], *, but: Collection[str] = ()) -> str:
        """Set the lists, except for the flows `but`, which cannot take publishers yet. Returns and
        raises the same as `shrink`."""
        self._wanted = wanted
        self._open = frozenset(wanted) - frozenset(but)
        kept = {flow: one for flow, one in self._lists.items() if flow in but and flow in wanted}
        return await self._assign({**wanted, **kept})

    async def _assign(self, lists: Mapping[str, Publishers]) -> str:
        if lists == self._lists:
            return ""
        try:
            await self._driver.assign(lists)
        except Unsupported as error:
            return f"publishers are not held to the brokers they belong to: {error}"
        before, self._lists = self._lists, dict(lists)
        for flow in before.keys() - lists.keys():
            self._held.pop(flow, None)
            self._problems.pop(_PROBLEM + flow, None)
            self._flushes.stop(flow)
        now = asyncio.get_running_loop().time()
        for flow, one in lists.items():
            known = before.get(flow)
            if known is None or not {*known.here} <= {*one.here}:
                self._held.setdefault(flow, now)
                self._flushes.stop(flow)
            elif flow not in self._held:
                self._flushes.reduce(flow, one.next)
                self._flushes.extend(flow, {*one.next} - {*known.next})
        if self._held and (self._watching is None or self._watching.done()):
            self._watching = self._tasks.start(self._watch(), "publishers that leave")
        self._changed()
        return ""

    async def _watch(self) -> None:
        """Begin the flush of each flow once all have left who may not publish it."""
        while self._held:
            lists = self._lists
            try:
                held = await self._driver.assign(lists)
            except DriverError as error:
                log.info("cannot read which publishers are connected: %s", error)
                held = frozenset(lists)
            if lists is self._lists:
                # Without its ingress a flow would seem not to enter here, and have nothing waiting.
                left = (self._held.keys() - held) & self._open
                for flow in left:
                    del self._held[flow]
                    self._problems.pop(_PROBLEM + flow, None)
                    self._flushes.start(flow, lists[flow].next)
                if left:
                    self._changed()
                self._show()
            await asyncio.sleep(_LOOK_S)

    def _show(self) -> None:
        now = asyncio.get_running_loop().time()
        for flow, since in self._held.items():
            if now - since >= SHOW_S:
                self._problems[_PROBLEM + flow] = (
                    f"publishers of {flow} that belong elsewhere are still connected, or the "
                    "broker does not say who is; they are disconnected again and again"
                )


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    names = frozenset(one)
    return tuple(name for name in other if name in names)
