"""Listen to groups in the way that the agent sends them: by multicast, or by NATS."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address
from typing import Any

from weir_client import subjects
from weir_client.frames import Place
from weir_client.multicast import GroupReader, MulticastGroups, groups_from_json

log = logging.getLogger(__name__)


class NatsGroup:
    """One group, subscribed to at the broker until `leave`."""

    carried: MulticastGroups | None = None

    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    async def leave(self) -> None:
        """End the subscription, and the task that takes its frames."""
        await self._subscription.unsubscribe()


class Groups:
    """What the agent says of how groups are sent, and how this machine can hear them."""

    def __init__(
        self,
        client: Any,
        *,
        interface: str,
        multicast: bool,
        on_message: Callable[[Any], Awaitable[None]],
        on_datagram: Callable[[Place, bytes], Awaitable[None]],
        on_stranger: Callable[[], None],
    ) -> None:
        """Take the client of NATS, the address of the interface to join groups on (empty: where the
        route goes), whether to join any, and what takes messages of NATS, frames of datagrams, and
        datagrams of others. Raises ValueError for an interface that is no IPv4 address."""
        try:
            IPv4Address(interface or "0.0.0.0")
        except ValueError as error:
            raise ValueError(
                f"interface: {interface!r} is not the IPv4 address of an interface"
            ) from error
        self.by_nats = not multicast
        """Whether every group is heard by NATS, whatever the agent says."""
        self._client = client
        self._interface = interface
        self._multicast = multicast
        self._on_message = on_message
        self._on_datagram = on_datagram
        self._on_stranger = on_stranger
        self._said: MulticastGroups | None = None

    def take(self, data: bytes) -> bool:
        """Take what the agent says; return whether it is something else than before. Raises
        ValueError for whatever says nothing of groups."""
        said = groups_from_json(data)
        if said == self._said:
            return False
        self._said = said
        self.by_nats = not self._multicast
        return True

    def carried(self, group: int) -> MulticastGroups | None:
        """Return by which multicast groups a group is to be heard; None: by NATS."""
        if self.by_nats or self._said is None or not self._said.addresses.holds(group):
            return None
        return self._said

    async def listen(self, group: int) -> NatsGroup | GroupReader:
        """Begin to listen to a group. Where it cannot be joined, all are heard by NATS from then
        on: then `by_nats` has become true. Raises what the client of NATS raises."""
        groups = self.carried(group)
        if groups is not None:
            try:
                return GroupReader(
                    groups,
                    group,
                    interface=self._interface,
                    take=self._on_datagram,
                    stranger=self._on_stranger,
                )
            except OSError as error:
                self.by_nats = True
                log.warning(
                    "multicast group %s cannot be joined on %s (%s): all groups are heard by NATS",
                    groups.addresses.of(group),
                    self._interface or "the interface of the route",
                    error.strerror or error,
                )
        return NatsGroup(
            await self._client.subscribe(
                subjects.group_subject(group), cb=self._on_message, pending_msgs_limit=-1
            )
        )
