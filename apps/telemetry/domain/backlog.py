"""Tell how fast waiting messages grow, and when they reach the first limit that is known.

The slope is the median of the slopes between all pairs of samples in a fixed window (Theil and
Sen), so that one bad sample does not move it.

References: P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, Journal of
the American Statistical Association 63 (1968), https://doi.org/10.1080/01621459.1968.10480934
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import median
from typing import Any

from apps.common.formatting import counted, duration, figure

WINDOW_S = 120.0
"""The time over which a slope is taken."""
CELL_S = 10.0
"""The time of which one sample is looked at: pairs of all samples would be many."""
LEAST_SAMPLES = 5
"""With as many, one bad sample spoils fewer than half of all pairs."""
LEAST_SPAN_S = 30.0
"""The time that samples must cover before anything is told about growth."""
WHOLE = 0.75
"""The share of the window that samples must cover before it counts as growing all through it."""
LEAST_GROWTH = 20
"""The messages by which a backlog must grow in the window: fewer come and go by chance."""
ALARM_WITHIN_S = 3600.0
"""A backlog that grew for the whole window and is full within this time is an alarm."""

NO_LIMIT = "No limit is known"

Point = tuple[float, float]
"""A time in seconds, and how many messages waited then."""


class Growth(StrEnum):
    """Name what a backlog does."""

    UNKNOWN = "unknown"
    """Too few samples since the agent began."""
    STEADY = "steady"
    """It does not grow, or not beyond chance."""
    GROWING = "growing"
    ALARM = "alarm"
    """It is full, or it grew for the whole window and will be full soon."""


class Limit(StrEnum):
    """Name what ends a backlog."""

    MESSAGES = "messages"
    """The stream before the gate takes no more messages; publishers are refused."""
    BYTES = "bytes"
    """The same, by size."""
    AGE = "age"
    """The broker drops messages that have waited for so long."""
    STORAGE = "storage"
    """The broker may store no more, of any topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Describe how a backlog moved over the window."""

    slope_per_s: float | None
    """None: it cannot be told yet."""
    grows: bool
    """Whether it grew by more than chance."""
    throughout: bool
    """Whether it grew in both halves of a window that samples cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Hold how much of one limit is used, and how fast that use grows; one unit for all three."""

    limit: Limit
    used: float
    most: float
    growth_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Describe the messages of one reliable topic that wait at their gates."""

    topic: str
    topic_id: str
    broker: str
    """Where they wait, or where the first limit is reached if they wait at several brokers."""
    waiting: int
    slope_per_s: float | None
    full_in_s: float | None
    """Seconds until the first known limit is reached; None: see `why`."""
    limit: Limit | None
    """The limit that is reached first."""
    most: float | None
    """That limit in messages, bytes or seconds."""
    why: str
    """Why no time can be told; empty where one is."""
    growth: Growth

    @property
    def sentence(self) -> str:
        """Return a sentence such as `customs: 17,049 messages wait at b4, 120 msg/s more arrive
        than leave; full in 13 minutes (100,000 messages).`"""
        said = f"{self.topic}: {counted(self.waiting, 'message waits', 'messages wait')}"
        said += f" at {self.broker}"
        if self.full_in_s == 0:
            return f"{said}; {self.end}."
        if self.slope_per_s is not None and self.growth in (Growth.GROWING, Growth.ALARM):
            said += f", {figure(self.slope_per_s)} msg/s more arrive than leave"
        if self.full_in_s is None:
            return f"{said}. {self.why}"
        return f"{said}; {self.end}."

    @property
    def end(self) -> str:
        """Return when it is full, and why, as `full in 13 minutes (100,000 messages)`."""
        if self.full_in_s is None:
            return "no limit known" if self.why.startswith(NO_LIMIT) else ""
        when = "now" if self.full_in_s == 0 else f"in {duration(self.full_in_s)}"
        return f"full {when} ({limit_words(self.limit, self.most)})"


def limit_words(limit: Limit | None, most: float | None) -> str:
    """Return a limit as `100,000 messages`, `1,024 MiB of storage`, or `no limit known`."""
    if limit is None or most is None:
        return "no limit known"
    if limit is Limit.MESSAGES:
        return counted(int(most), "message")
    if limit is Limit.AGE:
        return f"dropped after {duration(most)}"
    size = f"{most / 2**20:,.4g} MiB" if most < 10 * 2**30 else f"{most / 2**30:,.4g} GiB"
    return f"{size} of storage" if limit is Limit.STORAGE else size


def slope_of(points: Sequence[Point]) -> float | None:
    """Return the median of the slopes between all pairs; None where too few samples cover too
    little time."""
    if len(points) < LEAST_SAMPLES or points[-1][0] - points[0][0] < LEAST_SPAN_S:
        return None
    return _slope(points)


def _slope(points: Sequence[Point]) -> float:
    slopes = [(y - x) / (t - s) for (s, x), (t, y) in combinations(points, 2) if t > s]
    return median(slopes) if slopes else 0.0


