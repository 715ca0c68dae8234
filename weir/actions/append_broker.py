"""Append a broker to the overlay as a leaf."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weir.actions._targets import check_no_values, check_target, edge, undone_effect
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge, ProtocolName
    from weir.model.plan import Action

KIND = "append_broker"
TITLE = "Append a broker"
SUMMARY = "A broker that is not in the overlay becomes a leaf beside one that is."
PROTOCOL: ProtocolName = "tree"
FINAL = False


def brokers(action: Action) -> tuple[str, ...]:
    """Return the new leaf and its neighbour, in this order."""
    return action.target["broker"], action.target["to"]


def absent(action: Action) -> frozenset[str]:
    """Return no broker: both brokers take part."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """Map the role `i` to the new leaf and `k` to its neighbour."""
    return {"i": action.target["broker"], "k": action.target["to"]}


def title(action: Action) -> str:
    """Describe the action, such as `Append b7 to b2`."""
    return f"Append {action.target['broker']} to {action.target['to']}"


def undo_title(action: Action) -> str:
    """Describe the inverse action, such as `Detach b7 from b2`."""
    return f"Detach {action.target['broker']} from {action.target['to']}"


def inverse(action: Action) -> Action:
    """Return the action that detaches the leaf again."""
    target = {"broker": action.target["broker"], "from": action.target["to"]}
    return replace(action, kind="detach_broker", target=target, effect=undone_effect(action.effect))


def validate(action: Action) -> None:
    """Check that the leaf and its neighbour differ and that the action has no values."""
    check_target(action, "broker", "to")
    check_no_values(action)
    if action.target["broker"] == action.target["to"]:
        raise InvalidProblem("target.to", "must be another broker")


def is_takeaway(action: Action) -> bool:
    """Return False: only settings are ordered by what they take away."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """Add the leaf's edge. An overlay without edges accepts any neighbour: it is the only broker.
    Raise InvalidProblem where the leaf is attached already or the neighbour is not."""
    leaf, neighbour = brokers(action)
    attached = {broker for pair in edges for broker in pair}
    if leaf in attached:
        raise InvalidProblem("target.broker", f"{leaf} is in the overlay already; plan again")
    if attached and neighbour not in attached:
        raise InvalidProblem("target.to", f"{neighbour} is not in the overlay; plan again")
    return frozenset(edges) | {edge(leaf, neighbour)}
