"""Figures out of what subscribers wrote down and the control plane's clock. Pure.

Inside: messages that were on their way to a subscriber while a shift ran that one of the brokers
on that way took part in (from the first order to the last participant's switch). Outside: all
others. Growth of a queue: the most that waited at a participant's agent during its shift, above
what waited when the shift began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.transformation_fleet.workload import way

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from weir.model.transformation import Edge, Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """One shift as it was carried out; seconds since the epoch."""

    brokers: frozenset[str]
    began: float
    ended: float
    before: frozenset[Edge]
    """The overlay before its step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One plan carried out under load."""

    planner: str
    subscribers: int
    ratio: float
    actions: int
    steps: int
    attempts: int
    execution_s: float
    inside_p99_s: float
    outside_p99_s: float
    inside: int
    """Deliveries."""
    delivered: int
    growth_p99: float
    """Messages."""
    lost: int
    doubled: int
    reordered: int


def shifts_of(
    steps: Steps, trees: Sequence[frozenset[Edge]], times: Sequence[Mapping[str, Any]]
) -> list[Shift]:
    """Plan and clock side by side; `trees[s]` is in force before step s."""
    found, at = [], iter(times)
    for step, before in zip(steps, trees, strict=False):
        for _ in step:
            row = next(at)
            found.append(
                Shift(
                    brokers=frozenset(row["brokers"]),
                    began=row["began"],
                    ended=row["ended"],
                    before=before,
                )
            )
    return found


def inside(records: NDArray[np.void], broker: str, shifts: Sequence[Shift]) -> NDArray[np.bool_]:
    """Which messages of a subscriber at this broker were on their way during a shift."""
    mask = np.zeros(len(records), dtype=np.bool_)
    for shift in shifts:
        if way(shift.before, broker) & shift.brokers:
            mask |= (records["sent"] < shift.ended) & (records["got"] > shift.began)
    return mask


def audit(
    records: NDArray[np.void],
    topic: str,
    before: Mapping[tuple[int, str], int],
    after: Mapping[tuple[int, str], int],
) -> tuple[int, int, int]:
    """Messages of a topic that one subscriber lost, got twice, got out of order."""
    lost = doubled = reordered = 0
    for (publisher, name), last in after.items():
        if name != topic:
            continue
        first = before.get((publisher, topic), 0)
        numbers = records["number"][records["publisher"] == publisher].astype(np.int64)
        unique = len(np.unique(numbers))
        lost += last - first - unique
        doubled += len(numbers) - unique
        reordered += int(np.sum(np.diff(numbers) < 0))
    return lost, doubled, reordered


def growth(
    columns: Mapping[str, int], samples: NDArray[np.float64], shifts: Sequence[Shift]
) -> list[float]:
    """Of every participant of every shift. `samples`: seconds, then a number per broker."""
    found = []
    at = samples[:, 0]
    for shift in shifts:
        first, last = np.searchsorted(at, (shift.began, shift.ended))
        first = max(0, first - 1)
        rows = samples[first : last + 1]
        for broker in sorted(shift.brokers):
            waiting = rows[:, columns[broker]]
            found.append(float(waiting.max() - waiting[0]) if len(waiting) else 0.0)
    return found


def p99(values: NDArray[np.float64]) -> float:
    """The 99th percentile; not a number where there are none."""
    return float(np.percentile(values, 99)) if len(values) else float("nan")
