"""Clients have an account of their own: nothing that they have the broker answer or send reaches
streams, agents or other flows. Standard clients of JetStream see no difference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import APIError

from agent.drivers.nats import jetstream, names
from agent.drivers.nats.admission import OLDER
from agent.drivers.nats.consumer_requests import checked, requester
from agent.drivers.nats.server_config import CLIENT_ACCOUNT, BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.planes import Plane, flows, until
from tests.agent.publishing import log_in
from tests.nats_clients import processed
from weir.coordination.wire import ClassSpec

stack = [pytest.mark.asyncio, pytest.mark.slow]
INBOX = names.class_inbox("gold")
STREAM = names.delivery_stream("rel")
INGRESS = names.ingress_stream("rel")
VICTIMS = (STREAM, INGRESS, names.INTEREST_STREAM)
ELSEWHERE = (
    *(f"$JS.API.STREAM.{action}.{stream}" for action in ("PURGE", "DELETE") for stream in VICTIMS),
    f"$JS.API.CONSUMER.DELETE.{STREAM}.kept",
    "weir.in.core",
    "weir.dead.rel",
    "weir.fence",
    "weir.interest.b",
    "_WEIR.agent.x",
    "nowhere.x",
)


@pytest_asyncio.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    plane = await Plane("a", broker, secrets=broker.secrets).open()
    try:
        await flows(plane, ingress=("core", "rel"), local=("core", "rel"))
        classes = {"gold": ClassSpec(flow="rel", limit=5), "iron": ClassSpec(flow="core", limit=5)}
        await plane.driver.admit(classes, unmanaged="refuse")
        yield plane
    finally:
        await plane.close()
        broker.kill()


async def consumer(plane: Plane, **more: Any) -> Any:
    return await nats.connect(
        plane.server.url,
        user="gold",
        password=plane.server.secrets.client_key,
        name="g",
        inbox_prefix=INBOX,
        error_cb=_ignore,
        **more,
    )


async def _ignore(_: Exception) -> None:
    """The broker says what it refuses."""


async def published(plane: Plane, count: int) -> Any:
    """A publisher, after so many messages of the reliable flow were delivered to its stream."""
    client = await log_in(plane.server, "p")
    for number in range(count):
        await client.jetstream(timeout=20).publish("weir.in.rel", b"%d" % number)
    async with asyncio.timeout(60):
        while await contents(plane) != {**await contents(plane), STREAM: count, INGRESS: 0}:
            await asyncio.sleep(0.02)
    return client


async def contents(plane: Plane) -> dict[str, int]:
    own = await plane.driver._own.connection()
    return {name: count for name, (count, _) in (await jetstream.contents(own)).items()}


class Overheard:
    """What arrives in the account of the streams where no client may publish."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    async def listen(self, plane: Plane) -> None:
        own = await plane.driver._own.connection()
        for subject in ELSEWHERE:
            if not subject.startswith("$"):
                own.subscribe(subject, self._hear)
        await own.flush()

    def _hear(self, frames: list[Any]) -> None:
        self.messages += [b"%b %b" % (subject, payload) for subject, _, _, payload in frames]


