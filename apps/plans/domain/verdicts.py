"""Decide whether a plan did what it promised, from two measured windows; only this module decides
it.

A verdict on the utility needs a promise with a value before and after, a measured window of a fixed
length on both sides of the execution, and a promised change larger than what the utility varied by
itself before. Where one of them is missing there is none, and a sentence says which. Rates, limits,
loads and delays are parts of the promise that are judged by themselves; `parts` does it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import fmean, stdev
from typing import Any

from apps.common.formatting import counted, duration, percent
from weir.model.plan import Promise

BLOCKS = 10
"""The windows, before the execution begins and after it has settled, are cut into so many blocks:
how much their means differ is the noise. The policy of the system says how long they are."""

SETTLING = timedelta(seconds=30)
"""After the execution ended: gates and agents come to rest, what waited is passed on."""

LAG = timedelta(seconds=10)
"""The delay with which samples arrive after what they measured."""

DELAY_LAG = timedelta(seconds=120)
"""The delay with which minutes of delays are judged: only objectives need so long."""

LEAST_BLOCKS = 6
"""Of the blocks of a window so many must have been measured."""

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
    """A fall was promised, and the utility fell by no more; or nothing is known of the utility, and
    every part was kept of which something is known, which is half of them at least."""
    PARTLY = "partly"
    """The utility rose by less than was promised, or a part of the promise was missed."""
    MISSED = "missed"
    """It did not rise although that was promised, or it fell by more than was promised; or nothing
    is known of the utility, and every part of which something is known was missed; or the plan was
    taken back before anything could be measured."""
    TOO_EARLY = "too_early"
    """The window after the execution is not over."""
    UNKNOWN = "unknown"
    """It cannot be told; the sentence says why."""


KEPT = frozenset({Judged.HELPED, Judged.KEPT})
"""What counts as a promise kept."""
DECISIVE = KEPT | {Judged.PARTLY, Judged.MISSED}
"""Verdicts that say something; others count for no record."""

BECAUSE = "Cannot be told, because "
SHOWN = 3
"""Parts that a sentence names."""


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


def window_before(started_at: datetime, window_s: float) -> tuple[datetime, datetime]:
    """Return from when to when is measured before an execution."""
    return started_at - timedelta(seconds=window_s), started_at


def window_after(ended_at: datetime, window_s: float) -> tuple[datetime, datetime]:
    """Return from when to when is measured after an execution."""
    since = ended_at + SETTLING
    return since, since + timedelta(seconds=window_s)


def cannot_be_told(because: str) -> Verdict:
    """Return the verdict that nothing can be told, `because` of the rest of a sentence."""
    return Verdict(judged=Judged.UNKNOWN, because=f"{BECAUSE}{because}.")


def no_promise(promises: Sequence[Promise]) -> Verdict | None:
    """Return the verdict that nothing can be told where what a plan promises allows no other at any
    time; else None."""
    promise = utility_promise(promises)
    if promise is None:
        return cannot_be_told("the plan promises no utility")
    if promise.after is None:
        return cannot_be_told("the plan does not say what the utility is after it")
    if promise.before is None:
        return cannot_be_told(
            "no change was promised: the utility before the plan was not known, since part of the "
            "system had no limit"
        )
    return None


def utility_promise(promises: Sequence[Promise]) -> Promise | None:
    """Return what the plan says of the utility."""
    return next((promise for promise in promises if promise.name == "utility"), None)


def judge(promises: Sequence[Promise], before: Window, after: Window) -> Verdict:
    """Return the verdict on the utility when both windows are over."""
    refusal = no_promise(promises)
    if refusal is not None:
        return refusal
    for window, when in ((before, "before it began"), (after, "after it ended")):
        if len(window.blocks) < LEAST_BLOCKS:
            length = duration((window.until - window.since).total_seconds())
            return cannot_be_told(f"too little was measured in the {length} {when}")
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


def judge_whole(
    utility: Verdict, kept: Sequence[str], missed: Sequence[str], unknown: Sequence[str]
) -> Verdict:
    """Return the verdict on a plan from that on its utility, and from the names of the parts that
    were kept, that were missed, and of which nothing is known.

    Where nothing is known of the utility the parts decide, if something is known of half of them.
    """
    parts = len(kept) + len(missed) + len(unknown)
    if not parts:
        return utility
    shown = ", ".join(missed[:SHOWN]) + (f" and {len(missed) - SHOWN} more" * (len(missed) > SHOWN))
    which, others = (missed, f" missed: {shown}") if missed else (kept, " kept")
    of_parts = f"{len(which)} of {counted(parts, 'part')} of the promise{others}"
    if unknown:
        of_parts += f"; of {len(unknown)} nothing is known"
    if utility.judged is not Judged.UNKNOWN:
        judged = Judged.PARTLY if missed and utility.judged in KEPT else utility.judged
        return Verdict(judged=judged, because=f"{utility.because} {of_parts}.")
    if missed:
        whole = Judged.PARTLY if kept else Judged.MISSED
    else:
        whole = Judged.KEPT if len(kept) >= len(unknown) else Judged.UNKNOWN
    reason = utility.because.removeprefix(BECAUSE)
    return Verdict(judged=whole, because=f"{of_parts}. The utility is not judged: {reason}")


def _amount(utility: float) -> str:
    return f"{utility:,.0f}" if abs(utility) >= 1000 else f"{utility:,.4g}"


def _share(change: float, base: float) -> str:
    """Return a change relative to its base; as an amount where the base is 0."""
    if base == 0:
        return f"{change:+,.4g}"
    return percent(change / abs(base), 1, signed=True)
