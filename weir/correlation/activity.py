"""Hold who published when, and what is searched in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from weir.errors import InvalidProblem
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


STEPS_S = (60.0, 10.0, 1.0, 0.1, 0.01, 0.001, 0.0001, 0.00001)
"""Steps that clocks and exports round to; each is a multiple of the next."""

ROUNDING_S = 5e-7
"""What a double of Unix seconds is off by at most, with a factor of two."""

GLIMPSE = 1000
"""Times that are looked at before all are."""

FEWEST_TIMES = 32
"""With fewer, whole seconds may be no more than chance, and few groups could be wrong."""

STEPS_WITHIN = 2.0
"""Steps of the times that `within_s` is at least: below, times that are equal by rounding alone
make everybody one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What counts as bursting together; defaults are those of the product.

    Raises InvalidProblem naming the field and its bound.
    """

    within_s: float = field(
        default=0.05,
        metadata=about(
            help="How far apart two messages are at most that came together",
            unit="s",
            min=0.0001,
            max=60,
        ),
    )
    least_share: float = field(
        default=0.5,
        metadata=about(
            help="Of the moments of the publisher with fewer: so many are together at least",
            min=0.2,
            max=1,
        ),
    )
    smallest_group: int = field(
        default=2, metadata=about(help="Publishers of a group at least", min=2, max=1000)
    )
    false_groups: float = field(
        default=0.01,
        metadata=about(
            help="How many groups chance may give in a whole analysis, on average",
            min=1e-9,
            max=1,
        ),
    )

    def __post_init__(self) -> None:
        """Check every member against its bounds."""
        check_fields(self)


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
    messages: Ints | None = None
    """How many messages each publisher sent; None: one at each of its times."""

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return self.until_s - self.since_s


def messages_of(activity: Activity) -> Ints:
    """Return how many messages each publisher sent."""
    if activity.messages is not None:
        return activity.messages
    counts: Ints = np.diff(activity.starts)
    return counts


def activity_of(
    names: Sequence[str],
    ids: ArrayLike,
    at_s: ArrayLike,
    *,
    since_s: float | None = None,
    until_s: float | None = None,
    messages: ArrayLike | None = None,
) -> Activity:
    """Return messages in any order as an activity.

    `ids`: the place of each message's publisher in `names`, which ascend; `messages`: how many were
    sent at each of the times; a window that is not given reaches from the first to the last.
    Raises InvalidProblem for times that are no finite numbers.
    """
    owner, times = np.asarray(ids, dtype=np.int64), np.asarray(at_s, dtype=float)
    wrong = int(len(times) - np.isfinite(times).sum())
    if wrong:
        raise InvalidProblem("at_s", f"must be finite, but {wrong:,} are not")
    order = np.lexsort((times, owner))
    counts = np.bincount(owner, minlength=len(names)).astype(np.int64)
    sent = None
    if messages is not None:
        weights = np.asarray(messages, dtype=np.int64)
        sent = np.zeros(len(names), dtype=np.int64)
        np.add.at(sent, owner, weights)
    nothing = not len(times)
    first = 0.0 if nothing else float(times.min())
    last = 0.0 if nothing else float(times.max())
    return Activity(
        names=tuple(names),
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        at_s=np.ascontiguousarray(times[order]),
        since_s=first if since_s is None else since_s,
        until_s=last if until_s is None else until_s,
        messages=sent,
    )


def moments_of(activity: Activity, within_s: float) -> Activity:
    """Return the moments of each publisher: the first of messages that follow each other within
    `within_s`."""
    first = np.ones(len(activity.at_s), dtype=bool)
    first[1:] = np.diff(activity.at_s) > within_s
    begins = activity.starts[:-1]
    first[begins[begins < activity.starts[1:]]] = True
    before = np.concatenate([[0], np.cumsum(first)]).astype(np.int64)
    return Activity(
        names=activity.names,
        starts=before[activity.starts],
        at_s=activity.at_s[first],
        since_s=activity.since_s,
        until_s=activity.until_s,
        messages=messages_of(activity),
    )


def time_step_s(at_s: ArrayLike) -> float:
    """Return the largest of `STEPS_S` that all times (Unix seconds, in any order) are multiples of;
    0 for finer times, infinity for none at all.

    The step of a whole is the least of those of its parts.
    """
    times = np.asarray(at_s, dtype=float)
    if not len(times):
        return math.inf
    for step in STEPS_S:
        # Most end at the first few.
        if _multiples(times[:GLIMPSE], step) and _multiples(times, step):
            return step
    return 0.0


def _multiples(times: Floats, step: float) -> bool:
    return bool((np.abs(times - np.rint(times / step) * step) <= ROUNDING_S).all())


def check_step(step_s: float, within_s: float, times: int) -> None:
    """Refuse a search that is finer than the times of so many messages, rounded to `step_s`.

    Raises InvalidProblem naming `within_s` and what to do.
    """
    if times < FEWEST_TIMES or STEPS_WITHIN * step_s <= within_s * (1.0 + 1e-9):
        return
    raise InvalidProblem(
        "within_s",
        f"must be at least {STEPS_WITHIN * step_s:g}, as the times are whole multiples of "
        f"{step_s:g} s: choose as much, or record finer times",
    )
