"""Mapped flows by multicast on this machine's loopback: real agents' parts, broker, subscribers."""

from __future__ import annotations

import asyncio
import errno
import json
import random
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio

from agent.drivers.base import Fenced
from agent.drivers.nats import mapped_streams
from agent.drivers.nats.multicast import MulticastOptions
from agent.drivers.nats.server_config import BrokerSecrets
from agent.enforcement import Enforcer
from tests.agent.brokers import Broker
from tests.agent.planes import Plane, until
from tests.agent.publishing import log_in
from tests.agent.test_mapped_streams import (
    FLOWS,
    STREAMS,
    Desk,
    Publisher,
    Site,
    complete,
    desk,
    leaves,
    roster,
)
from tests.nats_server import NatsServer, free_port
from tests.suites import effort
from weir.coordination.wire import Document, FlowSpec
from weir_client import groups, subjects
from weir_client.frames import Frame, Kind, Place, frame_to_bytes
from weir_client.groups import NatsGroup
from weir_client.multicast import HEARTBEAT, GroupAddresses, GroupReader, MulticastGroups, Sender
from weir_client.subscriber import Subscriber
from weir_client.subscriber_login import SUBSCRIBER_USER

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LOOPBACK = "127.0.0.1"
NOWHERE = "192.0.2.77"
"""An address kept for documentation, so no interface has it."""


