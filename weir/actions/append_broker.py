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
    """The new leaf and its neighbour."""
    return action.target["broker"], action.target["to"]


def absent(action: Action) -> frozenset[str]:
    """Nobody."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """`i` is the new leaf, `k` its neighbour."""
    return {"i": action.target["broker"], "k": action.target["to"]}


def title(action: Action) -> str:
    """Such as `Append b7 to b2`."""
    return f"Append {action.target['broker']} to {action.target['to']}"


def undo_title(action: Action) -> str:
    """Such as `Detach b7 from b2`."""
    return f"Detach {action.target['broker']} from {action.target['to']}"


def inverse(action: Action) -> Action:
    """Detach the leaf again."""
    target = {"broker": action.target["broker"], "from": action.target["to"]}
    return replace(action, kind="detach_broker", target=target, effect=undone_effect(action.effect))


def validate(action: Action) -> None:
    """Two different brokers, no values."""
    check_target(action, "broker", "to")
    check_no_values(action)
    if action.target["broker"] == action.target["to"]:
        raise InvalidProblem("target.to", "must be another broker")


def is_takeaway(action: Action) -> bool:
    """Trees have no order of taking and giving."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """One edge more. Where no edges are, the neighbour is the overlay's only broker."""
    leaf, neighbour = brokers(action)
    attached = {broker for pair in edges for broker in pair}
    if leaf in attached:
        raise InvalidProblem("target.broker", f"{leaf} is in the overlay already; plan again")
    if attached and neighbour not in attached:
        raise InvalidProblem("target.to", f"{neighbour} is not in the overlay; plan again")
    return frozenset(edges) | {edge(leaf, neighbour)}
