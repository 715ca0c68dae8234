"""Admission enforced by a real nats-server through its auth callout."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest
import pytest_asyncio

from agent.drivers.base import Retryable, Unsupported
from agent.drivers.nats.admission import Admission
from agent.drivers.nats.fence import cut_off_predecessors
from agent.drivers.nats.names import class_inbox
from agent.drivers.nats.server_config import BrokerSecrets
from agent.tasks import end
from tests.agent.brokers import Broker, consumers_made
from tests.nats_clients import processed
from weir.coordination.wire import ClassSpec, token

pytestmark = pytest.mark.stack

WAIT_S = 60.0
GOLD = "trades/gold 1"


def limits(n: int | None, flow: str = "trades") -> dict[str, ClassSpec]:
    return {GOLD: ClassSpec(flow=flow, limit=n)}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker("b1", tmp_path_factory.mktemp("b1"), BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def admission(broker: Broker) -> AsyncIterator[Admission]:
    admission = Admission(url=broker.url, secrets=broker.secrets)
    await admission.open()
    yield admission
    await admission.close()


@pytest_asyncio.fixture
async def people(broker: Broker) -> AsyncIterator[People]:
    people = People(broker)
    yield people
    await people.leave()


class People:
    """Clients of a broker; each remembers what was said to it."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.errors: list[str] = []
        self._clients: list[Any] = []
        self._waiting: list[asyncio.Task[Any]] = []

    async def connect(
        self, name: str, *, user: str = token(GOLD), key: str = "", **more: Any
    ) -> Any:
        """Raises nats.errors.Error, TimeoutError or OSError when not let in at once."""

        async def remember(error: Exception) -> None:
            self.errors.append(str(error))

        options = {
            "allow_reconnect": False,
            "error_cb": remember,
            "inbox_prefix": class_inbox(GOLD) if user == token(GOLD) else "_INBOX",
            **more,
        }
        client = await asyncio.wait_for(
            nats.connect(
                self.broker.url,
                name=name,
                user=user or None,
                password=key or self.broker.secrets.client_key,
                **options,
            ),
            WAIT_S,
        )
        self._clients.append(client)
        return client

    async def patient(self, name: str, **more: Any) -> asyncio.Task[Any]:
        """A consumer that goes on asking until it is let in."""
        task = asyncio.create_task(
            self.connect(
                name,
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,
                **more,
            )
        )
        self._waiting.append(task)
        return task

    async def refused(self, name: str, **more: Any) -> bool:
        try:
            client = await self.connect(name, **more)
        except (nats.errors.Error, OSError, TimeoutError):
            return True
        await client.close()
        return False

    async def leave(self) -> None:
        await end(*self._waiting)
        for client in self._clients:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client.close(), 2)


async def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


async def really_in(admission: Admission, name: str = GOLD) -> int:
    """How many consumers of a class the server itself counts."""
    connections = await admission.system.connections()
    return sum(
        c.get("authorized_user", "").startswith(f"consumer/{token(name)}/") for c in connections
    )


@pytest.mark.asyncio
async def test_admits_exactly_the_limit_and_lets_the_others_wait(
    admission: Admission, people: People
) -> None:
    await admission.admit(limits(3))
    for i in range(3):
        await people.connect(f"c{i}")
    assert await people.refused("c3")
    assert await people.refused("c4")
    assert await really_in(admission) == 3
    state = admission.classes()[GOLD]
    assert (state.limit, state.admitted, state.waiting) == (3, 3, 2)


@pytest.mark.asyncio
async def test_nobody_is_let_in_before_the_limits_are_known(
    admission: Admission, people: People
) -> None:
    assert await people.refused("early")


@pytest.mark.asyncio
async def test_wrong_client_key_is_refused(admission: Admission, people: People) -> None:
    await admission.admit(limits(3))
    assert await people.refused("c", key="wrong")
    assert admission.classes()[GOLD].waiting == 0


@pytest.mark.asyncio
async def test_a_lower_limit_evicts_the_newest(admission: Admission, people: People) -> None:
    await admission.admit(limits(4))
    clients = [await people.connect(f"c{i}") for i in range(4)]
    await admission.admit(limits(1))
    assert await really_in(admission) == 1
    await until(lambda: all(c.is_closed for c in clients[1:]), "the evicted are told")
    assert clients[0].is_connected


