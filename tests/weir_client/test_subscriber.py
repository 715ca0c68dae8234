"""Subscribers at a real broker: they follow flows, and survive what a broker may bring."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client

from tests.nats_server import NatsServer
from weir_client import subjects
from weir_client.frames import Frame, Kind, Place, frame_to_bytes, reply_from_bytes
from weir_client.receiving import Lost, Quality
from weir_client.sending import FlowSender, HandOverTimes, Sent
from weir_client.subscriber import Message, Subscriber

A, B, C = Place(0, 1), Place(1, 2), Place(1, 3)


@pytest.fixture
def server(tmp_path: Path):
    with NatsServer(tmp_path / "nats") as server:
        yield server


class Agent:
    """What an agent does: it says where flows are, sends them, and takes replies."""

    def __init__(self, client) -> None:
        self.client = client
        self.places: dict[str, object] = {}
        self.wants: dict[str, list[str]] = {}
        self.questions = 0
        self.senders: dict[str, FlowSender] = {}

    async def open(self) -> None:
        await self.client.subscribe(subjects.PLACE, cb=self._on_place)
        await self.client.subscribe(subjects.WANT, cb=self._on_want)
        await self.client.subscribe(f"{subjects.HEARD}.>", cb=self._on_heard)
        await self.client.flush()
        await self.client.flush()  # the first one overtakes subscriptions

    def wanted(self) -> dict[str, list[str]]:
        """What subscribers want, by their names: two of one name are told apart at the broker."""
        return {name.partition("/")[0]: flows for name, flows in self.wants.items()}

    async def wake(self) -> None:
        while True:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            for sender in list(self.senders.values()):
                wake_at = sender.wake_at()
                if wake_at is not None and wake_at <= now:
                    await self._transmit(sender.wake(now))

    def add(self, flow: str, place: Place) -> None:
        self.places[flow] = [place]
        self.senders[flow] = FlowSender(
            flow,
            "agent",
            life=1,
            place=place,
            times=HandOverTimes(prepare_s=5.0, drain_s=5.0),
            receivers=lambda: [name for name, flows in self.wants.items() if flow in flows],
        )

    async def send(self, flow: str, *payloads: bytes) -> None:
        for payload in payloads:
            await self._transmit(self.senders[flow].send(payload))

    async def move(self, flow: str, place: Place) -> None:
        await self._transmit(self.senders[flow].move_to(place, time.monotonic()))

    async def place(self, flow: str, *places: Place) -> None:
        self.places[flow] = places
        await self.client.publish(subjects.PLACED, json.dumps({flow: places}).encode())

    async def _transmit(self, sent: list[Sent]) -> None:
        for place, frame in sent:
            await self.client.publish(
                subjects.frame_subject(place, frame.flow), frame_to_bytes(frame)
            )
        await self.client.flush()

    async def _on_place(self, message) -> None:
        self.questions += 1
        flows = json.loads(message.data)
        await message.respond(
            json.dumps({flow: self.places.get(flow, []) for flow in flows}).encode()
        )

    async def _on_want(self, message) -> None:
        want = json.loads(message.data)
        self.wants[want["receiver"]] = want["flows"]

    async def _on_heard(self, message) -> None:
        reply = reply_from_bytes(message.data)
        await self._transmit(self.senders[reply.flow].take(reply, time.monotonic()))


@pytest_asyncio.fixture
async def agent(server: NatsServer) -> AsyncIterator[Agent]:
    client = Client()

    async def ask() -> None:  # whoever came back before the agent did was not heard by it
        await client.publish(subjects.WHO, b"")

    await client.connect(
        server.url, max_reconnect_attempts=-1, reconnect_time_wait=0.05, reconnected_cb=ask
    )
    agent = Agent(client)
    await agent.open()
    waking = asyncio.create_task(agent.wake())
    yield agent
    waking.cancel()
    await client.close()


@asynccontextmanager
async def desk(server: NatsServer, **options) -> AsyncIterator[Subscriber]:
    options = {"name": "desk", "key": "k", "reconnect_time_wait": 0.05, **options}
    async with await Subscriber.connect(server.url, **options) as subscriber:
        yield subscriber


async def take(subscriber: Subscriber, count: int) -> list[Message | Lost]:
    arrived: list[Message | Lost] = []
    async with asyncio.timeout(60):
        async for each in subscriber.messages():
            arrived.append(each)
            if len(arrived) == count:
                break
    return arrived


async def until(holds) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


def numbers(arrived) -> list[object]:
    return [(e.first, e.last) if isinstance(e, Lost) else e.number for e in arrived]


@pytest.mark.asyncio
@pytest.mark.parametrize("quality", list(Quality))
async def test_a_flow_is_followed_to_another_group_and_back(server, agent, quality):
    agent.add("f.1", A)
    async with desk(server, quality=quality) as subscriber:
        await subscriber.want("f.1")
        await until(lambda: agent.wanted() == {"desk": ["f.1"]})
        for turn, place in enumerate([B, A, B, A]):
            await agent.send("f.1", b"%d" % turn, b"x")
            await agent.move("f.1", place)
            await until(lambda place=place: agent.senders["f.1"].place == place)
            await agent.place("f.1", place)
            await until(lambda: agent.senders["f.1"].hand_over.done_at is not None)
            done = agent.senders["f.1"].hand_over
            assert (done.unready, done.undone) == ((), ())
        await agent.send("f.1", b"end")
        arrived = await take(subscriber, 9)
        assert numbers(arrived) == list(range(1, 10))
        assert arrived[-1] == Message("f.1", "agent", 1, 9, b"end")
        await until(lambda: set(subscriber._subscriptions) == {A.group})


@pytest.mark.asyncio
async def test_a_group_is_left_only_when_no_flow_needs_it(server, agent):
    agent.add("f", B)
    agent.add("g", C)
    async with desk(server) as subscriber:
        await subscriber.want("f", "g", "f")
        assert set(subscriber._subscriptions) == {1}
        await subscriber.want("g")
        await agent.send("f", b"1")
        await agent.send("g", b"1")
        assert [each.flow for each in await take(subscriber, 1)] == ["g"]
        assert subscriber.filtered.streams == 1
        await agent.place("g", B, C)
        await until(lambda: B in subscriber._streams)
        await agent.send("f", b"2")
        await until(lambda: subscriber.filtered.flows == 1)
        await subscriber.want()
        await until(lambda: not subscriber._subscriptions)
        assert not subscriber._streams
        await until(lambda: agent.wanted() == {"desk": []})


@pytest.mark.asyncio
async def test_after_the_broker_was_killed_it_wants_again_and_finds_moved_flows(server, agent):
    agent.add("f", A)
    async with desk(server) as subscriber:
        await subscriber.want("f")
        await agent.send("f", b"1")
        await take(subscriber, 1)
        agent.wants.clear()
        server.kill()
        agent.add("f", B)  # it moved while nobody heard, and begins anew there
        agent.senders["f"].life = 2
        server.start()
        await until(lambda: agent.wanted() == {"desk": ["f"]})
        await until(lambda: set(subscriber._subscriptions) >= {B.group})
        await agent.client.flush()
        await asyncio.sleep(0.1)
        await agent.send("f", b"2")
        assert [(each.life, each.payload) for each in await take(subscriber, 1)] == [(2, b"2")]


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", ["authentication timeout", "authorization violation"])
async def test_a_reason_with_which_the_server_ends_the_connection_ends_no_subscriber(
    server, agent, reason
):
    agent.add("f", A)
    async with desk(server) as subscriber:
        await subscriber.want("f")
        await agent.send("f", b"1")
        assert numbers(await take(subscriber, 1)) == [1]
        client = subscriber._client
        await client._process_err(f"'{reason}'")
        await until(lambda: client.stats["reconnects"] == 1 and client.is_connected)
        await subscriber._reach_broker()
        await agent.send("f", b"2")
        assert numbers(await take(subscriber, 1)) == [2]


@pytest.mark.asyncio
async def test_wants_are_repeated_when_an_agent_asks(server, agent):
    async with desk(server) as subscriber:
        await subscriber.want("f")
        agent.wants.clear()
        await agent.client.publish(subjects.WHO, b"")
        await until(lambda: agent.wanted() == {"desk": ["f"]})
        questions = agent.questions
        agent.add("f", A)  # an agent that did not know of it is asked again
        await until(lambda: agent.questions > questions and A in subscriber._streams)


@pytest.mark.asyncio
async def test_what_is_malformed_is_counted_and_harms_nothing(server, agent):
    agent.add("f", A)
    async with desk(server) as subscriber:
        await subscriber.want("f")
        good = frame_to_bytes(Frame(Kind.DATA, "g", "s", 1, 0, 1, A))
        wrong = [
            (subjects.CARRIED, b"{"),
            (subjects.CARRIED, b'{"multicast": {}}'),
            (subjects.PLACED, b"{"),
            (subjects.PLACED, b"[]"),
            (subjects.PLACED, b"\xff"),
            (subjects.PLACED, b"[" * 100_000),
            (subjects.PLACED, b'{"f": 1}'),
            (subjects.PLACED, b'{"f": [[1]]}'),
            (subjects.PLACED, b'{"f": [[0, true]]}'),
            (subjects.PLACED, b'{"f": [[0, -1]]}'),
            (subjects.frame_subject(A, "f"), b""),
            (subjects.frame_subject(A, "f"), b"\x01\x09" + b"\x00" * 40),
            (subjects.frame_subject(A, "f"), good),  # another flow's
            ("weir.on.0.x.f", good),
            ("weir.on.0.1.f.g", good),
        ]
        for subject, data in wrong:
            await agent.client.publish(subject, data)
        await agent.client.flush()
        await until(lambda: subscriber.filtered.malformed == len(wrong))
        await agent.send("f", b"1")
        assert numbers(await take(subscriber, 1)) == [1]


@pytest.mark.asyncio
async def test_an_agent_that_answers_nonsense_or_nothing_delays_and_breaks_nothing(server):
    client = await nats.connect(server.url)

    async def nonsense(message) -> None:
        await message.respond(b"no")

    await client.subscribe(subjects.PLACE, cb=nonsense)
    await client.flush()
    async with desk(server) as subscriber:
        await subscriber.want("f")
        assert subscriber.filtered.malformed >= 1
        await client.publish(subjects.PLACED, json.dumps({"f": [A], "g": [B]}).encode())
        await until(lambda: set(subscriber._subscriptions) == {A.group})
    await client.close()


@pytest.mark.asyncio
async def test_messages_without_room_are_lost_where_they_belong(server, agent):
    agent.add("f", A)
    agent.add("g", A)
    async with desk(server, most_waiting=3) as subscriber:
        await subscriber.want("f", "g")
        await agent.send("f", *[b"x"] * 6)
        await agent.send("g", b"x")
        await until(lambda: len(subscriber._arrived._dropped) == 2)
        assert numbers(await take(subscriber, 2)) == [1, 2]
        await agent.send("f", b"x")
        await until(lambda: len(subscriber._arrived._waiting) == 3)
        assert numbers(await take(subscriber, 4)) == [3, (4, 6), 7, (1, 1)]


@pytest.mark.asyncio
async def test_what_a_stream_loses_is_reported_once(server, agent):
    agent.add("f", A)
    async with desk(server) as subscriber:
        await subscriber.want("f")
        await agent.send("f", b"1")
        agent.senders["f"].send(b"lost")
        agent.senders["f"].send(b"lost")
        await agent.send("f", b"4")
        assert numbers(await take(subscriber, 3)) == [1, (2, 3), 4]


@pytest.mark.asyncio
async def test_what_waits_for_a_lost_message_is_given_up_in_time(server, agent):
    agent.add("f", A)
    async with desk(server, wait_s=0.1) as subscriber:
        await subscriber.want("f")
        await agent.place("f", A, B)
        await until(lambda: B in subscriber._streams)
        await asyncio.sleep(0.05)
        await agent.send("f", b"1")
        late = Frame(Kind.DATA, "f", "agent", 1, 1, 3, B, b"3")  # of 2, Last and First nothing came
        await agent.client.publish(subjects.frame_subject(B, "f"), frame_to_bytes(late))
        assert numbers(await take(subscriber, 3)) == [1, (2, 2), 3]


@pytest.mark.asyncio
async def test_many_flows_are_wanted_in_parts_and_each_frame_reckons_with_one(server, agent):
    names = [f"flow.{number}" for number in range(2_500)]
    for name in names:
        agent.add(name, A)
    async with desk(server) as subscriber:
        await subscriber.want(*names)
        assert agent.questions == 3
        reckoned: list[str] = []
        reckon = subscriber._reckon

        def counting(flow: str) -> None:
            reckoned.append(flow)
            reckon(flow)

        subscriber._reckon = counting  # type: ignore[method-assign]
        for name in names[:50]:
            await agent.send(name, b"1", b"2", b"3")
        assert len(await take(subscriber, 150)) == 150
        # The first message of a life is news; the others change nothing.
        assert sorted(reckoned) == sorted(names[:50])


@pytest.mark.asyncio
async def test_whoever_iterates_comes_to_an_end_when_it_is_closed(server, agent):
    agent.add("f", A)
    async with desk(server) as subscriber:
        await subscriber.want("f")
        await agent.send("f", b"1")
        await until(lambda: len(subscriber._arrived._waiting) == 1)
        await subscriber.close()
        await subscriber.close()
        assert numbers([each async for each in subscriber.messages()]) == [1]
        with pytest.raises(nats.errors.ConnectionClosedError):
            await subscriber.want("g")


@pytest.mark.asyncio
async def test_connecting_may_be_cancelled_and_may_fail(server):
    port = server.port
    server.stop()
    connecting = asyncio.create_task(
        Subscriber.connect(f"nats://127.0.0.1:{port}", name="desk", key="k")
    )
    await asyncio.sleep(0.3)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    with pytest.raises((nats.errors.NoServersError, OSError)):
        await Subscriber.connect(
            f"nats://127.0.0.1:{port}", name="desk", key="k", max_reconnect_attempts=1
        )
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
