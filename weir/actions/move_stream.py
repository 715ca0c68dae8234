"""Move one stream to another group, into its first one, or out of the one that it has.

Weir keeps the map of streams to groups: the action is done when the map has changed, and no broker
confirms it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._targets import (
    check_different,
    check_members,
    check_name,
    check_target,
    swapped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge, ProtocolName
    from weir.model.plan import Action

KIND = "move_stream"
TITLE = "Move a stream to another group"
SUMMARY = "The map has the stream, with all its flows, in another group; receivers follow the map."
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
    """Describe the move, such as `Move stream s-3 from group g-1 to g-2`."""
    stream = action.target["stream"]
    if action.after is None:
        return f"Take stream {stream} out of group {_group(action.before)}"
    if action.before is None:
        return f"Put stream {stream} into group {_group(action.after)}"
    return f"Move stream {stream} from group {_group(action.before)} to {_group(action.after)}"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that moves the stream back."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names the stream and that values name a group."""
    check_target(action, "stream")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is not None:
            check_members(value, name, "group")
            check_name(value["group"], f"{name}.group")
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return False: a move limits nothing."""
    return False


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """A move leaves the overlay as it is."""
    return frozenset(edges)


def _group(value: Mapping[str, str] | None) -> str:
    return "" if value is None else value["group"]
