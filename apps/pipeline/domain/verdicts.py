"""Judge a minute: whether the target of an objective held, and by what that is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from apps.catalog.models import Pattern, Quantity
from apps.pipeline.domain.steps import MINUTE_S
from weir.queueing.delay_histograms import percentiles_s, upper_edges_s

SHORT = 1e-3
"""The relative shortfall of a rate that is tolerated: counting messages over a second is coarse."""
PERCENTILES = {Quantity.DELAY_P50_S: 0.5, Quantity.DELAY_P99_S: 0.99}


class Evidence(StrEnum):
    """What a minute of an objective was judged by."""

    DELIVERY = "delivery"
    ANSWER = "answer"
    GATE = "gate"
    RATES = "rates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """A histogram of delays: its bins, ascending, and how many messages each holds."""

    bins: Sequence[int]
    messages: Sequence[int]
    longest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Messages of a topic per second at its gates, over all brokers."""

    offered_per_s: float = 0.0
    passed_per_s: float = 0.0
    shed_per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a minute was measured to be, in the unit of the quantity, and whether that holds."""

    value: float
    has_held: bool
    has_too_few: bool
    messages: float
    evidence: Evidence


def verdict(
    quantity: str,
    target: float,
    pattern: str,
    delays: Mapping[str, Delays],
    rates: Rates | None,
) -> Verdict | None:
    """Return the verdict on a minute of a topic, from what was measured of it: delays by their
    kind, and rates. None: nothing tells.

    A delay is too long by the width of a bin at most (4.4 %), never too short: what holds here
    holds. Deliveries decide where any were measured, and answers where the topic is of requests;
    otherwise what messages waited at the gate, to which brokers and links only add.
    """
    if quantity in (Quantity.LOSS_RATIO, Quantity.RATE_PER_S):
        return None if rates is None else _of_rates(quantity, target, rates)
    answers = pattern == Pattern.REQUEST_RESPONSE
    first = Evidence.ANSWER if answers else Evidence.DELIVERY
    for evidence in (first, Evidence.GATE):
        if evidence in delays:
            return _of_delays(quantity, target, delays[evidence], evidence)
    return None


def _of_delays(quantity: str, target: float, delays: Delays, evidence: Evidence) -> Verdict:
    bins, messages = np.asarray(delays.bins), np.asarray(delays.messages)
    total = int(messages.sum())
    if quantity == Quantity.DELAY_MEAN_S:
        edges_s = np.minimum(upper_edges_s(bins), delays.longest_s)
        value, least = float(messages @ edges_s / total), 1
    else:
        probability = PERCENTILES[Quantity(quantity)]
        start, longest_s = np.zeros(1, dtype=np.int64), np.array([delays.longest_s])
        value = float(percentiles_s(start, bins, messages, longest_s, probability)[0])
        # With fewer the slowest message is the percentile.
        least = round(1 / (1 - probability))
    return Verdict(
        value=value,
        has_held=value <= target,
        has_too_few=total < least,
        messages=total,
        evidence=evidence,
    )


def _of_rates(quantity: str, target: float, rates: Rates) -> Verdict:
    offered = rates.offered_per_s * MINUTE_S
    if quantity == Quantity.RATE_PER_S:
        # A publisher below the promised rate is served, as long as all its messages pass.
        passes_all = rates.shed_per_s <= SHORT * rates.offered_per_s
        value = rates.passed_per_s
        has_held, has_too_few = value >= target * (1 - SHORT) or passes_all, False
    else:
        value = rates.shed_per_s / rates.offered_per_s if rates.offered_per_s > 0 else 0.0
        has_held, has_too_few = value <= target, offered * target < 1 and target > 0
    return Verdict(
        value=value,
        has_held=has_held,
        has_too_few=has_too_few,
        messages=offered,
        evidence=Evidence.RATES,
    )
