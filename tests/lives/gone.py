"""Brokers that are gone, and the people who remove them.

Brokers are destroyed with their disks, or away for longer than people wait. People plan a removal
for whoever is silent, also for those who come back in the middle of it. What a broker held when it
was destroyed or removed is lost with it, and nothing else may be.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.lives.actions import Change, Edge
from weir.coordination.removal import KIND, gone_role, neighbour_role

if TYPE_CHECKING:
    from tests.lives.world import World

SILENT_S = 3.0
"""How long people wait after a lease has run out."""
LOOK_S = 0.5
HASTY = 5
"""How often people try to remove somebody who is not destroyed."""
MOST = 2
"""How many brokers are destroyed or removed in one life, so that somebody stays."""


class Gone:
    """Who is gone, what is excused with them, and the people who repair."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = Random(f"gone {world.seed}")
        self.destroyed: set[str] = set()
        self._tries = 0

    @property
    def out(self) -> set[str]:
        """Brokers nobody expects anything of."""
        return self.destroyed | self.world.control.removed

    def destroy(self, name: str) -> None:
        """A broker and its agent, with their disks."""
        world = self.world
        world.say("%s is destroyed", name)
        world.counts["destroyed"] += 1
        self.destroyed.add(name)
        self.excuse(name)
        agent, broker = world.agents[name], world.brokers[name]
        agent.retired = True
        agent.kill("it is destroyed", 0.0)
        broker.stop()
        broker.streams.clear()
        world.consumers.disconnect(name)

    def excuse(self, name: str) -> None:
        """What this broker holds now may be missed by those it was on the way to."""
        edges = {edge for edge in self.world.control.edges if name not in edge}
        self.world.audit.excuse(
            self.world.brokers[name],
            lambda neighbour: _part(neighbour, edges) if neighbour else self.world.names,
        )

    def look(self) -> None:
        """People look whether somebody is silent, now and again; they plan what removes him."""
        self.world.clock.after(LOOK_S, self.look)
        control = self.world.control
        if not control.up or not control.ended:
            return
        silent = {
            name
            for name, lease in control.leases.items()
            if name not in control.removed
            and self.world.clock.now > (lease.until or 0.0) + SILENT_S
        }
        members = {broker for edge in control.edges for broker in edge}
        for name in sorted(silent & self.destroyed - members):
            control.remove(name)
        if not silent & self.destroyed:
            self._tries += bool(silent)
            if self._tries > HASTY:
                return
        for group in _groups(silent & members, control.edges):
            neighbours = sorted({b for edge in control.edges if edge & group for b in edge - group})
            self.rng.shuffle(neighbours)
            some_stay = len(self.out | group) <= MOST
            if neighbours and some_stay and not set(neighbours) & silent:
                control.execute([[self._removal(group, neighbours)]], pace_s=0.0, max_parallel=1)
                return

    def _removal(self, group: set[str], neighbours: list[str]) -> Change:
        roles = {gone_role(i): name for i, name in enumerate(sorted(group), 1)}
        for i, name in enumerate(neighbours, 1):
            roles[neighbour_role(i, self.rng.randint(1, i - 1) if i > 1 else None)] = name
        return Change(kind=KIND, peers=roles)


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
    inside = {edge for edge in edges if edge <= names}
    groups: list[set[str]] = []
    for name in sorted(names):
        if not any(name in group for group in groups):
            groups.append(_part(name, inside))
    return groups
