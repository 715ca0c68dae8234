"""Frames as UDP datagrams of multicast groups: their addresses, their bytes, and both ends.

The agent says at its broker which addresses its groups have, and a key that it drew when it began
(`weir_client.subjects`). Each datagram carries a digest by that key, so what others send to these
addresses is told apart. Nothing is encrypted.

The first address of the range is of no group: the agent sends heartbeats there, by which receivers
know whether the network brings them multicast at all.

| bytes | what |
|---|---|
| 1 | the version |
| 16 | keyed BLAKE2b digest of all that follows |
| 4, 4 | the group and the stream that the frame is on |
| the rest | the frame |
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import json
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network

from weir_client.frames import Place

VERSION = 1
KEY_BYTES = 32
MOST_FRAME_BYTES = 65_507 - 25
"""What a datagram of IPv4 has room for, beside the fields before the frame."""
BUFFER_BYTES = 4 << 20
"""What the kernel is to keep of a group that is not read fast enough; it may grant less."""
REJOIN_S = 5.0
"""After this much silence a group is joined again: its interface may have gone and come back."""
HEARTBEAT = Place(2**32 - 1, 0)
"""Where heartbeats are: the group of this number has the first address of each range."""
BEAT_S = 0.25
"""The pause between two heartbeats."""
MOST_AT_ONCE = 200
"""Datagrams of one group that are read before anything else gets its turn."""
_HEAD = struct.Struct("!B16sII")
_PERSON = b"weir multicast 1"
_FLOODED = 0x7FFFFF, 0x100
"""Switches know groups by 23 bits of their address, and send the first 256 of these to everybody:
those of the protocols that all hosts speak."""
_SO_RCVBUFFORCE, _IP_MULTICAST_ALL = 33, 49
"""Options of Linux that Python has no names for."""


@dataclass(frozen=True, slots=True)
class GroupAddresses:
    """A range of multicast addresses and a port: group 0 has the second address, and so on. The
    first one is that of heartbeats."""

    network: IPv4Network
    port: int

    def __post_init__(self) -> None:
        """Raise ValueError, with a sentence, for a range that no network would filter."""
        if not self.network.is_multicast:
            raise ValueError(f"{self.network} is no range of multicast addresses (224.0.0.0/4)")
        mask, first = _FLOODED
        if int(self.network.network_address) & mask < first:
            raise ValueError(
                f"{self.network} begins with addresses that switches send to every port; take "
                "another range, such as 239.192.0.0/16"
            )
        if not 1 <= self.port <= 65_535:
            raise ValueError(f"a port is a number from 1 to 65535, not {self.port}")

    def holds(self, group: int) -> bool:
        """Return whether a group has an address in the range."""
        return 0 <= group < self.network.num_addresses - 1

    def of(self, group: int) -> IPv4Address:
        """Return the address of a group. Raises ValueError where the range has none for it."""
        if group == HEARTBEAT.group:
            return self.network.network_address
        if not self.holds(group):
            raise ValueError(f"group {group} has no address in {self.network}")
        return self.network.network_address + group + 1


@dataclass(frozen=True, slots=True)
class MulticastGroups:
    """What an agent says of the groups that it sends by multicast."""

    addresses: GroupAddresses
    key: bytes = field(repr=False)


def groups_to_json(groups: MulticastGroups | None) -> bytes:
    """Write how groups are sent; None: by NATS alone."""
    if groups is None:
        return b"{}"
    addresses = groups.addresses
    said = {"network": str(addresses.network), "port": addresses.port, "key": groups.key.hex()}
    return json.dumps({"multicast": said}).encode()


def groups_from_json(data: bytes) -> MulticastGroups | None:
    """Read how groups are sent; None: by NATS alone. Raises ValueError for whatever says neither:
    other fields beside these are no error."""
    try:
        match json.loads(data):
            case {"multicast": {"network": str(network), "port": int(port), "key": str(key)}}:
                secret = bytes.fromhex(key)
                if len(secret) != KEY_BYTES:
                    raise ValueError(f"a key of {len(secret)} bytes, not {KEY_BYTES}")
                return MulticastGroups(GroupAddresses(IPv4Network(network), port), secret)
            case {"multicast": _}:
                raise ValueError("multicast without its network, port and key")
            case {}:
                return None
    except RecursionError as error:
        raise ValueError("not how groups are sent") from error
    raise ValueError("not how groups are sent")


def datagram_to_bytes(key: bytes, place: Place, frame: bytes) -> bytes:
    """Write a datagram of a frame on a stream. Raises ValueError where a number does not fit."""
    try:
        head = _HEAD.pack(VERSION, b"", *place)
    except struct.error as error:
        raise ValueError(f"a number does not fit: {error}") from error
    body = head[17:] + frame
    return b"".join((head[:1], _digest(key, body), body))


def datagram_from_bytes(key: bytes, datagram: bytes) -> tuple[Place, bytes]:
    """Return the stream and the frame of a datagram. Raises ValueError for whatever was not written
    with this key."""
    if len(datagram) < _HEAD.size or datagram[0] != VERSION:
        raise ValueError(f"no datagram of version {VERSION}")
    _, digest, group, stream = _HEAD.unpack_from(datagram)
    if not hmac.compare_digest(digest, _digest(key, datagram[17:])):
        raise ValueError("a datagram of somebody without the key")
    return Place(group, stream), datagram[_HEAD.size :]


def _digest(key: bytes, body: bytes) -> bytes:
    return blake2b(body, digest_size=16, key=key, person=_PERSON).digest()


class Sender:
    """A socket that sends frames to their groups, and never waits."""

    def __init__(self, groups: MulticastGroups, *, interface: str = "", hops: int = 1) -> None:
        """Open it on the interface that has the address `interface`, empty: where the route goes.
        Raises OSError where nothing can be sent."""
        self._groups = groups
        self._to: dict[int, tuple[str, int]] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, hops)
            if interface:
                self._socket.setsockopt(
                    socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface)
                )
            # Whether there is a way, and no rule against it, shows only when something is sent.
            self.send(HEARTBEAT, b"")
        except OSError:
            self._socket.close()
            raise

    def send(self, place: Place, frame: bytes) -> None:
        """Send a frame to the group of its stream. Raises OSError: BlockingIOError, or of number
        ENOBUFS, while there is no room; ValueError where the group has no address."""
        to = self._to.get(place.group)
        if to is None:
            addresses = self._groups.addresses
            to = self._to[place.group] = str(addresses.of(place.group)), addresses.port
        self._socket.sendto(datagram_to_bytes(self._groups.key, place, frame), to)

    def close(self) -> None:
        """Close the socket; idempotent."""
        self._socket.close()


class GroupReader:
    """One group, read from its own socket until `leave`."""

    def __init__(
        self,
        groups: MulticastGroups,
        group: int,
        *,
        interface: str,
        take: Callable[[Place, bytes], Awaitable[None]],
        stranger: Callable[[], None],
    ) -> None:
        """Join a group on the interface that has the address `interface`, empty: where the route
        goes. `take` gets each stream and frame, `stranger` is called for what others sent. Raises
        OSError where the group cannot be joined, and ValueError where it has no address."""
        self.carried: MulticastGroups | None = groups
        self._group = group
        self._take = take
        self._stranger = stranger
        self._address = groups.addresses.of(group).packed
        self._interface = socket.inet_aton(interface or "0.0.0.0")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._open(groups.addresses.port)
        except OSError:
            self._socket.close()
            raise
        self._is_readable = asyncio.Event()
        self._task = asyncio.create_task(self._read(groups.key), name=f"multicast group {group}")
        # Not in `leave`, which may be cancelled while the loop still watches the socket.
        self._task.add_done_callback(lambda _: self._socket.close())

    async def leave(self) -> None:
        """Leave the group; what was not read yet is dropped."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _open(self, port: int) -> None:
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        if sys.platform == "linux":
            # What came to this group by another interface is not ours.
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
            with suppress(PermissionError):
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, BUFFER_BYTES)
        # The group's address: a socket bound to any would get every group of this port.
        self._socket.bind((socket.inet_ntoa(self._address), port))
        self._join()

    def _join(self) -> None:
        self._socket.setsockopt(
            socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, self._address + self._interface
        )

    async def _read(self, key: bytes) -> None:
        while True:
            await self._wait()
            for _ in range(MOST_AT_ONCE):
                try:
                    datagram = self._socket.recv(65_535)
                except OSError as error:
                    if not isinstance(error, BlockingIOError):
                        await asyncio.sleep(REJOIN_S)
                    break
                try:
                    place, frame = datagram_from_bytes(key, datagram)
                except ValueError:
                    self._stranger()
                    continue
                if place.group == self._group:
                    await self._take(place, frame)
                else:
                    self._stranger()
            else:
                await asyncio.sleep(0)

    async def _wait(self) -> None:
        """Return once there is something to read, or after a silence."""
        loop = asyncio.get_running_loop()
        self._is_readable.clear()
        loop.add_reader(self._socket, self._is_readable.set)
        try:
            async with asyncio.timeout(REJOIN_S):
                await self._is_readable.wait()
        except TimeoutError:
            with suppress(OSError):  # EADDRINUSE: it is a member still; others: there is no way now
                self._join()
        finally:
            loop.remove_reader(self._socket)


def is_full(error: OSError) -> bool:
    """Return whether an error of `Sender.send` says that there is no room now."""
    return isinstance(error, BlockingIOError) or error.errno == errno.ENOBUFS
