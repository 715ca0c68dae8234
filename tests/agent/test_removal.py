"""A broker is destroyed with its disk; its neighbours close the tree around it, on real brokers."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent.drivers.base import Channel, Place
from agent.drivers.nats import streams
from tests.agent.planes import client, join, stored, until
from tests.agent.test_shift import Member
from tests.nats_server import NatsServer
from weir.coordination.wire import Delivery, FlowSpec, Order, OrderPhase, ReportPhase

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60
ROLES = {"gone1": "d", "n1": "a", "n2/n1": "b", "n3/n2": "c"}
INGRESS = {"there": "a", "back": "b"}
"""Flow -> where it comes in; consumers of both are at a, b and c."""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, NatsServer]]:
    servers = {name: NatsServer(tmp_path / name) for name in "abcd"}
    for server in servers.values():
        server.start()
    yield servers
    for server in servers.values():
        server.stop()


async def _begin(member: Member) -> None:
    await member.begin()
    for flow, ingress in INGRESS.items():
        spec = FlowSpec(delivery=Delivery.RELIABLE, ingress=ingress == member.name)
        await member.plane.router.flows.ensure_flow(flow, spec)
    if member.name != "d":
        await member.plane.router.flows.set_local(INGRESS)


@pytest_asyncio.fixture
async def members(
    servers: dict[str, NatsServer], tmp_path: Path
) -> AsyncIterator[dict[str, Member]]:
    """a, b and c are leaves around d."""
    members = {
        name: Member(name, server, tmp_path / f"state-{name}") for name, server in servers.items()
    }
    for member in members.values():
        await _begin(member)
    for name in "abc":
        await join(members[name].plane, members["d"].plane)
    for name in "abcd":
        await until(
            lambda name=name: all(
                wanted == set(INGRESS)
                for wanted in members[name].plane.router.tables.interest.values()
            ),
            "interest",
        )
    yield members
    for member in members.values():
        await member.end()


class Publisher:
    """Numbers that a broker has acknowledged."""

    def __init__(self, server: NatsServer, flow: str) -> None:
        self.server, self.flow = server, flow
        self.count = 0

    async def publish(self, count: int) -> None:
        connection = await client(self.server)
        js = connection.jetstream()
        for _ in range(count):
            self.count += 1
            await js.publish(f"weir.in.{self.flow}", b"%d" % self.count)
        await connection.close()

    async def go_on(self, enough: asyncio.Event) -> None:
        while not enough.is_set():
            await self.publish(10)


async def _settled(server: NatsServer, stream: str) -> None:
    """Nothing waits in a stream any more."""
    connection = await client(server)
    js = connection.jetstream()
    async with asyncio.timeout(LIMIT_S):
        while (await js.stream_info(stream)).state.messages:
            await asyncio.sleep(0.05)
    await connection.close()


async def _filled(server: NatsServer, stream: str, count: int) -> None:
    connection = await client(server)
    js = connection.jetstream()
    async with asyncio.timeout(LIMIT_S):
        while (await js.stream_info(stream)).state.messages < count:
            await asyncio.sleep(0.05)
    await connection.close()


async def _arrived(server: NatsServer, flow: str, last: int) -> list[int]:
    """Everything that consumers can read once the last message has come."""
    connection = await client(server)
    async with asyncio.timeout(LIMIT_S):
        while True:
            got = [int(payload) for payload in await stored(connection, flow)]
            if got and got[-1] == last:
                break
            await asyncio.sleep(0.05)
    await connection.close()
    return got


async def _order(
    members: dict[str, Member], phase: OrderPhase, *, attempt: int = 1, interests=None
) -> None:
    for role, name in ROLES.items():
        if name != "d":
            order = Order(
                action="removal-1",
                attempt=attempt,
                kind="remove_broker",
                phase=phase,
                role=role,
                peers=ROLES,
                addresses={n: members[n].server.url for n in "abc"},
                interests=interests or {},
            )
            await members[name].shifts.on_orders([order])


async def _remove(members: dict[str, Member]) -> None:
    around = [members[name] for name in "abc"]
    await _order(members, OrderPhase.PREPARE)
    await until(
        lambda: all(m.said(ReportPhase.READY) for m in around), str([m.reports for m in around])
    )
    votes = {role: members[name].said(ReportPhase.READY) for role, name in ROLES.items()}
    interests = {role: vote.interest for role, vote in votes.items() if vote is not None}
    await _order(members, OrderPhase.COMMIT, interests=interests)
    await until(lambda: all(m.said(ReportPhase.SWITCHED) for m in around), "switched")


async def _destroy(members: dict[str, Member]) -> int:
    """Agent, server and disk. How many messages it held for b; c has read what was for c."""
    member = members["d"]
    around = [members[name].plane.router for name in "abc"]
    await member.end()
    await _settled(member.server, "WEIR_TO_c")
    connection = await client(member.server)
    held = (await connection.jetstream().stream_info("WEIR_TO_b")).state.messages
    await connection.close()
    member.server.stop()
    shutil.rmtree(member.server.directory)
    await until(lambda: not any(r.answering for r in around), "its neighbours have seen it")
    return int(held)


async def test_only_what_the_destroyed_broker_held_is_lost(members, servers):
    """Everything else arrives everywhere, once and in order, also what was sent meanwhile."""
    async with asyncio.timeout(LIMIT_S):
        there = Publisher(servers["a"], "there")
        back = Publisher(servers["b"], "back")
        await there.publish(30)
        await back.publish(30)
        for name in "abc":
            for flow in INGRESS:
                await _arrived(servers[name], flow, 30)
        # While nobody reads for b, d holds 20 messages for it; c has them, a has let them go.
        await members["b"].end()
        await there.publish(20)
        await _arrived(servers["c"], "there", 50)
        await _settled(servers["a"], "WEIR_TO_d")
        enough = asyncio.Event()
        publishing = [asyncio.create_task(publisher.go_on(enough)) for publisher in (there, back)]
        await asyncio.sleep(0.3)
        held = await _destroy(members)
        await _begin(members["b"])
        await asyncio.sleep(0.3)
        await _remove(members)
        await asyncio.sleep(0.3)
        enough.set()
        await asyncio.gather(*publishing)
        links = {name: members[name].links for name in "abc"}
        assert links == {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}
        everything = list(range(1, back.count + 1))
        for name in "abc":
            assert await _arrived(servers[name], "back", back.count) == everything
        assert await _arrived(servers["c"], "there", there.count) == list(range(1, there.count + 1))
        got = await _arrived(servers["b"], "there", there.count)
        missing = sorted(set(range(1, there.count + 1)) - set(got))
        assert got == sorted(set(got))
        assert missing == list(range(31, 31 + len(missing)))
        assert 20 <= len(missing) <= held


async def test_a_full_outbox_for_the_broker_does_not_keep_its_removal_from_happening(
    members, servers, monkeypatch
):
    async with asyncio.timeout(LIMIT_S):
        there = Publisher(servers["a"], "there")
        await there.publish(10)
        await _arrived(servers["c"], "there", 10)
        await _settled(servers["a"], "WEIR_TO_d")
        await _destroy(members)
        monkeypatch.setattr(streams, "OUTBOX_MESSAGES", 15)
        await members["a"].plane.driver.ensure_channel(
            Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="d")
        )
        for waiting in range(1, 16):  # one by one: a batch that does not fit is refused whole
            await there.publish(1)
            await _filled(servers["a"], "WEIR_TO_d", waiting)
        await there.publish(45)
        assert await _bound(servers["a"], "WEIR_TO_d") == 15
        # The outboxes of the new links take what is carried over in one batch, as they always do.
        monkeypatch.undo()
        await _remove(members)
        everything = list(range(1, 71))
        for name in "abc":
            assert await _arrived(servers[name], "there", 70) == everything


async def test_a_broker_that_answers_is_not_removed(members, servers):
    async with asyncio.timeout(LIMIT_S):
        await members["d"].end()  # the agent alone
        await _order(members, OrderPhase.PREPARE)
        a = members["a"]
        await until(lambda: a.said(ReportPhase.REFUSED) is not None, "refused")
        assert a.said(ReportPhase.REFUSED).detail == (
            "the broker of d answers here, so it is not gone"
        )
        assert a.links == {"d"}


async def test_a_participant_that_dies_while_it_copies_begins_again(members, servers):
    async with asyncio.timeout(LIMIT_S):
        there = Publisher(servers["a"], "there")
        await there.publish(10)
        await _arrived(servers["c"], "there", 10)
        await _settled(servers["a"], "WEIR_TO_d")
        await _destroy(members)
        await there.publish(40)
        await _filled(servers["a"], "WEIR_TO_d", 40)
        await _order(members, OrderPhase.PREPARE)
        await members["a"].end()
        members["a"].reports.clear()
        await _begin(members["a"])
        await _remove(members)
        everything = list(range(1, 51))
        for name in "abc":
            assert await _arrived(servers[name], "there", 50) == everything


async def _bound(server: NatsServer, stream: str) -> int:
    connection = await client(server)
    info = await connection.jetstream().stream_info(stream)
    await connection.close()
    return int(info.config.max_msgs)


async def _bounded(server: NatsServer, stream: str, wanted: int) -> None:
    async with asyncio.timeout(LIMIT_S):
        while await _bound(server, stream) != wanted:
            await asyncio.sleep(0.05)


async def test_a_bound_that_was_lifted_holds_again_after_an_abort(members, servers, monkeypatch):
    """Also where the removal makes no new link, so that no link is dropped."""
    async with asyncio.timeout(LIMIT_S):
        monkeypatch.setitem(globals(), "ROLES", {"gone1": "d", "n1": "a"})
        there = Publisher(servers["a"], "there")
        await _destroy(members)
        monkeypatch.setattr(streams, "OUTBOX_MESSAGES", 15)
        await _order(members, OrderPhase.PREPARE)
        await _bounded(servers["a"], "WEIR_TO_d", -1)
        await there.publish(40)
        await _order(members, OrderPhase.ABORT)
        await _bounded(servers["a"], "WEIR_TO_d", 15)
        await asyncio.sleep(0.5)
        assert await _bound(servers["a"], "WEIR_TO_d") == 15


async def test_bounds_hold_at_the_new_links_of_a_removal(members, servers):
    async with asyncio.timeout(LIMIT_S):
        there = Publisher(servers["a"], "there")
        await _destroy(members)
        await there.publish(20)
        await _filled(servers["a"], "WEIR_TO_d", 20)
        await _remove(members)
        await _bounded(servers["a"], "WEIR_TO_b", streams.OUTBOX_MESSAGES)
        for name in "bc":
            assert await _arrived(servers[name], "there", 20) == list(range(1, 21))