@pytest.mark.asyncio
async def test_the_waiting_come_in_by_themselves_when_the_limit_rises(
    admission: Admission, people: People
) -> None:
    await admission.admit(limits(1))
    await people.connect("c0")
    waiting = await people.patient("c1")
    await until(lambda: admission.classes()[GOLD].waiting == 1, "it waits")
    assert not waiting.done()
    await admission.admit(limits(2))
    await asyncio.wait_for(waiting, WAIT_S)
    assert await really_in(admission) == 2
    assert admission.classes()[GOLD].waiting == 0


@pytest.mark.asyncio
async def test_an_evicted_consumer_waits_and_comes_back(
    admission: Admission, people: People
) -> None:
    await admission.admit(limits(1))
    client = await (await people.patient("c0"))
    await admission.admit(limits(0))
    await until(lambda: not client.is_connected, "evicted")
    await until(lambda: admission.classes()[GOLD].waiting == 1, "waits")
    await admission.admit(limits(1))
    await until(lambda: client.is_connected, "back")


@pytest.mark.asyncio
async def test_a_restarted_agent_never_admits_above_the_limit(
    broker: Broker, people: People
) -> None:
    first = Admission(url=broker.url, secrets=broker.secrets)
    await first.open()
    await first.admit(limits(3))
    for i in range(2):
        await people.connect(f"c{i}")
    # As kill -9 does: nothing is said to anybody, the sockets close.
    for task in (first._poller,):
        assert task is not None
        task.cancel()
    for client in (first._admission, first.system._client):
        client._transport.close()
    waiting = [await people.patient(f"w{i}") for i in range(4)]

    second = Admission(url=broker.url, secrets=broker.secrets)
    await second.open()
    try:
        assert await really_in(second) == 2
        await second.admit(limits(3))
        await until(lambda: sum(w.done() for w in waiting) == 1, "one place was free")
        for _ in range(10):
            assert await really_in(second) == 3
            await asyncio.sleep(0.05)
        await second.admit(limits(2))
        assert await really_in(second) == 2
    finally:
        await second.close()
        await first.close()


@pytest.mark.asyncio
async def test_a_killed_broker_comes_back_with_at_most_the_limit(tmp_path: Path) -> None:
    broker = Broker("b2", tmp_path, BrokerSecrets.generate())
    broker.start()
    people = People(broker)
    admission = Admission(url=broker.url, secrets=broker.secrets)
    try:
        await admission.open()
        await admission.admit(limits(2))
        tasks = [await people.patient(f"c{i}") for i in range(5)]
        await until(lambda: sum(t.done() for t in tasks) == 2, "two are in")
        before = admission._server
        broker.kill()
        broker.start()
        await until(lambda: admission._ready and admission._server != before, "back")
        await until(lambda: admission.classes()[GOLD].admitted == 2, "two are in again")
        for _ in range(10):
            assert await really_in(admission) <= 2
            await asyncio.sleep(0.05)
    finally:
        await people.leave()
        await admission.close()
        broker.kill()


@pytest.mark.asyncio
async def test_leases_are_renewed_without_losing_the_place(broker: Broker, people: People) -> None:
    admission = Admission(url=broker.url, secrets=broker.secrets, lease_s=6.0)
    await admission.open()
    try:
        await admission.admit(limits(1))
        client = await (await people.patient("c0"))
        rival = await people.patient("rival")
        first = admission.book.places(GOLD)[0]
        await until(
            lambda: (
                bool(admission.book.places(GOLD))
                and admission.book.places(GOLD)[0].connection != first.connection
            ),
            "renewed",
        )
        assert admission.book.places(GOLD)[0].consumer == "c0"
        assert not rival.done()
        assert not client.is_closed
    finally:
        await admission.close()


@pytest.mark.asyncio
async def test_revoked_consumer_has_to_ask_again(admission: Admission, people: People) -> None:
    await admission.admit(limits(2))
    client = await people.connect("c0")
    other = await people.connect("c1")
    await admission.revoke(GOLD, "c0")
    await until(lambda: client.is_closed, "cut off")
    assert other.is_connected


@pytest.mark.asyncio
async def test_consumers_read_their_flow_and_nothing_else(
    admission: Admission, broker: Broker, people: People
) -> None:
    await admission.admit(limits(1))
    agent = await people.connect("agent", user="agent", key=broker.secrets.agent_password)
    client = await people.connect("c0")
    got: list[bytes] = []

    async def keep(message: Any) -> None:
        got.append(message.data)

    await client.subscribe("weir.msg.trades", cb=keep)
    await client.subscribe("weir.msg.other", cb=keep)
    await client.subscribe("weir.in.trades", cb=keep)
    await client.publish("weir.msg.trades", b"forged")
    await client.publish("weir.in.trades", b"forged")
    await processed(client)
    await agent.publish("weir.msg.other", b"secret")
    await agent.publish("weir.in.trades", b"ingress")
    await agent.publish("weir.msg.trades", b"mine")
    await until(lambda: bool(got), "a message")
    assert got == [b"mine"]
    said = " ".join(people.errors)
    assert 'subscription to "weir.msg.other"' in said
    assert 'publish to "weir.msg.trades"' in said
    await until(lambda: admission.delivered().get(GOLD, 0) >= 1, "counted")


