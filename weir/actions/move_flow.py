"""Move one flow to another stream, into its first one, or out of the one that it has.

Weir keeps the map of flows to streams: the action is committed by changing it. It is done when the
brokers that send the flow to subscribers have handed it over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._map_moves import brokers as brokers
from weir.actions._map_moves import check_move, move_title, moved_back
from weir.actions._map_moves import is_takeaway as is_takeaway
from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action

KIND = "move_flow"
TITLE = "Move a flow to another stream"
SUMMARY = "The map has the flow in another stream; brokers that send it to subscribers follow."
PROTOCOL: ProtocolName = "setting"
FINAL = False


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
