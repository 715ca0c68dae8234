"""What all kinds of action answer alike that set a value: one at a broker, or one that Weir keeps.

Each of them takes these as its own: `weir.actions._protocol.ActionKind` says what they are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge
    from weir.model.plan import Action


def absent(action: Action) -> frozenset[str]:
    """Return no broker: a setting is confirmed by a broker that is there, or by none."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """Return no roles: only the shift protocol assigns them."""
    return {}


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """A setting leaves the overlay as it is."""
    return frozenset(edges)
