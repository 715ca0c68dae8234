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
    """The leaf and its neighbour."""
    return action.target["broker"], action.target["from"]


def absent(action: Action) -> frozenset[str]:
    """Nobody."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """`i` is the leaf, `j` its neighbour."""
    return {"i": action.target["broker"], "j": action.target["from"]}


def title(action: Action) -> str:
    """Such as `Detach b7 from b2`."""
    return f"Detach {action.target['broker']} from {action.target['from']}"


def undo_title(action: Action) -> str:
    """Such as `Append b7 to b2`."""
    return f"Append {action.target['broker']} to {action.target['from']}"


def inverse(action: Action) -> Action:
    """Append the leaf again."""
    target = {"broker": action.target["broker"], "to": action.target["from"]}
    return replace(action, kind="append_broker", target=target, effect=undone_effect(action.effect))


def validate(action: Action) -> None:
    """Two different brokers, no values."""
    check_target(action, "broker", "from")
    check_no_values(action)
    if action.target["broker"] == action.target["from"]:
        raise InvalidProblem("target.from", "must be another broker")


def is_takeaway(action: Action) -> bool:
    """Trees have no order of taking and giving."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """One edge less; the broker must be a leaf on that edge."""
    leaf, neighbour = brokers(action)
    if edge(leaf, neighbour) not in edges:
        raise InvalidProblem("target", f"no link {leaf}-{neighbour} in the overlay; plan again")
    if sum(leaf in pair for pair in edges) > 1:
        raise InvalidProblem("target.broker", f"{leaf} is not a leaf: it has other links")
    return frozenset(edges) - {edge(leaf, neighbour)}
