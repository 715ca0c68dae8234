"""Publishers at real brokers with real streams. Where they belong is said here, in the place of an
agent: the tests are about the client."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import StreamConfig

from tests.nats_clients import processed
from tests.nats_server import NatsServer
from weir_client import following, publisher, subjects
from weir_client.publisher import (
    NoIngress,
    Publisher,
    PublishError,
    Refused,
    TimedOut,
    TooLarge,
)

pytestmark = pytest.mark.asyncio

NAME, KEY = "fx/1.eu", "k"
QUOTES, TRADES = "quotes.eur usd", "trades.eur"
CONFIG = """
listen: "127.0.0.1:{port}"
max_payload: 4096
jetstream { store_dir: {store}, sync_interval: always }
system_account: SYS
accounts {
  SYS { users: [{ user: system, password: s }] }
  WEIR {
    jetstream: enabled
    users: [
      { user: agent, password: a }
      { user: publisher, password: k, permissions {
        publish: ["weir.in.*", "weir.where.*", "$JS.API.INFO"]
        subscribe: ["_INBOX.>", "weir.moved.*"]
      } }
    ]
  }
}
"""
HERE, WAIT, AGAIN = {"state": "here"}, {"state": "wait"}, {"state": "here", "again": True}


class Broker:
    """A broker, what its agent would answer, and what is stored there."""

    def __init__(self, server: NatsServer) -> None:
        self.server, self.url = server, server.url
        self.answers: dict[str, dict[str, Any]] = {}
        """Flow -> where its publisher belongs; without one it is here."""
        self.questions: list[tuple[str, str]] = []
        """Flow and connection, the latter by its inbox."""
        self.core: list[bytes] = []
        self.agent = Client()
        self.system = Client()

    async def open(self) -> None:
        options: Any = {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.05}
        await self.agent.connect(self.url, user="agent", password="a", **options)
        await self.system.connect(self.url, user="system", password="s", **options)
        await self.agent.subscribe(f"{subjects.WHERE}.*", cb=self._on_where)
        await self.agent.subscribe(subjects.ingress_subject(QUOTES), cb=self._on_core)
        await self.store(TRADES)
        await processed(self.agent)

    async def store(self, flow: str, **limits: Any) -> None:
        config = StreamConfig(
            name="S" + flow.replace(".", "_"),
            subjects=[subjects.ingress_subject(flow)],
            duplicate_window=60.0,
            **limits,
        )
        await self.agent.jetstream().add_stream(config)

    async def close(self) -> None:
        await self.agent.close()
        await self.system.close()

    async def _on_where(self, question: Any) -> None:
        assert question.data.decode() == NAME
        flow = subjects.flow_of(question.subject)
        self.questions.append((flow, question.reply.rsplit(".", 1)[0]))
        await question.respond(json.dumps(self.answers.get(flow, HERE)).encode())

    async def _on_core(self, message: Any) -> None:
        self.core.append(message.data)

    async def moved(self, flow: str = TRADES) -> None:
        await self.agent.publish(subjects.moved_subject(flow))
        await self.agent.flush()

    async def stored(self, flow: str = TRADES) -> list[Any]:
        """Everything that the flow's stream holds, in its order."""
        js, name = self.agent.jetstream(), "S" + flow.replace(".", "_")
        state = (await js.stream_info(name)).state
        numbers = range(state.first_seq, state.last_seq + 1) if state.messages else ()
        return [await js.get_msg(name, number) for number in numbers]

    async def numbers(self, flow: str = TRADES) -> list[int]:
        return [int(message.data) for message in await self.stored(flow)]

    async def connections(self) -> list[int]:
        answer = await self.system.request(
            "$SYS.REQ.SERVER.PING.CONNZ", json.dumps({"auth": True}).encode(), timeout=5
        )
        rows = json.loads(answer.data)["data"]["connections"]
        return [row["cid"] for row in rows if row.get("name") == NAME]

    async def has(self, connections: int) -> None:
        """Wait until so many connections are open; the broker notices a moment later."""

        async def is_so() -> bool:
            return len(await self.connections()) == connections

        await eventually(is_so)

    async def kick(self) -> None:
        server = self.system._server_info["server_id"]
        for connection in await self.connections():
            body = json.dumps({"cid": connection}).encode()
            await self.system.request(f"$SYS.REQ.SERVER.{server}.KICK", body, timeout=5)


def elsewhere(broker: Broker) -> dict[str, str]:
    return {"state": "elsewhere", "broker": "other", "address": broker.url}


@asynccontextmanager
async def brokers(folder: Path, count: int = 1) -> AsyncIterator[list[Broker]]:
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            server = stack.enter_context(NatsServer(folder / f"{number}", config=CONFIG))
            broker = Broker(server)
            stack.push_async_callback(broker.close)
            await broker.open()
            made.append(broker)
        yield made


