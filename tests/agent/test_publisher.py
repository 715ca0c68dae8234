"""Publishers that follow: the demo's, and the client that the documentation shows, as it is shown.

Beside real brokers, what an agent answers is given here: the tests are about the clients' half of
the protocol.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from agent import publisher
from agent.drivers.nats import names
from agent.publisher import Access, Publisher, PublisherTraffic, Tally
from agent.tasks import end
from tests.nats_server import NatsServer
from weir_client import following
from weir_client.following import Pauses

ROOT = Path(__file__).resolve().parents[2]
FLOW = "gates.antwerp"
NAME = "gates.antwerp/2"
CONFIG = """
listen: "127.0.0.1:{port}"
jetstream { store_dir: {store}, sync_interval: "2m" }
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
HERE, WAIT = {"state": "here"}, {"state": "wait"}


def elsewhere(broker: Broker, address: str = "") -> dict[str, str]:
    return {"state": "elsewhere", "broker": broker.name, "address": address}


class Broker:
    """A broker with what its agent would do there."""

    def __init__(self, name: str, server: NatsServer, agent: Client, system: Client) -> None:
        self.name, self.url = name, server.url
        self.agent, self._system = agent, system
        self.answers: Callable[[int], dict[str, Any] | None] = lambda _: HERE
        """The answer to the question of this number; None: nobody answers."""
        self.questions: list[str] = []
        """The connections that have asked, by their inboxes, a connection as often as it asked."""
        self.received: list[tuple[str, bytes]] = []
        """Ids and payloads of what publishers have sent here, retries too."""
        self.acknowledge = True
        self._lacking: list[Msg] = []

    async def open(self, *, knows_where: bool = True) -> None:
        await self.agent.subscribe(names.ingress_subject(FLOW), cb=self._take)
        if knows_where:
            await self.agent.subscribe(names.where_subject(FLOW), cb=self._where)
        await self.agent.flush()

    async def _where(self, question: Msg) -> None:
        assert question.data.decode() == NAME
        self.questions.append(question.reply.rsplit(".", 1)[0])
        answer = self.answers(len(self.questions))
        if answer is not None:
            await question.respond(json.dumps(answer).encode())

    async def _take(self, message: Msg) -> None:
        self.received.append(((message.headers or {}).get("Nats-Msg-Id", ""), message.data))
        self._lacking.append(message)
        if self.acknowledge:
            await self.make_up()

    async def make_up(self) -> None:
        """Acknowledge what was not acknowledged yet, as a stream does."""
        for message in self._lacking:
            if message.reply:
                await message.respond(b'{"stream":"WEIR_IN","seq":1}')
        self._lacking.clear()

    async def moved(self, flow: str = FLOW) -> None:
        await self.agent.publish(names.moved_subject(flow))
        await self.agent.flush()

    async def connections(self) -> list[int]:
        body = json.dumps({"auth": True}).encode()
        answer = await self._system.request("$SYS.REQ.SERVER.PING.CONNZ", body, timeout=5)
        rows = json.loads(answer.data)["data"]["connections"]
        return [row["cid"] for row in rows if row.get("name") == NAME]

    async def kick(self) -> None:
        server = self._system._server_info["server_id"]
        for connection in await self.connections():
            body = json.dumps({"cid": connection}).encode()
            await self._system.request(f"$SYS.REQ.SERVER.{server}.KICK", body, timeout=5)


@asynccontextmanager
async def brokers(
    folder: Path, *listed: str, config: str = CONFIG, knows_where: bool = True
) -> AsyncIterator[tuple[Broker, ...]]:
    async with AsyncExitStack() as stack:
        made = []
        for name in listed:
            server = stack.enter_context(NatsServer(folder / name, config=config))
            agent = await nats.connect(server.url, user="agent", password="a")
            stack.push_async_callback(agent.close)
            system = await nats.connect(server.url, user="system", password="s")
            stack.push_async_callback(system.close)
            made.append(Broker(name, server, agent, system))
            await made[-1].open(knows_where=knows_where)
        yield tuple(made)


