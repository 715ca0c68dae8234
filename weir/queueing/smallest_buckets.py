"""The smallest token bucket of each of many topics, from the times of their messages.

For each topic the trace is read once: the work ahead of a message does not depend on the bucket
(weir/queueing/traces.py), so that the smallest bucket in which a share of the messages finds a
token is an order statistic, with its interval. Topics are independent of each other: whoever
measures them, in whatever parts, gets the same rows.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.errors import InvalidProblem
from weir.queueing.traces import smallest_size, work_of_batches, work_over
from weir.reading import amount, members, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_NAMED = 3
"""Topics that a refusal names; of the others it says how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketQuestion:
    """Which bucket is wanted: at what rate tokens flow in, and how many messages must not wait."""

    percentile: float = 0.99
    """Of the messages: so many find a token at once."""
    headroom: float | None = 1.1
    """Token rate over the mean rate of the topic; None: `rates_per_s` has them."""
    rates_per_s: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.percentile < 1:
            raise InvalidProblem("percentile", "must lie between 0 and 1, such as 0.99")
        if (self.headroom is None) == (self.rates_per_s is None):
            raise InvalidProblem("headroom", "give either a headroom or the rates of the topics")
        if self.headroom is not None and not 1 < self.headroom < math.inf:
            message = f"must be above 1, not {self.headroom:g}: no bucket holds what keeps growing"
            raise InvalidProblem("headroom", message)
        for topic, rate in (self.rates_per_s or {}).items():
            if amount(rate, f"rates.{topic}") == 0:
                raise InvalidProblem(f"rates.{topic}", "must be above 0 messages per second")

    def without_rate(self, topics: Iterable[str]) -> list[str]:
        """Return those of the topics that need a rate and have none."""
        if self.rates_per_s is None:
            return []
        return [topic for topic in topics if topic not in self.rates_per_s]


def refuse_without_rate(topics: Iterable[str]) -> None:
    """Refuse topics that have no rate, if there are any. Raises InvalidProblem that names some."""
    missing = sorted(topics)
    if missing:
        named = ", ".join(f'"{topic}"' for topic in missing[:MOST_NAMED])
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise InvalidProblem("rates", f"no rate for topic {named}{more}; add a row for each")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestBucket:
    """What one topic needs, and how sure that is."""

    topic: str
    messages: int
    publishers: int
    since_s: float
    until_s: float
    mean_rate_per_s: float | None
    """None: all messages came at one time."""
    token_rate_per_s: float | None
    bucket: float
    """In messages, with the interval of 95 %."""
    bucket_low: float
    bucket_high: float
    conclusive: bool
    """False: the recording is too short for this percentile; measure longer."""


def smallest_bucket(
    topic: str,
    times_s: Floats,
    publishers: int,
    question: BucketQuestion,
    *,
    counts: Ints | None = None,
) -> SmallestBucket:
    """Return the smallest bucket of one topic, whose times are ascending; `counts`: how many
    messages came at each, without it one. Room is taken by time, not by message.

    The mean rate is that between its first and its last message. Raises InvalidProblem where
    there is no message, or no rate of this topic.
    """
    if not len(times_s):
        raise InvalidProblem("times_s", "must not be empty; leave the topic out")
    refuse_without_rate(question.without_rate([topic]))
    if counts is not None and (counts == 1).all():
        counts = None
    messages = len(times_s) if counts is None else int(counts.sum())
    since_s, until_s = float(times_s[0]), float(times_s[-1])
    mean = (messages - 1) / (until_s - since_s) if until_s > since_s else None
    if question.rates_per_s is not None:
        token_rate: float | None = question.rates_per_s[topic]
    else:
        token_rate = None if mean is None or question.headroom is None else question.headroom * mean
    # Of messages at one time each waits for those before it, whatever the rate.
    rate = 1.0 if token_rate is None else token_rate
    work = work_over(times_s, rate)[0] if counts is None else work_of_batches(times_s, counts, rate)
    size = smallest_size(work, question.percentile, counts=counts)
    return SmallestBucket(
        topic=topic,
        messages=messages,
        publishers=publishers,
        since_s=since_s,
        until_s=until_s,
        mean_rate_per_s=mean,
        token_rate_per_s=token_rate,
        bucket=size.value,
        bucket_low=size.low,
        bucket_high=size.high,
        conclusive=size.conclusive,
    )


def bucket_row(bucket: SmallestBucket) -> dict[str, Any]:
    """Return the row of a topic as plain data; its names are those of docs/formats.md."""
    return {name: getattr(bucket, name) for name in SmallestBucket.__slots__}


def question_to_dict(question: BucketQuestion) -> dict[str, Any]:
    """Return a question as plain data."""
    rates = question.rates_per_s
    return {
        "percentile": question.percentile,
        "headroom": question.headroom,
        "rates_per_s": None if rates is None else dict(rates),
    }


def question_from_dict(obj: object) -> BucketQuestion:
    """Read what `question_to_dict` gave. Raises InvalidProblem."""
    plain = members(obj, "", ["percentile"], ["headroom", "rates_per_s"])
    return BucketQuestion(
        percentile=number(plain["percentile"], "percentile"),
        headroom=plain.get("headroom"),
        rates_per_s=plain.get("rates_per_s"),
    )


def answer_of(rows: Sequence[Mapping[str, Any]], question: BucketQuestion) -> bytes:
    """Return the answer in its one spelling: the question and a row for each topic, by name."""
    plain = {
        "format": 1,
        "percentile": question.percentile,
        "headroom": question.headroom,
        "topics": list(rows),
    }
    return json.dumps(plain, sort_keys=True, allow_nan=False, ensure_ascii=False).encode()
