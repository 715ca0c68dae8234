"""Read sums of records as series over steps of time, one for each topic, class or broker.

One statement a question: the database groups minutes into steps, merges histograms, and keeps the
largest series. Percentiles are of the merged histograms, by the definition of
weir/queueing/delay_histograms.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from apps.pipeline.domain.quantities import Quantity
from apps.pipeline.domain.steps import MINUTE_S, Span
from apps.pipeline.models import SUMS
from apps.systems.models import System
from weir.queueing.wait_histogram import upper_edge_s

MOST_SERIES = 12

Values = list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The values of one group, one for each step; None where nothing was measured."""

    name: str
    values: Values
    least: Values | None = None
    """Of single samples, as `most`; of metrics alone."""
    most: Values | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesAnswer:
    """The largest series of a quantity, the largest first."""

    series: list[Series]
    minutes: list[int]
    """Of each step: of how many of its minutes there are sums, of whatever group."""
    left_out: int
    """The number of further series."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a quantity adds to the statement."""

    sums: str
    """What is summed of each group and step."""
    rank: str
    """By what the largest groups are chosen, of `sums`."""
    value: str
    least: str = "NULL"
    most: str = "NULL"


_MESSAGES = "sum(messages) AS messages"
_COUNTED = _Shape(_MESSAGES, "sum(messages)", "messages")
_UNANSWERED = _Shape(
    f"{_MESSAGES}, sum(unanswered) AS unanswered", "sum(messages)", "unanswered::float8 / messages"
)
_LONGEST = _Shape(
    f"{_MESSAGES}, max(longest_s) AS longest_s", "sum(messages)", "longest_s", most="longest_s"
)
_MEASURED = _Shape(
    "sum(total) AS total, sum(samples) AS samples, min(least) AS least, max(most) AS most",
    "sum(total) / sum(samples)",
    "total / samples",
    "least",
    "most",
)
# A place is a broker, topic and class; it has one row a minute.
_ADDED_UP = _Shape(
    "sum(total / samples) AS total, count(DISTINCT since_s) AS minutes",
    "sum(total)",
    "total / minutes",
)
_LEVEL = "(topic <> '')::int + (consumer_class <> '')::int"


def series_of(
    system: System,
    quantity: Quantity,
    *,
    by: str,
    span: Span,
    only: Mapping[str, str],
) -> SeriesAnswer:
    """Return the series of a quantity, one for each value of the column `by`.

    `only` narrows rows by columns, `kind` and `metric` among them. A rate is over those minutes of
    a step of which the system has sums of this kind. Of a metric those samples count that are of
    as few of a topic and a class as `by` and `only` leave: a broker's own, before those of its
    topics. What is added up of a metric is the mean of all places' minutes, over those minutes in
    which any of them measured.
    """
    starts_s = span.starts_s
    minutes = [0] * len(starts_s)
    values: dict[str, list[Values]] = {}
    groups = 0
    for name, number, step, *cell in _rows(system, quantity, by=by, span=span, only=only):
        if name is None:
            minutes[step] = int(cell[0])
            continue
        groups = number
        lists = values.setdefault(name, [[None] * len(starts_s) for _ in range(3)])
        for each, value in zip(lists, cell, strict=True):
            each[step] = value
    series = [
        _series(system.name if by == "system" else name, quantity, lists, minutes)
        for name, lists in values.items()
    ]
    return SeriesAnswer(series=series, minutes=minutes, left_out=groups - len(series))


def _series(name: str, quantity: Quantity, lists: list[Values], minutes: list[int]) -> Series:
    """Return a series of what the statement gave of it."""
    values, least, most = lists
    if quantity.adds_up:
        return Series(name=name, values=values)
    if quantity.sums == "measured":
        return Series(name=name, values=values, least=least, most=most)
    if quantity.probability is not None:
        edges_s = [
            None if bin_ is None or longest_s is None else min(upper_edge_s(int(bin_)), longest_s)
            for bin_, longest_s in zip(values, most, strict=True)
        ]
        return Series(name=name, values=edges_s)
    if quantity.unit == "ratio" or quantity.sums == "delays":
        return Series(name=name, values=values)
    rates: Values = [
        (messages or 0.0) / (MINUTE_S * known) if known else None
        for messages, known in zip(values, minutes, strict=True)
    ]
    return Series(name=name, values=rates)


