"""Compute facts of records: rates, bursts, traffic, interests, delays (docs/formats.md).

Everything is made of levels. A level has one row for each combination of its keys and measures that
merge by addition, as minima or as maxima, in any order and exactly: measures are whole numbers or
decimals, sums of floats are none. So a piece of the records can be summed by itself, sums of sums
are the answer whoever computes them, and both engines give the same. `LEVELS` says what there is,
`observed` what a row of the records adds to it, `finish` what a table of facts makes of a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import compute

from weir.queueing.delay_histograms import bins_of, bins_of_buckets, percentiles_s

Merge = Literal["sum", "min", "max", "count"]

EXACT = pa.decimal128(38, 9)
"""Of values that are measured: their sum is the same in any order."""

PERCENTILES = {"p50_s": 0.5, "p95_s": 0.95, "p99_s": 0.99, "p999_s": 0.999}


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Sums by keys, of records or of another level."""

    name: str
    keys: tuple[str, ...]
    measures: Mapping[str, tuple[Merge, str]]
    """How each is merged, and of what column of the source."""
    source: str | None = None
    """The level that is summed; None: what `observed` says of records."""


def _added(*names: str) -> dict[str, tuple[Merge, str]]:
    return {name: ("sum", name) for name in names}


_DELAYS = ("window", "topic", "kind", "consumer_class")
LEVELS = {
    level.name: level
    for level in (
        Level(
            name="seconds",
            keys=("window", "second", "topic", "publisher", "broker"),
            measures=_added("messages", "bytes"),
        ),
        Level(
            name="publications",
            keys=("window", "topic", "publisher", "broker"),
            measures={**_added("messages", "bytes"), "busiest_second": ("max", "messages")},
            source="seconds",
        ),
        Level(
            name="topic_seconds",
            keys=("window", "second", "topic"),
            measures=_added("messages", "bytes"),
            source="seconds",
        ),
        Level(
            name="topics",
            keys=("window", "topic"),
            measures={**_added("messages", "bytes"), "busiest_second": ("max", "messages")},
            source="topic_seconds",
        ),
        Level(
            name="received",
            keys=("window", "topic", "consumer_class", "broker", "origin", "subscriber"),
            measures={
                **_added("messages", "bytes"),
                "since_s": ("min", "since_s"),
                "until_s": ("max", "until_s"),
            },
        ),
        Level(
            name="receivers",
            keys=("window", "topic", "consumer_class", "broker", "subscriber"),
            measures=_added("messages", "bytes"),
            source="received",
        ),
        Level(
            name="consumption",
            keys=("window", "topic", "consumer_class", "broker"),
            measures={**_added("messages", "bytes"), "subscribers": ("count", "messages")},
            source="receivers",
        ),
        Level(
            name="arrivals",
            keys=("window", "topic", "origin", "broker", "subscriber"),
            measures=_added("messages", "bytes"),
            source="received",
        ),
        Level(
            name="crossings",
            keys=("window", "topic", "origin", "broker"),
            measures={"messages": ("max", "messages"), "bytes": ("max", "bytes")},
            source="arrivals",
        ),
        Level(
            name="traffic",
            keys=("window", "origin", "broker"),
            measures=_added("messages", "bytes"),
            source="crossings",
        ),
        Level(
            name="interests",
            keys=("subscriber", "topic", "consumer_class"),
            measures={
                **_added("messages", "bytes"),
                "since_s": ("min", "since_s"),
                "until_s": ("max", "until_s"),
            },
            source="received",
        ),
        Level(
            name="requesters",
            keys=("window", "topic", "consumer_class", "broker", "subscriber"),
            measures=_added("messages", "unanswered", "bytes"),
        ),
        Level(
            name="requests",
            keys=("window", "topic", "consumer_class", "broker"),
            measures={
                **_added("messages", "unanswered", "bytes"),
                "requesters": ("count", "messages"),
            },
            source="requesters",
        ),
        Level(
            name="delay_histograms",
            keys=(*_DELAYS, "bin"),
            measures={**_added("messages"), "longest_s": ("max", "longest_s")},
        ),
        Level(
            name="brokers",
            keys=("window", "broker", "topic", "consumer_class", "metric"),
            measures={
                "samples": ("sum", "samples"),
                "total": ("sum", "total"),
                "least": ("min", "least"),
                "most": ("max", "most"),
            },
        ),
        Level(
            name="quarantined",
            keys=("table", "file", "row", "problem"),
            measures=_added("rows"),
        ),
    )
}

