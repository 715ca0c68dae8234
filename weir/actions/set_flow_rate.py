"""Set the token bucket of one flow at its ingress broker: rate r in msg/s, burst b in messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles
from weir.actions._targets import (
    check_different,
    check_members,
    check_target,
    not_negative,
    plain,
    swapped,
)
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action, Value

KIND = "set_flow_rate"
TITLE = "Set a flow's rate"
SUMMARY = "The gate at the ingress broker passes at most b + r t messages of the flow in t seconds."
PROTOCOL: ProtocolName = "setting"
FINAL = False
LEAST_BURST = 1.0
"""A bucket that never holds a whole token never passes a message."""


def brokers(action: Action) -> tuple[str, ...]:
    """Return the ingress broker, which applies the limit."""
    return (action.target["broker"],)


def title(action: Action) -> str:
    """Describe the change, such as `Set orders at b1 from 90 msg/s to 120 msg/s, burst 12`."""
    flow, broker = action.target["flow"], action.target["broker"]
    if action.after is None:
        return f"Stop limiting {flow} at {broker} (was {_rate(action.before)})"
    start = f" from {_rate(action.before)}" if action.before is not None else ""
    return f"Set {flow} at {broker}{start} to {_rate(action.after)}, {_burst(action.after)}"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former rate and burst."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names flow and broker, that rates are finite and not negative, and that
    a burst holds at least one message."""
    check_target(action, "flow", "broker")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is None:
            continue
        check_members(value, name, "rate_per_s", "burst")
        not_negative(value["rate_per_s"], f"{name}.rate_per_s")
        if not_negative(value["burst"], f"{name}.burst") < LEAST_BURST:
            raise InvalidProblem(
                f"{name}.burst", "below 1 message: nothing would ever pass; give at least 1"
            )
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the rate falls, or the burst shrinks at the same rate. A first limit counts
    too."""
    if action.after is None:
        return False
    if action.before is None:
        return True
    return _order(action.after) < _order(action.before)


def _order(value: Value) -> tuple[float, float]:
    return value["rate_per_s"], value["burst"]


def _rate(value: Value | None) -> str:
    return "no limit" if value is None else f"{plain(value['rate_per_s'])} msg/s"


def _burst(value: Value) -> str:
    return f"burst {plain(value['burst'])}"
