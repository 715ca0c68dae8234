"""Name the quantities that sums of records give, with their units and groups."""

from collections.abc import Mapping
from dataclasses import dataclass

DELIVERY = "delivery"
"""The kind of delays where none is named."""
MESSAGES_PER_S = "msg/s"

_METRICS = {
    "connections": "connections",
    "backlog": "messages",
    "backlog_peak": "messages",
    "admitted": "consumers",
    "waiting": "consumers",
    "in_msgs_per_s": MESSAGES_PER_S,
    "out_msgs_per_s": MESSAGES_PER_S,
    "offered_per_s": MESSAGES_PER_S,
    "passed_per_s": MESSAGES_PER_S,
    "shed_per_s": MESSAGES_PER_S,
    "delivered_per_s": MESSAGES_PER_S,
    "limit_per_s": MESSAGES_PER_S,
    "limit_messages": "messages",
    "limit_consumers": "consumers",
}
_ENDINGS = {
    "_bytes_per_s": "bytes/s",
    "_msgs_per_s": MESSAGES_PER_S,
    "_per_s": "1/s",
    "_bytes": "bytes",
    "_ratio": "ratio",
    "_s": "s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A quantity of sums, and by what it is grouped."""

    sums: str
    """The sums that it is read from, as `apps.pipeline.models.SUMS` names them."""
    unit: str
    """Empty: that of the metric."""
    by: tuple[str, ...]
    """Columns that may name a series, the usual one first; `system` is all of them together."""
    probability: float | None = None
    """Of a percentile of delays."""
    adds_up: bool = False
    """Whether places, topics and classes of a metric are added up, instead of their mean."""

    @property
    def columns(self) -> frozenset[str]:
        """Return the columns that rows may be narrowed by."""
        return frozenset(self.by) - {"system"}


_CONSUMED = ("topic", "consumer_class", "broker", "system")
_DELAYED = ("topic", "consumer_class", "system")
_MEASURED = ("broker", "topic", "consumer_class", "system")

QUANTITIES: Mapping[str, Quantity] = {
    "published_per_s": Quantity(
        sums="published", unit=MESSAGES_PER_S, by=("topic", "broker", "system")
    ),
    "received_per_s": Quantity(sums="received", unit=MESSAGES_PER_S, by=_CONSUMED),
    "requested_per_s": Quantity(sums="requested", unit=MESSAGES_PER_S, by=_CONSUMED),
    "unanswered_ratio": Quantity(sums="requested", unit="ratio", by=_CONSUMED),
    "delay_p50_s": Quantity(sums="delays", unit="s", by=_DELAYED, probability=0.5),
    "delay_p95_s": Quantity(sums="delays", unit="s", by=_DELAYED, probability=0.95),
    "delay_p99_s": Quantity(sums="delays", unit="s", by=_DELAYED, probability=0.99),
    "delay_longest_s": Quantity(sums="delays", unit="s", by=_DELAYED),
    "measured": Quantity(sums="measured", unit="", by=_MEASURED),
    "measured_sum": Quantity(sums="measured", unit="", by=_MEASURED, adds_up=True),
}


def metric_unit(metric: str) -> str:
    """Return the unit of a metric: a known one's, or what its name ends with; empty where neither
    says."""
    if metric in _METRICS:
        return _METRICS[metric]
    return next((unit for ending, unit in _ENDINGS.items() if metric.endswith(ending)), "")
