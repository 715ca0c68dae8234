"""Send frames of mapped flows by multicast while the network takes them."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent.drivers.nats.stats import MULTICAST_AWAY, MULTICAST_FULL, TOO_LARGE, Losses
from weir_client.frames import Frame, Place
from weir_client.multicast import (
    BEAT_S,
    HEARTBEAT,
    KEY_BYTES,
    MOST_FRAME_BYTES,
    GroupAddresses,
    MulticastGroups,
    Sender,
    is_full,
)

log = logging.getLogger(__name__)

AGAIN_S = 1.0
"""The pause before a network that took nothing is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MulticastOptions:
    """Where the groups of one broker are sent to."""

    addresses: GroupAddresses
    interface: str = ""
    """The address of the interface to send from; empty: the one that the route takes."""
    hops: int = 1
    """How many networks a datagram may enter: 1 for the sender's alone."""


class MulticastSending:
    """The multicast groups of one broker, in one life of its agent. Call `open`, and keep
    `run` running."""

    def __init__(
        self, options: MulticastOptions, losses: Losses, *, changed: Callable[[], None]
    ) -> None:
        """Take the `losses` that count frames which the network did not take. `changed` is called
        when `groups` has another answer than before."""
        self._options = options
        self._losses = losses
        self._changed = changed
        self._groups = MulticastGroups(options.addresses, secrets.token_bytes(KEY_BYTES))
        self._sender: Sender | None = None
        self._problem = ""
        self._outside: tuple[int, ...] = ()
        """Mapped groups without an address."""

    @property
    def groups(self) -> MulticastGroups | None:
        """Return what receivers have to know; None while nothing can be sent by multicast."""
        return None if self._sender is None else self._groups

    @property
    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each thing that multicast cannot do now."""
        if not self._outside:
            return (self._problem,) if self._problem else ()
        named = ", ".join(map(str, self._outside[:5]))
        more = len(self._outside) - 5
        rest = f" and {more} more" if more > 0 else ""
        outside = (
            f"groups {named}{rest} have no address in {self._options.addresses.network}, so they "
            "are sent by NATS; give --multicast a larger range, or these groups lower numbers"
        )
        return (self._problem, outside) if self._problem else (outside,)

    def note_groups(self, groups: Iterable[int]) -> None:
        """Take the groups that are mapped, for `problems`."""
        self._outside = tuple(
            group for group in sorted(set(groups)) if not self._options.addresses.holds(group)
        )

    def carries(self, group: int) -> bool:
        """Return whether frames of a group go by multicast now."""
        return self._sender is not None and self._options.addresses.holds(group)

    def send(self, place: Place, frame: Frame, data: bytes) -> None:
        """Send a frame, of which `data` are the bytes, or count it as lost."""
        too_large = len(data) > MOST_FRAME_BYTES
        reason = TOO_LARGE if too_large else self._send(place, data)
        if reason:
            self._losses.add(frame.flow, reason)

    async def run(self) -> None:
        """Send heartbeats, and try again as long as the network takes nothing, until cancelled."""
        while True:
            await asyncio.sleep(AGAIN_S if self._sender is None else BEAT_S)
            if self._sender is not None:
                self._send(HEARTBEAT, b"")
                continue
            self.open()
            if self.groups is not None:
                self._changed()

    def _send(self, place: Place, data: bytes) -> str:
        """Return why nothing was sent, as a reason of losses; empty when it was."""
        if self._sender is None:
            return MULTICAST_AWAY
        try:
            self._sender.send(place, data)
        except OSError as error:
            if is_full(error):
                return MULTICAST_FULL
            self.close()
            self._fail(error)
            self._changed()
            return MULTICAST_AWAY
        return ""

    def close(self) -> None:
        """Send nothing any more; idempotent."""
        sender, self._sender = self._sender, None
        if sender is not None:
            sender.close()

    def open(self) -> None:
        """Begin to send by multicast, or take note of why that does not work."""
        options = self._options
        try:
            self._sender = Sender(self._groups, interface=options.interface, hops=options.hops)
        except OSError as error:
            self._fail(error)
            return
        if self._problem:
            log.info("multicast to %s works again", options.addresses.network)
        self._problem = ""

    def _fail(self, error: OSError) -> None:
        options = self._options
        way = f"interface {options.interface}" if options.interface else "the default route"
        problem = (
            f"multicast to {options.addresses.network} by {way} fails ({error.strerror or error}), "
            "so streams are sent by NATS; check the interface, its route and the firewall"
        )
        if problem != self._problem:
            log.warning("%s", problem)
        self._problem = problem
