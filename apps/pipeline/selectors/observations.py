"""Read sums by minute as what resource models are fitted to."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, Sum

from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.models import MeasuredSum
from apps.systems.models import System

BROKER = ("cpu_ratio", "cores")
FLOW = {"passed_per_s": "passed", "message_bytes": "message_bytes"}
CLASS = {"admitted": "admitted"}


def observations(
    system: System, *, since: datetime, until: datetime, window_s: int
) -> Iterator[dict[str, Any]]:
    """Return a record for each broker and window (`weir.fitting.records`), a window after the
    other; windows begin at multiples of `window_s`, which is whole minutes."""
    sums = MeasuredSum.objects.filter(
        system=system,
        since_s__gte=int(since.timestamp()),
        since_s__lt=int(until.timestamp()),
        metric__in=[*BROKER, *FLOW, *CLASS],
    )
    by_window = sums.annotate(window=F("since_s") / window_s).values(
        "window", "broker", "topic", "consumer_class", "metric"
    )
    rows = by_window.annotate(
        mean=Sum("total") / Sum("samples"),
        fewest=Min("least"),
        largest=Max("most"),
        minutes=Count("since_s", distinct=True),
    )
    record: dict[str, Any] = {}
    for row in rows.order_by("window", "broker", "topic", "consumer_class", "metric").iterator():
        at = row["window"] * window_s
        if record and (record["at"], record["broker"]) != (at, row["broker"]):
            yield record
            record = {}
        if not record:
            record = {"broker": row["broker"], "at": at, "interval_s": 0}
            record |= {name: {} for name in (*FLOW.values(), *CLASS.values())}
        _add(record, row)
    if record:
        yield record


def _add(record: dict[str, Any], row: Mapping[str, Any]) -> None:
    """Add what sums of one metric came to."""
    metric, mean = row["metric"], float(row["mean"])
    record["interval_s"] = max(record["interval_s"], MINUTE_S * row["minutes"])
    if metric in BROKER and not (row["topic"] or row["consumer_class"]):
        record[metric] = mean
    elif metric in FLOW and row["topic"] and not row["consumer_class"]:
        record[FLOW[metric]][row["topic"]] = mean
    elif metric in CLASS and row["consumer_class"]:
        # Windows in which consumers came and went are left out: it is for the fit to judge.
        record[CLASS[metric]][row["consumer_class"]] = [mean, row["fewest"], row["largest"]]
