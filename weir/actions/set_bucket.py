"""Set one broker's part of a topic's token bucket: rate r in msg/s, size b in messages.

A topic whose publishers are spread over brokers enters at each of them, and each enforces a part;
the parts add up to the topic's bucket (SRTM, section 2.1). A part of nothing lets nothing enter.
"""

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
from weir.reading import shown

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action, Value

KIND = "set_bucket"
TITLE = "Set a part of a topic's bucket"
SUMMARY = (
    "Publishers may send the flow to the broker, which passes at most b + r t messages of it in t "
    "seconds, or counts what that would hold."
)
PROTOCOL: ProtocolName = "setting"
FINAL = False
ENFORCE, COUNT = "enforce", "count"
"""What is done with a part: hold what exceeds it, or only count that."""


def brokers(action: Action) -> tuple[str, ...]:
    """Return the broker that enforces the part."""
    return (action.target["broker"],)


def title(action: Action) -> str:
    """Describe the change, such as `Give depth at q-8 36,740 tokens/s, bucket 16.03`."""
    flow, broker, before, after = (
        action.target["flow"],
        action.target["broker"],
        action.before,
        action.after,
    )
    if after is None:
        return f"End the part of the bucket of {flow} at {broker}{_was(before)}"
    if is_nothing(after):
        return f"Let nothing of {flow} enter at {broker}{_was(before)}"
    if after["mode"] == COUNT:
        return f"Count what {_part(after)} would hold of {flow} at {broker}{_was(before)}"
    return f"Give {flow} at {broker} {_part(after)}{_was(before)}"


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former part."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names flow and broker, and that a part has a rate with a size, or
    neither."""
    check_target(action, "flow", "broker")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is None:
            continue
        check_members(value, name, "rate_per_s", "size", "mode")
        rate = not_negative(value["rate_per_s"], f"{name}.rate_per_s")
        size = not_negative(value["size"], f"{name}.size")
        if value["mode"] not in (ENFORCE, COUNT):
            raise InvalidProblem(
                f"{name}.mode", f"must be {ENFORCE} or {COUNT}, not {shown(value['mode'])}"
            )
        if (rate == 0) != (size == 0):
            empty = "rate_per_s" if rate == 0 else "size"
            raise InvalidProblem(
                f"{name}.{empty}", "must be positive; a part of nothing has neither"
            )
        if rate == 0 and value["mode"] == COUNT:
            raise InvalidProblem(f"{name}.mode", "a part of nothing is enforced")
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the part shrinks in rate, or in size at the same rate, or ends."""
    return _order(action.after) < _order(action.before)


def is_nothing(value: Value) -> bool:
    """Return whether the part lets nothing enter."""
    return bool(value["rate_per_s"] == 0)


def _order(value: Value | None) -> tuple[float, float]:
    return (0.0, 0.0) if value is None else (value["rate_per_s"], value["size"])


def _part(value: Value) -> str:
    return f"{plain(value['rate_per_s'])} tokens/s, bucket {plain(value['size'])}"


def _was(value: Value | None) -> str:
    if value is None:
        return ""
    if is_nothing(value):
        return " (was closed)"
    counted = "counting " if value["mode"] == COUNT else ""
    return f" (was {counted}{_part(value)})"
