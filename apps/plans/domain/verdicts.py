"""Decide whether a plan did what it promised, from two measured windows; only this module decides
it.

A verdict needs a promise with a value before and after, a measured window of a fixed length on both
sides of the execution, and a promised change larger than what the utility varied by itself before.
Where one of them is missing there is no verdict, and a sentence says which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import fmean, stdev
from typing import Any

from apps.common.formatting import percent
from weir.model.plan import Promise

WINDOW = timedelta(minutes=5)
"""How long is measured, before the execution begins and after it has settled."""

BLOCK = timedelta(seconds=30)
"""The windows are cut into blocks: how much their means differ is the noise."""

SETTLING = timedelta(seconds=30)
"""After the execution ended: gates and agents come to rest, what waited is passed on."""

LEAST_BLOCKS = 6
"""Of the ten blocks of a window so many must have been measured."""

DEVIATIONS = 2.0
"""The noise is so many standard deviations of the blocks before the execution."""

LEAST_NOISE = 1e-3
"""The noise is never less than this share of the utility: agents round what they measure."""

ENOUGH = 0.9
"""From this share of the promised change on, a promise counts as kept."""


class Judged(StrEnum):
    """Name what can be said of an executed plan."""

    HELPED = "helped"
    """The utility rose by what was promised, or nearly."""
    KEPT = "kept"
    """A fall was promised, and the utility fell by no more."""
    PARTLY = "partly"
    """It rose, by less than was promised."""
    MISSED = "missed"
    """It did not rise although that was promised, or it fell by more than was promised."""
    TOO_EARLY = "too_early"
    """The window after the execution is not over."""
    UNKNOWN = "unknown"
    """It cannot be told; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Hold the utility measured over a window, at the weights of the plan."""

    since: datetime
    until: datetime
    blocks: Sequence[float]
    """The mean of each block that was measured."""
    brokers: frozenset[str]
    """Whose agents measured."""

    @property
    def mean(self) -> float:
        """Return the mean of the blocks."""
        return fmean(self.blocks)

    @property
    def noise(self) -> float:
        """Return how much the utility varies while nothing changes it."""
        spread = DEVIATIONS * stdev(self.blocks) if len(self.blocks) > 1 else math.inf
        return max(spread, LEAST_NOISE * abs(self.mean))

    def plain(self) -> dict[str, Any]:
        """Return the window as plain data for storing."""
        return {
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "blocks": list(self.blocks),
            "brokers": sorted(self.brokers),
        }


def window_of(plain: Mapping[str, Any]) -> Window:
    """Return the inverse of `Window.plain`."""
    return Window(
        since=datetime.fromisoformat(plain["since"]),
        until=datetime.fromisoformat(plain["until"]),
        blocks=tuple(plain["blocks"]),
        brokers=frozenset(plain["brokers"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Hold the verdict with its evidence in words."""

    judged: Judged
    because: str


def window_before(started_at: datetime) -> tuple[datetime, datetime]:
    """Return from when to when is measured before an execution."""
    return started_at - WINDOW, started_at


def window_after(ended_at: datetime) -> tuple[datetime, datetime]:
    """Return from when to when is measured after an execution."""
    return ended_at + SETTLING, ended_at + SETTLING + WINDOW


def cannot_be_told(because: str) -> Verdict:
    """Return the verdict that nothing can be told, `because` of the rest of a sentence."""
    return Verdict(judged=Judged.UNKNOWN, because=f"Cannot be told, because {because}.")


def no_promise(promises: Sequence[Promise]) -> Verdict | None:
    """Return the verdict that nothing can be told where what a plan promises allows no other at any
    time; else None."""
    promise = utility_promise(promises)
    if promise is None or promise.after is None:
        return cannot_be_told("the plan promises no utility")
    if promise.before is None:
        return cannot_be_told(
            "no change was promised: the utility before the plan was not known, since part of the "
            "system had no limit"
        )
    return None


def utility_promise(promises: Sequence[Promise]) -> Promise | None:
    """Return what the plan says of the utility."""
    return next((promise for promise in promises if promise.name == "utility"), None)


def judge(promises: Sequence[Promise], before: Window | None, after: Window | None) -> Verdict:
    """Return the verdict when both windows are over; a window that is None was not measured."""
    refusal = no_promise(promises)
    if refusal is not None:
        return refusal
    for window, when in ((before, "before it began"), (after, "after it ended")):
        if window is None or len(window.blocks) < LEAST_BLOCKS:
            minutes = int(WINDOW.total_seconds() // 60)
            return cannot_be_told(f"too little was measured in the {minutes} min {when}")
    assert before is not None
    assert after is not None
    if before.brokers != after.brokers:
        names = ", ".join(sorted(before.brokers ^ after.brokers))
        return cannot_be_told(f"{names} measured only on one side of the execution")
    promise = utility_promise(promises)
    assert promise is not None
    assert promise.before is not None
    assert promise.after is not None
    promised, change, noise = promise.after - promise.before, after.mean - before.mean, before.noise
    moved = (
        f"The measured utility went from {_amount(before.mean)} to {_amount(after.mean)} "
        f"({_share(change, before.mean)}); {_share(promised, promise.before)} was promised. "
        f"Before, it varied by \u00b1{_share(noise, before.mean).lstrip('+')} by itself."
    )
    if abs(promised) <= noise:
        return cannot_be_told(
            f"the promised change ({_share(promised, promise.before)}) is smaller than what the "
            f"measured utility varies by itself (\u00b1{_share(noise, before.mean).lstrip('+')})"
        )
    if promised < 0:
        kept = change >= promised - noise
        return Verdict(judged=Judged.KEPT if kept else Judged.MISSED, because=moved)
    if change <= noise:
        return Verdict(judged=Judged.MISSED, because=moved)
    kept = change >= ENOUGH * promised - noise
    return Verdict(judged=Judged.HELPED if kept else Judged.PARTLY, because=moved)


def _amount(utility: float) -> str:
    return f"{utility:,.0f}" if abs(utility) >= 1000 else f"{utility:,.4g}"


def _share(change: float, base: float) -> str:
    """Return a change relative to its base; as an amount where the base is 0."""
    if base == 0:
        return f"{change:+,.4g}"
    return percent(change / abs(base), 1, signed=True)
