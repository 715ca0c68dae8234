"""Define which role does what in each kind of action that changes the tree.

| kind | role | reads on | new link | relays marks | must have | must not have |
|---|---|---|---|---|---|---|
| shift_link | i | j | k | | j | k |
| shift_link | j | i, k | | i -> k, k -> i | i, k | |
| shift_link | k | j | i | | j | i |
| append_broker | i | | k | | | any link |
| append_broker | k | | i | | | i |
| detach_broker | i | j | | | j and no other | |
| detach_broker | j | i | | | i | |
| remove_broker | n... | | as the roles say | | a link to who is gone | the new |

Who is gone has no part; see `weir.coordination.removal`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from weir.coordination import removal
from weir.coordination.tables import Tables
from weir.errors import InvalidProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Describe what one role does; all names are roles."""

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
    gone: tuple[str, ...] = ()
    """Brokers that are gone for good: what waits for them here is carried over to the new links,
    and their own links end with the commit."""


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


def part_of(kind: str, role: str, peers: Collection[str] = ()) -> Part:
    """The part of `role` in an action of `kind`; `peers`: all its roles.

    Raises InvalidProblem for one that is unknown.
    """
    if kind == removal.KIND and role in peers and not removal.is_gone(role):
        why = removal.misfit(peers)
        if why:
            raise InvalidProblem("orders.peers", why)
        new = removal.linked_to(role, peers)
        return Part(new=new, lacks=new, gone=tuple(filter(removal.is_gone, peers)))
    try:
        return PARTS[kind][role]
    except KeyError:
        raise InvalidProblem("orders.kind", f"no role {role} in an action {kind}") from None


def is_known(kind: str, role: str, peers: Collection[str] = ()) -> bool:
    """Return whether this version knows the part; an agent may be older than the control plane."""
    try:
        part_of(kind, role, peers)
    except InvalidProblem:
        return False
    return True


def whole_links(part: Part, peers: Mapping[str, str], seen: Set[str]) -> list[str]:
    """Links on which everything of an attempt has come once the marks of `seen` have been read:
    what follows there is of the new order.

    A neighbour that relays (j) speaks for both others; from one that has a link of its own
    here only its own mark is to come.
    """
    return [
        peers[role]
        for role in part.inside
        if seen >= ({peers[role]} if part.relays else {peers[other] for other in part.marks_of})
    ]


def refusal(kind: str, role: str, peers: Mapping[str, str], tables: Tables) -> str:
    """Say why a broker with these tables cannot take this part; empty when it can."""
    part = part_of(kind, role, peers)
    gone = {peers[other] for other in part.gone}
    if gone and not gone & tables.links:
        return f"has no link to {' or '.join(sorted(gone))}"
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
