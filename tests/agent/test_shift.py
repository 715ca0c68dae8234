"""SHIFT(i, j, k) on real brokers, with the orders given by hand."""

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent.drivers.nats.driver import INGRESS_WAITING
from agent.shift import Shifts
from agent.store import Store
from tests.agent.planes import Plane, client, flows, join, listen, stored, stored_count, until
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables
from weir.coordination.wire import Order, OrderPhase, Report, ReportPhase

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60
ROLES = {"i": "a", "j": "b", "k": "c"}
BOTH = ("core", "rel")


class Member:
    """A broker's data plane, what it remembers, and what it has said."""

    def __init__(self, name: str, server: NatsServer, state: Path) -> None:
        self.name = name
        self.server = server
        self.state = state
        self.reports: list[Report] = []

    async def begin(self, *, ingress=(), local=()) -> None:
        self.store = Store(self.state)
        if self.store.saved.tables is None:
            await self.store.change_tables(lambda tables: Tables())
        self.plane = Plane(self.name, self.server, tables=self.store.saved.tables)
        self.plane.router._save = self.store.change_tables
        self.shifts = Shifts(self.plane.router, self.store, say=self.reports.append)
        await self.plane.driver.open()
        await self.shifts.start()
        self.plane.router.start()
        await flows(self.plane, ingress=ingress, local=local)

    async def end(self) -> None:
        await self.shifts.close()
        await self.plane.close()
        self.store.close()

    def said(self, phase: ReportPhase) -> Report | None:
        return next((r for r in self.reports if r.phase is phase), None)

    @property
    def links(self) -> frozenset[str]:
        return self.plane.router.tables.links


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[NatsServer]]:
    servers = [NatsServer(tmp_path / name) for name in "abc"]
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


@pytest_asyncio.fixture
async def members(servers: list[NatsServer], tmp_path: Path):
    """a - b - c; everything comes in at a, consumers are at b and c."""
    members = [
        Member(name, server, tmp_path / f"state-{name}")
        for name, server in zip("abc", servers, strict=True)
    ]
    a, b, c = members
    await a.begin(ingress=BOTH)
    await b.begin(local=BOTH)
    await c.begin(local=BOTH)
    await join(a.plane, b.plane)
    await join(b.plane, c.plane)
    await until(lambda: a.plane.router.tables.interest.get("b") == set(BOTH), "interest")
    yield members
    for member in members:
        await member.end()


async def _order(
    members: list[Member], phase: OrderPhase, *, attempt: int = 1, addresses=None, interests=None
) -> None:
    for role, name in ROLES.items():
        member = next((m for m in members if m.name == name), None)
        if member is not None:
            order = Order(
                action="shift-1",
                attempt=attempt,
                kind="shift_link",
                phase=phase,
                role=role,
                peers=ROLES,
                addresses=addresses or {m.name: m.server.url for m in members},
                interests=interests or {},
            )
            await member.shifts.on_orders([order])


async def _commit(members: list[Member]) -> None:
    votes = {m.name: m.said(ReportPhase.READY) for m in members}
    interests = {role: votes[name].interest for role, name in ROLES.items()}
    await _order(members, OrderPhase.COMMIT, interests=interests)


async def _publish(
    server: NatsServer, enough: asyncio.Event, arrived: Callable[[], int] | None = None
) -> int:
    """Both flows, numbered alike, until there are enough; how many.

    With `arrived` never more ahead of it than an agent holds of a best-effort flow while it pauses:
    on a busy machine a pause lasts long enough for that.
    """
    connection = await client(server)
    js, count = connection.jetstream(), 0
    while not enough.is_set():
        if arrived is not None and count - arrived() > INGRESS_WAITING // 2:
            await asyncio.sleep(0.005)
            continue
        count += 1
        await connection.publish("weir.in.core", b"%d" % count)
        await js.publish("weir.in.rel", b"%d" % count)
    await connection.close()
    return count


def _numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(1, count + 1)]


async def test_an_edge_is_shifted_under_load_and_nothing_is_lost_or_doubled(members, servers):
    async with asyncio.timeout(LIMIT_S):
        at_b, at_c = await client(servers[1]), await client(servers[2])
        core_b, core_c = await listen(at_b, "core"), await listen(at_c, "core")
        enough = asyncio.Event()
        publishing = asyncio.create_task(
            _publish(servers[0], enough, lambda: min(len(core_b), len(core_c)))
        )
        await asyncio.sleep(0.3)
        await _order(members, OrderPhase.PREPARE)
        await until(lambda: all(m.said(ReportPhase.READY) for m in members), "votes")
        await _commit(members)
        await asyncio.sleep(0.3)
        enough.set()
        count = await publishing
        a, b, c = members
        assert (a.links, b.links, c.links) == ({"c"}, {"c"}, {"a", "b"})
        for member in members:
            report = member.said(ReportPhase.SWITCHED)
            assert report is not None
            assert report.pause_s is not None
            assert report.pause_s > 0
        for connection, core in ((at_b, core_b), (at_c, core_c)):
            while await stored_count(connection, "rel") < count:
                await asyncio.sleep(0.02)
            assert await stored(connection, "rel") == _numbers(count)
            assert core == _numbers(count)
            await connection.close()
        # What is not there any more holds nothing.
        here = await client(servers[0])
        names = {s.config.name for s in await here.jetstream().streams_info()}
        assert "WEIR_TO_c" in names
        assert "WEIR_TO_b" not in names
        await here.close()


