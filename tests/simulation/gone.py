"""Brokers that are gone: destroyed with their disks, or away for longer than people wait.

People plan a repair for whoever is silent, also for those who come back in the middle of it. What
a broker held when it was destroyed or removed is lost with it, and nothing else may be.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.actions import Change, Edge
from tests.simulation.brokers import Message
from tests.simulation.faults import stop_broker
from weir.coordination.effects import Mark
from weir.coordination.removal import gone_role, neighbour_role

if TYPE_CHECKING:
    from tests.simulation.world import World

SILENT_S = 3.0
"""How long people wait after a lease has run out."""
LOOK_S = 0.5
HASTY = 5
"""How often people try to remove somebody who is not destroyed."""


class Gone:
    """The fault, the people who repair, and what is excused."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = Random(f"gone {world.seed}")
        self.happens = not world.quiet and self.rng.random() < world.gone_share
        self.destroyed: set[str] = set()
        self.excused: dict[str, set[Message]] = defaultdict(set)
        """Broker -> messages that its consumers may miss."""
        self._tries = 0

    @property
    def out(self) -> set[str]:
        """Brokers nobody expects anything of."""
        return self.destroyed | self.world.control.removed

    def schedule(self, until: float) -> None:
        """One or two brokers, at any time."""
        if not self.happens:
            return
        clock = self.world.clock
        names = self.rng.sample(self.world.names, self.rng.choice((1, 1, 2)))
        for name in names:
            at = self.rng.uniform(0.2, until)
            if self.rng.random() < 0.6:
                clock.after(at, self._destroy, name)
            else:
                clock.after(at, self._leave, name, self.rng.uniform(6.0, 20.0))
        clock.after(LOOK_S, self._look)

    # --- the fault

    def _destroy(self, name: str) -> None:
        world = self.world
        if name in self.out:
            return
        world.say("%s is destroyed", name)
        world.counts["destroyed"] += 1
        self.destroyed.add(name)
        self.excuse(name)
        agent, broker = world.agents[name], world.brokers[name]
        broker.up = agent.alive = agent.running = False
        agent.life += 1
        broker.ingress.clear()
        broker.outboxes.clear()
        for other in world.agents.values():
            other.flying.discard(name)

    def _leave(self, name: str, length: float) -> None:
        """Broker and agent are away, their disks stay."""
        world = self.world
        if name in self.out or not world.brokers[name].up:
            return
        world.counts["away"] += 1
        world.say("%s is away for %.1f s", name, length)
        world.agents[name].restart_after = length
        world.agents[name].die("away")
        stop_broker(world, name, length)

    def excuse(self, name: str) -> None:
        """What this broker holds now may be missed by those it was on the way to."""
        broker = self.world.brokers[name]
        for message in broker.ingress:
            if not isinstance(message, Mark):
                for there in self.world.names:
                    self.excused[there].add(message)
        edges = {e for e in self.world.control.edges if name not in e}
        for neighbour, outbox in broker.outboxes.items():
            held = {m for m in outbox.queue if not isinstance(m, Mark)}
            self.world.counts["held_by_the_gone"] += len(held)
            for there in _part(neighbour, edges):
                self.excused[there] |= held

    def lost(self, broker: str, flow: str, first: int, last: int) -> bool:
        """Whether all of these were lost with somebody."""
        if any((flow, n) not in self.excused[broker] for n in range(first, last + 1)):
            return False
        self.world.counts["lost_with_the_gone"] += last + 1 - first
        return True

    # --- the repair

    def _look(self) -> None:
        world = self.world
        world.clock.after(LOOK_S, self._look)
        control = world.control
        if not control.up or not control.ended:
            return
        silent = {
            name
            for name, lease in control.leases.items()
            if name not in control.removed and world.clock.now > (lease.until or 0.0) + SILENT_S
        }
        members = {b for edge in control.edges for b in edge}
        for name in sorted(silent & self.destroyed - members):
            control.remove(name)
        if not silent & self.destroyed:
            self._tries += bool(silent)
            if self._tries > HASTY:
                return
        for group in _groups(silent & members, control.edges):
            neighbours = sorted({b for e in control.edges if e & group for b in e - group})
            self.rng.shuffle(neighbours)
            if neighbours and not set(neighbours) & silent:
                control.execute([[self._removal(group, neighbours)]], pace_s=0.0, max_parallel=1)
                return

    def _removal(self, group: set[str], neighbours: list[str]) -> Change:
        roles = {gone_role(i): name for i, name in enumerate(sorted(group), 1)}
        for i, name in enumerate(neighbours, 1):
            roles[neighbour_role(i, self.rng.randint(1, i - 1) if i > 1 else None)] = name
        return Change(kind="remove_broker", peers=roles)


def _part(start: str, edges: set[Edge]) -> set[str]:
    reached, todo = {start}, [start]
    while todo:
        here = todo.pop()
        for edge in edges:
            if here in edge:
                todo += edge - reached
                reached |= edge
    return reached


def _groups(names: set[str], edges: set[Edge]) -> list[set[str]]:
    """Those that are linked with each other, together."""
    inside = {e for e in edges if e <= names}
    groups: list[set[str]] = []
    for name in sorted(names):
        if not any(name in group for group in groups):
            groups.append(_part(name, inside))
    return groups
