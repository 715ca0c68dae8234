"""A state directory that cannot be written: no promise is made that would not survive, whatever
can go on goes on, and the agent recovers by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.router import Router
from agent.shift import Shifts
from agent.store import Store
from tests.agent.disks import FullableDisk
from tests.agent.planes import until
from weir.coordination.tables import Tables
from weir.coordination.wire import (
    Delivery,
    Document,
    FlowSpec,
    Order,
    OrderPhase,
    Report,
    ReportPhase,
)

pytestmark = pytest.mark.asyncio

ROLES = {"i": "a", "j": "b", "k": "c"}
NEIGHBOURS = {"a": "b", "b": "ac", "c": "b"}


class Member:
    """One broker of the line a - b - c: flow `f` comes in at a, is wanted at c."""

    def __init__(self, name: str, network: VirtualNetwork, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self.broker = network.at(f"sim://{name}")
        self.broker.keep_delivered = True
        self.disk = FullableDisk(directory)
        self.store = Store(directory, disk=self.disk)
        self.driver = SimulatedDriver(network=network, address=f"sim://{name}", broker=name)
        self.router = Router(
            self.driver,
            tables=Tables(links=frozenset(NEIGHBOURS[name])),
            save=self.store.change_tables,
        )
        self.reports: list[Report] = []
        self.shifts: Shifts

    async def start(self) -> None:
        await self.store.change_tables(lambda _: self.router.tables)
        self.shifts = Shifts(self.router, self.store, say=self.reports.append)
        await self.shifts.start()
        self.router.start()
        flow = FlowSpec(delivery=Delivery.RELIABLE, ingress=self.name == "a")
        await self.router.flows.ensure_flow("f", flow)
        await self.router.know(["f"], NEIGHBOURS[self.name])
        await self.router.flows.set_local(["f"] if self.name == "c" else [])
        self.router.set_addresses({other: f"sim://{other}" for other in NEIGHBOURS[self.name]})

    async def close(self) -> None:
        await self.shifts.close()
        await self.router.close()
        self.store.close()

    def fill(self, full: bool = True) -> None:
        self.disk.full = lambda name, data: full

    async def order(self, phase: OrderPhase, interests: dict[str, tuple[str, ...]]) -> None:
        role = next(role for role, name in ROLES.items() if name == self.name)
        await self.shifts.on_orders(
            [
                Order(
                    action="x",
                    attempt=1,
                    kind="shift_link",
                    phase=phase,
                    role=role,
                    peers=ROLES,
                    addresses={name: f"sim://{name}" for name in "abc"},
                    interests=interests,
                )
            ]
        )

    def said(self, phase: ReportPhase) -> Report | None:
        return next((r for r in self.reports if r.phase is phase), None)

    @property
    def on_disk(self) -> list[str]:
        """The phases that a new process would find."""
        plain = json.loads((self.directory / "state.json").read_text())
        return [state["phase"] for state in plain["participants"]]

    def publish(self, *numbers: int) -> None:
        self.broker.publish("f", Delivery.RELIABLE, [b"%d" % number for number in numbers])

    @property
    def got(self) -> list[int]:
        return [int(m.payload) for m in self.broker.delivered.get("f", ())]


@pytest_asyncio.fixture
async def members(tmp_path: Path) -> AsyncIterator[list[Member]]:
    network = VirtualNetwork()
    for name in "abc":
        network.at(f"sim://{name}")
    members = [Member(name, network, tmp_path / name) for name in "abc"]
    for member in members:
        await member.start()
    a = members[0]
    await until(lambda: a.router.tables.interest.get("b") == {"f"}, "interest")
    yield members
    for member in members:
        await member.close()


async def prepare(*members: Member) -> None:
    for member in members:
        await member.order(OrderPhase.PREPARE, {})


async def commit(members: list[Member]) -> None:
    votes = {m.name: m.said(ReportPhase.READY) for m in members}
    interests = {role: vote.interest for role, name in ROLES.items() if (vote := votes[name])}
    for member in members:
        await member.order(OrderPhase.COMMIT, interests)


async def voted(members: list[Member]) -> None:
    await until(lambda: all(m.said(ReportPhase.READY) for m in members), "votes")


async def test_a_vote_that_is_not_on_the_disk_is_not_said(members: list[Member]) -> None:
    a, b, c = members
    await prepare(a)
    assert a.on_disk == ["preparing"]
    a.fill()
    await prepare(b, c)
    await voted([b, c])
    await until(lambda: a.disk.refused > 0, "a tries to write its vote")
    assert a.said(ReportPhase.READY) is None
    assert a.on_disk == ["preparing"]
    assert "cannot be written (No space left on device)" in a.shifts.problem
    a.publish(1)
    await asyncio.sleep(0.05)
    assert c.got == [], "a stays paused: its marks have promised that"
    a.fill(False)
    await until(lambda: a.said(ReportPhase.READY) is not None, "a votes when the disk has room")
    assert a.on_disk == ["ready"]
    assert a.shifts.problem == ""
    await commit(members)
    await until(lambda: c.got == [1], "over the new link")


async def test_an_attempt_that_is_called_off_ends_while_the_disk_is_full(
    members: list[Member],
) -> None:
    a, b, c = members
    await prepare(a)
    a.fill()
    await prepare(b, c)
    await until(lambda: a.disk.refused > 0, "a tries to write its vote")
    for member in members:
        await member.order(OrderPhase.ABORT, {})
    assert a.said(ReportPhase.RELEASED) is not None
    a.publish(1, 2)
    await until(lambda: c.got == [1, 2], "messages move again")
    await a.shifts.on_orders([])
    a.fill(False)
    await until(lambda: a.on_disk == [], "nothing of it is remembered once there is room")
    assert a.said(ReportPhase.READY) is None


async def test_who_cannot_write_takes_no_part_and_pauses_nothing(members: list[Member]) -> None:
    a, b, c = members
    a.fill()
    await prepare(a)
    a.publish(1)
    await until(lambda: c.got == [1], "a goes on")
    assert a.reports == []
    assert a.shifts.problem
    a.fill(False)
    await prepare(b, c)
    await voted(members)
    await commit(members)
    await until(lambda: a.router.tables.links == {"c"}, "switched")


async def test_a_switch_that_is_not_on_the_disk_is_not_made(members: list[Member]) -> None:
    a, _, c = members
    await prepare(*members)
    await voted(members)
    a.fill()
    await commit(members)
    assert (a.router.tables.links, a.on_disk) == ({"b"}, ["ready"])
    assert a.said(ReportPhase.SWITCHED) is None
    assert a.shifts.busy == {"a", "b", "c"}, "nobody else touches these links"
    a.publish(1)
    await asyncio.sleep(0.05)
    assert c.got == []
    a.fill(False)
    await until(lambda: a.said(ReportPhase.SWITCHED) is not None, "switched")
    assert (a.router.tables.links, a.on_disk) == ({"c"}, ["switched"])
    await until(lambda: c.got == [1], "over the new link")


async def test_the_ear_for_interest_stays_open_while_the_disk_is_full(
    members: list[Member],
) -> None:
    a, b, _ = members
    a.fill()
    await b.router.flows.set_local(["g"])
    await until(lambda: a.router.tables.interest["b"] == {"f", "g"}, "heard")
    await until(lambda: "interest is not saved" in a.router.problems, "and told")
    await b.router.flows.set_local([])
    await until(lambda: a.router.tables.interest["b"] == {"f"}, "heard again")
    a.fill(False)
    await until(lambda: not a.router.problems, "saved")
    assert a.store.saved.tables is not None
    assert a.store.saved.tables.interest == {"b": {"f"}}


async def test_who_is_no_neighbour_any_more_and_then_one_again_is_told_again(
    members: list[Member],
) -> None:
    a, b, _ = members
    await until(lambda: "b" in a.broker.interests, "told once")
    await b.router.remove_link("a")
    a.broker.interests.clear()
    await b.router.add_link("a", "sim://a")
    await until(lambda: "b" in a.broker.interests, "told again")


async def test_the_broker_knows_how_far_the_directory_is_without_any_vote(
    members: list[Member],
) -> None:
    """A copy of before the last document would be an older one, too."""
    a = members[0]
    document = Document(system="s", broker="a", version="v1")
    await a.store.save_document(document)
    await until(lambda: a.broker.noted_state == a.store.saved.number, "it is noted")
    await a.store.save_document(replace(document, version="v2"))
    await until(lambda: a.broker.noted_state == a.store.saved.number, "the next, too")
