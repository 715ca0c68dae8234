"""Check that the rates of a request-response topic lie in the range of its latency targets.

A target on the round trip leaves a choice only between r_min = N / (T_think + D), where the
round trip reaches the threshold, and r_max, 10 % above N / (T_think + T_exec), from which on
no answer comes sooner (`weir.utility.latency`). A topic that may leave this range would be given
rates that are worth nothing, or that nobody can send.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apps.catalog.domain.curves import RateRange, rate_range
from apps.catalog.models import Pattern, Topic, UtilityFunction
from apps.systems.models import Entity
from weir.errors import InvalidProblem
from weir.utility import utility_from_dict

ROUNDED = 1e-3
"""The relative distance that still counts as inside: people type rounded rates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeProblem:
    """Hold one end of a topic's rates that lies outside the range of its latency targets."""

    field: str
    message: str
    suggested_per_s: float


def range_of(function: UtilityFunction) -> RateRange | None:
    """Return the range of a stored utility function; None for kinds without one, or a faulty
    function."""
    try:
        return rate_range(utility_from_dict({"kind": function.kind, **function.parameters}))
    except InvalidProblem:
        return None


def common_range(functions: Iterable[UtilityFunction]) -> RateRange | None:
    """Return the rates in the range of all latency targets among the functions; None without a
    target."""
    ranges = [known for known in map(range_of, functions) if known is not None]
    if not ranges:
        return None
    return RateRange(
        rate_min_per_s=max(known.rate_min_per_s for known in ranges),
        rate_max_per_s=min(known.rate_max_per_s for known in ranges),
    )


def functions_of(topic: Topic) -> list[UtilityFunction]:
    """Return the utility functions of the topic's consumer classes."""
    fetched = getattr(topic, "_prefetched_objects_cache", {})
    if "consumer_classes" in fetched:
        return list({one.utility_id: one.utility for one in fetched["consumer_classes"]}.values())
    return list(UtilityFunction.objects.filter(consumer_classes__topic=topic).distinct())


def _inwards(value: float, *, up: bool) -> float:
    """Return four significant digits, rounded into the range, so that people can type the value
    shown."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    steps = value / unit
    return float(f"{(math.ceil(steps - 1e-9) if up else math.floor(steps + 1e-9)) * unit:.12g}")


def range_problems(
    allowed: RateRange | None, *, rate_min: float, rate_max: float
) -> list[RangeProblem]:
    """Return what is wrong with the rates of a request-response topic, with a rate that would
    do."""
    if allowed is None:
        return []
    low, high = allowed.rate_min_per_s, allowed.rate_max_per_s
    if low > high:
        message = (
            f"The latency targets of this topic exclude each other: one needs at least {low:.4g} "
            f"msg/s, another knows no rate above {high:.4g} msg/s. Change a target, or give its "
            "consumers a topic of their own."
        )
        return [RangeProblem(field="rate_min_per_s", message=message, suggested_per_s=low)]
    problems = []
    least, most = _inwards(low, up=True), _inwards(high, up=False)
    if rate_min < low * (1 - ROUNDED):
        problems.append(
            RangeProblem(
                field="rate_min_per_s",
                message=f"{rate_min:g} msg/s is below {low:.4g} msg/s, where the round trip "
                f"reaches the threshold of the latency target. Set it to {least:g}.",
                suggested_per_s=least,
            )
        )
    if rate_max > high * (1 + ROUNDED):
        problems.append(
            RangeProblem(
                field="rate_max_per_s",
                message=f"{rate_max:g} msg/s is above {high:.4g} msg/s, 10 % more than the "
                f"senders of the latency target can ask. Set it to {most:g}.",
                suggested_per_s=most,
            )
        )
    return problems


def differs(stored: Entity | None, values: dict[str, Any], *names: str) -> bool:
    """Return whether an edit gives one of the columns another value; a new object has none yet."""
    return any(
        name in values and (stored is None or getattr(stored, name) != values[name])
        for name in names
    )


def topic_problems(topic: Topic | None, values: dict[str, Any]) -> list[RangeProblem]:
    """Return the problems of a topic as an edit would leave it; none where the edit leaves rates
    and pattern as they are, whoever made them so."""
    if topic is None or not differs(topic, values, "rate_min_per_s", "rate_max_per_s", "pattern"):
        return []
    if values.get("pattern", topic.pattern) != Pattern.REQUEST_RESPONSE:
        return []
    return range_problems(
        common_range(functions_of(topic)),
        rate_min=values.get("rate_min_per_s", topic.rate_min_per_s),
        rate_max=values.get("rate_max_per_s", topic.rate_max_per_s),
    )


def class_problem(topic: Topic, function: UtilityFunction) -> str | None:
    """Return why the function cannot value consumers of this topic, with the rates to set first."""
    if topic.pattern != Pattern.REQUEST_RESPONSE:
        return None
    allowed = range_of(function)
    problems = range_problems(allowed, rate_min=topic.rate_min_per_s, rate_max=topic.rate_max_per_s)
    if not problems or allowed is None:
        return None
    return (
        f"Its latency target knows rates from {allowed.rate_min_per_s:.4g} to "
        f"{allowed.rate_max_per_s:.4g} msg/s, but {topic} may move from {topic.rate_min_per_s:g} "
        f"to {topic.rate_max_per_s:g}. Set the topic's rates to "
        f"{_inwards(allowed.rate_min_per_s, up=True):g} and "
        f"{_inwards(allowed.rate_max_per_s, up=False):g} first."
    )
