"""Mapped flows at a real broker: subscribers follow them from stream to stream under load."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio

from agent.drivers.base import Fenced, Stats
from agent.drivers.nats.multicast import MulticastOptions
from agent.drivers.nats.server_config import BrokerSecrets
from agent.enforcement import Enforcer
from agent.mapped_flows import MappedFlows
from agent.tasks import Died, end
from tests.agent.brokers import Broker
from tests.agent.planes import Plane, client, join, until
from tests.agent.publishing import log_in
from tests.nats_server import NatsServer
from tests.suites import effort
from weir.coordination.wire import Document, FlowSpec, HandOver, HandOverPhase, StreamPlace
from weir_client import subjects
from weir_client.frames import Answer, Reply, reply_to_bytes
from weir_client.receiving import Lost, Quality
from weir_client.subscriber import Message, Subscriber
from weir_client.subscriber_login import SUBSCRIBER_USER

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

FLOWS = tuple(f"fx.{number}" for number in range(12))
STREAMS = tuple(StreamPlace(group=g, stream=10 * g + s) for g in range(3) for s in range(2))


class Site:
    """A broker with its agent's enforcement, which documents of a test map flows at."""

    def __init__(self, broker: Broker, multicast: MulticastOptions | None = None) -> None:
        self.broker = broker
        self.multicast = multicast
        self.places: dict[str, StreamPlace] = {}
        self.number = 0

    async def open(self) -> Site:
        plane = Plane("a", self.broker, secrets=self.broker.secrets, multicast=self.multicast)
        self.plane = await plane.open()
        self.enforcer = Enforcer(driver=self.plane.driver, router=self.plane.router, busy=frozenset)
        return self

    async def close(self) -> None:
        await self.plane.close()

    async def map(self, places: Mapping[str, StreamPlace]) -> None:
        self.places = dict(places)
        self.number += 1
        document = Document(
            system="s",
            broker="a",
            version=f"v{self.number}",
            number=self.number,
            flows={flow: FlowSpec(ingress=True) for flow in FLOWS},
            places=self.places,
        )
        assert await self.enforcer.apply(document, current=lambda: True)

    async def move(self, *flows: str, to: StreamPlace) -> None:
        await self.map({**self.places, **dict.fromkeys(flows, to)})

    def hand_overs(self) -> Mapping[str, HandOver]:
        observed = self.enforcer.observed(Stats())
        assert observed.number == self.number
        assert observed.hand_overs is not None
        return observed.hand_overs

    def settled(self) -> bool:
        return all(
            each.phase is HandOverPhase.DONE and each.next is None
            for each in self.hand_overs().values()
        )

    async def settle(self) -> None:
        await until(self.settled, "hand-overs are under way", 20)


class Desk:
    """A subscriber that keeps what it receives."""

    def __init__(self, subscriber: Subscriber) -> None:
        self.subscriber = subscriber
        self.numbers: dict[tuple[str, int], list[int]] = defaultdict(list)
        """Flow and life of its sender -> the numbers of its messages, as they came."""
        self.payloads: dict[str, list[bytes]] = defaultdict(list)
        self.lost: list[Lost] = []
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for each in self.subscriber.messages():
            if isinstance(each, Message):
                self.numbers[each.flow, each.life].append(each.number)
                self.payloads[each.flow].append(each.payload)
            else:
                self.lost.append(each)

    async def close(self) -> None:
        await end(self._task)
        await self.subscriber.close()


