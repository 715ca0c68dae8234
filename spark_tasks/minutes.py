"""Sum the files of a batch of records by minute: what is kept in tables that batches add to.

Each of `SUMS` is a level (spark_tasks/facts.py), so what batches add may come in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow.fs import FileSystem

from spark_tasks.facts import LEVELS, Level, merged, observed, summed
from spark_tasks.records import UNREADABLE
from weir.errors import InvalidProblem

WINDOW_S = 60


def _sum(name: str, observed_as: str, keys: tuple[str, ...], *measures: str) -> Level:
    """Return sums of what `observed` has under a name."""
    return Level(
        name=name,
        keys=keys,
        measures={measure: LEVELS[observed_as].measures[measure] for measure in measures},
        source=observed_as,
    )


SUMS: Mapping[str, Level] = {
    level.name: level
    for level in (
        _sum("published", "seconds", ("window", "topic", "broker"), "messages", "bytes"),
        _sum(
            *("received", "received", ("window", "topic", "consumer_class", "broker")),
            *("messages", "bytes"),
        ),
        _sum(
            *("requested", "requesters", ("window", "topic", "consumer_class", "broker")),
            *("messages", "unanswered", "bytes"),
        ),
        _sum(
            *("delays", "delay_histograms", LEVELS["delay_histograms"].keys),
            *("messages", "longest_s"),
        ),
        _sum(
            *("measured", "brokers", LEVELS["brokers"].keys),
            *("samples", "total", "least", "most"),
        ),
    )
}


def minute_sums(
    uri: str, table: str, paths: Iterable[str], *, rows: int, since_s: int
) -> dict[str, Any]:
    """Return the sums of a batch's files, which lie on the storage of `uri`, by name.

    Minutes before that of `since_s` (Unix seconds) are left out. Rows are ordered by their keys,
    of which `since_s`, when the minute begins, stands for `window`.

    Raises InvalidProblem where the files do not hold the `rows` of the batch, or are damaged, and
    OSError where they cannot be reached.
    """
    system, _ = FileSystem.from_uri(uri)
    parts: dict[str, list[Any]] = {}
    there = 0
    for path in paths:
        kept = _read(system, path)
        there += len(kept)
        of = observed(table, kept, WINDOW_S)
        for name, level in SUMS.items():
            if level.source in of:
                parts.setdefault(name, []).append(summed(level, of[level.source]))
    if there != rows:
        raise InvalidProblem("rows", f"the files of the batch hold {there:,} of its {rows:,} rows")
    first = since_s // WINDOW_S
    return {name: _ordered(SUMS[name], each, first) for name, each in parts.items()}


def minutes_of_topics(sums: Iterable[Any], topics: Sequence[str]) -> list[tuple[int, str]]:
    """Return for which minutes and which of these topics there are such sums: when each minute
    begins (Unix seconds), and the topic; once each, ascending."""
    wanted = pa.array(topics, pa.string())
    there: set[tuple[int, str]] = set()
    for rows in sums:
        kept = rows.filter(compute.is_in(rows["topic"], wanted))
        there |= set(zip(kept["since_s"].to_pylist(), kept["topic"].to_pylist(), strict=True))
    return sorted(there)


def _ordered(level: Level, parts: list[Any], first: int) -> Any:
    rows = merged(level, parts)
    kept = rows.filter(compute.greater_equal(rows["window"], first))
    ordered = kept.sort_by([(key, "ascending") for key in level.keys])
    since_s = compute.multiply(ordered["window"], WINDOW_S)
    return ordered.set_column(ordered.schema.get_field_index("window"), "since_s", since_s)


def _read(system: Any, path: str) -> Any:
    """Return the rows of a file. Raises InvalidProblem, OSError."""
    try:
        with parquet.ParquetFile(path, filesystem=system) as file:
            return file.read()
    except UNREADABLE as error:
        # What the operating system says has a number; what the reader finds in the bytes has none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        line = (str(error).splitlines() or [type(error).__name__])[0]
        name = path.rpartition("/")[2]
        raise InvalidProblem(name, f"cannot be read as Parquet: {line}") from None
