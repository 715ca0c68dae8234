"""Say what an objective's error budget is, how much is left, and how fast it burns.

An objective is a share of the minutes of its window in which its target must hold; the others are
its budget. A burn rate of 1 spends the whole budget in one window. Alerts look at a long and a
short stretch at once: the long one says that it matters, the short one that it goes on.

A minute that nobody measured is not missed: rates are of all minutes of a stretch, so that a few
measured ones raise no alert. Figures are computed as fractions of the objective as it was typed:
1 % of 30 days is 432 minutes, and 432 missed ones spend it.

Reference: B. Beyer et al. The Site Reliability Workbook. O'Reilly 2018, chapter 5, table 5-8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from apps.pipeline.domain.steps import MINUTE_S

USUAL_WINDOW_S = 30 * 86_400
"""The window for which the stretches of alerts are stated."""


class Severity(StrEnum):
    """How soon somebody must look."""

    PAGE = "page"
    TICKET = "ticket"


class Standing(StrEnum):
    """How an objective stands, the gravest that holds."""

    PAGE = "page"
    SPENT = "spent"
    TICKET = "ticket"
    HOLDS = "holds"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A burn rate that must not be exceeded over two stretches at once, of a window of 30 days."""

    severity: Severity
    burn: float
    long_s: int
    short_s: int


ALERTS = (
    Alert(severity=Severity.PAGE, burn=14.4, long_s=3600, short_s=300),
    Alert(severity=Severity.PAGE, burn=6.0, long_s=6 * 3600, short_s=1800),
    Alert(severity=Severity.TICKET, burn=1.0, long_s=3 * 86_400, short_s=6 * 3600),
)


def minutes_of(stretch_s: int, window_s: int) -> int:
    """Return a stretch of an alert in minutes, scaled to a window: one at least."""
    return max(1, round(stretch_s * window_s / USUAL_WINDOW_S / MINUTE_S))


def window_minutes(window_s: int) -> int:
    """Return a window in minutes, one at least: what is judged is never shorter."""
    return max(1, window_s // MINUTE_S)


def stretches(window_s: int) -> list[int]:
    """Return of how many minutes missed ones are counted for the alerts of a window, ascending."""
    pairs = ((alert.long_s, alert.short_s) for alert in ALERTS)
    return sorted({minutes_of(stretch_s, window_s) for pair in pairs for stretch_s in pair})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Minutes of the window of an objective that were judged."""

    measured: int
    missed: int
    too_few: int
    """Of those measured: minutes with too few messages for one of them to mean something."""
    missed_in: Mapping[int, int]
    """Missed ones of the latest so many minutes, for each of `stretches`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    """How fast the budget went over the stretches of an alert."""

    severity: Severity
    threshold: float
    long_minutes: int
    short_minutes: int
    long_burn: float
    short_burn: float
    fires: bool
    """Both rates exceed the threshold."""
    can_fire: bool
    """False: the budget is so large that even with every minute missed it burns no faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliance:
    """What became of an objective in its window."""

    counted: Counted
    budget: Fraction
    """How many minutes of a window may be missed."""
    burns: tuple[Burn, ...]

    @property
    def budget_minutes(self) -> float:
        """Return how many minutes of a window may be missed, as near as a float is."""
        return float(self.budget)

    @property
    def share_held(self) -> float | None:
        """Return in which share of the measured minutes the target held; None: none was
        measured."""
        counted = self.counted
        held = counted.measured - counted.missed
        return held / counted.measured if counted.measured else None

    @property
    def budget_left(self) -> float | None:
        """Return the share of the budget that is left, below 0 where more was spent; None where
        nothing was measured."""
        return float(1 - self.counted.missed / self.budget) if self.counted.measured else None

    @property
    def is_spent(self) -> bool:
        """Return whether all of the budget was spent."""
        return self.counted.measured > 0 and self.counted.missed >= self.budget

    @property
    def standing(self) -> Standing:
        """Return how the objective stands."""
        firing = {burn.severity for burn in self.burns if burn.fires}
        if not self.counted.measured:
            return Standing.NOT_MEASURED
        if Severity.PAGE in firing:
            return Standing.PAGE
        if self.is_spent:
            return Standing.SPENT
        return Standing.TICKET if Severity.TICKET in firing else Standing.HOLDS


def compliance(counted: Counted, *, objective: float, window_s: int) -> Compliance:
    """Return what became of an objective, a share between 0 and 1, with what was counted of its
    window."""
    allowed = 1 - _typed(objective)

    def burn(minutes: int) -> Fraction:
        return Fraction(counted.missed_in[minutes], minutes) / allowed

    burns = []
    for alert in ALERTS:
        long, short = minutes_of(alert.long_s, window_s), minutes_of(alert.short_s, window_s)
        threshold = _typed(alert.burn)
        burns.append(
            Burn(
                severity=alert.severity,
                threshold=alert.burn,
                long_minutes=long,
                short_minutes=short,
                long_burn=float(burn(long)),
                short_burn=float(burn(short)),
                fires=min(burn(long), burn(short)) > threshold,
                can_fire=1 / allowed > threshold,
            )
        )
    return Compliance(
        counted=counted, budget=allowed * window_minutes(window_s), burns=tuple(burns)
    )


def _typed(number: float) -> Fraction:
    """Return a number as it is written: 0.99, not the nearest float."""
    return Fraction(repr(number))
