"""Let parts of a topic's bucket follow its traffic, as a standing order.

While it is in force the control plane moves rate and size between the brokers' parts by what
agents measure; the sums stay those of the parts in force (SRTM, section 5.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._targets import check_different, check_members, check_target, plain, swapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.actions._protocol import Edge, ProtocolName
    from weir.model.plan import Action

KIND = "adapt_parts"
TITLE = "Adapt parts of a topic's bucket"
SUMMARY = (
    "While it is in force, rate and size move between the brokers' parts by what is measured; "
    "their sums stay."
)
PROTOCOL: ProtocolName = "setting"
FINAL = False


def brokers(action: Action) -> tuple[str, ...]:
    """Return the brokers whose parts may move."""
    names: set[str] = set()
    for value in (action.before, action.after):
        names.update(() if value is None else value["brokers"])
    return tuple(sorted(names))


def absent(action: Action) -> frozenset[str]:
    """Return no broker: a setting is confirmed by a broker that is there."""
    return frozenset()


def roles(action: Action) -> Mapping[str, str]:
    """Return no roles: only the shift protocol assigns them."""
    return {}


def title(action: Action) -> str:
    """Describe the change, such as `Adapt the parts of depth to its traffic every 1 s`."""
    flow, after = action.target["flow"], action.after
    if after is None:
        return f"End the adaptation of the parts of {flow}"
    return (
        f"Adapt the parts of {flow} to its traffic every {plain(after['period_s'])} s, by the last "
        f"{plain(after['window_s'])} s"
    )


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former order."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names the flow, and that a value holds what the adaptation needs."""
    check_target(action, "flow")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is not None:
            check_members(value, name, "window_s", "period_s", "least_share", "brokers")
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the adaptation ends."""
    return action.after is None


def apply_edges(edges: Set[Edge], action: Action) -> frozenset[Edge]:
    """A setting leaves the overlay as it is."""
    return frozenset(edges)
