"""Who does what in each kind of action that changes the tree.

| kind | role | reads on | new link | relays marks | must have | must not have |
|---|---|---|---|---|---|---|
| shift_link | i | j | k | | j | k |
| shift_link | j | i, k | | i -> k, k -> i | i, k | |
| shift_link | k | j | i | | j | i |
| append_broker | i | | k | | | any link |
| append_broker | k | | i | | | i |
| detach_broker | i | j | | | j and no other | |
| detach_broker | j | i | | | i | |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from weir.coordination.tables import Tables
from weir.errors import InvalidProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one role does; all names are roles."""

    inside: tuple[str, ...] = ()
    """Neighbours in the action: marks are sent to them, and their links are read while pausing."""
    new: tuple[str, ...] = ()
    """Brokers to which the commit makes a link."""
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    alone: bool = False
    """Has no neighbours outside the action."""
    relays: Mapping[str, str] = field(default_factory=dict)
    """Origin of a mark -> to whom it is passed on."""
    marks_of: tuple[str, ...] = ()
    """Whose marks prove that nothing of the old order is on the way here."""
    pauses: bool = True


PARTS: Mapping[str, Mapping[str, Part]] = MappingProxyType(
    {
        "shift_link": {
            "i": Part(inside=("j",), new=("k",), has=("j",), lacks=("k",), marks_of=("j", "k")),
            "j": Part(
                inside=("i", "k"),
                has=("i", "k"),
                relays={"i": "k", "k": "i"},
                marks_of=("i", "k"),
            ),
            "k": Part(inside=("j",), new=("i",), has=("j",), lacks=("i",), marks_of=("i", "j")),
        },
        "append_broker": {
            "i": Part(new=("k",), lacks=("k",), alone=True, pauses=False),
            "k": Part(new=("i",), lacks=("i",), pauses=False),
        },
        "detach_broker": {
            "i": Part(inside=("j",), has=("j",), alone=True, marks_of=("j",)),
            "j": Part(inside=("i",), has=("i",), marks_of=("i",)),
        },
    }
)


def part_of(kind: str, role: str) -> Part:
    """The part of `role` in an action of `kind`. Raises InvalidProblem for one that is unknown."""
    try:
        return PARTS[kind][role]
    except KeyError:
        raise InvalidProblem("orders.kind", f"no role {role} in an action {kind}") from None


def refusal(kind: str, role: str, peers: Mapping[str, str], tables: Tables) -> str:
    """Why a broker with these tables cannot take this part; empty when it can."""
    part = part_of(kind, role)
    for other in part.has:
        if peers[other] not in tables.links:
            return f"has no link to {peers[other]}"
    for other in part.lacks:
        if peers[other] in tables.links:
            return f"already has a link to {peers[other]}"
    if part.alone:
        rest = tables.links - set(peers.values())
        if rest:
            return f"still has a link to {', '.join(sorted(rest))}"
    return ""
