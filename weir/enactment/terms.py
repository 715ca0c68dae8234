"""What a judgement is made of: the policy, the past of each value, the verdict.

Rates are msg/s, populations consumers, ages seconds, charges and gains utility.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE, POPULATION = "rate", "population"


class Reason(StrEnum):
    """Why a change is left out."""

    BAND = "band"
    """Smaller than the band."""
    REVERSAL = "reversal"
    """Turns the value's last move around, and does not leave the band on the other side."""
    DWELL = "dwell"
    """The value changed too short a time ago."""
    CHARGE = "charge"
    """Gains less than moving costs."""
    ROOM = "room"
    """Does not fit without changes that are left out."""
    NO_NEED = "no_need"
    """Only gives something up, and no change that is kept needs the room."""


class Note(StrEnum):
    """What is special about a change that is kept."""

    FORCED = "forced"
    """It would have stayed, but a capacity or the model's bounds would be broken."""
    CUT = "cut"
    """It goes as far as there is room, not as far as was proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A policy; 0 judges nothing. Raises ValueError for a negative number."""

    band: float = 0.0
    """Share by which a value must move; a value that turns around must leave the band twice."""
    dwell_s: float = 0.0
    """How long a value stays after it changed."""
    charge_per_consumer: float = 0.0
    """Utility that admitting or releasing one consumer costs."""
    charge_per_rate_change: float = 0.0
    """Utility that changing a rate by 100 % of the larger value costs, in proportion below."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a finite number of at least 0")

    @property
    def idle(self) -> bool:
        """Return whether every threshold and charge is zero, so that nothing is judged."""
        return not (
            self.band or self.dwell_s or self.charge_per_consumer or self.charge_per_rate_change
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """When a value changed last and which way."""

    age_s: float | None = None
    """None: not known, so long ago."""
    direction: int = 0
    """+1 it rose, -1 it fell, 0 nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """A rate per flow and a number of consumers per class, by id."""

    rates: Mapping[str, float] = field(default_factory=dict)
    populations: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A value that was proposed to move."""

    kind: str
    """`rate` or `population`."""
    id: str
    before: float
    wanted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A change that is enacted; `after` is what is enacted of it."""

    change: Change
    after: float
    note: Note | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A change that is not enacted, and the numbers of the reason."""

    change: Change
    reason: Reason
    moved: float = 0.0
    """By which share the value would move (band, reversal)."""
    needed: float = 0.0
    """From which share on it would (band, reversal), or how long it stays, s (dwell)."""
    age_s: float = 0.0
    """Since it changed (dwell)."""
    gain: float = 0.0
    """Utility of this change alone, beside what is kept."""
    charge: float = 0.0
    """What it would cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to enact, what to leave out and why."""

    values: Values
    kept: tuple[Kept, ...]
    left_out: tuple[LeftOut, ...]
    utility_before: float
    utility_after: float
    charge: float
    """Of everything that is kept."""

    @property
    def net_gain(self) -> float:
        """Utility gained less what moving costs."""
        return self.utility_after - self.utility_before - self.charge
