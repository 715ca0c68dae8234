"""Stopping criteria: small callables that an optimizer asks after each iteration.

Time is an argument here too: `time_limit` is given the clock, it never reads one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an optimizer is; sent after every iteration."""

    iteration: int
    utility: float
    best_utility: float
    upper_bound: float | None = None
    """What no allocation can exceed, as far as the method knows."""


def never(progress: object) -> bool:
    """Leave it to the method's own criteria."""
    return False


def after_iterations(limit: int) -> Callable[[Progress], bool]:
    """Stop once `limit` iterations are done."""
    return lambda progress: progress.iteration >= limit


def time_limit(seconds: float, clock: Callable[[], float]) -> Callable[[object], bool]:
    """Stop once `clock` (seconds, monotonic) has advanced by `seconds` from now."""
    end_s = clock() + seconds
    return lambda progress: clock() >= end_s


def at_utility(target: float) -> Callable[[Progress], bool]:
    """Stop once the best utility reaches `target`."""
    return lambda progress: progress.best_utility >= target


def first_of(*criteria: Callable[[Progress], bool]) -> Callable[[Progress], bool]:
    """Stop as soon as one of the criteria says so (all are asked, so each sees every step)."""
    return lambda progress: any([criterion(progress) for criterion in criteria])