async def connected(broker: Broker, **options: Any) -> Publisher:
    return await Publisher.connect(broker.url, name=NAME, key=KEY, **options)


async def eventually(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while True:
            answer = condition()
            if await answer if asyncio.iscoroutine(answer) else answer:
                return
            await asyncio.sleep(0.01)


def all_at_once(feed: Publisher, count: int, **options: Any) -> asyncio.Future[Any]:
    return asyncio.gather(
        *(feed.publish(TRADES, b"%d" % each, reliable=True, **options) for each in range(count))
    )


async def test_one_after_the_other_and_all_at_once_are_stored_in_order(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        for each in range(20):
            await feed.publish(TRADES, b"%d" % each, reliable=True)
            assert len(await broker.stored()) == each + 1, "it returns once it is stored"
        await asyncio.gather(
            *(feed.publish(TRADES, b"%d" % each, reliable=True) for each in range(20, 600))
        )
        assert await broker.numbers() == list(range(600))
        ids = {message.headers["Nats-Msg-Id"] for message in await broker.stored()}
        assert len(ids) == 600
        await broker.has(1)
    assert len(broker.questions) == 1
    assert all("fx%2F1%2Eeu" in each for each in ids)


@pytest.mark.parametrize("seed", range(2))
async def test_however_often_it_is_cut_off_each_is_stored_once_and_in_order(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        sending = all_at_once(feed, 500)
        for _ in range(6):
            await asyncio.sleep(chance.uniform(0.0, 0.2))
            await broker.kick()
            if chance.random() < 0.3:
                await broker.moved()
        await sending
        assert await broker.numbers() == list(range(500))


async def test_it_survives_the_death_of_its_broker(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        sending = all_at_once(feed, 400)
        await eventually(lambda: broker.questions)
        await asyncio.sleep(0.02)
        broker.server.kill()
        assert not sending.done()
        broker.server.start()
        await sending
        assert await broker.numbers() == list(range(400))


@pytest.mark.parametrize("cut_off", [False, True])
async def test_a_move_keeps_the_order_of_all_that_is_on_its_way(
    tmp_path: Path, cut_off: bool
) -> None:
    async with brokers(tmp_path, 2) as (old, new), await connected(old) as feed:
        sending = all_at_once(feed, 600)
        await eventually(lambda: old.questions)
        old.answers[TRADES] = elsewhere(new)
        await old.moved()
        if cut_off:
            await old.kick()
        await sending
        stored = await old.stored() + await new.stored()
        ids = [message.headers["Nats-Msg-Id"] for message in stored]
        first = [int(m.data) for at, m in enumerate(stored) if ids.index(ids[at]) == at]
        assert first == list(range(600))
        if not cut_off:
            assert len(ids) == 600, "who leaves in order repeats nothing"
        await old.has(0)
        await new.has(1)


async def test_flows_at_two_brokers_have_a_connection_each_and_go_on_by_themselves(
    tmp_path: Path,
) -> None:
    async with brokers(tmp_path, 2) as (one, two), await connected(one) as feed:
        one.answers[TRADES] = elsewhere(two)
        enough = asyncio.Event()
        sent = {QUOTES: 0, TRADES: 0}

        async def send(flow: str) -> None:
            while not enough.is_set():
                await feed.publish(flow, b"%d" % sent[flow], reliable=flow == TRADES)
                sent[flow] += 1
                await asyncio.sleep(0.001)

        sending = asyncio.gather(send(QUOTES), send(TRADES))
        await eventually(lambda: min(sent.values()) > 50)
        for broker in (one, two):
            await broker.has(1)
        (before,) = await one.connections()
        # One goes to the other's broker, and shares its connection.
        one.answers[QUOTES] = elsewhere(two)
        await one.moved(QUOTES)
        await eventually(lambda: len(two.core) > 50)
        await one.has(0)
        await two.has(1)
        # A new login is due there: both take it.
        (before,) = await two.connections()
        two.answers = {QUOTES: AGAIN}
        asked = len(two.questions)
        await two.moved(QUOTES)
        await eventually(lambda: QUOTES in dict(two.questions[asked:]))
        two.answers = {}
        count = len(two.core)
        await eventually(lambda: len(two.core) > count + 50)
        await two.has(1)
        (after,) = await two.connections()
        assert after != before
        enough.set()
        await sending
        assert await one.numbers() == []
        assert await two.numbers() == list(range(sent[TRADES]))
        await eventually(lambda: len(one.core) + len(two.core) == sent[QUOTES])
        assert [int(each) for each in one.core + two.core] == list(range(sent[QUOTES]))


async def test_who_waits_publishes_on_a_new_connection_and_says_why_it_does_not(
    tmp_path: Path,
) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        broker.answers[TRADES] = WAIT
        with pytest.raises(NoIngress, match=r"trades\.eur: .*no broker lets fx/1\.eu"):
            await feed.publish(TRADES, b"0", reliable=True, timeout_s=0.3)
        with pytest.raises(NoIngress):
            await feed.publish(TRADES, b"0", timeout_s=0.1)
        (before,) = await broker.connections()
        waiting = asyncio.create_task(feed.publish(TRADES, b"1", reliable=True))
        await asyncio.sleep(0.1)
        broker.answers.clear()
        await broker.moved()
        await waiting
        assert await broker.connections() != [before]
        assert await broker.numbers() == [1], "what was given up is not sent later"


async def test_what_no_broker_takes_is_refused_at_once_and_harms_nothing_else(
    tmp_path: Path,
) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        await broker.store("narrow", max_msg_size=100)
        large = {"reliable": True, "timeout_s": 10.0}
        refused = await asyncio.gather(
            feed.publish(TRADES, b"0", reliable=True),
            feed.publish(TRADES, bytes(4097), **large),
            feed.publish(TRADES, bytes(4097)),
            feed.publish(TRADES, bytes(3000), headers={"Long": "x" * 1100}, **large),
            feed.publish("narrow", bytes(101), **large),
            feed.publish(TRADES, b"", headers={"Nats-Expected-Last-Sequence": "77"}, **large),
            feed.publish(TRADES, b"", headers={"no: name": "x"}, **large),
            feed.publish(TRADES, b"1", reliable=True),
            return_exceptions=True,
        )
        kinds = [type(None), TooLarge, TooLarge, TooLarge, TooLarge, Refused, Refused, type(None)]
        assert [type(each) for each in refused] == kinds
        assert "trades.eur: 4167 bytes with headers; the broker takes 4096" in str(refused[1])
        assert "wrong last sequence" in str(refused[5])
        # The largest that fits does.
        await feed.publish(TRADES, b"2".rjust(4096 - 200), reliable=True)
        assert await broker.numbers() == [0, 1, 2]
        await broker.has(1)


async def test_a_best_effort_flow_is_not_stored(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        with pytest.raises(NoIngress, match="stores none of it"):
            await feed.publish("unknown", b"0", reliable=True, timeout_s=0.5)
        await feed.publish("unknown", b"0")


async def test_a_denied_flow_is_reported_and_does_not_hammer_the_broker(tmp_path: Path) -> None:
    """Nobody says where it belongs, and the login may not publish."""
    config = CONFIG.replace('"weir.in.*", ', "")
    with NatsServer(tmp_path, config=config) as server:
        async with await Publisher.connect(server.url, name=NAME, key=KEY) as feed:
            with pytest.raises(NoIngress, match="does not let this publisher"):
                await feed.publish(TRADES, b"0", reliable=True, timeout_s=1.5)
        log = (tmp_path / "nats.log").read_text()
        assert 1 <= log.count("Publish Violation") <= 8


async def test_a_broker_that_is_away_or_knows_another_key_ends_the_connecting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "CONNECT_S", 0.3)
    with pytest.raises(TimedOut, match=r"no connection within 0\.5 s"):
        await Publisher.connect("nats://127.0.0.1:1", name=NAME, key=KEY, timeout_s=0.5)
    async with brokers(tmp_path) as (broker,):
        with pytest.raises(TimedOut, match=r"(?i)authorization"):
            await Publisher.connect(broker.url, name=NAME, key="wrong", timeout_s=0.5)
        await broker.has(0)


async def test_while_the_broker_is_away_each_message_has_its_own_time(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        await feed.publish(TRADES, b"0", reliable=True)
        broker.server.kill()
        short = feed.publish(TRADES, b"1", reliable=True, timeout_s=0.3)
        long = asyncio.create_task(feed.publish(TRADES, b"2", reliable=True))
        with pytest.raises(TimedOut, match=r"trades\.eur: not published within 0.3 s"):
            await short
        cancelled = asyncio.create_task(feed.publish(TRADES, b"3", reliable=True))
        await asyncio.sleep(0.05)
        cancelled.cancel()
        with suppress(asyncio.CancelledError):
            await cancelled
        broker.server.start()
        await long
        numbers = await broker.numbers()
        assert numbers in ([0, 2], [0, 1, 2]), "the first may have been on its way"


async def test_a_broker_that_is_gone_is_left_for_the_one_that_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "CONNECT_S", 0.3)
    async with brokers(tmp_path, 2) as (home, other), await connected(home) as feed:
        home.answers[TRADES] = elsewhere(other)
        await feed.publish(TRADES, b"0", reliable=True)
        other.server.kill()
        waiting = asyncio.create_task(feed.publish(TRADES, b"1", reliable=True))
        await eventually(lambda: len(home.questions) > 2)
        home.answers.clear()
        await waiting
        assert await home.numbers() == [1]


async def test_a_full_ingress_is_waited_for(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        await broker.store("full", max_msgs=5, discard="new", retention="workqueue")
        reader = await broker.agent.jetstream().pull_subscribe("", stream="Sfull", durable="r")
        for each in range(5):
            await feed.publish("full", b"%d" % each, reliable=True)
        with pytest.raises(Refused, match="maximum messages exceeded"):
            await feed.publish("full", b"lost", reliable=True, timeout_s=0.4)
        got: list[bytes] = []

        async def gate() -> None:
            while len(got) < 40:
                with suppress(nats.errors.TimeoutError):
                    for message in await reader.fetch(1, timeout=1):
                        got.append(message.data)
                        await message.ack_sync()

        passing = asyncio.create_task(gate())
        for each in range(5, 10):
            await feed.publish("full", b"%d" % each, reliable=True)
        await asyncio.gather(
            *(feed.publish("full", b"%d" % each, reliable=True) for each in range(10, 40))
        )
        await passing
        assert [int(each) for each in got[:10]] == list(range(10))
        assert sorted(int(each) for each in got) == list(range(40))


async def test_headers_go_along_and_an_id_may_be_given(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        own = {"Nats-Msg-Id": "order 7", "Kind": "bid"}
        for _ in range(3):
            await feed.publish(TRADES, b"\0\xff", headers=own, reliable=True)
        (message,) = await broker.stored()
        headers = dict(message.headers)
        assert abs(time.time() - float(headers.pop("Weir-Sent"))) < 60.0
        assert (message.data, headers) == (b"\0\xff", own)
        await feed.publish(TRADES, headers={"Kind": "ask"})
        await feed.publish(TRADES, reliable=True)
        assert [m.headers.get("Kind") for m in await broker.stored()] == ["bid", "ask", None]


async def test_the_time_of_a_message_is_left_out_where_there_is_no_room(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        await broker.store("narrow", max_msg_size=200)
        heard = []

        async def hear(message: Msg) -> None:
            heard.append((len(message.data), message.headers))

        own = {"Nats-Msg-Id": "7"}
        stored_bytes = len("NATS/1.0\r\nNats-Msg-Id: 7\r\n\r\n")
        await broker.agent.subscribe("weir.in.loose", cb=hear)
        await broker.agent.subscribe("weir.in.narrow", cb=hear)
        await processed(broker.agent)
        await feed.publish("loose", bytes(4096))
        await feed.publish("loose", bytes(9), headers={"Weir-Sent": "5"})
        await feed.publish("narrow", bytes(200 - stored_bytes), headers=own, reliable=True)
        await eventually(lambda: len(heard) == 4)
        assert heard[:2] == [(4096, None), (9, {"Weir-Sent": "5"})]
        # The stream refuses the first one, and stores the same message without its time.
        assert ["Weir-Sent" in headers for _, headers in heard[2:]] == [True, False]


async def test_a_publisher_that_is_not_timed_adds_no_header(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,), await connected(broker, timed=False) as feed:
        await feed.publish(TRADES, headers={"Nats-Msg-Id": "7"}, reliable=True)
        assert [message.headers for message in await broker.stored()] == [{"Nats-Msg-Id": "7"}]


async def test_what_waits_when_it_is_closed_raises_and_nothing_stays_open(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (broker,):
        broker.answers[TRADES] = WAIT
        async with await connected(broker) as feed:
            waiting = asyncio.create_task(feed.publish(TRADES, b"0", reliable=True))
            for each in range(100):
                await feed.publish(QUOTES, b"%d" % each)
        with pytest.raises(PublishError, match="closed before"):
            await waiting
        with pytest.raises(PublishError, match="is closed"):
            await feed.publish(TRADES, b"0")
        await eventually(lambda: len(broker.core) == 100)
        await broker.has(0)
        # One that has never published has a connection, too.
        idle = await connected(broker)
        await broker.has(1)
        await idle.close()
        await broker.has(0)


async def test_an_acknowledgement_that_does_not_come_is_asked_for_on_a_new_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "ACKNOWLEDGE_S", 0.3)
    async with brokers(tmp_path) as (broker,), await connected(broker) as feed:
        heard: list[tuple[str, bytes]] = []

        async def silent(message: Any) -> None:
            heard.append((message.headers["Nats-Msg-Id"], message.data))
            if len(heard) > 3:
                await message.respond(b'{"stream": "S", "seq": 1}')

        await broker.agent.subscribe(subjects.ingress_subject("mute"), cb=silent)
        await processed(broker.agent)
        await asyncio.gather(
            *(feed.publish("mute", b"%d" % each, reliable=True) for each in range(3))
        )
        assert [data for _, data in heard] == [b"0", b"1", b"2"] * 2
        assert heard[:3] == heard[3:]