class Demo:
    """The demo's publisher."""

    def __init__(self, home: Broker, *known: Broker, reliable: bool = True) -> None:
        self.tally = Tally()
        own = PublisherTraffic(
            name=NAME, flow=FLOW, broker=home.name, reliable=reliable, rate_per_s=200.0
        )
        access = Access(
            brokers={broker.name: broker.url for broker in (home, *known)},
            publisher="publisher",
            client_key="k",
        )
        self.publisher = Publisher(own, access=access, tally=self.tally, life="a1")

    async def run(self) -> None:
        await self.publisher.run()


class Documented:
    """The client of docs/agent.md, as it is printed there."""

    def __init__(self, home: Broker) -> None:
        text = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")
        section = text.split("\n## A publisher that follows\n")[1].split("\n## ")[0]
        (code,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
        assert len(code.splitlines()) <= 12
        self._names: dict[str, Any] = {}
        exec(code, self._names)  # what readers copy
        self._home = home

    def _payloads(self) -> Iterator[bytes]:
        for number in count(1):
            yield f"a1 x {number}".encode()

    async def run(self) -> None:
        await self._names["publish"](
            self._payloads(), flow=FLOW, name=NAME, url=self._home.url, key="k"
        )


@asynccontextmanager
async def running(client: Demo | Documented) -> AsyncIterator[None]:
    task = asyncio.create_task(client.run())
    try:
        yield
    finally:
        await end(task)


async def eventually(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def numbers(*at: Broker) -> list[int]:
    return [int(payload.split()[2]) for broker in at for _, payload in broker.received]


def follow_each_other(received: list[int]) -> bool:
    return received == list(range(1, len(received) + 1))


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Demo, Documented])
async def test_goes_on_elsewhere_while_it_sends(
    tmp_path: Path, kind: type[Demo | Documented]
) -> None:
    async with brokers(tmp_path, "rot-1", "ant-1") as (old, new):
        client = kind(old)
        async with running(client):
            await eventually(lambda: len(old.received) > 30)
            old.answers = lambda question: elsewhere(new, new.url) if question > 4 else WAIT
            new.answers = lambda question: HERE if question > 2 else WAIT
            await old.moved()
            await eventually(lambda: len(new.received) > 30)
            assert follow_each_other(numbers(old, new))
            ids = [message_id for broker in (old, new) for message_id, _ in broker.received]
            assert len(set(ids)) == len(ids)
            # Who was told to wait has the rights of then: it publishes on another connection.
            assert new.questions[1] != new.questions[-1]
            assert new.questions[0] == new.questions[1]
            assert await old.connections() == []
            assert len(await new.connections()) == 1
        if isinstance(client, Demo):
            assert client.tally.counts["moved"] == 1
            assert client.publisher.whereabouts.broker == "ant-1"


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Demo, Documented])
async def test_who_may_stay_keeps_its_connection(
    tmp_path: Path, kind: type[Demo | Documented]
) -> None:
    """All publishers of a flow hear that some of them have to leave."""
    async with brokers(tmp_path, "rot-1") as (home,), running(kind(home)):
        await eventually(lambda: len(home.received) > 5)
        before = await home.connections()
        await home.moved()
        await eventually(lambda: len(home.questions) == 2)
        sent = len(home.received)
        await eventually(lambda: len(home.received) > sent + 20)
        assert await home.connections() == before
        assert follow_each_other(numbers(home))


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Demo, Documented])
async def test_logs_in_again_where_its_rights_are_about_to_end(
    tmp_path: Path, kind: type[Demo | Documented]
) -> None:
    """Another flow has got its first list, and its own notice."""
    again = {"state": "here", "again": True}
    async with brokers(tmp_path, "rot-1") as (home,), running(kind(home)):
        await eventually(lambda: len(home.received) > 5)
        (before,) = await home.connections()
        home.answers = lambda question: again if question == 2 else HERE
        await home.moved("other")
        await eventually(lambda: len(home.questions) == 3)
        sent = len(home.received)
        await eventually(lambda: len(home.received) > sent + 20)
        assert before not in await home.connections()
        assert follow_each_other(numbers(home))


