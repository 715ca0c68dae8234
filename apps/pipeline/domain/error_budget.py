"""Say what an objective's error budget is, how much is left, and how fast it burns.

An objective is a share of the minutes of its window in which its target must hold; the others are
its budget. A burn rate of 1 spends the whole budget in one window. Alerts look at a long and a
short stretch at once: the long one says that it matters, the short one that it goes on.

A minute that nobody measured is not missed: rates are of all minutes of a stretch, so that a few
measured ones raise no alert.

Reference: B. Beyer et al. The Site Reliability Workbook. O'Reilly 2018, chapter 5, table 5-8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

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
    can_fire: bool
    """False: the budget is so large that even with every minute missed it burns no faster."""

    @property
    def fires(self) -> bool:
        """Return whether both rates exceed the threshold."""
        return self.long_burn > self.threshold and self.short_burn > self.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliance:
    """What became of an objective in its window."""

    counted: Counted
    budget_minutes: float
    """How many minutes of a window may be missed."""
    burns: tuple[Burn, ...]

    @property
    def share_held(self) -> float | None:
        """Return in which share of the measured minutes the target held; None: none was
        measured."""
        counted = self.counted
        return 1 - counted.missed / counted.measured if counted.measured else None

    @property
    def budget_left(self) -> float | None:
        """Return the share of the budget that is left, below 0 where more was spent; None where
        nothing was measured."""
        return 1 - self.counted.missed / self.budget_minutes if self.counted.measured else None

    @property
    def standing(self) -> Standing:
        """Return how the objective stands."""
        firing = {burn.severity for burn in self.burns if burn.fires}
        if not self.counted.measured:
            return Standing.NOT_MEASURED
        if Severity.PAGE in firing:
            return Standing.PAGE
        # Of rounding: a budget of 432.00000000000006 minutes is spent by 432.
        if self.counted.missed > self.budget_minutes * (1 - 1e-9):
            return Standing.SPENT
        return Standing.TICKET if Severity.TICKET in firing else Standing.HOLDS


def compliance(counted: Counted, *, objective: float, window_s: int) -> Compliance:
    """Return what became of an objective, a share between 0 and 1, with what was counted of its
    window."""
    allowed = 1 - objective

    def burn(minutes: int) -> float:
        return counted.missed_in[minutes] / minutes / allowed

    burns = []
    for alert in ALERTS:
        long, short = minutes_of(alert.long_s, window_s), minutes_of(alert.short_s, window_s)
        burns.append(
            Burn(
                severity=alert.severity,
                threshold=alert.burn,
                long_minutes=long,
                short_minutes=short,
                long_burn=burn(long),
                short_burn=burn(short),
                can_fire=1 / allowed > alert.burn,
            )
        )
    return Compliance(
        counted=counted,
        budget_minutes=allowed * window_minutes(window_s),
        burns=tuple(burns),
    )
