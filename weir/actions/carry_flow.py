"""Carry one flow: set its delivery promise and its ingress broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles
from weir.actions._targets import check_different, check_members, check_name, check_target, swapped
from weir.coordination.wire import Delivery
from weir.errors import InvalidProblem
from weir.reading import shown

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action, Value

KIND = "carry_flow"
TITLE = "Carry a flow"
SUMMARY = "Publishers send the flow to its ingress broker, and it is delivered as it promises."
PROTOCOL: ProtocolName = "setting"
FINAL = False
NOWHERE = ""
"""The ingress of a flow whose source nobody named: it is known, and enters at no broker."""


def brokers(action: Action) -> tuple[str, ...]:
    """Return the ingress brokers before and after the change. A flow without an ingress has no
    broker that confirms the change."""
    ingresses = [value["broker"] for value in (action.before, action.after) if value is not None]
    return tuple(dict.fromkeys(broker for broker in ingresses if broker != NOWHERE))


def title(action: Action) -> str:
    """Describe the change, such as `Carry tides from a, reliable`."""
    flow, before, after = action.target["flow"], action.before, action.after
    if after is None:
        return f"Stop carrying {flow}{_from(before)}"
    if before is None:
        return f"Carry {flow}{_from(after)}, {_promise(after)}"
    changes = []
    if before["broker"] != after["broker"]:
        old = before["broker"] or "nowhere"
        changes.append(f"from {after['broker'] or 'nowhere'} instead of {old}")
    if before["delivery"] != after["delivery"]:
        changes.append(f"as {_promise(after)} instead of {_promise(before)}")
    return f"Carry {flow} {' and '.join(changes)}"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former ingress and promise."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names a flow, and that each value holds a known promise and an ingress
    broker, or "" for none."""
    check_target(action, "flow")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is None:
            continue
        check_members(value, name, "delivery", "broker")
        if value["delivery"] not in set(Delivery):
            known = ", ".join(Delivery)
            raise InvalidProblem(
                f"{name}.delivery", f"must be one of {known}, not {shown(value['delivery'])}"
            )
        if value["broker"] != NOWHERE:
            check_name(value["broker"], f"{name}.broker")
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the flow is no longer carried."""
    return action.after is None


def _from(value: Value | None) -> str:
    return f" from {value['broker']}" if value is not None and value["broker"] else ""


def _promise(value: Value) -> str:
    return str(value["delivery"]).replace("_", " ")
