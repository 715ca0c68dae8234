"""Set how many consumers of one class its broker admits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles
from weir.actions._targets import (
    MAX_LIMIT,
    check_different,
    check_members,
    check_target,
    not_negative,
    plain,
    swapped,
)
from weir.errors import InvalidProblem
from weir.reading import shown

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action, Value

KIND = "set_population"
TITLE = "Admit or release consumers"
SUMMARY = "The broker admits at most so many consumers of the class; the others wait."
PROTOCOL: ProtocolName = "setting"
FINAL = False


def brokers(action: Action) -> tuple[str, ...]:
    """Return the broker that the class is attached to."""
    return (action.target["broker"],)


def title(action: Action) -> str:
    """Describe the change, such as `Admit 40 consumers of gold at b2 (was 55)`."""
    who = f"{action.target['class']} at {action.target['broker']}"
    before = "no limit" if action.before is None else plain(action.before["limit"])
    if action.after is None:
        return f"Admit every consumer of {who} (limit was {before})"
    limit = action.after["limit"]
    noun = "consumer" if limit == 1 else "consumers"
    return f"Admit {plain(limit) if limit else 'no'} {noun} of {who} (was {before})"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former limit."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names class, flow and broker, and that limits are whole numbers from 0
    to `MAX_LIMIT`."""
    check_target(action, "class", "flow", "broker")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is None:
            continue
        check_members(value, name, "limit")
        path = f"{name}.limit"
        limit = not_negative(value["limit"], path)
        if limit != int(limit):
            raise InvalidProblem(path, f"must be a whole number, not {shown(value['limit'])}")
        if limit > MAX_LIMIT:
            raise InvalidProblem(path, f"more than {MAX_LIMIT:,} consumers")
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the limit falls, or is the first one."""
    if action.after is None:
        return False
    return action.before is None or _limit(action.after) < _limit(action.before)


def _limit(value: Value) -> float:
    return float(value["limit"])
