"""Assign publishers of a flow to a broker: it lets in these, and no others.

A topic whose publishers are spread over brokers has such a list at each of them (SRTM, section 2).
A publisher that is in no list is let in nowhere; a flow without lists takes every publisher at
every broker where it enters. A broker confirms a list when whoever is not in it has left, and all
that they had published there has passed every broker where they may go on: so a publisher that
leaves one list and then enters another keeps the order of its messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles
from weir.actions._targets import (
    check_different,
    check_members,
    check_name,
    check_target,
    swapped,
)
from weir.errors import InvalidProblem
from weir.reading import encodable, shown

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action, Value

KIND = "assign_publishers"
TITLE = "Assign publishers"
SUMMARY = (
    "The broker lets in these publishers of the flow; others are shown where they belong, and go "
    "on there once all that they had sent here has passed."
)
PROTOCOL: ProtocolName = "setting"
FINAL = False
MOST_PUBLISHERS = 20_000
"""The publishers that one list may name: they are part of plans and of agents' documents."""


def brokers(action: Action) -> tuple[str, ...]:
    """Return the broker that lets them in."""
    return (action.target["broker"],)


def title(action: Action) -> str:
    """Describe the change, such as `Let 12 more publishers of depth in at q-8 (20 then)`."""
    flow, broker = action.target["flow"], action.target["broker"]
    before, after = action.before, action.after
    if after is None:
        return f"End the list of publishers of {flow} at {broker}{_named(before)}"
    if before is None:
        if not after["publishers"]:
            return f"Let no publisher of {flow} in at {broker}"
        return f"Let only {_count(len(after['publishers']))} of {flow} in at {broker}"
    old, new = set(before["publishers"]), set(after["publishers"])
    gone, come = len(old - new), len(new - old)
    if not new:
        return f"Release {'the' if gone == 1 else 'all'} {_count(gone)} of {flow} from {broker}"
    if not old:
        return f"Let {_count(come)} of {flow} in at {broker}"
    if gone and come:
        return f"Let {_count(come)} of {flow} in at {broker} instead of {gone:,}{_then(after)}"
    if gone:
        return f"Release {_count(gone)} of {flow} from {broker}{_then(after)}"
    return f"Let {_count(come, 'more ')} of {flow} in at {broker}{_then(after)}"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former list."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names flow and broker, and that a list is sorted and names each
    publisher once."""
    check_target(action, "flow", "broker")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is None:
            continue
        check_members(value, name, "publishers")
        path, names = f"{name}.publishers", value["publishers"]
        if not isinstance(names, list | tuple):
            raise InvalidProblem(path, f"must be a list of names, not {shown(names)}")
        if len(names) > MOST_PUBLISHERS:
            raise InvalidProblem(
                path, f"has {len(names):,} names; a broker takes {MOST_PUBLISHERS:,} at most"
            )
        for index, publisher in enumerate(names):
            check_name(publisher, f"{path}[{index}]")
            encodable(publisher, f"{path}[{index}]")
            if index and not names[index - 1] < publisher:
                raise InvalidProblem(
                    f"{path}[{index}]", "must come after the one before: sort the names, each once"
                )
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether somebody is let in no more, and nobody comes anew."""
    if action.after is None:
        return False
    if action.before is None:
        return True
    return set(action.after["publishers"]) < set(action.before["publishers"])


def releases(action: Action) -> bool:
    """Return whether somebody has to leave, and all that it has sent has to pass."""
    if action.before is None:
        return True
    after = () if action.after is None else action.after["publishers"]
    return not set(action.before["publishers"]) <= set(after)


def _count(publishers: int, more: str = "") -> str:
    return f"{publishers:,} {more}publisher{'' if publishers == 1 else 's'}"


def _then(value: Value) -> str:
    return f" ({len(value['publishers']):,} then)"


def _named(value: Value | None) -> str:
    return "" if value is None else f" (named {len(value['publishers']):,})"
