"""Serve one consumer class at its broker: its consumers may connect and receive a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles
from weir.actions._targets import check_different, check_members, check_name, check_target, swapped

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action

KIND = "serve_class"
TITLE = "Serve a consumer class"
SUMMARY = "Consumers of the class are let in at its broker, up to its limit, and receive a flow."
PROTOCOL: ProtocolName = "setting"
FINAL = False


def brokers(action: Action) -> tuple[str, ...]:
    """Return the broker that the class is attached to."""
    return (action.target["broker"],)


def title(action: Action) -> str:
    """Describe the change, such as `Serve gulls at c with tides`."""
    who = f"{action.target['class']} at {action.target['broker']}"
    if action.after is None:
        return f"Stop serving {who}"
    if action.before is None:
        return f"Serve {who} with {action.after['flow']}"
    return f"Serve {who} with {action.after['flow']} instead of {action.before['flow']}"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former flow."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names a class and its broker, and each value a flow."""
    check_target(action, "class", "broker")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is None:
            continue
        check_members(value, name, "flow")
        check_name(value["flow"], f"{name}.flow")
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the class is no longer served, so that its consumers have to leave."""
    return action.after is None
