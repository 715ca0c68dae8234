"""Publishers that are moved between real brokers: nothing is lost, and the order stays."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest
import pytest_asyncio

from agent import flushes as flushes_module
from agent.drivers.nats import streams
from agent.flushes import Flushes
from agent.publishers import LEAVE_S
from tests.agent.planes import until
from tests.agent.publishing import Publisher, where
from tests.agent.stand import FLOWS, Stand
from tests.nats_clients import processed
from weir.coordination.wire import Delivery, Gate, publishers_digest

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 120
SLOW_S = 0.5


@pytest_asyncio.fixture
async def stand(tmp_path: Path) -> AsyncIterator[Stand]:
    stand = Stand(tmp_path)
    try:
        await stand.start()
        yield stand
    finally:
        await stand.stop()


MESSAGES, BEFORE = 80, 50
GATE = Gate(rate_per_s=40.0, burst=2.0)
SLOW_GATE = Gate(rate_per_s=1.0, burst=2.0)


async def sends_while_it_moves(
    stand: Stand, flow: str, *, gate: Gate | None = GATE
) -> dict[str, list[int]]:
    """A publisher at a sends, is moved to c in the middle, and goes on. Returns what consumers
    got; what waits at the gate of a by then passes at the usual rate."""
    if gate is not None:
        stand.gates["a"] = {flow: gate}
    stand.assign(flow, a=("p",), c=())
    await stand.in_force("a", flow, "p")
    publisher = Publisher(stand.brokers, "p", "a")
    reliable = FLOWS[flow] is Delivery.RELIABLE

    async def send() -> None:
        for number in range(MESSAGES):
            await publisher.send(flow, number, reliable=reliable)
            if number == BEFORE:
                half.set()
            if number > BEFORE:
                await asyncio.sleep(0.02)

    half = asyncio.Event()
    sending = asyncio.create_task(send())
    await half.wait()
    await stand.move(flow, "p")
    await sending
    assert publisher.at == "c"
    assert publisher.closed_by_broker == 0, "it left by itself"
    await publisher.leave()
    if gate is not None and gate != GATE:
        stand.gates["a"] = {flow: GATE}
        stand.say()
    return {broker: await stand.got(broker, flow, MESSAGES) for broker in "bc"}


@pytest.mark.parametrize("flow", FLOWS)
async def test_a_publisher_that_is_moved_keeps_its_order_and_loses_nothing(stand, flow):
    """Its last messages wait at the gate of a, and then on a slow way, when it may go on at c."""
    async with asyncio.timeout(LIMIT_S):
        if FLOWS[flow] is Delivery.RELIABLE:
            stand.agents["b"].driver.slow_s = SLOW_S
        got = await sends_while_it_moves(stand, flow)
        assert got == {broker: list(range(MESSAGES)) for broker in "bc"}


@pytest.mark.parametrize("flow", FLOWS)
async def test_without_waiting_for_messages_their_order_is_lost(stand, flow, monkeypatch):
    """The test above can fail: this agent lets publishers go on as soon as they have left."""
    monkeypatch.setattr(Flushes, "complete", lambda self, flow: flow in self._open)
    async with asyncio.timeout(LIMIT_S):
        # However long the machine takes to send, most of it waits when the publisher is moved.
        got = await sends_while_it_moves(stand, flow, gate=SLOW_GATE)
        assert sorted(got["c"]) == list(range(MESSAGES))
        assert got["c"] != list(range(MESSAGES))


async def test_without_answers_of_others_the_order_is_lost_on_a_slow_way(stand, monkeypatch):
    """The same for an agent that waits for its own gate alone."""
    start = Flushes.start
    monkeypatch.setattr(Flushes, "start", lambda self, flow, to: start(self, flow, ()))
    async with asyncio.timeout(LIMIT_S):
        stand.agents["b"].driver.slow_s = 5.0
        got = await sends_while_it_moves(stand, "rel", gate=None)
        assert sorted(got["c"]) == list(range(MESSAGES))
        assert got["c"] != list(range(MESSAGES))


async def refusals(client: Any, flow: str) -> bool:
    """Whether a client may publish the flow, neither with nor without an acknowledgement."""
    errors: list[str] = []

    async def keep(error: Exception) -> None:
        errors.append(str(error).lower())

    client._error_cb = keep
    await client.publish(f"weir.in.{flow}", b"-1")
    await processed(client)
    with pytest.raises((nats.errors.Error, TimeoutError)):
        await client.jetstream(timeout=0.5).publish(f"weir.in.{flow}", b"-1")
    return sum("permissions violation" in error and flow in error for error in errors) == 2


async def test_a_publisher_that_does_not_leave_is_disconnected_and_sends_again(stand):
    async with asyncio.timeout(LIMIT_S):
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")
        deaf = await stand.client("a", "p")
        js = deaf.jetstream(timeout=5)
        for number in range(5):
            await js.publish("weir.in.rel", b"%d" % number, headers={"Nats-Msg-Id": f"p {number}"})
        loop = asyncio.get_running_loop()
        began = loop.time()
        moving = asyncio.create_task(stand.move("rel", "p"))
        await until(lambda: deaf.is_closed, "it is disconnected")
        assert loop.time() - began >= LEAVE_S - 0.1
        await moving
        assert loop.time() - began < LEAVE_S + 5
        publisher = Publisher(stand.brokers, "p", "a")
        for number in range(4, 8):  # of the fourth it had not seen that it was acknowledged
            await publisher.send("rel", number, reliable=True)
        # The broker at a may hear a little later that c lets it in.
        answers = [answer for answer in publisher.answers if answer != "wait"]
        assert (answers, publisher.at) == (["elsewhere", "here"], "c")
        await publisher.leave()
        got = await stand.got("c", "rel", 9)
        assert got == [0, 1, 2, 3, 4, 4, 5, 6, 7]


async def test_nobody_publishes_a_flow_whose_list_does_not_name_it(stand):
    async with asyncio.timeout(LIMIT_S):
        # Whoever came before there were lists, and has just come, is in no list.
        early = await stand.client("a", "q")
        await early.jetstream(timeout=5).publish("weir.in.rel", b"0")
        late = await stand.client("a", "r")
        stand.assign("rel", a=("p",), c=())
        stand.assign("core", a=(), c=("p",))
        await stand.in_force("a", "rel", "p")
        await until(lambda: early.is_closed and late.is_closed, "they are disconnected")
        for name in ("q", "", "p2"):
            client = await stand.client("a", name)
            assert await refusals(client, "rel"), name
            assert await refusals(client, "core"), name
        one = await stand.client("a", "p")
        await one.jetstream(timeout=5).publish("weir.in.rel", b"1")
        assert await refusals(one, "core")
        there = await stand.client("c", "p")
        await there.publish("weir.in.core", b"2")
        assert await refusals(there, "rel")
        assert await stand.got("c", "rel", 2) == [0, 1]
        assert await stand.got("b", "core", 1) == [2]


async def test_a_login_that_was_granted_before_the_list_changed_is_caught(stand):
    """Logins and changes of the list at the same moments: in the end only those may publish that
    are in it."""
    async with asyncio.timeout(LIMIT_S):
        agent = stand.agents["a"]
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")

        async def come(number: int) -> Any:
            await asyncio.sleep(0.004 * number)
            with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
                return await stand.client("a", "p")

        coming = [asyncio.create_task(come(number)) for number in range(20)]
        await asyncio.sleep(0.03)
        stand.assign("rel", a=(), c=())
        clients = [client for client in await asyncio.gather(*coming) if client is not None]
        await stand.in_force("a", "rel")
        assert len(clients) == 20
        assert not agent.driver._admission.publishers.held()
        acknowledged = 0
        for client in clients:
            with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
                await client.jetstream(timeout=0.3).publish("weir.in.rel", b"1")
                acknowledged += 1
        assert acknowledged == 0


@pytest.mark.parametrize("flow", FLOWS)
async def test_a_release_is_exact_when_the_agent_dies_in_the_middle(stand, flow):
    async with asyncio.timeout(LIMIT_S):
        reliable = FLOWS[flow] is Delivery.RELIABLE
        stand.gates["a"] = {flow: GATE}
        stand.assign(flow, a=("p",), c=())
        await stand.in_force("a", flow, "p")
        deaf = await stand.client("a", "p")
        if reliable:
            for number in range(60):
                await deaf.jetstream(timeout=5).publish(f"weir.in.{flow}", b"%d" % number)
        stand.assign(flow, a=(), c=())
        await until(lambda: stand.agents["a"].document.publishers == stand.lists["a"], "written")
        await asyncio.sleep(0.3)
        await stand.agents["a"].kill()
        assert not deaf.is_closed, "its second had not passed"
        if not reliable:
            # What waited in the agent is lost with it; what comes now is heard by nobody.
            await deaf.publish(f"weir.in.{flow}", b"0")
            await processed(deaf)
        again = await stand.agents["a"].again()
        assert flow not in again.observed
        await stand.in_force("a", flow)
        assert deaf.is_closed
        stand.assign(flow, a=(), c=("p",))
        if not reliable:
            # Rights are of the login: one from just before would have it refused without a word.
            await stand.in_force("c", flow, "p")
        publisher = Publisher(stand.brokers, "p", "a")
        for number in range(60, 65):
            await publisher.send(flow, number, reliable=reliable)
        await publisher.leave()
        expected = list(range(65)) if reliable else list(range(60, 65))
        assert await stand.got("c", flow, len(expected)) == expected


async def test_a_list_from_the_disk_holds_before_anybody_is_let_in(stand):
    async with asyncio.timeout(LIMIT_S):
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")
        await stand.agents["a"].kill()
        again = await stand.agents["a"].again()
        one, other = await stand.client("a", "p"), await stand.client("a", "q")
        await one.jetstream(timeout=5).publish("weir.in.rel", b"0")
        assert await refusals(other, "rel")
        await stand.in_force("a", "rel", "p")
        assert again.driver._admission.publishers.leaving == 0
        assert one.is_connected


@pytest.mark.parametrize("who", "ab")
async def test_a_release_is_exact_when_a_broker_dies_in_the_middle(stand, who):
    async with asyncio.timeout(LIMIT_S):
        stand.gates["a"] = {"rel": GATE}
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")
        publisher = Publisher(stand.brokers, "p", "a")
        for number in range(60):
            await publisher.send("rel", number, reliable=True)
        moving = asyncio.create_task(stand.move("rel", "p"))
        await asyncio.sleep(0.3)
        stand.brokers[who].kill()
        await asyncio.sleep(0.3)
        stand.brokers[who].start()
        for number in range(60, 65):
            await publisher.send("rel", number, reliable=True)
        await moving
        await publisher.leave()
        assert publisher.at == "c"
        assert await stand.got("c", "rel", 65) == list(range(65))


async def test_says_in_every_state_where_a_publisher_belongs(stand):
    async with asyncio.timeout(LIMIT_S):
        asker = {name: await stand.client(name, "p") for name in "ab"}

        async def state(at: str, flow: str, name: bytes = b"p") -> str:
            return (await where(asker[at], flow, name))["state"]

        assert await state("a", "rel") == await state("a", "core") == "here"
        assert await state("b", "rel") == await state("a", "other") == "wait"
        stand.assign("rel", a=("p",), c=("q",))
        await stand.in_force("a", "rel", "p")
        asker["a"] = await stand.client("a", "z")
        assert await state("a", "rel") == "here"
        assert await where(asker["a"], "rel", b"q") == {
            "state": "elsewhere",
            "broker": "c",
            "address": stand.brokers["c"].url,
        }
        for name in (b"r", b"", b"\xff\xfe", b"p" * 100_000, b"p\0", b'{"a": 1}'):
            assert await state("a", "rel", name) == "wait"
        assert await state("a", "core", b"\xff") == "here", "everybody may send it"
        # The agent answers nowhere but to publishers' inboxes, whatever a client asks for.
        heard: list[bytes] = []

        async def keep(message: Any) -> None:
            heard.append(message.data)

        spy = stand._readers["b"]
        for subject in ("weir.in.rel.!", "weir.to.a.rel", "somewhere"):
            await spy.subscribe(subject, cb=keep)
        await processed(spy)
        at_b = await stand.client("b", "p")
        for reply in ("weir.in.rel.!", "weir.to.a.rel", "somewhere"):
            await at_b.publish("weir.where.rel", b"p", reply=reply)
        assert (await where(at_b, "rel", b"p"))["state"] == "wait"
        await processed(spy)
        assert heard == []


async def test_a_list_that_grows_is_in_force_at_once_and_its_publisher_comes_by_itself(stand):
    async with asyncio.timeout(LIMIT_S):
        stand.assign("core", a=("q",), c=())
        await stand.in_force("a", "core", "q")
        publisher = Publisher(stand.brokers, "p", "a")
        sending = asyncio.create_task(publisher.send("core", 0, reliable=False))
        await until(lambda: "wait" in publisher.answers, "it waits")
        before = stand.agents["a"].news
        stand.assign("core", a=("p", "q"), c=())
        await until(lambda: stand.agents["a"].news > before, "reported")
        assert stand.agents["a"].observed["core"] == publishers_digest(("p", "q"))
        await sending
        assert await stand.got("b", "core", 1) == [0]
        await publisher.leave()


async def test_a_flow_that_does_not_enter_here_is_flushed_too(stand):
    async with asyncio.timeout(LIMIT_S):
        stand.entering = {"c"}
        stand.assign("rel", a=(), c=("p",))
        await stand.in_force("a", "rel")
        await stand.in_force("c", "rel", "p")


async def test_says_for_whom_publishers_wait(stand, monkeypatch):
    """An agent of an older version does not know these marks, and logs them."""
    monkeypatch.setattr(flushes_module, "SHOW_S", 1.0)
    monkeypatch.setattr(flushes_module, "_SHOWN_S", (1.0, 2.0))
    async with asyncio.timeout(LIMIT_S):
        older = stand.agents["c"].plane.router

        async def ignore(source: Any, payload: bytes) -> None:
            await older.on_mark(source, payload)

        now = older._mark
        older._mark = ignore
        stand.assign("core", a=("p",), c=())
        await until(lambda: "have not passed c" in stand.agents["a"].problems, "said")
        assert "core" in stand.agents["a"].problems
        assert "core" not in stand.agents["a"].observed
        older._mark = now
        await stand.in_force("a", "core", "p")
        assert "have not passed" not in stand.agents["a"].problems


async def test_marks_are_few_while_a_neighbour_is_away_and_keep_no_link(stand):
    async with asyncio.timeout(LIMIT_S):
        await stand.agents["c"].kill()
        stand.assign("rel", a=("p",), c=())
        await asyncio.sleep(7)
        assert "rel" not in stand.agents["a"].observed
        info = await stand._readers["b"].jetstream().stream_info("WEIR_TO_c")
        assert 1 <= info.state.messages <= 4, "of 0, 2 and 6 s"
        assert await stand.agents["b"].driver.waiting("c") == 0, "marks are no messages"
        await stand.agents["c"].again()
        await stand.in_force("a", "rel", "p")


async def test_a_restarted_agent_waits_for_what_is_before_its_gate(stand):
    """Nobody is connected when it starts, and its ingress is not read yet."""
    async with asyncio.timeout(LIMIT_S):
        stand.gates["a"] = {"rel": Gate(rate_per_s=10.0, burst=2.0)}
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")
        publisher = Publisher(stand.brokers, "p", "a")
        for number in range(50):
            await publisher.send("rel", number, reliable=True)
        await publisher.leave()
        await stand.agents["a"].kill()
        stand.assign("rel", a=(), c=())
        await stand.agents["a"].again()
        await stand.in_force("a", "rel")
        stand.assign("rel", a=(), c=("p",))
        for number in range(50, 55):
            await publisher.send("rel", number, reliable=True)
        await publisher.leave()
        assert await stand.got("c", "rel", 55) == list(range(55))


async def test_a_mark_that_a_full_ingress_refuses_is_sent_again(stand, monkeypatch):
    monkeypatch.setattr(streams, "INGRESS_MESSAGES", 20)
    async with asyncio.timeout(LIMIT_S):
        await stand.agents["a"].kill()
        await stand.agents["a"].again()
        stand.gates["a"] = {"rel": Gate(rate_per_s=10.0, burst=1.0)}
        stand.assign("rel", a=("p",), c=())
        await stand.in_force("a", "rel", "p")
        publisher = Publisher(stand.brokers, "p", "a")
        sent = 0
        while sent < 30:  # the last of them wait for room
            await publisher.send("rel", sent, reliable=True)
            sent += 1
        await stand.move("rel", "p")
        await publisher.send("rel", sent, reliable=True)
        await publisher.leave()
        assert await stand.got("c", "rel", sent + 1) == list(range(sent + 1))
