"""Kinds of action: one file per kind, found by folder.

`kind_of(action)` gives the module that knows what the action means; the functions below are
shorthands for it. `replay` carries steps out on paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._map_moves import called
from weir.actions._protocol import ActionKind, Edge, ProtocolName
from weir.actions._registry import kind_of, kinds
from weir.actions._replay import InForce, replay
from weir.actions._targets import (
    SettingKey,
    edge,
    same_value,
    setting_key,
    target_key,
    target_of,
)
from weir.model.plan import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from weir.model.plan import Action

__all__ = [
    "ActionKind",
    "Edge",
    "InForce",
    "ProtocolName",
    "SettingKey",
    "absent",
    "brokers",
    "called",
    "edge",
    "inverse",
    "inverse_steps",
    "is_final",
    "is_takeaway",
    "kind_of",
    "kinds",
    "protocol",
    "replay",
    "roles",
    "same_value",
    "setting_key",
    "target_key",
    "target_of",
    "title",
    "undo_title",
    "validate",
]


def protocol(action: Action) -> ProtocolName:
    """How the action is carried out: `setting` or `tree`."""
    return kind_of(action).PROTOCOL


def brokers(action: Action) -> tuple[str, ...]:
    """Return the names of the brokers that the action concerns."""
    return kind_of(action).brokers(action)


def absent(action: Action) -> frozenset[str]:
    """Return the brokers of the action that take no part because they are gone for good."""
    return kind_of(action).absent(action)


def is_final(action: Action) -> bool:
    """Return whether the action cannot be undone; `inverse` then raises InvalidProblem."""
    return kind_of(action).FINAL


def roles(action: Action) -> Mapping[str, str]:
    """Map each role of a tree action to its broker; a setting returns an empty mapping."""
    return kind_of(action).roles(action)


def title(action: Action) -> str:
    """Say in one line what the action does."""
    return kind_of(action).title(action)


def undo_title(action: Action) -> str:
    """Say in one line what undoing the action does."""
    return kind_of(action).undo_title(action)


def inverse(action: Action) -> Action:
    """Return the action that undoes this one; raise InvalidProblem where it is final. The inverse
    of the inverse is the action itself."""
    return kind_of(action).inverse(action)


def validate(action: Action) -> None:
    """Raise InvalidProblem that names the field where the action makes no sense."""
    kind_of(action).validate(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the action only lowers what a flow or class is allowed."""
    return kind_of(action).is_takeaway(action)


def inverse_steps(
    steps: Sequence[Step], done: Collection[tuple[int, int]] | None = None
) -> tuple[Step, ...]:
    """What undoes the steps: last first, each completed action inverted.

    `done` holds (index of step, index of action) of what was completed; None: everything.
    Steps of which nothing was completed are left out, and actions without an inverse.
    """
    undo = []
    for i in reversed(range(len(steps))):
        actions = steps[i].actions
        completed = [
            a
            for a in range(len(actions))
            if (done is None or (i, a) in done) and not is_final(actions[a])
        ]
        if completed:
            undo.append(Step(actions=tuple(inverse(actions[a]) for a in reversed(completed))))
    return tuple(undo)
