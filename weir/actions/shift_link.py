"""SHIFT(i, j, k): the overlay edge i-j becomes i-k along the edge j-k; the tree stays a tree.

Reference: Yoon et al., Planning the Transformation of Network Topologies (AAAI WS-12-12).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weir.actions._targets import check_no_values, check_target, edge, undone_effect
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge, ProtocolName
    from weir.model.plan import Action

KIND = "shift_link"
TITLE = "Shift a link"
SUMMARY = "The link i-j becomes i-k along the link j-k, without losing or reordering messages."
PROTOCOL: ProtocolName = "tree"
FINAL = False


def brokers(action: Action) -> tuple[str, ...]:
    """Return the brokers in the roles i, j and k, in this order."""
    return tuple(action.target[role] for role in ("i", "j", "k"))


def absent(action: Action) -> frozenset[str]:
    """Return no broker: all three take part in the shift."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """Map the roles `i`, `j` and `k` to their brokers."""
    return {role: action.target[role] for role in ("i", "j", "k")}


def title(action: Action) -> str:
    """Describe the shift, such as `Shift link b1-b2 to b1-b3`."""
    i, j, k = brokers(action)
    return f"Shift link {i}-{j} to {i}-{k}"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return SHIFT(i, k, j), which moves the link back."""
    i, j, k = brokers(action)
    return replace(action, target={"i": i, "j": k, "k": j}, effect=undone_effect(action.effect))


def validate(action: Action) -> None:
    """Check that i, j and k are three different brokers and that the action has no values."""
    check_target(action, "i", "j", "k")
    check_no_values(action)
    if len(set(brokers(action))) < 3:
        raise InvalidProblem("target", "i, j and k must be three different brokers")


def is_takeaway(action: Action) -> bool:
    """Return False: only settings are ordered by what they take away."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """Replace the edge i-j by i-k. Raise InvalidProblem unless i-j and j-k are there and i-k is
    not."""
    i, j, k = brokers(action)
    for a, b in ((i, j), (j, k)):
        if edge(a, b) not in edges:
            raise InvalidProblem("target", f"no link {a}-{b} in the overlay; plan again")
    if edge(i, k) in edges:
        raise InvalidProblem("target", f"link {i}-{k} is there already: the overlay has a cycle")
    return frozenset(edges) - {edge(i, j)} | {edge(i, k)}