@pytest.mark.asyncio
async def test_who_waits_asks_at_once_when_it_may_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with brokers(tmp_path, "rot-1") as (home,):
        demo = Demo(home)
        monkeypatch.setattr(demo.publisher.whereabouts, "_waits", Pauses(first_s=60.0, growth=1.0))
        home.answers = lambda _: WAIT
        async with running(demo):
            await eventually(lambda: len(home.questions) == 1)
            home.answers = lambda _: HERE
            await home.moved()
            await eventually(lambda: len(home.received) > 5, 10.0)
        assert len(home.questions) == 3


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Demo, Documented])
async def test_an_acknowledgement_under_way_is_waited_for(
    tmp_path: Path, kind: type[Demo | Documented]
) -> None:
    async with brokers(tmp_path, "rot-1", "ant-1") as (old, new), running(kind(old)):
        await eventually(lambda: len(old.received) > 5)
        old.acknowledge = False
        before = len(old.received)
        await eventually(lambda: len(old.received) > before)
        before = len(old.questions)
        old.answers = lambda _: elsewhere(new, new.url)
        await old.moved()
        await asyncio.sleep(0.5)
        assert len(old.questions) == before
        await old.make_up()
        await eventually(lambda: len(new.received) > 5)
        assert follow_each_other(numbers(old, new))


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Demo, Documented])
async def test_what_was_not_acknowledged_is_sent_again_under_its_id(
    tmp_path: Path, kind: type[Demo | Documented]
) -> None:
    async with brokers(tmp_path, "rot-1", "ant-1") as (old, new), running(kind(old)):
        await eventually(lambda: len(old.received) > 5)
        old.acknowledge = False
        before = len(old.received)
        await eventually(lambda: len(old.received) > before)
        old.answers = lambda _: elsewhere(new, new.url)
        await old.moved()
        await old.kick()
        await eventually(lambda: len(new.received) > 5)
        assert new.received[0] == old.received[-1]
        assert follow_each_other(numbers(old)[:-1] + numbers(new))


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Demo, Documented])
async def test_comes_back_when_cut_off_without_a_word(
    tmp_path: Path, kind: type[Demo | Documented]
) -> None:
    async with brokers(tmp_path, "rot-1") as (home,):
        client = kind(home)
        async with running(client):
            for _ in range(3 if kind is Demo else 1):
                before = len(home.received)
                await eventually(lambda before=before: len(home.received) > before + 5)  # type: ignore[misc]
                await home.kick()
            before = len(home.received)
            await eventually(lambda: len(home.received) > before + 5)
            sent = [int(payload.split()[2]) for _, payload in dict(home.received).items()]
            assert follow_each_other(sent)
        if isinstance(client, Demo):
            assert client.tally.counts["moved"] == client.tally.counts["refused"] == 0


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Demo, Documented])
async def test_publishes_where_nobody_answers(
    tmp_path: Path, kind: type[Demo | Documented]
) -> None:
    async with (
        brokers(tmp_path, "rot-1", knows_where=False) as (home,),
        running(kind(home)),
    ):
        await eventually(lambda: len(home.received) > 20)
        assert follow_each_other(numbers(home))


@pytest.mark.asyncio
async def test_publishes_at_an_older_agent_that_allows_no_question(tmp_path: Path) -> None:
    """The server complains about the question and the subscription, and goes on."""
    older = CONFIG.replace('"weir.where.*", ', "").replace(', "weir.moved.*"', "")
    async with brokers(tmp_path, "rot-1", config=older, knows_where=False) as (home,):
        demo = Demo(home)
        async with running(demo):
            await eventually(lambda: len(home.received) > 20)
            assert follow_each_other(numbers(home))
            assert len(await home.connections()) == 1
        assert demo.tally.counts["denied"] == demo.tally.counts["refused"] == 0


@pytest.mark.asyncio
async def test_begins_where_it_belongs_and_asks_once(tmp_path: Path) -> None:
    async with brokers(tmp_path, "rot-1", "ant-1") as (home, other):
        home.answers = lambda _: elsewhere(other)
        demo = Demo(home, other)
        async with running(demo):
            await eventually(lambda: len(other.received) > 100)
        assert (numbers(home), len(home.questions), len(other.questions)) == ([], 1, 1)
        # It has published nowhere before.
        assert demo.tally.counts["moved"] == 0


