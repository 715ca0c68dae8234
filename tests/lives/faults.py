"""What goes wrong in a life; everything is repaired a while after."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.lives.control import CONTROL

if TYPE_CHECKING:
    from tests.lives.agents import Agent
    from tests.lives.world import World

KINDS = ("kill", "die", "broker", "cut", "control")


def schedule(world: World, until: float) -> None:
    """Put faults into the first `until` seconds."""
    rng, clock = world.rng, world.clock
    for _ in range(rng.choice((0, 1, 2, 3, 4, 6))):
        at, name = rng.uniform(0.2, until), rng.choice(world.names)
        kind = rng.choice(world.kinds)
        length = rng.choice((0.05, 0.3, 1.0, 2.0, 5.0, 8.0)) * rng.uniform(0.5, 1.5)
        clock.after(at, FAULTS[kind], world, world.agents[name], length)


def _kill(world: World, agent: Agent, length: float) -> None:
    agent.kill("killed", length)


def _die(world: World, agent: Agent, length: float) -> None:
    """Die at one of the next calls that write to the directory."""
    left = world.rng.randrange(12)

    def count() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            agent.disk.on_operation = lambda: None
            agent.kill("while it writes", length)

    agent.disk.on_operation = count


def _stop_broker(world: World, agent: Agent, length: float) -> None:
    broker = world.brokers[agent.name]
    if not broker.up:
        return
    world.say("broker %s stops", agent.name)
    world.counts["broker_crashes"] += 1
    broker.stop()
    world.consumers.disconnect(agent.name)
    world.clock.after(length / 2, _start_broker, world, agent.name)


def _start_broker(world: World, name: str) -> None:
    world.say("broker %s is back", name)
    world.brokers[name].start()


def _cut(world: World, agent: Agent, length: float) -> None:
    """From the control plane, in one direction or both."""
    world.counts["partitions"] += 1
    ways = world.rng.choice((1, 2, 3))
    world.say("%s is cut off from the control plane (%d)", agent.name, ways)
    if ways & 1:
        world.network.block(agent.name, CONTROL, length)
    if ways & 2:
        world.network.block(CONTROL, agent.name, length)


def _stop_control(world: World, agent: Agent, length: float) -> None:
    if world.control.up:
        world.say("control plane stops")
        world.counts["control_crashes"] += 1
        world.control.stop()
        world.clock.after(length / 2, world.control.start)


FAULTS: dict[str, Callable[[World, Agent, float], None]] = {
    "kill": _kill,
    "die": _die,
    "broker": _stop_broker,
    "cut": _cut,
    "control": _stop_control,
}