class TestAttacks:
    pytestmark = stack

    async def test_what_jetstream_answers_reaches_nothing(self, plane: Plane) -> None:
        """An acknowledgement that is answered to `$JS.API.STREAM.PURGE.X` would purge X."""
        publisher = await published(plane, 6)
        one = await consumer(plane)
        fetched = await one.jetstream().pull_subscribe("", durable="kept", stream=STREAM)
        messages = await fetched.fetch(2, timeout=60)
        assert messages[0].reply.startswith(f"$JS.ACK.{STREAM}.kept.")
        overheard = Overheard()
        await overheard.listen(plane)
        before = await contents(plane)
        ingress_full = b'{"filter": ">"}'
        for reply in ELSEWHERE:
            for data in (b"+WPI", b"-NAK", b"+NXT", b'+NXT {"batch": 1}', b"+ACK", b""):
                await one.publish(messages[1].reply, data, reply=reply)
            await one.publish(
                f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.kept", b'{"batch": 1}', reply=reply
            )
            for request in ("INFO", "STREAM.NAMES", f"STREAM.INFO.{STREAM}"):
                await one.publish(f"$JS.API.{request}", b"", reply=reply)
            for data in (b"", ingress_full):
                await publisher.publish("weir.where.rel", data, reply=reply)
        await processed(one)
        await processed(publisher)
        await asyncio.sleep(0.5)
        assert await contents(plane) == before
        assert not overheard.messages
        for reply in ELSEWHERE:
            await publisher.publish("weir.in.rel", b"more", reply=reply)
        await processed(publisher)

        async def delivered() -> bool:
            return (await contents(plane))[STREAM] == before[STREAM] + len(ELSEWHERE)

        async with asyncio.timeout(60):
            while not await delivered():
                await asyncio.sleep(0.05)
        assert not overheard.messages
        await one.close()
        await publisher.close()

    async def test_a_consumer_sends_to_the_inboxes_of_its_class_alone(self, plane: Plane) -> None:
        publisher = await published(plane, 3)
        one = await consumer(plane)
        overheard = Overheard()
        await overheard.listen(plane)
        before = await contents(plane)
        places = (*ELSEWHERE, "_INBOX.x", names.class_inbox("iron") + ".x", INBOX, f"{INBOX}.>")
        for place in places:
            for member in ("deliver_subject", "Deliver_Subject", "DELIVER_SUBJECT"):
                config = {"ack_policy": "none", "filter_subject": "weir.msg.rel.>", member: place}
                for subject, extra in (
                    (f"CREATE.{STREAM}", {}),
                    (f"CREATE.{STREAM}.c", {"name": "c"}),
                    (f"CREATE.{STREAM}.c.weir.msg.rel.>", {"name": "c"}),
                    (f"DURABLE.CREATE.{STREAM}.c", {"durable_name": "c"}),
                ):
                    body = {"stream_name": STREAM, "config": {**config, **extra}}
                    answer = await one.request(
                        f"$JS.API.CONSUMER.{subject}", json.dumps(body).encode(), timeout=20
                    )
                    assert json.loads(answer.data)["error"]["code"] == 400, (place, subject)
        # What two readers of JSON read differently is made as the agent has read it.
        twice = f'{{"stream_name": "{STREAM}", "config": {{"deliver_subject": "weir.in.core", '
        twice += f'"ack_policy": "none", "deliver_subject": "{INBOX}.abcdef"}}}}'
        answer = await one.request(f"$JS.API.CONSUMER.CREATE.{STREAM}", twice.encode(), timeout=20)
        assert json.loads(answer.data)["config"]["deliver_subject"] == f"{INBOX}.abcdef"
        forged = {"Nats-Request-Info": json.dumps({"user": "consumer/iron/core/1/-"})}
        body = {"ack_policy": "none", "deliver_subject": f"{names.class_inbox('iron')}.x"}
        answer = await one.request(
            f"$JS.API.CONSUMER.CREATE.{STREAM}",
            json.dumps({"stream_name": STREAM, "config": body}).encode(),
            headers=forged,
            timeout=20,
        )
        assert json.loads(answer.data)["error"]["code"] == 400
        with pytest.raises(nats.errors.TimeoutError):  # another flow's stream
            await one.request(f"$JS.API.CONSUMER.CREATE.{INGRESS}", b"{}", timeout=0.5)
        await asyncio.sleep(0.3)
        assert await contents(plane) == before
        assert not overheard.messages
        await one.close()
        await publisher.close()