def _rows(
    system: System, quantity: Quantity, *, by: str, span: Span, only: Mapping[str, str]
) -> list[Any]:
    """Return the minutes of each step, under no name, and then the cells of each group."""
    table = SUMS[quantity.sums]._meta.db_table
    name = "''" if by == "system" else by
    narrowed = "".join(f" AND {column} = %(only_{column})s" for column in only)
    given = {
        "system": system.pk,
        "since": span.since_s,
        "until": span.until_s,
        "step": span.step_s,
        "most": MOST_SERIES,
        "probability": quantity.probability,
        **{f"only_{column}": value for column, value in only.items()},
    }
    shape = _shape(quantity)
    level = "0"
    if quantity.sums == "measured":
        level = _LEVEL
        if by not in ("broker", "system"):
            narrowed += f" AND {by} <> ''"
    bins = quantity.probability is not None
    cells = f"""
        SELECT {name} AS name, (since_s - %(since)s) / %(step)s AS step, {level} AS level,
               {"bin," if bins else ""} {shape.sums}
        FROM {table}
        WHERE system_id = %(system)s AND since_s >= %(since)s AND since_s < %(until)s{narrowed}
        GROUP BY 1, 2, 3{", 4" if bins else ""}
    """
    statement = f"""
        WITH known AS (
            SELECT (minute - %(since)s) / %(step)s AS step, count(*) AS minutes
            FROM generate_series(%(since)s::bigint, %(until)s::bigint - 60, 60) AS minute
            -- A probe a minute: an index begins with these two columns.
            CROSS JOIN LATERAL (
                SELECT FROM {table} WHERE system_id = %(system)s AND since_s = minute LIMIT 1
            ) AS there
            GROUP BY 1
        ), every AS ({cells}), cells AS (
            SELECT * FROM every WHERE level = (SELECT min(level) FROM every)
        ), largest AS (
            SELECT name, count(*) OVER () AS number,
                   row_number() OVER (ORDER BY {shape.rank} DESC, name COLLATE "C") AS place
            FROM cells GROUP BY name ORDER BY place LIMIT %(most)s
        ){_PERCENTILES if bins else ""}
        SELECT name, number, step, value::float8, least::float8, most::float8 FROM (
            SELECT 0 AS place, NULL AS name, 0 AS number, step,
                   minutes AS value, NULL AS least, NULL AS most
            FROM known
            UNION ALL
            SELECT place, name, number, step, {shape.value}, {shape.least}, {shape.most}
            FROM {"percentiles" if bins else "cells"} JOIN largest USING (name)
        ) AS answer
        ORDER BY place, step
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())


_PERCENTILES = """, running AS (
            SELECT name, step, bin, longest_s,
                   sum(messages) OVER (PARTITION BY name, step ORDER BY bin) AS upto,
                   sum(messages) OVER (PARTITION BY name, step) AS messages
            FROM cells WHERE name IN (SELECT name FROM largest)
        ), percentiles AS (
            SELECT name, step, max(longest_s) AS longest_s, min(bin) FILTER (
                WHERE upto >= ceil(round(%(probability)s::numeric * messages, 6))
            ) AS bin
            FROM running GROUP BY name, step
        )"""


def _shape(quantity: Quantity) -> _Shape:
    if quantity.sums == "measured":
        return _ADDED_UP if quantity.adds_up else _MEASURED
    if quantity.sums == "delays":
        at_bins = _Shape(_LONGEST.sums, _LONGEST.rank, "bin", most="longest_s")
        return _LONGEST if quantity.probability is None else at_bins
    return _UNANSWERED if quantity.unit == "ratio" else _COUNTED