@pytest.mark.asyncio
async def test_best_effort_is_whole_and_in_order_over_a_move(tmp_path: Path) -> None:
    async with brokers(tmp_path, "rot-1", "ant-1") as (old, new):
        async with running(Demo(old, reliable=False)):
            await eventually(lambda: len(old.received) > 30)
            old.answers = lambda _: elsewhere(new, new.url)
            await old.moved()
            await eventually(lambda: len(new.received) > 30)
        assert follow_each_other(numbers(old, new))


@pytest.mark.asyncio
async def test_brokers_that_name_each_other_are_asked_ever_less(tmp_path: Path) -> None:
    async with brokers(tmp_path, "rot-1", "ant-1") as (one, two):
        one.answers = lambda _: elsewhere(two, two.url)
        two.answers = lambda _: elsewhere(one, one.url)
        demo = Demo(one, two)
        async with running(demo):
            await asyncio.sleep(3.0)
            assert 4 <= len(one.questions) + len(two.questions) <= 9
            one.answers = lambda _: HERE
            await eventually(lambda: follow_each_other(numbers(one)) and len(one.received) > 5)
        assert demo.tally.counts["moved"] == 0


@pytest.mark.asyncio
async def test_who_is_not_let_in_does_not_hammer_the_broker(tmp_path: Path) -> None:
    """Nobody answers where it belongs, and it may not publish."""
    closed = CONFIG.replace('"weir.in.*", ', "")
    async with brokers(tmp_path, "rot-1", config=closed, knows_where=False) as (home,):
        for reliable in (False, True):
            demo = Demo(home, reliable=reliable)
            async with running(demo):
                await asyncio.sleep(2.0)
            assert 3 <= demo.tally.counts["denied"] <= 8
            assert demo.tally.counts["refused"] == demo.tally.counts["away"] == 0
        assert home.received == []


@pytest.mark.asyncio
async def test_a_broker_away_and_a_login_refused_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "BACK_OFF_S", (0.1, 0.2))
    monkeypatch.setattr(following, "CONNECT_S", 0.5)
    async with brokers(tmp_path, "rot-1") as (home,):
        refused = Demo(home)
        refused.publisher._access = Access(brokers={}, publisher="publisher", client_key="wrong")
        async with running(refused):
            await eventually(lambda: refused.tally.counts["refused"] > 2)
        assert refused.tally.counts["away"] == 0
        away = Demo(home)
        away.publisher.whereabouts.url = "nats://127.0.0.1:1"
        async with running(away):
            await eventually(lambda: away.tally.counts["away"] > 1)
        assert away.tally.counts["refused"] == 0


@pytest.mark.asyncio
async def test_a_broker_without_an_address_is_waited_for(tmp_path: Path) -> None:
    async with brokers(tmp_path, "rot-1", "ant-1") as (home, unknown):
        home.answers = lambda question: elsewhere(unknown) if question < 3 else HERE
        async with running(Demo(home)):
            await eventually(lambda: len(home.received) > 5)
        assert follow_each_other(numbers(home))


def test_pauses_grow_up_to_the_longest_and_begin_anew() -> None:
    pauses = Pauses(first_s=0.1, growth=2.0, longest_s=1.0)
    given = [pauses.next() for _ in range(6)]
    for pause_s, meant_s in zip(given, (0.1, 0.2, 0.4, 0.8, 1.0, 1.0), strict=True):
        assert pause_s == pytest.approx(meant_s, rel=0.11)
    pauses.reset()
    assert pauses.next() == pytest.approx(0.1, rel=0.11)


@pytest.mark.asyncio
async def test_pauses_are_short_again_for_who_has_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SETTLED_S", 0.2)
    async with brokers(tmp_path, "rot-1") as (home,), running(Demo(home)):
        for _ in range(6):
            before, began = len(home.received), time.monotonic()
            await eventually(lambda before=before: len(home.received) > before + 5)  # type: ignore[misc]
            # Seven ways in a row would have ended with a pause of over a second.
            assert time.monotonic() - began < 1.0
            await asyncio.sleep(0.3)
            await home.kick()
