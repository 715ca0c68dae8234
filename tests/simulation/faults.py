"""What goes wrong in a run: crashes of agents, brokers and the control plane, cut-off agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.world import World


_KINDS = (
    *("agent", "agent", "effect", "effect", "copy"),
    *("broker", "cut", "control", "silence", "answer"),
)


def schedule(world: World, until: float) -> None:
    """Put faults into the first `until` seconds; everything is repaired a while after."""
    rng, clock = world.clock.rng, world.clock
    names = sorted(world.agents)
    for _ in range(rng.choice((0, 1, 2, 3, 4, 6))):
        at, name = rng.uniform(0.2, until), rng.choice(names)
        kind = rng.choice(_KINDS)
        length = rng.choice((0.05, 0.3, 1.0, 2.0, 5.0, 9.0)) * rng.uniform(0.5, 1.5)
        if kind == "agent":
            clock.after(at, _kill, world, name, length)
        elif kind == "effect":
            clock.after(at, _doom_effect, world, name, rng.randrange(12), length)
        elif kind == "copy":
            clock.after(at, _doom_copy, world, name, length)
        elif kind == "broker":
            clock.after(at, stop_broker, world, name, length / 2)
        elif kind == "cut":
            clock.after(at, _cut_off, world, name, length)
        elif kind == "answer":
            clock.after(at, _doom_answer, world, name)
        elif kind == "silence":
            clock.after(at, _doom_control, world, rng.randrange(6), rng.uniform(8.0, 30.0))
        else:
            clock.after(at, stop_control, world, length / 2)


def _kill(world: World, name: str, length: float) -> None:
    world.agents[name].restart_after = length
    world.agents[name].die("killed")


def _doom_effect(world: World, name: str, count: int, length: float) -> None:
    """Die after that many effects more."""
    world.agents[name].restart_after = length
    world.agents[name].effects_to_live = count


def _doom_copy(world: World, name: str, length: float) -> None:
    """Die in the middle of copying the next message to its outboxes."""
    world.agents[name].restart_after = length
    world.agents[name].dies_copying = True


def _doom_answer(world: World, name: str) -> None:
    """Die when a peer has been answered, and be back at once."""
    world.agents[name].restart_after = 0.1
    world.agents[name].dies_answering = True


def stop_broker(world: World, name: str, length: float) -> None:
    """Its connections end; what it holds stays."""
    broker = world.brokers[name]
    if not broker.up:
        return
    world.say("broker %s stops", name)
    world.counts["broker_crashes"] += 1
    broker.up = False
    broker.admitted = {name: set() for name in broker.admitted}
    world.clock.after(length, _start_broker, world, name)


def _start_broker(world: World, name: str) -> None:
    if name in world.gone.destroyed:
        return
    world.say("broker %s is back", name)
    world.brokers[name].up = True
    for agent in world.agents.values():
        agent.wake()


def _cut_off(world: World, name: str, length: float) -> None:
    if name not in world.network.cut_off:
        world.say("%s is cut off from the control plane", name)
        world.counts["partitions"] += 1
        world.network.cut_off.add(name)
        world.clock.after(length, _joined, world, name)


def _joined(world: World, name: str) -> None:
    world.say("%s reaches the control plane again", name)
    world.network.cut_off.discard(name)


def _doom_control(world: World, count: int, length: float) -> None:
    """Stop before a report that comes soon, for longer than agents wait without asking."""
    world.control.reports_to_live, world.control.outage_s = count, length


def stop_control(world: World, length: float) -> None:
    """Nobody is answered for a while."""
    if world.control.up:
        world.say("control plane stops")
        world.counts["control_crashes"] += 1
        world.control.stop()
        world.clock.after(length, world.control.start)
