"""Move one stream to another group, into its first one, or out of the one that it has.

Weir keeps the map of streams to groups: the action is committed by changing it. It is done when the
brokers that send its flows to subscribers have handed them over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._map_moves import brokers as brokers
from weir.actions._map_moves import called, check_move, move_title, moved_back
from weir.actions._map_moves import is_takeaway as is_takeaway
from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action

KIND = "move_stream"
TITLE = "Move a stream to another group"
SUMMARY = "The map has the stream, with all its flows, in another group; brokers follow."
PROTOCOL: ProtocolName = "setting"
FINAL = False


def title(action: Action) -> str:
    """Describe the move, such as `Move stream s-3 from group g-1 to g-2`."""
    return move_title(action, called("stream", action.target["stream"]), within="group")


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that moves the stream back."""
    return moved_back(action)


def validate(action: Action) -> None:
    """Check that the target names the stream and that values name a group."""
    check_move(action, "stream", within="group")
