"""The demo's consumers and publishers against a real broker and a real admission."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.msg import Msg

from agent import publisher, traffic
from agent.class_delays import ClassDelays
from agent.drivers.nats import names
from agent.drivers.nats.admission import Admission
from agent.drivers.nats.server_config import PUBLISHER_USER
from agent.publisher import Access, PublisherTraffic
from agent.tasks import end
from agent.traffic import BurstTraffic, ClassTraffic
from config.stack import Stack
from config.stack.parts import brokers
from tests.nats_server import NatsServer
from tests.stack.support import plain_environment
from weir.coordination.wire import ClassSpec, token
from weir_client.following import until_lost

pytestmark = pytest.mark.stack

BROKER = "rot-1"
GOLD = ClassTraffic(
    name="tides.gold@rot-1", flow="tides", broker=BROKER, reliable=False, consumers=5
)
TIDES = PublisherTraffic(
    name="tides/1", flow="tides", broker=BROKER, reliable=False, rate_per_s=200.0
)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    made = Stack(
        tmp_path_factory.mktemp("broker"), (f"broker-{BROKER}",), given=plain_environment()
    )
    made.up()
    yield made
    made.down()


@asynccontextmanager
async def playing(
    stack: Stack, *, steady: bool = True
) -> AsyncIterator[tuple[traffic.Clients, Admission]]:
    """Five consumers and, with `steady`, a publisher, and what lets them in."""
    site = stack.site
    url = brokers.address_of(site, BROKER)
    admission = Admission(url=url, secrets=brokers.secrets_of(site, BROKER))
    await admission.open()
    cast = traffic.Clients(
        Access(
            brokers={BROKER: url},
            publisher=PUBLISHER_USER,
            client_key=site.secrets["clients"],
        )
    )
    work = [cast.consume(GOLD, n) for n in range(GOLD.consumers)]
    if steady:
        work.append(cast.publish(TIDES))
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield cast, admission
    finally:
        await end(*tasks)
        await admission.close()


async def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.05)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "BACK_OFF_S", (0.1, 0.3))


@pytest.mark.asyncio
async def test_as_many_are_in_as_the_limit_says(stack: Stack) -> None:
    async with playing(stack) as (cast, admission):
        await admission.admit({GOLD.name: ClassSpec(flow="tides", limit=2)})
        await eventually(lambda: cast.tally.admitted == 2 and cast.tally.counts["refused"] > 5)
        await admission.admit({GOLD.name: ClassSpec(flow="tides", limit=4)})
        await eventually(lambda: cast.tally.admitted == 4)
        await admission.admit({GOLD.name: ClassSpec(flow="tides", limit=1)})
        await eventually(lambda: cast.tally.admitted == 1)


@pytest.mark.asyncio
async def test_publishers_offer_their_rate_and_consumers_get_what_is_delivered(
    stack: Stack,
) -> None:
    secrets = brokers.secrets_of(stack.site, BROKER)
    agent = await nats.connect(
        brokers.address_of(stack.site, BROKER), user="agent", password=secrets.agent_password
    )

    async def deliver(message: Msg) -> None:
        await agent.publish(names.delivery_subject("tides"), message.data)

    await agent.subscribe(names.ingress_subject("tides"), cb=deliver)
    async with playing(stack) as (cast, admission):
        await admission.admit({GOLD.name: ClassSpec(flow="tides", limit=3)})
        await eventually(lambda: cast.tally.admitted == 3)
        await asyncio.sleep(0.2)
        before, began = cast.tally.counts.copy(), time.monotonic()
        await eventually(lambda: cast.tally.counts["published"] - before["published"] > 400)
        elapsed_s = time.monotonic() - began
        published, delivered = (
            cast.tally.counts[name] - before[name] for name in ("published", "delivered")
        )
    await agent.close()
    # A busy machine publishes late, never more than what was due.
    assert published <= 200 * elapsed_s * 1.15
    assert delivered == pytest.approx(3 * published, rel=0.1)


@pytest.mark.asyncio
async def test_consumers_report_how_long_what_they_got_has_taken(stack: Stack) -> None:
    secrets = brokers.secrets_of(stack.site, BROKER)
    agent = await nats.connect(
        brokers.address_of(stack.site, BROKER), user="agent", password=secrets.agent_password
    )
    reported = ClassDelays()

    async def deliver(message: Msg) -> None:
        await agent.publish(names.delivery_subject("tides"), message.data, headers=message.headers)

    async def hear(message: Msg) -> None:
        reported.add(names.name_of(message.subject.rsplit(".", 1)[1]), message.data)

    await agent.subscribe(names.ingress_subject("tides"), cb=deliver)
    await agent.subscribe(f"{names.DELAYS}.*", cb=hear)
    taken: dict[str, Any] = {}

    def is_reported() -> bool:
        taken.update(reported.take())
        return bool(taken)

    async with playing(stack) as (_, admission):
        await admission.admit({GOLD.name: ClassSpec(flow="tides", limit=2)})
        await eventually(is_reported)
    await agent.close()
    assert taken.keys() == {GOLD.name}
    assert sum(messages for _, messages in taken[GOLD.name]["delivery_delays"]) > 1


@pytest.mark.asyncio
async def test_publishers_without_a_steady_rate_send_together(stack: Stack) -> None:
    members = tuple(f"tides/{n}" for n in range(2, 6))
    wanted = BurstTraffic(flow="tides", publishers=members, every_s=0.5, spread_s=0.01, messages=2)
    heard: dict[str, list[float]] = {token(name): [] for name in members}

    async def hear(message: Msg) -> None:
        _, who, _ = message.data.decode().split(" ")
        heard[who].append(time.monotonic())

    secrets = brokers.secrets_of(stack.site, BROKER)
    agent = await nats.connect(
        brokers.address_of(stack.site, BROKER), user="agent", password=secrets.agent_password
    )
    await agent.subscribe(names.ingress_subject("tides"), cb=hear)
    async with playing(stack, steady=False) as (cast, admission):
        await admission.admit({})
        own = [replace(TIDES, name=name, rate_per_s=0.0) for name in members]
        tasks = [asyncio.create_task(cast.publish(one)) for one in own]
        tasks.append(asyncio.create_task(cast.burst(wanted)))
        await eventually(lambda: all(heard.values()))
        since = time.monotonic()
        await eventually(lambda: all(times[-1] > since + 5.0 for times in heard.values()))
        await end(*tasks)
    await agent.close()
    leader, *others = ([at for at in times if at > since + 0.2] for times in heard.values())
    assert len(leader) >= 2, "two messages a burst"
    together = [all(any(abs(at - one) < 0.1 for at in times) for times in others) for one in leader]
    # A busy machine is late now and then.
    assert sum(together) >= 0.8 * len(leader)
    # Nothing is sent in between.
    assert len(leader) <= 2 * 5.0 / 0.5 * 3


@pytest.mark.asyncio
async def test_everybody_comes_back_after_the_broker_was_killed(stack: Stack) -> None:
    async with playing(stack) as (cast, admission):
        await admission.admit({GOLD.name: ClassSpec(flow="tides", limit=3)})
        await eventually(lambda: cast.tally.admitted == 3)
        stack.kill(f"broker-{BROKER}")
        await eventually(lambda: cast.tally.admitted == 0)
        published = cast.tally.counts["published"]
        await eventually(
            lambda: cast.tally.admitted == 3 and cast.tally.counts["published"] > published + 50, 30
        )


def test_numbers_that_are_missing_or_come_twice_are_counted_for_each_publisher() -> None:
    cast = traffic.Clients(Access(brokers={}, publisher="p", client_key="k"))
    received: dict[str, tuple[str, int]] = {}
    payloads = (b"a x 1", b"a y 1", b"a x 2", b"a y 2", b"a x 5", b"a x 5", b"b x 1", b"b x 2")
    for payload in (*payloads, b"not ours", b"a x", b"\xff x 9"):
        cast._check("c", received, payload)
    assert (cast.tally.counts["missing"], cast.tally.counts["repeated"]) == (2, 1)
    assert received == {"x": ("b", 2), "y": ("a", 2)}
    cast._check("c", received, b"a y 1")
    assert cast.tally.counts["repeated"] == 2
    assert "2 missing, 2 repeated" in cast.tally.line()


@pytest.mark.asyncio
async def test_a_connection_whose_last_flush_fails_is_noticed(tmp_path: Path) -> None:
    """The client library then calls nobody back."""
    closed, working = asyncio.Event(), asyncio.Event()

    async def on_closed() -> None:
        closed.set()

    async def broken() -> None:
        raise ConnectionResetError

    async def work() -> None:
        working.set()
        await asyncio.Event().wait()

    with NatsServer(tmp_path) as server:
        client = await nats.connect(server.url, allow_reconnect=False, closed_cb=on_closed)
        client._transport.drain = broken
        waiting = asyncio.create_task(until_lost(client, closed, work()))
        await working.wait()
        client._pending_data_size = 1
        server.kill()
        await asyncio.wait_for(waiting, 30)
    assert not closed.is_set()