_TYPES = {
    **dict.fromkeys(
        ["window", "second", "messages", "bytes", "bin", "samples", "unanswered"], pa.int64()
    ),
    **dict.fromkeys(["busiest_second", "subscribers", "requesters", "row", "rows"], pa.int64()),
    **dict.fromkeys(["since_s", "until_s", "longest_s", "least", "most"], pa.float64()),
    "total": EXACT,
}
"""Of columns of levels; those that are not named are texts."""


def schema_of(level: Level) -> Any:
    """Return the columns of a level with their types."""
    names = (*level.keys, *level.measures)
    return pa.schema([(name, _TYPES.get(name, pa.string())) for name in names])


def observed(table: str, rows: Any, window_s: int) -> dict[str, Any]:
    """Return what rows of one table of records add to levels: columns of each, not merged yet."""
    second = compute.cast(compute.floor(rows["at_s"]), pa.int64())
    window = pa.array(np.floor_divide(second.to_numpy(), window_s))
    if table == "samples":
        value = rows["value"]
        one = pa.repeat(pa.scalar(1), len(rows))
        keys = ("broker", "topic", "consumer_class", "metric")
        columns = {"window": window, **{key: rows[key] for key in keys}}
        measures = {"samples": one, "total": value.cast(EXACT), "least": value, "most": value}
        return {"brokers": pa.table({**columns, **measures})}
    if table == "delays":
        buckets = {key: rows[key] for key in ("topic", "kind", "consumer_class", "messages")}
        longest_s = rows["delay_s"]
        bins = pa.array(bins_of_buckets(longest_s.to_numpy()))
        histograms = {"window": window, **buckets, "longest_s": longest_s, "bin": bins}
        return {"delay_histograms": pa.table(histograms)}
    counts = {"messages": rows["messages"], "bytes": rows["bytes"]}
    if table == "messages":
        names = {name: rows[name] for name in ("topic", "publisher", "broker")}
        return {"seconds": pa.table({"window": window, "second": second, **names, **counts})}
    names = {name: rows[name] for name in ("topic", "consumer_class", "broker", "subscriber")}
    kind = "delivery" if table == "deliveries" else "answer"
    known = compute.is_valid(rows["delay_s"])
    delays = pa.table(
        {
            "window": window,
            "topic": rows["topic"],
            "kind": pa.repeat(pa.scalar(kind), len(rows)),
            "consumer_class": rows["consumer_class"],
            "messages": rows["messages"],
            "longest_s": rows["delay_s"],
        }
    ).filter(known)
    bins = pa.array(bins_of(delays["longest_s"].to_numpy()))
    levels = {"delay_histograms": delays.append_column("bin", bins)}
    if table == "requests":
        unanswered = compute.if_else(known, 0, rows["messages"])
        columns = {"window": window, **names, **counts, "unanswered": unanswered}
        return {**levels, "requesters": pa.table(columns)}
    times = {"since_s": rows["at_s"], "until_s": rows["at_s"]}
    columns = {"window": window, **names, "origin": rows["origin"], **counts, **times}
    return {**levels, "received": pa.table(columns)}


def summed(level: Level, rows: Any) -> Any:
    """Return the level of some rows: of what was observed, or of its source."""
    names = {name: f"{of}_{merge}" for name, (merge, of) in level.measures.items()}
    wanted = [(of, merge) for merge, of in dict.fromkeys(level.measures.values())]
    made = rows.group_by(list(level.keys), use_threads=False).aggregate(wanted)
    columns = {key: made[key] for key in level.keys}
    columns |= {name: made[column] for name, column in names.items()}
    return pa.table(columns).cast(schema_of(level))


