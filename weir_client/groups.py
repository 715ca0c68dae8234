"""Listen to groups in the way that the agent sends them: by multicast, or by NATS.

Networks may drop multicast without a word: a firewall, or a switch that has forgotten who listens.
So groups are heard by multicast only while heartbeats of the agent come through.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address
from typing import Any

from weir_client import subjects
from weir_client.frames import Place
from weir_client.multicast import (
    BEAT_S,
    HEARTBEAT,
    REJOIN_S,
    GroupReader,
    MulticastGroups,
    groups_from_json,
)

log = logging.getLogger(__name__)

FIRST_S = 4 * BEAT_S
"""How long the first heartbeat is waited for."""
SILENT_S = 12 * BEAT_S
"""After this long without a heartbeat all groups are heard by NATS, until there is one."""


class NatsGroup:
    """One group, subscribed to at the broker until `leave`."""

    carried: MulticastGroups | None = None

    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    async def leave(self) -> None:
        """End the subscription, and the task that takes its frames."""
        await self._subscription.unsubscribe()


class Groups:
    """What the agent says of how groups are sent, and how they can be heard here. Keep `run`
    running."""

    def __init__(
        self,
        client: Any,
        *,
        interface: str,
        multicast: bool,
        on_message: Callable[[Any], Awaitable[None]],
        on_datagram: Callable[[Place, bytes], Awaitable[None]],
        on_stranger: Callable[[], None],
        on_change: Callable[[], None],
    ) -> None:
        """Take the client of NATS, the address of the interface to join groups on (empty: where the
        route goes), whether to join any, and what takes messages of NATS, frames of datagrams,
        datagrams of others, and the news that `carried` may have other answers than before. Raises
        ValueError for an interface that is no IPv4 address."""
        try:
            IPv4Address(interface or "0.0.0.0")
        except ValueError as error:
            raise ValueError(
                f"interface: {interface!r} is not the IPv4 address of an interface"
            ) from error
        self._client = client
        self._interface = interface
        self._multicast = multicast
        self._on_message = on_message
        self._on_datagram = on_datagram
        self._on_stranger = on_stranger
        self._on_change = on_change
        self._groups: MulticastGroups | None = None
        """How the agent sends groups, by its last word; None: all by NATS."""
        self._is_heard = False
        """Whether heartbeats come through."""
        self._is_refused = False
        """Whether a group could not be joined, of those of which the agent says."""
        self._is_known = asyncio.Event()
        """Set once the first heartbeat came, or did not."""
        self._news = asyncio.Event()
        """Set by each heartbeat, and when the agent says something else."""

    @property
    def by_nats(self) -> bool:
        """Return whether the agent is to send every group by NATS."""
        return not self._is_heard or self._is_refused

    def carried(self, group: int) -> MulticastGroups | None:
        """Return by which multicast groups a group is to be heard; None: by NATS."""
        if self.by_nats or self._groups is None or not self._groups.addresses.holds(group):
            return None
        return self._groups

    def take(self, data: bytes) -> None:
        """Take what the agent says. Raises ValueError for whatever says nothing of groups."""
        groups = groups_from_json(data)
        if groups == self._groups:
            return
        # Where multicast came through it does so still, most likely: the agent has another key.
        self._is_heard &= groups is not None
        self._groups, self._is_refused = groups, False
        if groups is not None:
            self._is_known.clear()
        self._news.set()
        self._on_change()

    async def known(self) -> None:
        """Wait until heartbeats came through for the first time, or are known not to."""
        await self._is_known.wait()

    async def run(self) -> None:
        """Find out whether heartbeats come through, until cancelled."""
        while True:
            groups = self._groups
            self._news.clear()
            if groups is None or not self._multicast:
                self._heard(False, "")
                await self._news.wait()
                continue
            try:
                reader = self._reader(groups, HEARTBEAT.group, self._on_beat)
            except OSError as error:
                self._heard(False, _why(error))
                await self._wait(REJOIN_S)
                continue
            try:
                wait_s = SILENT_S if self._is_heard else FIRST_S
                while groups is self._groups:
                    is_some = await self._wait(wait_s)
                    if groups is self._groups:
                        self._heard(is_some, "there is no heartbeat")
                    wait_s = SILENT_S
            finally:
                await reader.leave()

    async def listen(self, group: int) -> NatsGroup | GroupReader:
        """Begin to listen to a group. Where it cannot be joined, all are to be heard by NATS from
        then on: `by_nats` has become true. Raises what the client of NATS raises."""
        groups = self.carried(group)
        if groups is not None:
            try:
                return self._reader(groups, group, self._on_datagram)
            except OSError as error:
                self._is_refused = True
                self._warn(f"group {groups.addresses.of(group)}: {_why(error)}")
        return NatsGroup(
            await self._client.subscribe(
                subjects.group_subject(group), cb=self._on_message, pending_msgs_limit=-1
            )
        )

    def _reader(
        self, groups: MulticastGroups, group: int, take: Callable[[Place, bytes], Awaitable[None]]
    ) -> GroupReader:
        return GroupReader(
            groups, group, interface=self._interface, take=take, stranger=self._on_stranger
        )

    async def _on_beat(self, _: Place, __: bytes) -> None:
        self._news.set()

    async def _wait(self, most_s: float) -> bool:
        """Wait for news; return whether there are any."""
        try:
            async with asyncio.timeout(most_s):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True

    def _heard(self, is_heard: bool, why: str) -> None:
        if not is_heard and why and (self._is_heard or not self._is_known.is_set()):
            self._warn(why)
        if is_heard != self._is_heard:
            self._is_heard = is_heard
            self._on_change()
        self._is_known.set()

    def _warn(self, why: str) -> None:
        log.warning(
            "multicast on %s does not come through (%s): groups are heard by NATS",
            self._interface or "the interface of the route",
            why,
        )


def _why(error: OSError) -> str:
    return error.strerror or str(error)
