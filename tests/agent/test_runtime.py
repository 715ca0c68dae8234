"""Whole agents between the real control plane and real brokers."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import nats
import pytest

from agent import fleet
from agent.client import ControlPlane
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.link_access import LinkKey, new_seed
from agent.drivers.nats.names import class_inbox
from agent.drivers.nats.server_config import BrokerSecrets
from agent.fleet import FleetOptions
from agent.runtime import Runtime
from agent.store import Store
from agent.telemetry import Meter
from apps.executions.services import executions_tick
from apps.telemetry.models import Agent, Sample
from apps.telemetry.services import agent_enrol, agent_revoke
from tests.agent.brokers import Broker
from tests.factories.fleet import Harbour, Loop, make_harbour, population, rate, shift, start

pytestmark = [pytest.mark.stack, pytest.mark.slow]

WAIT_S = 60.0


class Beside:
    """The agent of one broker: started and ended as often as a test wants."""

    def __init__(self, loop: Loop, harbour: Harbour, broker: Broker, state: Path) -> None:
        self.loop = loop
        self.broker = broker
        self.state = state
        _, self.credential = agent_enrol(
            broker=harbour.brokers[broker.name], actor=None, address=broker.url
        )
        self.url = "http://weir"
        self._stop: asyncio.Event | None = None
        self._run: Future[None] | None = None

    def start(self, *, fenced_s: float = 0.2) -> Beside:
        store = Store(self.state)

        async def live() -> None:
            self._stop = asyncio.Event()
            try:
                await Runtime(
                    control=ControlPlane(self.url, self.credential, self.loop.client),
                    store=store,
                    driver=lambda name: NatsDriver(
                        url=self.broker.url, broker=name, secrets=self.broker.secrets
                    ),
                    product="nats",
                    address=self.broker.url,
                    key=LinkKey(self.broker.secrets.link_seed).public,
                    report_every_s=0.3,
                    fenced_s=fenced_s,
                ).run(self._stop)
            finally:
                store.close()

        self._run = self.loop.begin(live())
        return self

    def stop(self) -> None:
        """As SIGTERM does."""
        if self._run is not None and self._stop is not None:
            self.loop._loop.call_soon_threadsafe(self._stop.set)
            self._run.result(WAIT_S)
        self._run = None

    @property
    def acts(self) -> bool:
        """Whether it has carried out a document; raises what ended it."""
        if self._run is not None and self._run.done():
            self._run.result()
        return bool(self.observed.get("version"))

    @property
    def row(self) -> Agent:
        return Agent.objects.get(broker__name=self.broker.name)

    @property
    def observed(self) -> dict[str, Any]:
        return self.row.observed or {}


def until(true: Callable[[], bool], what: str, within_s: float = WAIT_S) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def loop(transactional_db: None) -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def harbour(transactional_db: None) -> Harbour:
    return make_harbour()


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[dict[str, Broker]]:
    shared = BrokerSecrets.generate()
    brokers = {
        name: Broker(
            name,
            tmp_path / f"broker-{name}",
            BrokerSecrets.generate(client_key=shared.client_key),
        )
        for name in "abcd"
    }
    for broker in brokers.values():
        broker.start()
    yield brokers
    for broker in brokers.values():
        broker.kill()


@pytest.fixture
def agents(
    loop: Loop, harbour: Harbour, brokers: dict[str, Broker], tmp_path: Path
) -> Iterator[dict[str, Beside]]:
    agents = {
        name: Beside(loop, harbour, broker, tmp_path / name).start()
        for name, broker in brokers.items()
    }
    until(lambda: all(agent.acts for agent in agents.values()), "all have a document")
    yield agents
    for agent in agents.values():
        agent.stop()


def settled(execution: Any) -> bool:
    executions_tick()
    execution.refresh_from_db()
    return execution.state in ("succeeded", "failed", "stopped")


def succeeds(execution: Any) -> None:
    until(lambda: settled(execution), "the execution ends")
    assert execution.state == "succeeded", execution.failure


class Traffic:
    """A reliable publisher of `tides` at a, a consumer `gulls` at c, in the harbour's loop."""

    def __init__(self, loop: Loop, brokers: dict[str, Broker]) -> None:
        self.loop = loop
        self.brokers = brokers
        self.got: list[int] = []
        self._clients: list[Any] = []
        self._publisher: Any = None

    def publish(self, *numbers: int) -> None:
        self.loop.run(self._publish(numbers))

    async def _publish(self, numbers: tuple[int, ...]) -> None:
        # One connection: while the agent is away nobody is let in, who is in stays.
        self._publisher = self._publisher or await self._connect("a", "publisher", "p")
        stream = self._publisher.jetstream(timeout=5)
        for number in numbers:
            await stream.publish("weir.in.tides", str(number).encode())

    def open_the_way(self) -> int:
        """Send one message after the other until one arrives: interest has come all the way to a.
        Returns its number; all after it arrive."""
        number = -1
        while not self.got:
            number += 1
            self.publish(number)
            with contextlib.suppress(AssertionError):
                until(lambda: bool(self.got), "a message", 1.0)
        return self.got[0]

    def waiting(self, broker: str, neighbour: str) -> int:
        """Reliable messages in a broker's outbox for another."""
        return self.loop.run(self._waiting(broker, neighbour))

    async def _waiting(self, broker: str, neighbour: str) -> int:
        at = self.brokers[broker]
        client = await nats.connect(at.url, user="agent", password=at.secrets.agent_password)
        try:
            info = await client.jetstream(timeout=5).stream_info(f"WEIR_TO_{neighbour}")
            return int(info.state.messages)
        finally:
            await client.close()

    def consume(self) -> None:
        self.loop.run(self._consume())

    async def _consume(self) -> None:
        client = await self._connect("c", "gulls", "reader")

        async def keep(message: Any) -> None:
            self.got.append(int(message.data))

        stream = client.jetstream(timeout=5)
        await stream.subscribe(
            "weir.msg.tides.>", stream="WEIR_MSG_tides", ordered_consumer=True, cb=keep
        )

    async def _connect(self, broker: str, user: str, name: str) -> Any:
        at = self.brokers[broker]
        inbox = "_INBOX" if user == "publisher" else class_inbox(user)
        client = await asyncio.wait_for(
            nats.connect(
                at.url,
                user=user,
                password=at.secrets.client_key,
                name=name,
                inbox_prefix=inbox,
            ),
            WAIT_S,
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            self.loop.run(client.close())


@pytest.fixture
def traffic(loop: Loop, brokers: dict[str, Broker]) -> Iterator[Traffic]:
    traffic = Traffic(loop, brokers)
    yield traffic
    traffic.close()


def test_agents_come_observe_and_measure(agents: dict[str, Beside]) -> None:
    b = agents["b"]
    until(lambda: b.observed.get("links") == ["a", "c"], "links")
    assert b.row.state() == "live"
    assert b.row.product == "nats"
    assert b.row.facts["version"].startswith("2.")
    assert b.row.capabilities["admission"] == "enforced"
    until(lambda: Sample.objects.filter(broker__name="b").count() >= 2, "telemetry")
    sample = Sample.objects.filter(broker__name="b").latest("at").payload
    assert set(sample["links"]) == {"a", "c"}
    assert sample["broker"]["sync_always"] is True
    assert b.observed["problems"] == []


def test_settings_and_a_shift_are_executed_and_messages_arrive(
    agents: dict[str, Beside], harbour: Harbour, traffic: Traffic
) -> None:
    succeeds(start(harbour.system, [rate(None, 200.0)], [population(None, 1)]))
    assert agents["a"].observed["gates"] == {"tides": {"rate_per_s": 200.0, "burst": 5.0}}
    assert agents["c"].observed["limits"] == {"gulls": 1}
    traffic.consume()
    traffic.publish(*range(50))
    until(lambda: traffic.got == list(range(50)), "the first half")

    succeeds(start(harbour.system, [shift("a", "b", "c")]))
    # The switch is done when all have said so; what they observe is reported after that.
    links = {"a": ["c"], "b": ["c"], "c": ["a", "b", "d"]}
    until(lambda: all(agents[n].observed["links"] == links[n] for n in links), "the links")
    traffic.publish(*range(50, 100))
    until(lambda: traffic.got == list(range(100)), "all, once, in order")
    until(lambda: agents["c"].observed["admitted"] == {"gulls": 1}, "counted")
    # What entered at gates and what came to the brokers are of one accord.
    compared = Sample.objects.filter(payload__broker__entered_per_s__gt=0)
    until(compared.exists, "what entered is compared")
    assert not Sample.objects.filter(payload__has_key="suspect").exists()


def test_a_restarted_agent_goes_on_without_the_control_plane(
    agents: dict[str, Beside], harbour: Harbour, traffic: Traffic
) -> None:
    succeeds(start(harbour.system, [rate(None, 500.0)], [population(None, 1)]))
    traffic.consume()
    agents["b"].stop()
    agents["c"].stop()
    for name in "bc":
        agents[name].credential = "weira_revoked"
        agents[name].start()
    traffic.publish(*range(20))
    until(lambda: traffic.got == list(range(20)), "forwarded as told last")
    assert agents["c"].row.observed["limits"] == {"gulls": 1}


def test_a_state_directory_from_a_backup_is_not_believed(
    agents: dict[str, Beside],
    harbour: Harbour,
    traffic: Traffic,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    a = agents["a"]
    succeeds(start(harbour.system, [rate(None, 500.0)], [population(None, 1)]))
    traffic.consume()
    traffic.publish(*range(20))
    until(lambda: traffic.got == list(range(20)), "the first")
    backup = shutil.copytree(a.state, tmp_path / "backup")
    succeeds(start(harbour.system, [shift("a", "b", "c")]))
    a.stop()
    shutil.rmtree(a.state)
    shutil.copytree(backup, a.state)
    # The control plane, which could say what has changed, is away.
    right, a.credential = a.credential, "weira_revoked"
    a.start()
    until(lambda: "is an older copy" in caplog.text, "the agent knows")
    traffic.publish(*range(20, 40))
    a.stop()
    a.credential = right
    a.start()
    until(lambda: traffic.got == list(range(40)), "all, once, in order")


def test_two_processes_for_one_broker_do_not_act_at_once(
    agents: dict[str, Beside], loop: Loop, harbour: Harbour, tmp_path: Path
) -> None:
    first = agents["d"]
    second = Beside.__new__(Beside)
    second.__dict__.update(first.__dict__, state=tmp_path / "other", _run=None, _stop=None)
    incarnation = first.row.incarnation
    second.start(fenced_s=60.0)
    until(lambda: first.row.incarnation > incarnation, "the second has come")
    second.stop()
    until(lambda: first.row.incarnation > incarnation + 2, "the first comes back after a pause")
    until(lambda: first.acts, "and acts")


def test_messages_for_a_broker_whose_agent_was_revoked_wait_until_it_is_enrolled_anew(
    agents: dict[str, Beside], traffic: Traffic
) -> None:
    b, c = agents["b"], agents["c"]
    traffic.consume()
    first = traffic.open_the_way()
    agent_revoke(agent=c.row, actor=None)
    until(lambda: any("link to c is suspended" in p for p in b.observed["problems"]), "it rests")
    before = len(traffic.got)
    traffic.publish(*range(100, 120))
    until(lambda: traffic.waiting("b", "c") == 20, "what is for c waits at b")
    assert len(traffic.got) == before
    # The process under the old credential is refused; one with the new one takes over.
    c.stop()
    c.broker.secrets = replace(c.broker.secrets, link_seed=new_seed())
    _, c.credential = agent_enrol(broker=c.row.broker, actor=None)
    c.start()
    wanted = [*range(first, first + before), *range(100, 120)]
    until(lambda: traffic.got == wanted, "everything arrives once, in order")
    until(lambda: b.observed["problems"] == [], "nothing is wrong any more")


def test_a_simulated_fleet_executes_settings_and_a_shift(
    loop: Loop, harbour: Harbour, tmp_path: Path
) -> None:
    options = FleetOptions(
        control_plane="http://weir",
        credentials={
            name: agent_enrol(broker=broker, actor=None)[1]
            for name, broker in harbour.brokers.items()
        },
        state_dir=tmp_path,
        seed=4,
        speed=1.0,
        offered_per_s=100.0,
        crowd=10,
        report_every_s=0.3,
        ca_file=None,
    )
    stop = asyncio.Event()
    running = loop.begin(fleet.run(options, loop.client, stop))

    def observed(name: str) -> dict[str, Any]:
        if running.done():
            running.result()
        return Agent.objects.get(broker__name=name).observed or {}

    def sample(name: str) -> dict[str, Any]:
        return Sample.objects.filter(broker__name=name).latest("at").payload

    try:
        until(lambda: all(observed(name).get("version") for name in "abcd"), "all have a document")
        succeeds(start(harbour.system, [rate(None, 20.0)], [population(None, 1)]))
        until(lambda: Sample.objects.count() >= 12, "everybody measures")
        until(lambda: sample("c")["classes"]["gulls"]["admitted"] == 1, "one is admitted")
        until(
            lambda: 0 < sample("a")["flows"]["tides"]["passed_per_s"] <= 20.0 + 5.0 / 0.3 + 1,
            "the gate holds",
        )
        succeeds(start(harbour.system, [shift("a", "b", "c")]))
        # Said after the vote that the switch is made, not with it.
        until(lambda: observed("a")["links"] == ["c"], "the new link is in force")
        # The first samples after the shift may still be of the time before.
        until(lambda: "c" in sample("a")["links"], "the new link is measured")
        until(lambda: sample("a")["links"]["c"]["sent_per_s"] > 0, "messages take the new link")
        until(lambda: sample("c")["classes"]["gulls"].get("delivered_per_s", 0) > 0, "and arrive")
    finally:
        loop._loop.call_soon_threadsafe(stop.set)
        running.result(WAIT_S)


def test_an_agent_looks_at_what_waits_between_its_reports(
    loop: Loop, harbour: Harbour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: dict[Meter, list[int]] = defaultdict(lambda: [0])
    look, measure = Meter.look, Meter.measure

    def looked(meter: Meter, *readings: Any) -> None:
        looks[meter][-1] += 1
        look(meter, *readings)

    def measured(meter: Meter, *readings: Any, **more: Any) -> dict[str, Any]:
        telemetry = measure(meter, *readings, **more)
        looks[meter].append(0)
        return telemetry

    monkeypatch.setattr(Meter, "look", looked)
    monkeypatch.setattr(Meter, "measure", measured)
    options = FleetOptions(
        control_plane="http://weir",
        credentials={"a": agent_enrol(broker=harbour.brokers["a"], actor=None)[1]},
        state_dir=tmp_path,
        seed=4,
        speed=1.0,
        offered_per_s=100.0,
        crowd=0,
        report_every_s=2.5,
        ca_file=None,
    )
    stop = asyncio.Event()
    running = loop.begin(fleet.run(options, loop.client, stop))
    try:
        # Changes of what is in force are looks, too, so the first reports say nothing.
        until(
            lambda: any(max(between[2:-1], default=0) >= 3 for between in list(looks.values())),
            "it looks several times for one report",
        )
    finally:
        loop._loop.call_soon_threadsafe(stop.set)
        running.result(WAIT_S)
