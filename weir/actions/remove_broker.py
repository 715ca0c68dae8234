"""Remove brokers that are gone for good, and link their neighbours with each other instead.

This is the only action in which not all brokers take part. The target's members
are the roles; see `weir.coordination.removal`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._targets import check_no_values, check_target, edge
from weir.coordination import removal
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge, ProtocolName
    from weir.model.plan import Action

KIND = removal.KIND
TITLE = "Remove a broker that is gone"
SUMMARY = (
    "Brokers that are gone for good leave the overlay without their agents' consent; their "
    "neighbours are linked with each other. What only they held is lost."
)
PROTOCOL: ProtocolName = "tree"
FINAL = True


def brokers(action: Action) -> tuple[str, ...]:
    """Return the brokers that take part, then those that are gone."""
    return tuple(action.target[role] for role in sorted(action.target, key=removal.is_gone))


def absent(action: Action) -> frozenset[str]:
    """Return the brokers that are gone for good."""
    return frozenset(b for role, b in action.target.items() if removal.is_gone(role))


def roles(action: Action) -> Mapping[str, str]:
    """Map each role to its broker, including the brokers that are gone."""
    return dict(action.target)


def title(action: Action) -> str:
    """Describe the removal, such as `Remove b4, which is gone; link b2-b1 and b5-b1`."""
    gone = _listed(sorted(absent(action)))
    verb = "is" if len(absent(action)) == 1 else "are"
    new = [f"{action.target[a]}-{action.target[b]}" for a, b in removal.links(action.target)]
    return f"Remove {gone}, which {verb} gone" + (f"; link {_listed(new)}" if new else "")


def undo_title(action: Action) -> str:
    """Say that a removal cannot be undone and what to do instead."""
    gone = _listed(sorted(absent(action)))
    return f"Cannot be rolled back: enrol an agent for {gone} again and append it"


def inverse(action: Action) -> Action:
    """Raise InvalidProblem: a plan cannot bring back a broker that is gone."""
    why = undo_title(action)
    raise InvalidProblem("kind", f"{title(action)}: {why[0].lower()}{why[1:]}")


def validate(action: Action) -> None:
    """Check that the roles form a tree, all brokers differ and the action has no values."""
    why = removal.misfit(action.target)
    if why:
        raise InvalidProblem("target", why)
    check_target(action, *action.target)
    check_no_values(action)
    if len(set(action.target.values())) < len(action.target):
        raise InvalidProblem("target", "every broker has one role")


def is_takeaway(action: Action) -> bool:
    """Return False: only settings are ordered by what they take away."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """Remove every link of the brokers that are gone and link their neighbours instead.

    Raise InvalidProblem unless the brokers that are gone are linked with each other and the
    target names all their neighbours.
    """
    gone = absent(action)
    out = {pair for pair in edges if gone.intersection(pair)}
    attached = {broker for pair in out for broker in pair}
    for broker in sorted(gone - attached):
        raise InvalidProblem("target", f"{broker} is not in the overlay; plan again")
    neighbours = frozenset(action.target.values()) - gone
    if attached - gone != neighbours:
        raise InvalidProblem(
            "target",
            f"{_listed(sorted(gone))} had links to {_listed(sorted(attached - gone))}, not to "
            f"{_listed(sorted(neighbours))}; plan again",
        )
    if sum(gone.issuperset(pair) for pair in out) != len(gone) - 1:
        raise InvalidProblem("target", "those that are gone are not linked with each other")
    come = {edge(action.target[a], action.target[b]) for a, b in removal.links(action.target)}
    return (frozenset(edges) - out) | come


def _listed(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names) or "nobody"
    return f"{', '.join(names[:-1])} and {names[-1]}"
