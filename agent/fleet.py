"""Run many agents in one process, each with a simulated broker, and generate their traffic.

The agents are real: sessions, documents, votes and reports go to the real control plane over HTTP,
and router, pumps and shifts are those of any agent. Only the brokers and their clients are
simulated: a publisher for every flow that enters at a broker, consumers for every class. The seed
determines their rates and numbers, so the same seed gives the same traffic.

`speed` shortens all waiting: with 10, ten seconds of gates and traffic pass in one. The times that
the control plane measures (leases, timeouts of actions) stay as they are.
"""

from __future__ import annotations

import asyncio
import logging
import random
import selectors
from dataclasses import dataclass
from pathlib import Path

import httpx

from agent.client import ControlPlane
from agent.drivers.base import Place
from agent.drivers.simulated.broker import VirtualBroker, VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.runtime import Runtime
from agent.store import Store
from agent.tasks import end

log = logging.getLogger("weir.agent.fleet")

TICK_S = 0.05
ASK_S = 2.0
"""The pause after which a refused consumer asks again."""
START_S = 0.02
"""The pause between the starts of two agents, so that hundreds do not connect at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """Hold the options of a fleet."""

    control_plane: str
    credentials: dict[str, str]
    """Broker, as its file is named -> credential."""
    state_dir: Path
    seed: int
    speed: float
    offered_per_s: float
    """Messages per second of one flow's publisher, on average over all flows."""
    crowd: int
    """Consumers that ask to be admitted to a class, on average over all classes."""
    report_every_s: float
    """The interval between reports in real seconds, whatever the speed."""
    ca_file: Path | None


class Crowd:
    """Simulate the publishers and consumers of one simulated broker."""

    def __init__(
        self, broker: VirtualBroker, *, seed: int, offered_per_s: float, crowd: int
    ) -> None:
        self._broker = broker
        self._seed = seed
        self._offered_per_s = offered_per_s
        self._crowd = crowd
        self._due: dict[str, float] = {}
        self._sent = 0

    def _draw(self, *what: str) -> random.Random:
        return random.Random("/".join((str(self._seed), self._broker.address, *what)))

    def rate_of(self, flow: str) -> float:
        """Return the messages per second that the publisher of a flow sends."""
        return self._offered_per_s * self._draw("flow", flow).uniform(0.2, 1.8)

    def consumer_count(self, name: str) -> int:
        """Return how many consumers ask to be admitted to a class."""
        return self._draw("class", name).randint(1, max(1, 2 * self._crowd - 1))

    def publish(self, seconds: float) -> None:
        """Publish what publishers send in this many seconds."""
        for channel, line in tuple(self._broker.lines.items()):
            if channel.place is not Place.INGRESS or line.ended:
                continue
            due = self._due.get(channel.flow, 0.0) + self.rate_of(channel.flow) * seconds
            count = int(due)
            self._due[channel.flow] = due - count
            if count:
                payloads = [b"%d" % (self._sent + i) for i in range(count)]
                self._sent += count
                self._broker.publish(channel.flow, channel.delivery, payloads)

    def ask_admission(self, now: float) -> None:
        """Ask for admission for every consumer that is not admitted."""
        for name in tuple(self._broker.book.classes):
            inside = {place.consumer for place in self._broker.book.places(name)}
            for number in range(self.consumer_count(name)):
                consumer = f"{name}#{number}"
                if consumer not in inside:
                    self._broker.ask(name, consumer, now)


async def _play(crowds: list[Crowd]) -> None:
    """Generate the traffic of all brokers until cancelled."""
    loop = asyncio.get_running_loop()
    last = asked_at = loop.time()
    while True:
        await asyncio.sleep(TICK_S)
        now = loop.time()
        for crowd in crowds:
            crowd.publish(now - last)
        last = now
        if now - asked_at >= ASK_S:
            asked_at = now
            for crowd in crowds:
                crowd.ask_admission(now)


async def run(options: FleetOptions, http: httpx.AsyncClient, stop: asyncio.Event) -> None:
    """Run all agents of a fleet until `stop` is set. Raises StoreError; an error of one agent ends
    all."""
    network = VirtualNetwork(asyncio.get_running_loop().time)
    names = sorted(options.credentials)
    stores: list[Store] = []
    try:
        for name in names:
            stores.append(Store(options.state_dir / name))
        crowds = [
            Crowd(
                network.at(_address(name)),
                seed=options.seed,
                offered_per_s=options.offered_per_s,
                crowd=options.crowd,
            )
            for name in names
        ]
        log.info("%d agents, seed %d, speed %g", len(names), options.seed, options.speed)
        playing = asyncio.create_task(_play(crowds), name="crowd")
        try:
            async with asyncio.TaskGroup() as group:
                for index, (name, store) in enumerate(zip(names, stores, strict=True)):
                    agent = _agent(options, http, network, name, store)
                    pause_s = index * START_S * options.speed
                    group.create_task(_late(pause_s, agent, stop), name=f"agent {name}")
        finally:
            await end(playing)
    finally:
        for store in stores:
            store.close()


def _address(name: str) -> str:
    return f"sim://{name}"  # the file names hold quoted names


def _agent(
    options: FleetOptions,
    http: httpx.AsyncClient,
    network: VirtualNetwork,
    name: str,
    store: Store,
) -> Runtime:
    address = _address(name)
    return Runtime(
        control=ControlPlane(
            options.control_plane, options.credentials[name], http, patience=options.speed
        ),
        store=store,
        driver=lambda broker: SimulatedDriver(network=network, address=address, broker=broker),
        product="simulated",
        address=address,
        report_every_s=options.report_every_s * options.speed,
        clock=asyncio.get_running_loop().time,
    )


async def _late(pause_s: float, agent: Runtime, stop: asyncio.Event) -> None:
    await asyncio.sleep(pause_s)
    await agent.run(stop)


class _Hurried(selectors.DefaultSelector):
    """Wait in real seconds when asked to wait in the loop's."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            timeout /= self._speed
        return super().select(timeout)


class HurriedLoop(asyncio.SelectorEventLoop):
    """Shorten all waiting to 1/`speed` of its time, as long as there is processor time left for
    it."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        super().__init__(_Hurried(speed))

    def time(self) -> float:
        return super().time() * self._speed
