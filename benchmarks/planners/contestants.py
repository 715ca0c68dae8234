"""Who takes part, with which settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LAMA = "lama"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A planner and how it is asked."""

    key: str
    label: str
    planner: str
    objective: str
    params: dict[str, Any] = field(default_factory=dict)
    ends_by_itself: bool
    """Then the planning time is the whole time; else it is when the best plan was found, as the
    paper counts for best-first search."""


def _ipitt(action_set: str) -> Contestant:
    return Contestant(
        key=f"ipitt-{action_set}",
        label=f"IPITT, action set {action_set}",
        planner="ipitt",
        objective="steps",
        params={"action_set": action_set, "first_length_only": True},
        ends_by_itself=True,
    )


def _slides(objective: str) -> Contestant:
    return Contestant(
        key=f"slides-{objective}",
        label=f"slides, fewest {objective}",
        planner="slides",
        objective=objective,
        ends_by_itself=False,
    )


CONVOY = Contestant(
    key="ipitt-N-actions",
    label="IPITT, N, fewest actions",
    planner="ipitt",
    objective="actions",
    params={"action_set": "N"},
    ends_by_itself=True,
)
"""Asked for the convoy only: its fewest steps need more actions than its fewest actions."""

CONTESTANTS = (
    _slides("actions"),
    _slides("steps"),
    _ipitt("E"),
    _ipitt("A"),
    _ipitt("N"),
    Contestant(
        key="best-first",
        label="best-first search",
        planner="best_first",
        objective="actions",
        ends_by_itself=False,
    ),
    Contestant(
        key=LAMA, label="LAMA (PDDL)", planner=LAMA, objective="actions", ends_by_itself=False
    ),
)