async def hand_over(broker: Broker, people: People, count: int) -> None:
    """The agent delivers so many messages of the flow, and the server has handed them over."""
    agent = await people.connect("agent", user="agent", key=broker.secrets.agent_password)
    for _ in range(count):
        await agent.publish("weir.msg.trades", b"x")
    await processed(agent)


async def counting_reader(people: People, name: str) -> tuple[Any, list[bytes]]:
    """A consumer that keeps what it is given."""
    client, got = await people.connect(name), []

    async def keep(message: Any) -> None:
        got.append(message.data)

    await client.subscribe("weir.msg.trades", cb=keep)
    await processed(client)
    return client, got


@pytest.mark.asyncio
async def test_a_server_says_in_the_event_of_an_end_what_its_list_said_before(
    broker: Broker, admission: Admission, people: People
) -> None:
    """What a client was given is `out_msgs` in the list and `received` in the event."""
    events: list[dict[str, Any]] = []
    await admission.system._client.subscribe("$SYS.ACCOUNT.CLIENTS.DISCONNECT", cb=_into(events))
    await admission.admit(limits(1))
    client, got = await counting_reader(people, "c0")
    await hand_over(broker, people, 57)
    await until(lambda: len(got) == 57, "all are read")
    (listed,) = [c for c in await admission.system.connections() if c.get("name") == "c0"]
    assert listed["out_msgs"] == 57
    await client.close()
    await until(lambda: any(e["client"].get("name") == "c0" for e in events), "the event")
    (event,) = [e for e in events if e["client"].get("name") == "c0"]
    assert event["received"]["msgs"] == 57
    assert event["sent"]["msgs"] == 0


def _into(events: list[dict[str, Any]]) -> Callable[[Any], Any]:
    async def keep(message: Any) -> None:
        events.append(json.loads(message.data))

    return keep


@pytest.mark.asyncio
async def test_what_a_class_was_given_does_not_fall_when_its_consumers_leave(
    broker: Broker, admission: Admission, people: People
) -> None:
    await admission.admit(limits(2))
    first, got = await counting_reader(people, "c0")
    await hand_over(broker, people, 57)
    await until(lambda: admission.delivered().get(GOLD) == 57, "counted")
    await first.close()
    await until(lambda: not admission.classes()[GOLD].admitted, "gone")
    assert admission.delivered() == {GOLD: 57}
    _, got = await counting_reader(people, "c1")
    await hand_over(broker, people, 5)
    await until(lambda: len(got) == 5, "read")
    await until(lambda: admission.delivered() == {GOLD: 62}, "counted on")


@pytest.mark.asyncio
async def test_what_was_given_before_the_agent_came_is_not_its_to_count(
    broker: Broker, admission: Admission, people: People
) -> None:
    await admission.admit(limits(2))
    client, got = await counting_reader(people, "c0")
    await hand_over(broker, people, 57)
    await until(lambda: len(got) == 57, "read")
    await admission.close()
    successor = Admission(url=broker.url, secrets=broker.secrets)
    await successor.open()
    try:
        assert successor.delivered() == {GOLD: 0}
        await hand_over(broker, people, 5)
        await until(lambda: successor.delivered() == {GOLD: 5}, "counted")
        await client.close()
        await until(lambda: not successor.book.admitted(GOLD), "gone")
        assert successor.delivered() == {GOLD: 5}
    finally:
        await successor.close()


@pytest.mark.asyncio
async def test_consumers_read_the_stream_of_a_reliable_flow(
    admission: Admission, broker: Broker, people: People
) -> None:
    await admission.admit(limits(1))
    agent = await people.connect("agent", user="agent", key=broker.secrets.agent_password)
    stream = agent.jetstream()
    for flow in ("trades", "other"):
        await stream.add_stream(name=f"WEIR_MSG_{flow}", subjects=[f"weir.msg.{flow}"])
    try:
        await stream.publish("weir.msg.trades", b"kept")
        client = await people.connect("c0")
        own = client.jetstream(timeout=1.0)
        async with consumers_made(broker):
            subscription = await own.pull_subscribe(
                "weir.msg.trades", durable="c0", stream="WEIR_MSG_trades"
            )
        (message,) = await subscription.fetch(1, timeout=3)
        assert message.data == b"kept"
        await message.ack_sync(timeout=3)
        with pytest.raises((nats.errors.Error, TimeoutError)):
            await own.pull_subscribe("weir.msg.other", durable="c0", stream="WEIR_MSG_other")
        with pytest.raises((nats.errors.Error, TimeoutError)):
            await own.purge_stream("WEIR_MSG_trades")
        assert (await stream.stream_info("WEIR_MSG_trades")).state.messages == 1
    finally:
        for flow in ("trades", "other"):
            await stream.delete_stream(f"WEIR_MSG_{flow}")


