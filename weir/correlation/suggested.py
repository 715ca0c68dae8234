"""Name what a search for publishers that burst together gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleRow:
    """When one member sent in the stretch that is shown."""

    publisher: str
    at_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Publishers that burst together, with the evidence; see docs/formats.md."""

    kind: Literal["event", "period"]
    members: tuple[str, ...]
    share: float
    by_chance: float
    spread_s: float
    bursts: int
    period_s: float | None
    phase_s: float | None
    rate_per_s: float
    example_since_s: float
    example_until_s: float
    example: tuple[ExampleRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """How many publishers keep a period, and how many of them are in a group."""

    period_s: float
    publishers: int
    grouped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggested:
    """The groups of one activity, and how many publishers could be judged."""

    since_s: float
    until_s: float
    messages: int
    publishers: int
    judged: int
    too_few: int
    periodic: int
    periods: Sequence[Period] = field(default_factory=tuple)
    groups: Sequence[Group] = field(default_factory=tuple)
