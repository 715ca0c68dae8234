"""What a datagram holds comes back with the key alone; what strangers send is dropped by the reader
of a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nats_server import free_port
from tests.suites import effort
from weir_client.frames import Place
from weir_client.groups import Groups
from weir_client.multicast import (
    HEARTBEAT,
    MOST_AT_ONCE,
    MOST_FRAME_BYTES,
    GroupAddresses,
    GroupReader,
    MulticastGroups,
    Sender,
    datagram_from_bytes,
    datagram_to_bytes,
    groups_from_json,
    groups_to_json,
)

CLIENT = settings(max_examples=effort(150, 20_000), deadline=None)
KEYS = st.binary(min_size=32, max_size=32)
U32 = st.integers(0, 2**32 - 1)
PLACES = st.builds(Place, U32, U32)
FRAMES = st.binary(max_size=200)
RANGE = IPv4Network("239.192.0.0/16")
LOOPBACK = "127.0.0.1"


@st.composite
def ranges(draw: st.DrawFn) -> IPv4Network:
    prefix = draw(st.integers(9, 32))
    address = draw(st.integers(int(IPv4Address("224.0.0.0")), int(IPv4Address("239.255.255.255"))))
    network = IPv4Network((address >> (32 - prefix) << (32 - prefix), prefix))
    return network if int(network.network_address) & 0x7FFFFF >= 256 else RANGE


@CLIENT
@given(KEYS, PLACES, FRAMES)
def test_a_datagram_comes_back_as_it_was_written(key, place, frame):
    assert datagram_from_bytes(key, datagram_to_bytes(key, place, frame)) == (place, frame)


@CLIENT
@given(KEYS, KEYS, PLACES, FRAMES, st.data())
def test_whatever_differs_from_what_was_written_with_the_key_is_refused(
    key, other, place, frame, data
):
    written = datagram_to_bytes(key, place, frame)
    changed = bytearray(written)
    at = data.draw(st.integers(0, len(changed) - 1))
    changed[at] ^= data.draw(st.integers(1, 255))
    wrong = [
        bytes(changed),
        written + b"\0",
        written[: data.draw(st.integers(0, len(written) - 1))],
    ]
    if other != key:
        wrong.append(datagram_to_bytes(other, place, frame))
    for each in wrong:
        with pytest.raises(ValueError, match="datagram"):
            datagram_from_bytes(key, each)


@CLIENT
@given(KEYS, st.binary(max_size=100))
def test_random_bytes_are_no_datagram(key, data):
    with pytest.raises(ValueError, match="datagram"):
        datagram_from_bytes(key, data)


def test_the_bytes_are_those_that_the_module_names():
    """Computed here by hand: both ends may be of different versions of this package."""
    key, body = bytes(range(32)), b"\x00\x00\x00\x01\x00\x00\x00\x02frame"
    digest = blake2b(body, digest_size=16, key=key, person=b"weir multicast 1").digest()
    assert datagram_to_bytes(key, Place(1, 2), b"frame") == b"\x01" + digest + body


@CLIENT
@given(ranges(), st.data())
def test_each_group_has_an_address_of_its_own_in_the_range(network, data):
    addresses = GroupAddresses(network, 7424)
    most = network.num_addresses - 2
    groups = data.draw(st.sets(st.integers(0, max(most, 0)), max_size=20))
    held = {group for group in groups if addresses.holds(group)}
    assert held == (groups if most >= 0 else set())
    found = {addresses.of(group) for group in held}
    assert len(found) == len(held)
    assert all(address in network and address.is_multicast for address in found)
    assert addresses.of(HEARTBEAT.group) == network.network_address
    assert network.network_address not in found
    for outside in (-1, most + 1, 2**32):
        assert not addresses.holds(outside)
        with pytest.raises(ValueError, match="has no address in"):
            addresses.of(outside)


@pytest.mark.parametrize(
    ("network", "port", "says"),
    [
        ("10.0.0.0/8", 7424, "no range of multicast"),
        ("192.0.0.0/2", 7424, "no range of multicast"),
        ("224.0.0.0/24", 7424, "every port"),
        ("239.0.0.0/8", 7424, "every port"),
        ("239.128.0.0/16", 7424, "every port"),
        ("239.192.0.0/16", 0, "from 1 to 65535"),
        ("239.192.0.0/16", 65_536, "from 1 to 65535"),
    ],
)
def test_ranges_that_no_network_filters_are_refused(network, port, says):
    with pytest.raises(ValueError, match=says):
        GroupAddresses(IPv4Network(network), port)


@CLIENT
@given(ranges(), st.integers(1, 65_535), KEYS)
def test_what_an_agent_says_of_groups_comes_back(network, port, key):
    groups = MulticastGroups(GroupAddresses(network, port), key)
    assert groups_from_json(groups_to_json(groups)) == groups
    assert key.hex() not in repr(groups)


def test_no_multicast_has_a_message_too_and_further_fields_are_no_error():
    assert groups_from_json(groups_to_json(None)) is None
    groups = MulticastGroups(GroupAddresses(RANGE, 1), bytes(32))
    message = json.loads(groups_to_json(groups))
    message["multicast"]["more"] = message["more"] = 1
    assert groups_from_json(json.dumps(message).encode()) == groups


GOOD = {"network": "239.192.0.0/16", "port": 1, "key": "00" * 32}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b"1",
        b'{"multicast": null}',
        *(
            json.dumps({"multicast": {**GOOD, **wrong}}).encode()
            for wrong in (
                {"network": "239.192.0.1/16"},
                {"network": "10.0.0.0/8"},
                {"network": 1},
                {"port": 0},
                {"port": "1"},
                {"key": "00"},
                {"key": "x" * 64},
                {"key": None},
            )
        ),
    ],
)
def test_whatever_says_nothing_of_groups_raises_value_error(data):
    with pytest.raises(ValueError):  # noqa: PT011 - of several parsers
        groups_from_json(data)


class Heard:
    """What the reader of a group took."""

    def __init__(self) -> None:
        self.frames: list[tuple[Place, bytes]] = []
        self.strangers = 0

    async def take(self, place: Place, frame: bytes) -> None:
        self.frames.append((place, frame))

    def stranger(self) -> None:
        self.strangers += 1


@asynccontextmanager
async def listening(groups: MulticastGroups, group: int) -> AsyncIterator[Heard]:
    heard = Heard()
    reader = GroupReader(
        groups, group, interface=LOOPBACK, take=heard.take, stranger=heard.stranger
    )
    yield heard
    await reader.leave()


async def until(holds) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.005)


def own_groups(key: bytes = b"k" * 32) -> MulticastGroups:
    return MulticastGroups(GroupAddresses(RANGE, free_port()), key)


@pytest.mark.asyncio
async def test_each_reader_of_a_group_gets_its_frames_in_order_and_no_others():
    groups = own_groups()
    sender = Sender(groups, interface=LOOPBACK, hops=0)
    async with (
        listening(groups, 1) as one,
        listening(groups, 1) as too,
        listening(groups, 2) as other,
    ):
        sent = [(Place(1, number % 3), b"%d" % number) for number in range(3 * MOST_AT_ONCE // 2)]
        for place, frame in sent:
            sender.send(place, frame)
        largest = b"x" * MOST_FRAME_BYTES
        sender.send(Place(1, 0), largest)
        sender.send(Place(2, 7), b"of two")
        await until(lambda: other.frames and len(one.frames) == len(too.frames) == len(sent) + 1)
        assert one.frames == too.frames == [*sent, (Place(1, 0), largest)]
        assert other.frames == [(Place(2, 7), b"of two")]
        assert (one.strangers, other.strangers) == (0, 0)
        with pytest.raises(OSError, match=r"[Tt]oo (long|large)"):
            sender.send(Place(1, 0), largest + b"x")
        with pytest.raises(ValueError, match="has no address"):
            sender.send(Place(2**16, 0), b"")
    sender.close()


@pytest.mark.asyncio
async def test_what_strangers_send_is_counted_and_not_delivered():
    groups = own_groups()
    mine = Sender(groups, interface=LOOPBACK, hops=0)
    foreign = Sender(MulticastGroups(groups.addresses, b"f" * 32), interface=LOOPBACK, hops=0)
    async with listening(groups, 3) as heard:
        foreign.send(Place(3, 1), b"foreign")
        to = str(groups.addresses.of(3)), groups.addresses.port
        # A datagram of ours that somebody repeats in another group.
        for datagram in (
            b"",
            b"\x01",
            b"x" * 1_000,
            datagram_to_bytes(groups.key, Place(4, 1), b""),
        ):
            foreign._socket.sendto(datagram, to)
        mine.send(Place(3, 1), b"mine")
        await until(lambda: heard.frames)
        assert heard.frames == [(Place(3, 1), b"mine")]
        assert heard.strangers == 5
    mine.close()
    foreign.close()


@pytest.mark.asyncio
async def test_a_group_that_was_left_is_read_no_more_and_its_socket_is_closed():
    groups = own_groups()
    heard = Heard()
    reader = GroupReader(groups, 1, interface=LOOPBACK, take=heard.take, stranger=heard.stranger)
    await reader.leave()
    assert reader._socket.fileno() == -1
    sender = Sender(groups, interface=LOOPBACK, hops=0)
    sender.send(Place(1, 1), b"late")
    async with listening(groups, 1) as again:
        sender.send(Place(1, 1), b"now")
        await until(lambda: again.frames)
        assert [frame for _, frame in again.frames] == [b"now"]
    assert not heard.frames
    sender.close()


@pytest.mark.asyncio
async def test_an_interface_that_is_not_there_raises_os_error_and_leaks_no_socket():
    groups = own_groups()
    nowhere = "192.0.2.77"  # kept for documentation, so no interface has it
    for open_one in (
        lambda: Sender(groups, interface=nowhere),
        lambda: GroupReader(
            groups, 1, interface=nowhere, take=Heard().take, stranger=Heard().stranger
        ),
    ):
        with pytest.raises(OSError):  # noqa: PT011 - ENODEV or EADDRNOTAVAIL, by system
            open_one()
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as free:
        free.bind((str(groups.addresses.of(1)), groups.addresses.port))  # nobody else has it


def test_an_interface_is_named_by_its_address():
    for wrong in ("eth0", "1", "::1", "10.0.0.0/8"):
        with pytest.raises(ValueError, match="not the IPv4 address"):
            Groups(
                None,
                interface=wrong,
                multicast=True,
                on_message=lambda _: None,
                on_datagram=lambda *_: None,
                on_stranger=lambda: None,
                on_change=lambda: None,
            )