def multicast(network: str = "239.192.7.0/24", **options: Any) -> MulticastOptions:
    addresses = GroupAddresses(IPv4Network(network), free_port())
    return MulticastOptions(addresses=addresses, **{"interface": LOOPBACK, "hops": 0, **options})


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker("a", tmp_path_factory.mktemp("a"), BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def site(broker: Broker) -> AsyncIterator[Site]:
    site = await Site(broker, multicast()).open()
    await site.map(dict.fromkeys(FLOWS, STREAMS[0]))
    yield site
    await site.close()


async def restart(site: Site, options: MulticastOptions | None) -> None:
    """End the agent without a word, and start another one."""
    await site.plane.router.close()
    site.plane.driver._server.session.end(Fenced("killed", incarnation=1))
    await site.plane.driver.close()
    site.multicast = options
    await site.open()


async def heard_by(desk: Desk, kind: type) -> None:
    """Wait until a subscriber hears all of its groups in one way."""
    ways = desk.subscriber._subscriptions
    await until(
        lambda: bool(ways) and all(type(each) is kind for each in ways.values()), f"{ways}", 20
    )


class Wire:
    """Counts the frames that the broker carries."""

    async def open(self, broker: Broker) -> Wire:
        self.frames = 0
        self.client = await nats.connect(
            broker.url,
            user=SUBSCRIBER_USER,
            password=broker.secrets.client_key,
            inbox_prefix=subjects.INBOX,
        )
        await self.client.subscribe(f"{subjects.ON}.>", cb=self._count)
        await self.client.flush()
        await self.client.flush()
        return self

    async def _count(self, _: Any) -> None:
        self.frames += 1

    async def silent(self) -> None:
        """Wait until the agent sends by multicast alone."""
        quiet = asyncio.timeout(60)
        async with quiet:
            while True:
                before = self.frames
                await asyncio.sleep(0.2)
                if self.frames == before:
                    return


async def everything(desks: list[Desk], publisher: Publisher, flows: tuple[str, ...]) -> None:
    for n, each in enumerate(desks):
        for flow in flows:
            sent = publisher.sent[flow]
            await until(lambda: complete(each, flow, sent), f"desk {n} waits for {flow}")  # noqa: B023
            assert each.payloads[flow] == sent
        assert not each.lost
        assert set(each.payloads) == set(flows)


async def test_flows_move_between_multicast_groups_and_nothing_is_lost_doubled_or_reordered(
    site: Site,
) -> None:
    pick = random.Random(9)
    flows = FLOWS[:8]
    desks = [await desk(site.broker, f"desk-{n}", *flows, interface=LOOPBACK) for n in range(3)]
    for flow in flows:
        await roster(site, flow, 3)
    for each in desks:
        await heard_by(each, GroupReader)
    wire = await Wire().open(site.broker)
    publisher = Publisher(await log_in(site.broker, "p"))
    await wire.silent()
    before = wire.frames
    for _ in effort(range(30), range(400)):
        await site.move(*pick.sample(FLOWS, 4), to=pick.choice(STREAMS))
        if pick.random() < 0.5:
            await site.settle()
            assert not any(each.unready for each in site.hand_overs().values())
    await site.settle()
    await publisher.stop()
    await everything(desks, publisher, flows)
    assert wire.frames == before
    for each in desks:
        await leaves(each, site)
        assert each.subscriber.filtered.strangers == 0
        assert each.subscriber.filtered.flows > 0
        await each.close()
    assert site.plane.driver._mapped.problems == ()
    await wire.client.close()


async def test_one_that_hears_no_multicast_gets_all_by_nats_while_it_is_there(site: Site) -> None:
    flows = FLOWS[:6]
    desks = [
        await desk(site.broker, "multicast", *flows, interface=LOOPBACK),
        await desk(site.broker, "nats", *flows, multicast=False),
        # What cannot be joined is noticed by itself.
        await desk(site.broker, "nowhere", *flows, interface=NOWHERE),
    ]
    await until(lambda: len(site.plane.driver._mapped._by_nats) == 2, "they have said so")
    publisher = Publisher(await log_in(site.broker, "p"))
    for turn in range(8):
        await site.move(*flows[:4], to=STREAMS[(turn * 3 + 2) % 6])
        await asyncio.sleep(0.05)
    await site.settle()
    await publisher.stop()
    await everything(desks, publisher, flows)
    kinds = [{type(e).__name__ for e in d.subscriber._subscriptions.values()} for d in desks]
    assert kinds == [{"GroupReader"}, {"NatsGroup"}, {"NatsGroup"}]
    for each in desks[1:]:
        await each.close()
    await until(lambda: not site.plane.driver._mapped._by_nats, "their connections have ended")
    wire = await Wire().open(site.broker)
    client = await log_in(site.broker, "q")
    await client.publish(f"weir.in.{subjects.token(flows[0])}", b"last")
    await until(lambda: desks[0].payloads[flows[0]][-1] == b"last", "the last")
    await wire.client.flush()
    assert wire.frames == 0
    await wire.client.close()
    await client.close()
    await desks[0].close()


async def test_what_strangers_send_to_a_group_is_not_delivered(site: Site) -> None:
    flow = FLOWS[0]
    one = await desk(site.broker, "one", flow, interface=LOOPBACK)
    await heard_by(one, GroupReader)
    assert site.multicast is not None
    own = site.plane.driver._mapped._multicast
    assert own is not None
    stranger = Sender(
        MulticastGroups(site.multicast.addresses, b"f" * 32), interface=LOOPBACK, hops=0
    )
    place = Place(STREAMS[0].group, STREAMS[0].stream)
    forged = frame_to_bytes(Frame(Kind.DATA, flow, "a", 2**63, 0, 1, place, b"forged"))
    ended = frame_to_bytes(Frame(Kind.LAST, flow, "a", 2**63, 1, 0, Place(9, 9)))
    for frame in (forged, ended, b""):
        stranger.send(place, frame)
    client = await log_in(site.broker, "p")
    await client.publish(f"weir.in.{subjects.token(flow)}", b"mine")
    await until(lambda: one.payloads[flow] == [b"mine"], f"{one.payloads}")
    assert one.subscriber.filtered.strangers == 4  # and its heartbeat
    assert not one.lost
    stranger.close()
    # With the key, and yet no frame.
    assert own._sender is not None
    own._sender.send(place, b"no frame")
    own._sender.send(Place(place.group, 99), forged)
    await until(lambda: one.subscriber.filtered.malformed == 1, "it is counted")
    await until(lambda: one.subscriber.filtered.streams == 1, "it is counted")
    await client.close()
    await one.close()


async def test_a_restarted_agent_has_another_key_and_every_loss_is_reported(site: Site) -> None:
    flows = FLOWS[:6]
    desks = [await desk(site.broker, f"desk-{n}", *flows, interface=LOOPBACK) for n in range(2)]
    for flow in flows:
        await roster(site, flow, 2)
    publisher = Publisher(await log_in(site.broker, "p"))
    keys = set()
    same = site.multicast
    for goal, options in ((1, same), (2, None), (3, same), (4, multicast("239.192.9.0/24"))):
        senders = site.plane.driver._mapped._flows._senders
        here = {(flow, senders[flow].life) for flow in flows}
        await until(lambda: all(d.numbers.keys() >= here for d in desks), "not all receive")  # noqa: B023
        await site.map({**site.places, **dict.fromkeys(flows[:4], STREAMS[goal])})
        await restart(site, options)
        await site.map(site.places)
        own = site.plane.driver._mapped._multicast
        if own is not None:
            keys.add(own._groups.key)
        for each in desks:
            await until(
                lambda: each.subscriber._listening._groups == (own.groups if own else None),  # noqa: B023
                "it hears of it",
            )
    assert len(keys) == 3
    await site.settle()
    await asyncio.sleep(0.3)
    await publisher.stop()
    for each in desks:
        await heard_by(each, GroupReader)
        for flow in flows:
            sent = publisher.sent[flow]
            await until(lambda: complete(each, flow, sent), f"{flow}: {each.payloads[flow][-1:]}")  # noqa: B023
            assert [int(p) for p in each.payloads[flow]] == sorted(
                set(map(int, each.payloads[flow]))
            )
            lives = sorted(life for f, life in each.numbers if f == flow)
            for life in lives:
                numbers = each.numbers[flow, life]
                lost = [
                    number
                    for entry in each.lost
                    if (entry.flow, entry.life) == (flow, life)
                    for number in range(entry.first, entry.last + 1)
                ]
                first = min([*numbers, *lost])
                assert sorted([*numbers, *lost]) == list(range(first, max([*numbers, *lost]) + 1))
                assert first == 1 or life == lives[0]
        await leaves(each, site)
        await each.close()


async def test_groups_without_an_address_go_by_nats_and_are_named(broker: Broker) -> None:
    """Hand-overs between a group of each kind keep their promises."""
    site = await Site(broker, multicast("239.192.8.0/31")).open()
    await site.map(dict.fromkeys(FLOWS, STREAMS[0]))
    flows = FLOWS[:4]
    one = await desk(broker, "one", *flows, interface=LOOPBACK)
    for flow in flows:
        await roster(site, flow, 1)
    assert (await site.plane.driver.stats()).problems == ()
    publisher = Publisher(await log_in(broker, "p"))
    for goal in (2, 0, 4, 3, 1, 5):
        await site.move(*flows, to=STREAMS[goal])
        await site.settle()
    await publisher.stop()
    await everything([one], publisher, flows)
    [problem] = (await site.plane.driver.stats()).problems
    assert problem.startswith(
        "groups 2 have no address in 239.192.8.0/31, so they are sent by NATS"
    )
    await site.move(*FLOWS, to=STREAMS[1])
    assert (await site.plane.driver.stats()).problems == ()
    await one.close()
    await site.close()


async def test_an_interface_that_goes_and_comes_back(broker: Broker) -> None:
    site = await Site(broker, multicast(interface=NOWHERE)).open()
    await site.map(dict.fromkeys(FLOWS, STREAMS[0]))
    flow = FLOWS[0]
    subject = f"weir.in.{subjects.token(flow)}"
    one = await desk(broker, "one", flow, interface=LOOPBACK)
    await roster(site, flow, 1)
    [problem] = (await site.plane.driver.stats()).problems
    assert problem.startswith(f"multicast to 239.192.7.0/24 by interface {NOWHERE} fails (")
    client = await log_in(broker, "p")
    await client.publish(subject, b"0")
    await until(lambda: one.payloads[flow] == [b"0"], "by NATS")
    own = site.plane.driver._mapped._multicast
    assert own is not None
    own._options = replace(own._options, interface=LOOPBACK)  # as if it got this address
    await heard_by(one, GroupReader)
    assert (await site.plane.driver.stats()).problems == ()
    await client.publish(subject, b"1")
    await until(lambda: one.payloads[flow] == [b"0", b"1"], "by multicast")
    assert own._sender is not None
    own._sender._socket.close()  # as the kernel does with whatever an interface took along
    own._options = replace(own._options, interface=NOWHERE)
    frame = Frame(Kind.BEACON, flow, "a", 1, 1, 0, Place(0, 0))
    own.send(Place(0, 0), frame, frame_to_bytes(frame))
    assert (await site.plane.driver.stats()).lost[flow] == {"multicast_away": 1}
    [problem] = (await site.plane.driver.stats()).problems
    assert problem.startswith(f"multicast to 239.192.7.0/24 by interface {NOWHERE} fails (")
    await heard_by(one, NatsGroup)
    await one.subscriber._client.flush()
    await client.publish(subject, b"2")
    await until(lambda: one.payloads[flow] == [b"0", b"1", b"2"], f"{one.payloads}")
    assert not one.lost
    await client.close()
    await one.close()
    await site.close()


async def test_where_multicast_falls_silent_all_comes_by_nats_until_it_is_back(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "SILENT_S", 0.8)
    flow = FLOWS[0]
    subject = f"weir.in.{subjects.token(flow)}"
    one = await desk(site.broker, "one", flow, interface=LOOPBACK)
    assert [type(each) for each in one.subscriber._subscriptions.values()] == [GroupReader]
    client = await log_in(site.broker, "p")
    await client.publish(subject, b"1")
    await until(lambda: one.payloads[flow] == [b"1"], "the first")
    own = site.plane.driver._mapped._multicast
    assert own is not None
    assert own._sender is not None
    # What is sent comes nowhere, and the kernel says nothing of it.
    own._sender._to.update(dict.fromkeys((0, HEARTBEAT.group), (LOOPBACK, 9)))
    await client.publish(subject, b"2")
    sender = site.plane.driver._mapped._flows._senders[flow]
    await until(lambda: sender.number == 2, "the second is sent")
    await heard_by(one, NatsGroup)
    by_nats = site.plane.driver._mapped._by_nats
    await until(lambda: bool(by_nats), "it has said so")
    await client.publish(subject, b"3")
    await until(lambda: one.payloads[flow] == [b"1", b"3"], "by NATS")
    assert [(lost.first, lost.last) for lost in one.lost] == [(2, 2)]
    own._sender._to.clear()
    await heard_by(one, GroupReader)
    await until(lambda: not by_nats, "it has said so")
    await client.publish(subject, b"4")
    await until(lambda: one.payloads[flow] == [b"1", b"3", b"4"], "by multicast")
    assert one.subscriber.filtered.strangers == 0
    await client.close()
    await one.close()


class FullSocket(socket.socket):
    """A socket of which the kernel's buffers are full."""

    def sendto(self, *_: Any) -> int:
        raise OSError(errno.ENOBUFS, "No buffer space available")


async def test_what_has_no_room_is_counted_and_reported(site: Site) -> None:
    flow = FLOWS[0]
    subject = f"weir.in.{subjects.token(flow)}"
    one = await desk(site.broker, "one", flow, interface=LOOPBACK)
    await roster(site, flow, 1)
    client = await log_in(site.broker, "p")
    await client.publish(subject, b"1")
    await until(lambda: one.payloads[flow] == [b"1"], "the first")
    wire = await Wire().open(site.broker)
    await asyncio.sleep(1.1)  # until then the agent sends by NATS, too
    await client.publish(subject, b"x" * 70_000)
    await client.publish(subject, b"3")
    await until(lambda: one.payloads[flow] == [b"1", b"3"], "the third")
    own = site.plane.driver._mapped._multicast
    assert own is not None
    assert own._sender is not None
    good, own._sender._socket = own._sender._socket, FullSocket(socket.AF_INET, socket.SOCK_DGRAM)
    await client.publish(subject, b"4")
    await until(
        lambda: site.plane.driver._losses.counts[flow] == {"too_large": 1, "multicast_full": 1},
        f"{site.plane.driver._losses.counts}",
    )
    own._sender._socket.close()
    own._sender._socket = good
    await client.publish(subject, b"5")
    await until(lambda: one.payloads[flow] == [b"1", b"3", b"5"], f"{one.payloads}")
    assert [(lost.first, lost.last) for lost in one.lost] == [(2, 2), (4, 4)]
    assert wire.frames == 0
    await wire.client.close()
    await client.close()
    await one.close()


async def test_one_that_does_not_say_how_it_hears_gets_all_by_nats(site: Site) -> None:
    flow = FLOWS[0]
    one = await desk(site.broker, "one", flow, interface=LOOPBACK)
    await heard_by(one, GroupReader)
    wire = await Wire().open(site.broker)
    client = await log_in(site.broker, "p")
    publisher = Publisher(client)
    await wire.silent()
    wants = json.dumps({"receiver": "no-such-option", "flows": [flow]}).encode()
    await wire.client.publish(subjects.WANT, wants)
    before = wire.frames
    await until(lambda: wire.frames > before, "it comes by NATS")
    await publisher.stop()
    await wire.client.close()
    await one.close()


async def test_who_has_gone_unseen_is_forgotten_and_multicast_alone_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent without a secrets file sees nobody's connection end."""
    monkeypatch.setattr(mapped_streams, "REPEAT_S", 0.2)
    monkeypatch.setattr(mapped_streams, "MOST_SILENT_S", 3.0)
    with NatsServer(tmp_path / "a") as server:
        plane = await Plane("a", server, multicast=multicast()).open()
        enforcer = Enforcer(driver=plane.driver, router=plane.router, busy=frozenset)
        document = Document(
            system="s",
            broker="a",
            version="v",
            number=1,
            flows={FLOWS[0]: FlowSpec(ingress=True)},
            places={FLOWS[0]: STREAMS[0]},
        )
        assert await enforcer.apply(document, current=lambda: True)
        names = ("stays", "goes")
        stays, goes = [
            await Subscriber.connect(server.url, name=name, key="", multicast=False)
            for name in names
        ]
        for each in (stays, goes):
            await each.want(FLOWS[0])
        by_nats = plane.driver._mapped._by_nats
        await until(lambda: len(by_nats) == 2, f"{by_nats}")
        await goes.close()
        await until(lambda: len(by_nats) == 1, f"{by_nats}")
        assert next(iter(by_nats)).startswith("stays/")
        first = by_nats[next(iter(by_nats))]
        await until(lambda: max(by_nats.values()) > first + 3.0, "it repeats that it is there")
        await stays.close()
        await until(lambda: not by_nats, f"{by_nats}")
        await plane.close()