class Publisher:
    """A publisher that sends numbered messages of all flows until it is stopped."""

    def __init__(self, client: Any) -> None:
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self._client = client
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        for number in itertools.count():
            for flow in FLOWS:
                self.sent[flow].append(b"%d" % number)
                await self._client.publish(f"weir.in.{subjects.token(flow)}", b"%d" % number)
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        await end(self._task)
        await self._client.flush()
        await self._client.close()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker("a", tmp_path_factory.mktemp("a"), BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def site(broker: Broker) -> AsyncIterator[Site]:
    site = await Site(broker).open()
    await site.map(dict.fromkeys(FLOWS, STREAMS[0]))
    yield site
    await site.close()


async def desk(broker: Broker, name: str, *flows: str, **options: Any) -> Desk:
    subscriber = await Subscriber.connect(
        broker.url, name=name, key=broker.secrets.client_key, **options
    )
    desk = Desk(subscriber)
    await subscriber.want(*flows)
    return desk


async def roster(site: Site, flow: str, count: int) -> None:
    """Wait until so many receivers of a flow are known to the agent."""
    wants = site.plane.driver._mapped._flows._wants
    await until(lambda: len(wants.receivers(flow)) == count, f"{flow}: {wants.receivers(flow)}")


async def leaves(desk: Desk, site: Site) -> None:
    """Wait until a subscriber listens to the streams of its flows, and to no others."""
    wanted = {
        (at.group, at.stream) for flow, at in site.places.items() if flow in desk.subscriber._flows
    }
    listens = desk.subscriber
    await until(lambda: set(listens._streams) == wanted, f"{listens._streams}, not {wanted}", 20)
    groups = {group for group, _ in wanted}
    await until(lambda: set(listens._subscriptions) == groups, f"{set(listens._subscriptions)}", 20)


def complete(desk: Desk, flow: str, sent: list[bytes]) -> bool:
    """Whether a subscriber has all that was sent from its first message on."""
    got = desk.payloads[flow]
    return bool(got) and got[-1:] == sent[-1:]


async def test_flows_move_under_load_and_nothing_is_lost_doubled_or_reordered(site: Site) -> None:
    pick = random.Random(7)
    desks = [await desk(site.broker, f"desk-{n}", *FLOWS[n : n + 8]) for n in range(4)]
    for flow in FLOWS:
        await roster(site, flow, sum(flow in FLOWS[n : n + 8] for n in range(4)))
    publisher = Publisher(await log_in(site.broker, "p"))
    took: list[float] = []
    for _ in effort(range(40), range(400)):
        flows = pick.sample(FLOWS, 4)
        await site.move(*flows, to=pick.choice(STREAMS))
        if pick.random() < 0.5:
            await site.settle()
            took += [each.took_s for each in site.hand_overs().values() if each.took_s is not None]
            assert not any(each.unready for each in site.hand_overs().values())
    await site.settle()
    await publisher.stop()
    for n, each in enumerate(desks):
        for flow in FLOWS[n : n + 8]:
            sent = publisher.sent[flow]
            await until(lambda: complete(each, flow, sent), f"desk-{n} waits for {flow}")  # noqa: B023
            assert each.payloads[flow] == sent
        assert not each.lost
        assert set(each.payloads) == set(FLOWS[n : n + 8])
        await leaves(each, site)
    assert took
    print(f"{len(took)} hand-overs, the longest {max(took) * 1000:.1f} ms")
    for each in desks:
        await each.close()


async def test_a_subscriber_that_is_killed_holds_up_nobody(site: Site) -> None:
    flow = FLOWS[0]
    one, other = [await desk(site.broker, name, flow) for name in ("one", "other")]
    await roster(site, flow, 2)
    # As where a machine loses power, but for the FIN that its kernel sends.
    one.subscriber._client._transport._io_writer.transport.abort()
    one.subscriber._client.options["allow_reconnect"] = False
    await roster(site, flow, 1)
    await site.move(flow, to=STREAMS[3])
    await site.settle()
    assert site.hand_overs()[flow].unready == 0
    await other.close()
    await roster(site, flow, 0)
    await one.close()


async def test_who_does_not_answer_is_waited_for_once_until_it_speaks_again(site: Site) -> None:
    flow = FLOWS[1]
    mute = await nats.connect(
        site.broker.url,
        user=SUBSCRIBER_USER,
        password=site.broker.secrets.client_key,
        inbox_prefix=subjects.INBOX,
        name="mute",
    )
    wants = json.dumps({"receiver": "mute", "flows": [flow]}).encode()
    await mute.publish(subjects.WANT, wants)
    await roster(site, flow, 1)
    await site.move(flow, to=STREAMS[1])
    await site.settle()
    assert site.hand_overs()[flow].unready == 1
    await roster(site, flow, 0)
    await site.move(flow, to=STREAMS[2])
    await site.settle()
    assert site.hand_overs()[flow].unready == 0
    await mute.publish(subjects.WANT, wants)
    await roster(site, flow, 1)
    await site.move(flow, to=STREAMS[0])
    await site.settle()
    assert site.hand_overs()[flow].unready == 1
    await mute.close()


async def test_a_restarted_agent_goes_on_and_every_loss_is_reported(site: Site) -> None:
    desks = [await desk(site.broker, f"desk-{n}", *FLOWS) for n in range(2)]
    for flow in FLOWS:
        await roster(site, flow, 2)
    publisher = Publisher(await log_in(site.broker, "p"))
    for goal in STREAMS[1:4]:
        senders = site.plane.driver._mapped._flows._senders
        here = {(flow, senders[flow].life) for flow in FLOWS}
        await until(lambda: all(d.numbers.keys() >= here for d in desks), "not all receive")  # noqa: B023
        await site.map({**site.places, **dict.fromkeys(FLOWS[:6], goal)})
        # In the middle of the hand-overs: nobody says Last.
        await site.plane.router.close()
        site.plane.driver._server.session.end(Fenced("killed", incarnation=1))
        await site.plane.driver.close()
        await site.open()
        await site.map({**site.places, **dict.fromkeys(FLOWS[3:9], STREAMS[5])})
        await asyncio.sleep(0.3)
    await site.settle()
    await asyncio.sleep(0.5)
    await publisher.stop()
    for each in desks:
        for flow in FLOWS:
            sent = publisher.sent[flow]
            await until(lambda: complete(each, flow, sent), f"{flow}: {each.payloads[flow][-1:]}")  # noqa: B023
            payloads = each.payloads[flow]
            assert [int(p) for p in payloads] == sorted({int(p) for p in payloads})
            lives = sorted(life for f, life in each.numbers if f == flow)
            assert len(lives) == 4
            for life in lives:
                numbers = each.numbers[flow, life]
                lost = [
                    number
                    for entry in each.lost
                    if (entry.flow, entry.life) == (flow, life)
                    for number in range(entry.first, entry.last + 1)
                ]
                assert not set(numbers) & set(lost)
                first = min([*numbers, *lost])
                assert sorted([*numbers, *lost]) == list(range(first, max(numbers) + 1))
                # Of a life that began while it was there, everything is known.
                assert first == 1 or life == lives[0]
        await leaves(each, site)
        await each.close()


async def test_what_nobody_should_send_changes_nothing(site: Site) -> None:
    flow = FLOWS[2]
    one = await desk(site.broker, "one", flow)
    await roster(site, flow, 1)
    rogue = await nats.connect(
        site.broker.url,
        user=SUBSCRIBER_USER,
        password=site.broker.secrets.client_key,
        inbox_prefix=subjects.INBOX,
    )
    foreign = Reply(Answer.DONE, flow, "b", 1, 1, "one")
    late = Reply(Answer.DONE, flow, "a", 1, 7, "one")
    junk = [b"", b"{}", b"[1]", b"[" * 100_000, b"\xff", b'{"receiver": "x", "flows": [{}]}']
    junk += [b'{"receiver": [], "flows": []}', reply_to_bytes(foreign), reply_to_bytes(late)]
    for subject in (subjects.WANT, subjects.PLACE, f"{subjects.HEARD}.{subjects.token(flow)}"):
        for payload in junk:
            await rogue.publish(subject, payload)
            await rogue.publish(subject, payload, reply="weir.on.0.0.x")
    await rogue.flush()
    client = await log_in(site.broker, "p")
    await client.publish(f"weir.in.{subjects.token(flow)}", b"0")
    await site.move(flow, to=STREAMS[4])
    await site.settle()
    await client.publish(f"weir.in.{subjects.token(flow)}", b"1")
    await until(lambda: one.payloads[flow] == [b"0", b"1"], f"{one.payloads}")
    await client.close()
    await rogue.close()
    await one.close()


async def test_wants_end_with_their_connection_whatever_name_they_give(site: Site) -> None:
    one = await desk(site.broker, "one", FLOWS[0])
    await roster(site, FLOWS[0], 1)
    rogue = await nats.connect(
        site.broker.url,
        user=SUBSCRIBER_USER,
        password=site.broker.secrets.client_key,
        inbox_prefix=subjects.INBOX,
    )
    for name in ("", "somebody", "nobody"):
        flows = [FLOWS[0], *(f"not mapped {number}" for number in range(1_000))]
        wants = json.dumps({"receiver": name, "flows": flows}).encode()
        await rogue.publish(subjects.WANT, wants)
    await roster(site, FLOWS[0], 3)
    assert set(site.plane.driver._mapped._flows._wants._receivers) == {FLOWS[0]}
    # Nobody is connected under these names.
    await roster(site, FLOWS[0], 1)
    # More names than an answer has room for are asked for again.
    inbox = f"{subjects.INBOX}.more"
    answers = await rogue.subscribe(inbox)
    many = [*FLOWS, *(f"{number:\u00e9>300}" for number in range(1_500))]
    await rogue.publish(subjects.PLACE, json.dumps(many, ensure_ascii=False).encode(), reply=inbox)
    assert json.loads((await answers.next_msg(5)).data).keys() == set(FLOWS)
    assert site.plane.driver.server
    await rogue.close()
    await one.close()


async def test_an_internal_error_of_hand_overs_ends_the_life_of_the_agent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise LookupError("a flow that should be there")

    monkeypatch.setattr(MappedFlows, "_next_due", break_down)
    site.plane.driver._mapped._flows._wake_ups.interrupt()
    async with asyncio.timeout(60):
        with pytest.raises(Died, match="hand-overs died: LookupError"):
            await site.plane.driver.fenced()


async def test_a_flow_that_leaves_the_map_is_sent_no_more_until_it_is_back(site: Site) -> None:
    flow = FLOWS[3]
    one = await desk(site.broker, "one", flow, quality=Quality.SEAMLESS)
    client = await log_in(site.broker, "p")
    subject = f"weir.in.{subjects.token(flow)}"
    await client.publish(subject, b"0")
    await until(lambda: one.payloads[flow] == [b"0"], "the first")
    without = {name: place for name, place in site.places.items() if name != flow}
    await site.map(without)
    assert flow not in site.hand_overs()
    assert flow not in site.plane.router.flows.local
    await client.publish(subject, b"1")
    # The client's first PING may overtake the message. Once both are at the server, the agent has
    # taken the message from its connection before it takes this question.
    for _ in range(2):
        await client.flush()
    await one.subscriber._client.request(subjects.PLACE, json.dumps([flow]).encode(), timeout=20)
    await site.map({**without, flow: STREAMS[5]})
    receiver = one.subscriber._flows[flow]
    groups = one.subscriber._subscriptions
    await until(lambda: (2, 21) in receiver.mapped and 2 in groups, "it is placed")
    await one.subscriber._client.flush()
    await client.publish(subject, b"2")
    await until(lambda: one.payloads[flow] == [b"0", b"2"], f"{one.payloads}")
    await client.close()
    await one.close()


async def test_a_flow_is_sent_on_streams_where_it_leaves_the_overlay(
    server: NatsServer, tmp_path: Path
) -> None:
    """It enters at one broker and is received at another, neither of which asks an agent whom to
    let in."""
    flow = FLOWS[0]
    with NatsServer(tmp_path / "other") as other:
        planes = [await Plane(name, at).open() for name, at in (("a", server), ("b", other))]
        for plane in planes:
            spec = FlowSpec(ingress=plane.name == "a")
            await plane.router.flows.ensure_flow(flow, spec)
            await plane.router.know((flow,), None)
            await plane.router.flows.set_local({flow} if plane.name == "b" else ())
        planes[1].driver.map_flows({flow: STREAMS[0]})
        await join(*planes)
        one = Desk(await Subscriber.connect(other.url, name="one", key="of nobody"))
        await one.subscriber.want(flow)
        publisher = await client(server)
        sent = [b"%d" % number for number in range(300)]
        for number, payload in enumerate(sent):
            await publisher.publish(f"weir.in.{subjects.token(flow)}", payload)
            if number % 100 == 50:
                await publisher.flush()
                planes[1].driver.map_flows({flow: STREAMS[1 + number // 100]})
        await until(lambda: one.payloads[flow] == sent, f"{one.payloads}")
        assert not one.lost
        assert planes[0].driver.hand_overs() is None
        await publisher.close()
        await one.close()
        for plane in planes:
            await plane.close()
