"""Detach a leaf from the overlay after its link was drained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weir.actions._targets import check_no_values, check_target, edge, undone_effect
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge, ProtocolName
    from weir.model.plan import Action

KIND = "detach_broker"
TITLE = "Detach a broker"
SUMMARY = "A leaf leaves the overlay after its link has been drained."
PROTOCOL: ProtocolName = "tree"
FINAL = False


def brokers(action: Action) -> tuple[str, ...]:
    """Return the leaf and its neighbour, in this order."""
    return action.target["broker"], action.target["from"]


def absent(action: Action) -> frozenset[str]:
    """Return no broker: the leaf takes part in its own removal."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """Map the role `i` to the leaf and `j` to its neighbour."""
    return {"i": action.target["broker"], "j": action.target["from"]}


def title(action: Action) -> str:
    """Describe the action, such as `Detach b7 from b2`."""
    return f"Detach {action.target['broker']} from {action.target['from']}"


def undo_title(action: Action) -> str:
    """Describe the inverse action, such as `Append b7 to b2`."""
    return f"Append {action.target['broker']} to {action.target['from']}"


def inverse(action: Action) -> Action:
    """Return the action that appends the leaf to the same neighbour again."""
    target = {"broker": action.target["broker"], "to": action.target["from"]}
    return replace(action, kind="append_broker", target=target, effect=undone_effect(action.effect))


def validate(action: Action) -> None:
    """Check that the leaf and its neighbour differ and that the action has no values."""
    check_target(action, "broker", "from")
    check_no_values(action)
    if action.target["broker"] == action.target["from"]:
        raise InvalidProblem("target.from", "must be another broker")


def is_takeaway(action: Action) -> bool:
    """Return False: only settings are ordered by what they take away."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """Remove the leaf's edge. Raise InvalidProblem where the edge is missing or the broker is not a
    leaf."""
    leaf, neighbour = brokers(action)
    if edge(leaf, neighbour) not in edges:
        raise InvalidProblem("target", f"no link {leaf}-{neighbour} in the overlay; plan again")
    if sum(leaf in pair for pair in edges) > 1:
        raise InvalidProblem("target.broker", f"{leaf} is not a leaf: it has other links")
    return frozenset(edges) - {edge(leaf, neighbour)}
