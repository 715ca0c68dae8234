"""What goes wrong in a life; everything is repaired a while after."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.lives import gone
from tests.lives.broker import Data
from tests.lives.disk import SimDisk
from tests.lives.network import CONTROL

if TYPE_CHECKING:
    from tests.lives.agents import Agent
    from tests.lives.world import World

KINDS = (
    *("kill", "die", "broker", "cut", "control", "links", "power", "freeze"),
    *("full", "sync", "slow", "clock", "control clock", "oversize", "strange"),
    *("lost", "restored", "twin", "erased", "silence", "answer", "destroyed", "away"),
)
"""Those of every life. A broker's disk that is set back to what it was seconds ago is played by
`--fault "set back"`: several of them within seconds can still cost a message."""


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
    _stop(world, agent.name, length / 2)


def _stop(world: World, name: str, seconds: float) -> None:
    broker = world.brokers[name]
    if not broker.up:
        return
    world.say("broker %s stops", name)
    world.counts["broker_crashes"] += 1
    broker.stop()
    world.consumers.disconnect(name)
    world.clock.after(seconds, _start_broker, world, name)


def _start_broker(world: World, name: str) -> None:
    if name not in world.gone.destroyed:
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
    stop_control(world, length / 2)


def stop_control(world: World, seconds: float) -> None:
    """Nobody is answered for a while."""
    if world.control.up:
        world.say("control plane stops")
        world.counts["control_crashes"] += 1
        world.control.stop()
        world.clock.after(seconds, world.control.start)


def _silence(world: World, agent: Agent, length: float) -> None:
    """The control plane stops before a report that comes soon, for longer than agents wait
    without asking each other."""
    world.control.reports_to_live = world.rng.randrange(6)
    world.control.outage_s = world.rng.uniform(8.0, 30.0)


def _answer(world: World, agent: Agent, length: float) -> None:
    """An agent dies when it has answered a peer that asked for an outcome, and is back at once."""
    agent.dies_answering = True


def _power(world: World, agent: Agent, length: float) -> None:
    """The machine of a broker and its agent loses power."""
    world.counts["power_failures"] += 1
    agent.kill("power failure", length, power=True)
    _stop_broker(world, agent, length)


def _freeze(world: World, agent: Agent, length: float) -> None:
    if agent.process is not None and agent.process.running:
        world.say("%s freezes", agent.name)
        world.counts["freezes"] += 1
        agent.process.freeze(length * 1.5)


def _full(world: World, agent: Agent, length: float) -> None:
    world.say("the disk of %s is full", agent.name)
    world.counts["full_disks"] += 1
    agent.disk.full = True
    world.clock.after(length / 2, setattr, agent.disk, "full", False)


def _broken_sync(world: World, agent: Agent, length: float) -> None:
    """fsync fails for a while; then the machine may lose power."""
    world.say("fsync of %s fails", agent.name)
    world.counts["failed_syncs"] += 1
    agent.disk.broken_sync = True
    world.clock.after(length / 2, setattr, agent.disk, "broken_sync", False)
    if world.rng.random() < 0.5:
        world.clock.after(length / 2 * world.rng.random(), _power, world, agent, 0.5)


def _slow(world: World, agent: Agent, length: float) -> None:
    world.counts["slow_disks"] += 1
    agent.disk.slow_s = world.rng.choice((0.05, 0.5))
    world.clock.after(length, setattr, agent.disk, "slow_s", 0.0)


def _lost_state(world: World, agent: Agent, length: float) -> None:
    world.say("the directory of %s is lost", agent.name)
    world.counts["lost_directories"] += 1
    world.audit.forgetful.add(agent.name)
    agent.kill("its directory is lost", length)
    agent.disk.restore({})


def _restored_state(world: World, agent: Agent, length: float) -> None:
    """An hour-old copy of the directory comes back; here it is some seconds old."""
    snapshot = agent.disk.snapshot()

    def restore() -> None:
        world.say("the directory of %s is what it was once", agent.name)
        world.counts["restored_directories"] += 1
        world.audit.forgetful.add(agent.name)
        agent.kill("its directory is restored", 0.3)
        agent.disk.restore(snapshot)

    world.clock.after(length, restore)


def _twin(world: World, agent: Agent, length: float) -> None:
    """Somebody starts a second agent elsewhere, since the first does not answer; it lives."""
    if agent.retired or any(twin.name == agent.name for twin in world.twins):
        return
    world.counts["twins"] += 1
    world.audit.forgetful.add(agent.name)
    _cut(world, agent, length)
    disk = SimDisk(world.rng)
    if world.rng.random() < 0.5:
        disk.restore({n: d for n, d in agent.disk.snapshot().items() if n != "lock"})
    twin = world.agents_class(world, agent.name, disk, host=f"{agent.name}'")
    world.twins.append(twin)
    twin.start()


def _links(world: World, agent: Agent, length: float) -> None:
    """Between two machines, in one direction or both."""
    other = world.rng.choice([name for name in world.names if name != agent.name])
    ways = world.rng.choice((1, 2, 3))
    world.say("%s and %s are cut off from each other (%d)", agent.name, other, ways)
    world.counts["cut_links"] += 1
    if ways & 1:
        world.network.block(agent.name, other, length)
    if ways & 2:
        world.network.block(other, agent.name, length)


def _clock(world: World, agent: Agent, length: float) -> None:
    """An agent's clock is set."""
    world.counts["clock_jumps"] += 1
    agent.clock_ahead_s += world.rng.choice((-3600.0, -5.0, 5.0, 3600.0))
    world.say("the clock of %s is set to %+.0f s", agent.name, agent.clock_ahead_s)