class TestStandardClients:
    pytestmark = stack

    async def test_pulled_pushed_and_ordered_consumers_work_as_ever(self, plane: Plane) -> None:
        publisher = await published(plane, 40)
        one = await consumer(plane)
        js = one.jetstream(timeout=20)
        pulled = await js.pull_subscribe("weir.msg.rel.>", durable="pulled", stream=STREAM)
        received: list[bytes] = []
        while len(received) < 40:
            for message in await pulled.fetch(7, timeout=60):
                received.append(message.data)
                await message.ack_sync(timeout=60)
        assert received == [b"%d" % number for number in range(40)]
        info = await js.consumer_info(STREAM, "pulled")
        assert (info.num_pending, info.num_ack_pending) == (0, 0)
        await js.delete_consumer(STREAM, "pulled")
        for options in (
            {"ordered_consumer": True},
            {"config": ConsumerConfig(ack_policy=AckPolicy.EXPLICIT), "manual_ack": True},
        ):
            pushed: list[bytes] = []

            async def take(message: Any, pushed: list[bytes] = pushed) -> None:
                pushed.append(message.data)

            subscription = await js.subscribe("weir.msg.rel.>", stream=STREAM, cb=take, **options)
            await until(lambda pushed=pushed: len(pushed) == 40, f"{options}: {len(pushed)} of 40")
            assert pushed == [b"%d" % number for number in range(40)]
            await subscription.unsubscribe()
        with pytest.raises(APIError, match="Weir makes no consumer with direct"):
            await js.add_consumer(STREAM, _Direct())
        await one.close()
        await publisher.close()

    async def test_a_fetch_that_waits_gets_what_comes_later(self, plane: Plane) -> None:
        publisher = await published(plane, 1)
        one = await consumer(plane)
        pulled = await one.jetstream(timeout=20).pull_subscribe("", durable="d", stream=STREAM)
        assert len(await pulled.fetch(1, timeout=60)) == 1
        waiting = asyncio.create_task(pulled.fetch(1, timeout=60))
        await asyncio.sleep(1)
        for data in (b"a", b"b"):
            await publisher.jetstream(timeout=20).publish("weir.in.rel", data)
        assert [message.data for message in await waiting] == [b"a"]
        assert [message.data for message in await pulled.fetch(1, timeout=60)] == [b"b"]
        await one.close()
        await publisher.close()

    async def test_an_older_configuration_works_on_and_is_reported(self, tmp_path: Path) -> None:
        broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
        config = tmp_path / "a" / "server.conf"
        config.write_text(config.read_text().replace(CLIENT_ACCOUNT, "SOMETHING_ELSE"))
        broker.start()
        plane = await Plane("a", broker, secrets=broker.secrets).open()
        try:
            await flows(plane, ingress=("rel",), local=("rel",))
            await plane.driver.admit({"gold": ClassSpec(flow="rel", limit=1)}, unmanaged="refuse")
            publisher = await published(plane, 2)
            one = await consumer(plane)
            pulled = await one.jetstream().pull_subscribe("", durable="d", stream=STREAM)
            assert len(await pulled.fetch(2, timeout=60)) == 2
            assert OLDER in (await plane.driver.stats()).problems
            await one.close()
            await publisher.close()
        finally:
            await plane.close()
            broker.kill()


class _Direct(ConsumerConfig):
    """A setting that the server keeps for its own use."""

    def as_dict(self) -> dict[str, object]:
        return {**super().as_dict(), "name": "x", "direct": True}


def _request(**config: Any) -> bytes:
    return json.dumps({"stream_name": STREAM, "config": config}).encode()


@given(st.text(max_size=30))
def test_only_plain_subjects_below_the_inbox_pass(text: str) -> None:
    subject = f"{INBOX}.{text}"
    try:
        config = checked(_request(deliver_subject=subject), inbox=INBOX)["config"]
    except ValueError:
        return
    assert config["deliver_subject"] == subject
    tokens = subject.split(".")
    assert all(tokens)
    assert not {"*", ">"}.intersection(tokens)
    assert all("!" <= character <= "~" for character in subject)


@given(st.text(max_size=40))
def test_nothing_beside_the_inbox_passes(subject: str) -> None:
    if subject and not subject.startswith(f"{INBOX}."):
        with pytest.raises(ValueError, match="deliver_subject"):
            checked(_request(deliver_subject=subject), inbox=INBOX)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"null",
        b'{"config": null}',
        b"{" * 100_000,
        b"[" * 60_000,
        b'{"config": {}, "Config": {}}',
        b'{"config": {"deliver_subject": ["x"]}}',
        b'{"config": {"direct": true}}',
        b'{"config": {"description": "' + b"x" * 70_000 + b'"}}',
    ],
)
def test_what_is_no_request_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        checked(payload, inbox=INBOX)


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b'nats-request-info: {"user": "a"}\r\nNats-Request-Info: {"user": "b"}\r\n',
        b"Nats-Request-Info: {}\r\n",
        b"Nats-Request-Info: []\r\n",
        b'Nats-Request-Info: {"user": 7}\r\n',
        b"Nats-Request-Info: x\r\n",
    ],
)
def test_nobody_but_the_server_says_who_requests(lines: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        requester(b"NATS/1.0\r\n" + lines + b"\r\n")
