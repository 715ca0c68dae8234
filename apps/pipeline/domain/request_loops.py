"""Estimate who asks and how: requesters, their pause, and how long an answer takes by itself.

Requesters that ask in turn are a closed loop: each waits for its answer, pauses, asks again. Of N
of them, with X answers a second after R seconds and pauses of Z seconds, N = X (Z + R), whatever
the distributions (Little's law). The time of an answer by itself is what the gate adds less: R
minus the mean wait there. These are N, T_think and T_exec of `weir.utility.latency`.

References:
    S. Bhola, M. Astley, R. Saccone, M. Ward. Utility-aware resource allocation in an event
    processing system. ICAC 2006. Section II.B. doi:10.1109/ICAC.2006.1662382
    J. D. C. Little. A proof for the queuing formula L = λW. Operations Research 9, 1961.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.common.formatting import percent
from apps.pipeline.domain.steps import MINUTE_S

LEAST_MINUTES = 3
LEAST_ANSWERS = 10
"""Of a minute that counts, and as many pauses: means of fewer say little."""
MOST_UNANSWERED = 0.1
"""The share of requests without an answer beyond which a minute does not count: nobody knows how
long they took."""
LEAST_PAUSED = 0.8
"""The share of requests that begin after a pause, below which requesters do not ask in turn."""
MOST_WAITED = 0.5
"""The share of a round trip that requests may wait at the gate so that the rest is known: both are
means of bins, each 2 % wrong at most."""
TAIL = 0.1
"""Estimates of this share of the minutes are below an interval, and as many above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopMinute:
    """What a class counted of its requests in a minute."""

    answers: float
    response_s: float
    """The mean time until an answer; of no meaning where there was none."""
    unanswered: float
    pauses: float
    paused_s: float
    """All pauses together."""
    gate_s: float | None
    """The mean wait at the gate of the topic; None: nobody measured it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The median of estimates by minute, and what one in ten of them is below, and above."""

    low: float
    median: float
    high: float
    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLoop:
    """Estimates of a class's requesters; None where that cannot be told, and why."""

    minutes: int
    """In how many minutes anybody counted requests."""
    answers_per_s: float | None
    """The mean over these minutes."""
    senders: Interval | None
    think_s: Interval | None
    response_s: Interval | None
    exec_s: Interval | None
    why: str = ""
    """Why there is no estimate of senders and pause."""
    exec_why: str = ""
    """Why there is none of the time of an answer by itself."""
    is_gate_measured: bool = False
    """Whether the waits at the gate are taken off the time of an answer."""


def request_loop(minutes: Sequence[LoopMinute]) -> RequestLoop:
    """Return what the minutes of a class say of its requesters."""
    answers = sum(minute.answers for minute in minutes)
    counted = [minute for minute in minutes if _counts(minute)]
    # Clients of an older version count no pauses.
    paused = [minute for minute in counted if minute.pauses]
    why = _why(minutes, counted, paused)
    known = [] if why else paused
    gated = [minute for minute in counted if minute.gate_s is not None]
    is_gate_measured = len(gated) >= LEAST_MINUTES
    timed, exec_why = _by_itself(minutes, gated if is_gate_measured else counted)
    return RequestLoop(
        minutes=len(minutes),
        answers_per_s=answers / (MINUTE_S * len(minutes)) if minutes else None,
        senders=_interval([_senders(minute) for minute in known]),
        think_s=_interval([minute.paused_s / minute.pauses for minute in known]),
        response_s=_interval([minute.response_s for minute in counted]),
        exec_s=None if exec_why else _interval(timed),
        why=why,
        exec_why=exec_why,
        is_gate_measured=is_gate_measured,
    )


def _counts(minute: LoopMinute) -> bool:
    requests = minute.answers + minute.unanswered
    return minute.answers >= LEAST_ANSWERS and minute.unanswered <= MOST_UNANSWERED * requests


def _why(
    minutes: Sequence[LoopMinute], counted: Sequence[LoopMinute], paused: Sequence[LoopMinute]
) -> str:
    """Return why requesters and their pause cannot be told; empty where they can."""
    if len(counted) < LEAST_MINUTES:
        return _too_few(minutes)
    if len(paused) < LEAST_MINUTES:
        return (
            "Clients count answers, but no pauses: theirs is an older version of the library, or"
            " they have several requests under way."
        )
    pauses = sum(minute.pauses for minute in paused)
    requests = sum(minute.answers + minute.unanswered for minute in paused)
    if pauses < LEAST_PAUSED * requests:
        share = 1.0 - pauses / requests
        return (
            f"{percent(share)} of the requests begin while another one is under way, or are the"
            " first of their client: these do not ask in turn."
        )
    return ""


def _too_few(minutes: Sequence[LoopMinute]) -> str:
    if not minutes:
        return "No client of this class counts its requests."
    if not any(minute.answers for minute in minutes):
        return f"None of {sum(minute.unanswered for minute in minutes):,.0f} requests was answered."
    lossy = sum(
        minute.unanswered > MOST_UNANSWERED * (minute.answers + minute.unanswered)
        for minute in minutes
    )
    if lossy >= LEAST_MINUTES:
        return (
            f"In {lossy} of {len(minutes)} minutes more than {percent(MOST_UNANSWERED)} of the"
            " requests had no answer: nobody knows how long those took."
        )
    return (
        f"Fewer than {LEAST_MINUTES} minutes have {LEAST_ANSWERS} answers: too few for an estimate."
    )


def _by_itself(
    minutes: Sequence[LoopMinute], counted: Sequence[LoopMinute]
) -> tuple[list[float], str]:
    """Return how long an answer took by itself, minute by minute, and why that cannot be told."""
    if len(counted) < LEAST_MINUTES:
        return [], _too_few(minutes)
    timed = [
        minute.response_s - (minute.gate_s or 0.0)
        for minute in counted
        if (minute.gate_s or 0.0) <= MOST_WAITED * minute.response_s
    ]
    if len(timed) < LEAST_MINUTES:
        return [], (
            f"In {len(counted) - len(timed)} of {len(counted)} minutes requests waited at the gate"
            " for most of their time: what is left is not known well enough."
        )
    return timed, ""


def _senders(minute: LoopMinute) -> float:
    pause_s = minute.paused_s / minute.pauses
    return (minute.answers + minute.unanswered) / MINUTE_S * (pause_s + minute.response_s)


def _interval(estimates: Iterable[float]) -> Interval | None:
    ordered = sorted(estimates)
    if len(ordered) < LEAST_MINUTES:
        return None
    tail = int(TAIL * len(ordered))
    return Interval(
        low=ordered[tail],
        median=statistics.median(ordered),
        high=ordered[-1 - tail],
        minutes=len(ordered),
    )