def _control_clock(world: World, agent: Agent, length: float) -> None:
    """The control plane's clock is set."""
    world.counts["control_clock_jumps"] += 1
    world.clock.ahead_s += world.rng.choice((-30.0, -3.0, 3.0, 30.0))
    world.say("the control plane's clock is set to %+.0f s", world.clock.ahead_s)


def _erased(world: World, agent: Agent, length: float) -> None:
    """A broker's disk is replaced by an empty one."""
    broker = world.brokers[agent.name]
    if not broker.up:
        return
    _stop_broker(world, agent, length)
    world.say("the data of broker %s is lost", agent.name)
    world.counts["lost_broker_data"] += 1
    world.audit.disk_lost(broker)
    broker.set_back(Data({}, {}))


def _set_back(world: World, agent: Agent, length: float) -> None:
    """A broker's disk is what it was some seconds ago."""
    broker = world.brokers[agent.name]
    data = broker.data()

    def restore() -> None:
        if broker.up:
            _stop_broker(world, agent, 0.5)
            world.say("the data of broker %s is what it was once", agent.name)
            world.counts["restored_broker_data"] += 1
            world.audit.disk_lost(broker)
            broker.set_back(data)

    world.clock.after(length, restore)


def _destroyed(world: World, agent: Agent, length: float) -> None:
    """A broker and its agent are destroyed with their disks, for good; a second one only beside
    the first. Two neighbours of one agent that go apart from each other can neither be removed
    before the other, if that agent has started anew and heard of neither: it does not vote."""
    name, out = agent.name, world.gone.out
    linked = any(name in edge and edge & out for edge in world.control.edges)
    if name not in out and len(out) < gone.MOST and (linked or not out):
        world.gone.destroy(name)


def _away(world: World, agent: Agent, length: float) -> None:
    """Broker and agent are away for longer than people wait; their disks stay."""
    if agent.retired:
        return
    away_s = world.rng.uniform(6.0, 20.0)
    world.say("%s is away for %.1f s", agent.name, away_s)
    world.counts["away"] += 1
    agent.kill("away", away_s)
    _stop(world, agent.name, away_s)


def _oversize(world: World, agent: Agent, length: float) -> None:
    flows = [flow for flow, source in world.ingress.items() if source == agent.name]
    if flows:
        flow = world.rng.choice(flows)
        world.counts["oversize"] += 1
        world.oversize.add(flow)
        world.clock.after(length / 2, world.oversize.discard, flow)


def _strange(world: World, agent: Agent, length: float) -> None:
    """A newer control plane orders what this agent does not know."""
    world.counts["strange_orders"] += 1
    control = world.control
    control.strange.add(agent.name)
    control.revision += 1
    control.tell()

    def end() -> None:
        control.strange.discard(agent.name)
        control.revision += 1
        control.tell()

    world.clock.after(length, end)


def repair(world: World) -> None:
    """Somebody looks: second agents are stopped, clocks are set right."""
    for twin in world.twins:
        twin.retired = True
        twin.kill("stopped by a person", 0.0)
    world.clock.ahead_s = 0.0
    for agent in world.agents.values():
        agent.clock_ahead_s = 0.0


FAULTS: dict[str, Callable[[World, Agent, float], None]] = {
    "kill": _kill,
    "die": _die,
    "broker": _stop_broker,
    "cut": _cut,
    "control": _stop_control,
    "power": _power,
    "freeze": _freeze,
    "full": _full,
    "sync": _broken_sync,
    "slow": _slow,
    "lost": _lost_state,
    "restored": _restored_state,
    "twin": _twin,
    "links": _links,
    "clock": _clock,
    "control clock": _control_clock,
    "erased": _erased,
    "set back": _set_back,
    "oversize": _oversize,
    "strange": _strange,
    "silence": _silence,
    "answer": _answer,
    "destroyed": _destroyed,
    "away": _away,
}
