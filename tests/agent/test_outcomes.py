"""Agents on real brokers that hear no outcome ask each other, and go on where one of them knows."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import pytest_asyncio

from agent.outcomes import DECIDE, DECIDED, write
from tests.agent.planes import client, join, listen, stored, stored_count, until
from tests.agent.test_shift import BOTH, LIMIT_S, Member, _numbers, _order, _publish
from tests.nats_server import NatsServer
from weir.coordination.participant import Phase
from weir.coordination.termination import Outcome
from weir.coordination.wire import OrderPhase, ReportPhase
from weir.errors import InvalidProblem

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

DOUBT_S = 0.3


@pytest.fixture
def servers(tmp_path: Path):
    servers = [NatsServer(tmp_path / name) for name in "abc"]
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


async def _begin(member: Member, **flows) -> None:
    await member.begin(**flows)
    member.shifts._book.doubts.doubt_s = DOUBT_S


@pytest_asyncio.fixture
async def members(servers: list[NatsServer], tmp_path: Path):
    """a - b - c without a control plane; everything comes in at a, consumers are at b and c."""
    members = [
        Member(name, server, tmp_path / f"state-{name}")
        for name, server in zip("abc", servers, strict=True)
    ]
    a, b, c = members
    await _begin(a, ingress=BOTH)
    await _begin(b, local=BOTH)
    await _begin(c, local=BOTH)
    await join(a.plane, b.plane)
    await join(b.plane, c.plane)
    await until(lambda: a.plane.router.tables.interest.get("b") == set(BOTH), "interest")
    yield members
    for member in members:
        await member.end()


def _phase(member: Member) -> Phase:
    return member.shifts._book.states[0].phase


async def _vote(members: list[Member]) -> None:
    """All three have voted, and nobody has asked yet."""
    for member in members:
        member.shifts._book.doubts.doubt_s = 1e9
    await _order(members, OrderPhase.PREPARE)
    await until(lambda: all(m.said(ReportPhase.READY) for m in members), "votes")


def _doubt(members: list[Member]) -> None:
    for member in members:
        member.shifts._book.doubts.doubt_s = DOUBT_S


def _interests(members: list[Member]) -> dict[str, tuple[str, ...]]:
    votes = {m.name: m.said(ReportPhase.READY) for m in members}
    return {role: votes[name].interest for role, name in {"i": "a", "j": "b", "k": "c"}.items()}


async def _under_load(
    members: list[Member], servers: list[NatsServer], meanwhile: Callable, after: set[str]
) -> None:
    """Messages of both classes while `meanwhile` runs: each arrives once and in order; of the
    best-effort ones all but those that were counted as shed, since 2,000 may wait at the gate."""
    async with asyncio.timeout(LIMIT_S):
        at_b, at_c = await client(servers[1]), await client(servers[2])
        core_b, core_c = await listen(at_b, "core"), await listen(at_c, "core")
        enough = asyncio.Event()
        publishing = asyncio.create_task(_publish(servers[0], enough))
        await until(lambda: len(core_c) > 20, "messages move")
        await meanwhile()
        moved = len(core_c)
        await until(lambda: len(core_c) > moved + 20, "messages move again")
        enough.set()
        count = await publishing
        await until(lambda: members[0].links == after, "links")
        for connection, core in ((at_b, core_b), (at_c, core_c)):
            while await stored_count(connection, "rel") < count:
                await asyncio.sleep(0.02)
            assert await stored(connection, "rel") == _numbers(count)
            shed = (await members[0].plane.driver.stats()).ingress_shed["core"]
            await until(lambda core=core, kept=count - shed: len(core) >= kept, "best effort")
            assert len(core) == count - shed
            assert core == sorted(set(core), key=int)
            await connection.close()


@pytest.mark.parametrize("heard", ["a", "b", "c"])
async def test_a_commit_that_one_has_heard_reaches_all(members, servers, heard) -> None:
    async def meanwhile() -> None:
        await _vote(members)
        (one,) = [m for m in members if m.name == heard]
        await _order([one], OrderPhase.COMMIT, interests=_interests(members))
        _doubt(members)
        await until(lambda: all(_phase(m) is Phase.SWITCHED for m in members), "switched")

    await _under_load(members, servers, meanwhile, {"c"})
    a, b, c = members
    after = ({"c"}, {"c"}, {"a", "b"})
    await until(lambda: (a.links, b.links, c.links) == after, "links")


@pytest.mark.parametrize("heard", ["a", "b", "c"])
async def test_an_abort_that_one_has_heard_reaches_all(members, servers, heard) -> None:
    async def meanwhile() -> None:
        await _vote(members)
        (one,) = [m for m in members if m.name == heard]
        await _order([one], OrderPhase.ABORT)
        _doubt(members)
        await until(lambda: all(_phase(m) is Phase.RELEASED for m in members), "released")

    await _under_load(members, servers, meanwhile, {"b"})


async def test_who_has_not_voted_refuses_and_the_others_release(members, servers) -> None:
    async def meanwhile() -> None:
        # c cannot reach a, so it cannot vote; a and b can, and do.
        addresses = {"a": "nats://127.0.0.1:9", "c": servers[2].url}
        await _order([members[2]], OrderPhase.PREPARE, addresses=addresses)
        await _order(members[:2], OrderPhase.PREPARE, addresses={"c": servers[2].url})
        await until(lambda: _phase(members[2]) is Phase.REFUSED, "refused")
        ended = {Phase.RELEASED, Phase.REFUSED}
        await until(lambda: {_phase(m) for m in members} <= ended, "released")
        refused = members[2].store
        await until(lambda: refused.saved.states["shift-1"].phase is Phase.REFUSED, "on the disk")

    await _under_load(members, servers, meanwhile, {"b"})


async def test_where_all_have_voted_they_wait_and_say_for_whom(members, servers) -> None:
    async with asyncio.timeout(LIMIT_S):
        await _vote(members)
        _doubt(members)
        problems = members[0].plane.router.problems
        await until(
            lambda: any("b and c wait too" in text for text in problems.values()), str(problems)
        )
        assert all(_phase(m) is Phase.READY for m in members)
        # An agent that is gone is named.
        await members[2].shifts.close()
        await until(
            lambda: any("agent of c does not answer" in text for text in problems.values()),
            str(problems),
        )


@pytest.mark.parametrize(
    ("outcome", "links", "phase"),
    [(Outcome.COMMIT, {"c"}, Phase.SWITCHED), (Outcome.ABORT, {"b"}, Phase.RELEASED)],
)
async def test_what_a_person_decides_at_one_agent_all_follow(
    members, servers, outcome, links, phase
) -> None:
    async def meanwhile() -> None:
        await _vote(members)
        _doubt(members)
        b = members[1]
        waits = b.plane.router.problems
        await until(lambda: any("a and c wait too" in t for t in waits.values()), str(waits))
        decision = {"id": "1", "action": "shift-1", "outcome": outcome, "reason": "Weir is gone"}
        write(b.state / DECIDE, decision)
        await until((b.state / DECIDED).exists, "an answer")
        assert json.loads((b.state / DECIDED).read_text()) == {"id": "1", "error": ""}
        await until(lambda: all(_phase(m) is phase for m in members), "followed")
        await until(
            lambda: (
                [m.store.saved.states["shift-1"].by_hand for m in members] == ["Weir is gone"] * 3
            ),
            "on the disks",
        )

    await _under_load(members, servers, meanwhile, links)


async def test_a_decision_that_cannot_be_carried_out_is_answered(members) -> None:
    a = members[0]
    await _vote(members)
    with pytest.raises(InvalidProblem, match="page of the execution"):
        await a.shifts.decide("shift-1", Outcome.ABORT, "impatient")
    write(a.state / DECIDE, {"id": "2", "action": "shift-1", "outcome": "perhaps", "reason": ""})
    await until((a.state / DECIDED).exists, "an answer")
    assert "perhaps" in json.loads((a.state / DECIDED).read_text())["error"]
    assert _phase(a) is Phase.READY


async def test_who_has_voted_asks_again_after_a_restart(members, servers) -> None:
    async with asyncio.timeout(LIMIT_S):
        a = members[0]
        await _vote(members)
        await a.end()
        await _order(members[1:], OrderPhase.COMMIT, interests=_interests(members))
        await _begin(a, ingress=BOTH)
        a.plane.router.set_addresses({"b": servers[1].url})
        await until(lambda: a.links == {"c"}, "switched")
        assert _phase(a) is Phase.SWITCHED