async def test_an_attempt_that_is_called_off_leaves_everything_as_it_was(members, servers):
    async with asyncio.timeout(LIMIT_S):
        a, b, _ = members
        before = [m.plane.router.tables for m in members]
        await _order([a, b], OrderPhase.PREPARE, addresses={"c": servers[2].url})
        here = await client(servers[0])
        for number in _numbers(20):
            await here.jetstream().publish("weir.in.rel", number)
        assert not any(m.said(ReportPhase.READY) for m in members)
        assert a.plane.router.counters().forwarded == 0
        await _order([a, b], OrderPhase.ABORT)
        assert a.said(ReportPhase.RELEASED)
        assert b.said(ReportPhase.RELEASED)
        there = await client(servers[2])
        while await stored_count(there, "rel") < 20:
            await asyncio.sleep(0.02)
        assert await stored(there, "rel") == _numbers(20)
        assert [m.plane.router.tables for m in members] == before
        # The next attempt is none the worse for it.
        await _order(members, OrderPhase.PREPARE, attempt=2)
        await until(
            lambda: all(
                any(r.phase is ReportPhase.READY and r.attempt == 2 for r in m.reports)
                for m in members
            ),
            "votes of the second attempt",
        )
        await _order(members, OrderPhase.ABORT, attempt=2)
        await here.close()
        await there.close()


async def test_who_has_voted_keeps_the_promise_over_a_restart(members, servers):
    async with asyncio.timeout(LIMIT_S):
        a = members[0]
        await _order(members, OrderPhase.PREPARE)
        await until(lambda: all(m.said(ReportPhase.READY) for m in members), "votes")
        await a.end()
        await a.begin(ingress=BOTH)
        here = await client(servers[0])
        for number in _numbers(20):
            await here.jetstream().publish("weir.in.rel", number)
        await asyncio.sleep(0.5)
        assert a.plane.router.counters().forwarded == 0
        await _commit(members)
        await until(lambda: a.said(ReportPhase.SWITCHED) is not None, "switched")
        assert a.links == {"c"}
        for server in servers[1:]:
            there = await client(server)
            while await stored_count(there, "rel") < 20:
                await asyncio.sleep(0.02)
            assert await stored(there, "rel") == _numbers(20)
            await there.close()
        await here.close()


async def test_who_cannot_reach_the_other_end_refuses_and_goes_on(members, servers):
    async with asyncio.timeout(LIMIT_S):
        a = members[0]
        await _order([a], OrderPhase.PREPARE, addresses={"c": "nats://127.0.0.1:9"})
        await until(lambda: a.said(ReportPhase.REFUSED) is not None, "refusal")
        report = a.said(ReportPhase.REFUSED)
        assert report is not None
        assert "cannot reach c" in report.detail
        here, there = await client(servers[0]), await client(servers[2])
        await here.jetstream().publish("weir.in.rel", b"1")
        while await stored_count(there, "rel") < 1:
            await asyncio.sleep(0.02)
        await here.close()
        await there.close()


async def test_who_forgot_that_its_mark_was_sent_moves_nothing_behind_it(members, servers):
    """The state directory is lost after the mark: what is read behind it nobody ever reads, as the
    commit takes the old link away. The order is in the document; it has to be heard first."""
    async with asyncio.timeout(LIMIT_S):
        a, b, c = members
        await _order(members, OrderPhase.PREPARE)
        await until(lambda: all(m.said(ReportPhase.READY) for m in members), "votes")
        await a.end()
        shutil.rmtree(a.state)
        connection = await client(servers[0])
        for number in range(1, 101):
            await connection.jetstream().publish("weir.in.rel", b"%d" % number)
        await connection.close()
        a.store = Store(a.state)
        a.plane = Plane("a", a.server, tables=None)
        a.plane.router._save = a.store.change_tables
        a.shifts = Shifts(a.plane.router, a.store, say=a.reports.append)
        await a.plane.driver.open()
        await a.shifts.start()
        a.plane.router.start()
        # As the runtime does with the first document: its orders, then everything else in it.
        await _order([a, b, c], OrderPhase.PREPARE)
        await flows(a.plane, ingress=BOTH)
        await a.plane.router.add_link("b", b.server.url)
        await a.plane.router.know(BOTH, {"b"})
        await until(lambda: a.said(ReportPhase.REFUSED) is not None, "it refuses", 20)
        await _commit(members)
        for server in servers[1:]:
            at = await client(server)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(10):
                    while await stored_count(at, "rel") < 100:
                        await asyncio.sleep(0.05)
            assert await stored(at, "rel") == _numbers(100)
            await at.close()