def merged(level: Level, parts: Iterable[Any]) -> Any:
    """Return the level of what was summed in parts; of one that has no source."""
    again = {name: (merge, name) for name, (merge, _) in level.measures.items()}
    whole = pa.concat_tables([schema_of(level).empty_table(), *parts])
    return summed(Level(name=level.name, keys=level.keys, measures=again), whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A table of facts: of which level it is made, in which order, and how."""

    name: str
    level: str
    order: tuple[str, ...]
    """Keys of the level."""
    finish: Callable[[Any, int], Any]
    """Takes rows of the level in that order, all or none of those whose keys are equal, and the
    window in seconds; gives rows of the table."""


def _with_rate(rows: Any, window_s: int) -> Any:
    rate = compute.divide(rows["messages"].cast(pa.float64()), float(window_s))
    return _windows(rows, window_s).append_column("rate_per_s", rate)


def _windows(rows: Any, window_s: int) -> Any:
    """Return rows with when their window began in place of its number."""
    since = compute.multiply(rows["window"], window_s).cast(pa.float64())
    place = rows.schema.get_field_index("window")
    return rows.set_column(place, "since_s", since)


def _between_brokers(rows: Any, window_s: int) -> Any:
    origin, broker = rows["origin"], rows["broker"]
    both = compute.and_(compute.not_equal(origin, ""), compute.not_equal(broker, ""))
    return _with_rate(rows.filter(compute.and_(both, compute.not_equal(origin, broker))), window_s)


def _measured(rows: Any, window_s: int) -> Any:
    mean = compute.divide(rows["total"].cast(pa.float64()), rows["samples"].cast(pa.float64()))
    place = rows.schema.get_field_index("total")
    return _windows(rows.set_column(place, "mean", mean), window_s)


def _percentiles(rows: Any, window_s: int) -> Any:
    """Return percentiles of histograms."""
    rows = rows.sort_by([(key, "ascending") for key in (*_DELAYS, "bin")]).combine_chunks()
    begins = np.arange(len(rows)) == 0
    for key in _DELAYS:
        codes = rows[key].dictionary_encode().combine_chunks().indices.to_numpy()
        begins[1:] |= codes[1:] != codes[:-1]
    first = np.flatnonzero(begins)
    bins, messages = rows["bin"].to_numpy(), rows["messages"].to_numpy()
    longest_s = _over(np.maximum, rows["longest_s"].to_numpy(), first)
    columns = {key: rows[key].take(first) for key in _DELAYS}
    columns["messages"] = _over(np.add, messages, first)
    for name, probability in PERCENTILES.items():
        columns[name] = percentiles_s(first, bins, messages, longest_s, probability)
    columns["longest_s"] = longest_s
    return _windows(pa.table(columns), window_s)


def _over(merge: np.ufunc, values: np.ndarray, first: np.ndarray) -> np.ndarray:
    return merge.reduceat(values, first) if len(first) else values


def _as_they_are(rows: Any, window_s: int) -> Any:
    return rows


def _of_level(name: str, finish: Callable[[Any, int], Any]) -> Facts:
    return Facts(name=name, level=name, order=LEVELS[name].keys, finish=finish)


FACTS = (
    _of_level("publications", _with_rate),
    _of_level("topics", _with_rate),
    _of_level("consumption", _with_rate),
    _of_level("traffic", _between_brokers),
    _of_level("interests", _as_they_are),
    _of_level("requests", _with_rate),
    _of_level("delay_histograms", _windows),
    Facts(name="delays", level="delay_histograms", order=_DELAYS, finish=_percentiles),
    _of_level("brokers", _measured),
    _of_level("quarantined", _as_they_are),
)


def finished_schema(facts: Facts) -> Any:
    """Return the columns of a table of facts with their types."""
    return facts.finish(schema_of(LEVELS[facts.level]).empty_table(), 1).schema
