"""Hold who published when, and what is searched in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What counts as bursting together; defaults are those of the product."""

    within_s: float = 0.05
    """How far apart two messages are at most that came together."""
    least_share: float = 0.5
    """Of the moments of the publisher with fewer: so many are together at least."""
    smallest_group: int = 2
    false_groups: float = 0.01
    """How many groups chance may give in a whole analysis, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Times of publishers in one window: those of publisher i are `at_s[starts[i]:starts[i + 1]]`,
    ascending."""

    names: tuple[str, ...]
    """Ascending, each once; a publisher's id is its place here."""
    starts: Ints
    at_s: Floats
    """Unix seconds."""
    since_s: float
    until_s: float


def moments_of(activity: Activity, within_s: float) -> Activity:
    """Return the moments of each publisher: the first of messages that follow each other within
    `within_s`."""
    raise NotImplementedError