def trend_of(points: Sequence[Point]) -> Trend:
    """Return how a backlog moved; `points` in order of time, of one life of the agent."""
    slope = slope_of(points)
    if slope is None:
        return Trend(slope_per_s=None, grows=False, throughout=False)
    span = points[-1][0] - points[0][0]
    grows = slope * span >= LEAST_GROWTH
    middle = len(points) // 2
    # The halves share a sample, so that each has enough of them to outvote a bad one.
    halves = points[: middle + 1], points[middle:]
    throughout = grows and span >= WHOLE * WINDOW_S and all(_slope(half) > 0 for half in halves)
    return Trend(slope_per_s=slope, grows=grows, throughout=throughout)


def first_limit(rooms: Iterable[Room]) -> tuple[float, Room] | None:
    """Return the limit that is reached first and the seconds until then; None where none is."""
    reached = [(seconds, room) for room in rooms if (seconds := _seconds(room)) is not None]
    return min(reached, key=lambda pair: pair[0], default=None)


def _seconds(room: Room) -> float | None:
    left = room.most - room.used
    if left <= 0:
        return 0.0
    return left / room.growth_per_s if room.growth_per_s > 0 else None


def rooms_of(
    flow: Mapping[str, Any],
    broker: Mapping[str, Any],
    *,
    growth_per_s: float,
    stored_growth_per_s: float,
) -> Iterator[Room]:
    """Return the room under every limit that the agent reports. `growth_per_s` is by how many
    messages the backlog grows, `stored_growth_per_s` by how many bytes all backlogs of the broker
    do."""
    waiting = float(flow.get("backlog") or 0)
    size = float(flow.get("backlog_bytes") or 0)
    if (most := flow.get("most_messages")) is not None:
        yield Room(limit=Limit.MESSAGES, used=waiting, most=most, growth_per_s=growth_per_s)
    if (most := flow.get("most_bytes")) is not None:
        growth = growth_per_s * message_bytes(flow)
        yield Room(limit=Limit.BYTES, used=size, most=most, growth_per_s=growth)
    if (keep_s := flow.get("keep_s")) is not None and growth_per_s > 0:
        passed = float(flow.get("passed_per_s") or 0)
        # What comes now waits until all before it has passed. Where nothing passes, what waits
        # grows older by a second each second; how old it is by now is not reported.
        used, growth = (waiting / passed, growth_per_s / passed) if passed > 0 else (0.0, 1.0)
        yield Room(limit=Limit.AGE, used=used, most=keep_s, growth_per_s=growth)
    stored, most = broker.get("stored_bytes"), broker.get("most_stored_bytes")
    if stored is not None and most is not None:
        yield Room(limit=Limit.STORAGE, used=stored, most=most, growth_per_s=stored_growth_per_s)


def message_bytes(flow: Mapping[str, Any]) -> float:
    """Return the mean size of a waiting message as stored, or else of one that came lately; 0 where
    neither is known."""
    waiting, size = float(flow.get("backlog") or 0), float(flow.get("backlog_bytes") or 0)
    return size / waiting if waiting and size else float(flow.get("message_bytes") or 0)


def backlog_of(
    *,
    topic: str,
    topic_id: str,
    broker: str,
    waiting: int,
    trend: Trend,
    rooms: Sequence[Room],
) -> Backlog:
    """Return what is known about the messages of one topic at one broker."""
    first = first_limit(rooms)
    full = first is not None and first[0] == 0
    if full and first is not None and first[1].limit is Limit.STORAGE and not waiting:
        first, full = None, False  # the disk is full, but not with this topic
    if not full and not trend.grows:
        first = None
    why = ""
    if trend.slope_per_s is None:
        growth = Growth.UNKNOWN
        why = "How fast that changes cannot be told yet."
    elif not trend.grows:
        growth = Growth.STEADY
        why = "That does not grow."
    else:
        soon = first is not None and first[0] <= ALARM_WITHIN_S
        growth = Growth.ALARM if soon and trend.throughout else Growth.GROWING
        why = f"{NO_LIMIT}: the agent reports none." if not first else ""
    if full:
        growth, why = Growth.ALARM, ""
    return Backlog(
        topic=topic,
        topic_id=topic_id,
        broker=broker,
        waiting=waiting,
        slope_per_s=trend.slope_per_s,
        full_in_s=None if first is None else first[0],
        limit=None if first is None else first[1].limit,
        most=None if first is None else first[1].most,
        why=why,
        growth=growth,
    )


WORST = (Growth.ALARM, Growth.GROWING, Growth.UNKNOWN, Growth.STEADY)


def worst_first(row: Backlog) -> tuple[int, float, float, str]:
    """Return the key of an order: alarms first, what is full soonest first, then the fastest."""
    full = float("inf") if row.full_in_s is None else row.full_in_s
    return WORST.index(row.growth), full, -(row.slope_per_s or 0.0), row.topic