@pytest.mark.asyncio
async def test_publishers_publish_into_the_ingress_and_nowhere_else(
    admission: Admission, broker: Broker, people: People
) -> None:
    await admission.admit(limits(1))
    agent = await people.connect("agent", user="agent", key=broker.secrets.agent_password)
    stream = agent.jetstream()
    await stream.add_stream(name="WEIR_IN_trades", subjects=["weir.in.trades"])
    try:
        publisher = await people.connect("p", user="publisher")
        acknowledged = await publisher.jetstream(timeout=3.0).publish("weir.in.trades", b"1")
        assert acknowledged.stream == "WEIR_IN_trades"
        await publisher.publish("weir.msg.trades", b"forged")
        await processed(publisher)
        await until(lambda: bool(people.errors), "told")
        assert 'publish to "weir.msg.trades"' in people.errors[-1]
    finally:
        await stream.delete_stream("WEIR_IN_trades")


@pytest.mark.asyncio
async def test_unmanaged_clients_are_let_in_counted_and_named(
    admission: Admission, people: People
) -> None:
    await admission.admit(limits(1), unmanaged="report")
    await people.connect("legacy app", user="somebody", key="x")
    await people.connect("no user", user="", key="x")
    await until(lambda: admission.unmanaged() == ("legacy app", "no user"), "named")
    assert admission.classes()[GOLD].admitted == 0


@pytest.mark.asyncio
async def test_unmanaged_clients_are_refused_where_the_document_says_so(
    admission: Admission, people: People
) -> None:
    await admission.admit(limits(1), unmanaged="report")
    old = await people.connect("legacy app", user="somebody", key="x")
    await until(lambda: admission.unmanaged() == ("legacy app",), "named")
    await admission.admit(limits(1), unmanaged="refuse")
    await until(lambda: old.is_closed, "turned out")
    assert await people.refused("legacy app", user="somebody", key="x")
    await until(lambda: admission.unmanaged() == (), "nobody left")


@pytest.mark.asyncio
async def test_a_newer_agent_cuts_the_older_off(broker: Broker, admission: Admission) -> None:
    older = Admission(url=broker.url, secrets=broker.secrets, life="there!")
    await older.open()
    try:
        number = older._admission._server_info["client_id"]
        await cut_off_predecessors(admission.system, "here")
        await until(
            lambda: (
                older._admission._server_info["client_id"] != number
                or not older._admission.is_connected
            ),
            "cut off",
        )
        assert admission._admission.is_connected
    finally:
        await older.close()


@pytest.mark.asyncio
async def test_wrong_secrets_are_told(broker: Broker) -> None:
    with pytest.raises(Unsupported, match="secrets"):
        await Admission(url=broker.url, secrets=BrokerSecrets.generate()).open()


@pytest.mark.asyncio
async def test_nobody_there_is_retryable(broker: Broker) -> None:
    with pytest.raises(Retryable, match="does not answer"):
        await Admission(url="nats://127.0.0.1:1", secrets=broker.secrets).open()


@pytest.mark.asyncio
async def test_the_load_of_the_server_is_read(admission: Admission) -> None:
    await until(lambda: admission.load.connections > 0, "read")
    assert admission.load.sync_always is True
    assert admission.load.stored_bytes is not None
    assert (admission.load.most_stored_bytes or 0) > admission.load.stored_bytes
    assert admission.load.memory_bytes
    assert admission.load.cores is not None
    assert admission.load.cores >= 1
    assert admission.load.cpu_ratio is not None


def test_secrets_survive_their_file(tmp_path: Path) -> None:
    secrets = BrokerSecrets.generate(client_key="k")
    path = tmp_path / "deep" / "secrets.json"
    secrets.save(path)
    assert BrokerSecrets.load(path) == secrets
    assert path.stat().st_mode & 0o077 == 0


def test_secrets_name_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text('{"agent_password": "x"}')
    with pytest.raises(ValueError, match="system_password is missing"):
        BrokerSecrets.load(path)
