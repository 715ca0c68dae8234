"""Move one flow to another stream, into its first one, or out of the one that it has.

Weir keeps the map of flows to streams: the action is done when the map has changed, and no broker
confirms it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._map_moves import check_move, move_title, moved_back

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge, ProtocolName
    from weir.model.plan import Action

KIND = "move_flow"
TITLE = "Move a flow to another stream"
SUMMARY = "The map has the flow in another stream; publishers and receivers follow the map."
PROTOCOL: ProtocolName = "setting"
FINAL = False


def brokers(action: Action) -> tuple[str, ...]:
    """Return no broker: the map is kept by Weir."""
    return ()


def absent(action: Action) -> frozenset[str]:
    """Return no broker: none takes part."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """Return no roles: only the shift protocol assigns them."""
    return {}


def title(action: Action) -> str:
    """Describe the move, such as `Move fx.EURO from stream s-3 to s-7`."""
    return move_title(action, action.target["flow"], within="stream")


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that moves the flow back."""
    return moved_back(action)


def validate(action: Action) -> None:
    """Check that the target names the flow and that values name a stream."""
    check_move(action, "flow", within="stream")


def is_takeaway(action: Action) -> bool:
    """Return False: a move limits nothing."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """A move leaves the overlay as it is."""
    return frozenset(edges)
