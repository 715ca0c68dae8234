"""Facts of records as questions to DuckDB: what the pipeline is measured and judged by.

Each table is one question, written as an analyst would; only what rows are summed by and how is
shared with `docs/formats.md`. Percentiles are exact, of the delays themselves; the histograms that
the pipeline makes beside them are not computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SINCE = "(floor(at_s)::BIGINT // {w} * {w})::DOUBLE AS since_s"
_SUMS = "sum(messages)::BIGINT AS messages, sum(bytes)::BIGINT AS bytes"
_RATE = "sum(messages) / {w}::DOUBLE AS rate_per_s"
_PUBLISHED = f"""
    WITH seconds AS (
        SELECT {_SINCE}, floor(at_s) AS second, {{keys}}, {_SUMS} FROM messages GROUP BY ALL
    )
    SELECT since_s, {{keys}}, {_SUMS}, max(messages)::BIGINT AS busiest_second, {_RATE}
    FROM seconds GROUP BY ALL ORDER BY ALL
"""
QUESTIONS = {
    "publications": _PUBLISHED.replace("{keys}", "topic, publisher, broker"),
    "topics": _PUBLISHED.replace("{keys}", "topic"),
    "consumption": f"""
        SELECT {_SINCE}, topic, consumer_class, broker, {_SUMS},
            count(DISTINCT subscriber)::BIGINT AS subscribers, {_RATE}
        FROM deliveries GROUP BY ALL ORDER BY ALL
    """,
    "traffic": f"""
        WITH arrivals AS (
            SELECT {_SINCE}, topic, origin, broker, subscriber, {_SUMS}
            FROM deliveries WHERE origin <> broker AND origin <> '' AND broker <> '' GROUP BY ALL
        ), crossings AS (
            SELECT since_s, topic, origin, broker, max(messages) AS messages, max(bytes) AS bytes
            FROM arrivals GROUP BY ALL
        )
        SELECT since_s, origin, broker, {_SUMS}, {_RATE} FROM crossings GROUP BY ALL ORDER BY ALL
    """,
    "interests": f"""
        SELECT subscriber, topic, consumer_class, {_SUMS},
            min(at_s) AS since_s, max(at_s) AS until_s
        FROM deliveries GROUP BY ALL ORDER BY ALL
    """,
    "requests": f"""
        SELECT {_SINCE}, topic, consumer_class, broker, sum(messages)::BIGINT AS messages,
            sum(CASE WHEN delay_s IS NULL THEN messages ELSE 0 END)::BIGINT AS unanswered,
            sum(bytes)::BIGINT AS bytes, count(DISTINCT subscriber)::BIGINT AS requesters, {_RATE}
        FROM requests GROUP BY ALL ORDER BY ALL
    """,
    "delays": f"""
        WITH known AS (
            SELECT {_SINCE}, topic, 'delivery' AS kind, consumer_class, messages, delay_s
            FROM deliveries WHERE delay_s IS NOT NULL
            UNION ALL
            SELECT {_SINCE}, topic, 'answer' AS kind, consumer_class, messages, delay_s
            FROM requests WHERE delay_s IS NOT NULL
        ), ranked AS (
            SELECT since_s, topic, kind, consumer_class, messages, delay_s,
                sum(messages) OVER (PARTITION BY since_s, topic, kind, consumer_class
                    ORDER BY delay_s) AS upto,
                sum(messages) OVER (PARTITION BY since_s, topic, kind, consumer_class) AS total
            FROM known
        )
        SELECT since_s, topic, kind, consumer_class, sum(messages)::BIGINT AS messages,
            min(delay_s) FILTER (upto * 1000 >= total * 500) AS p50_s,
            min(delay_s) FILTER (upto * 1000 >= total * 950) AS p95_s,
            min(delay_s) FILTER (upto * 1000 >= total * 990) AS p99_s,
            min(delay_s) FILTER (upto * 1000 >= total * 999) AS p999_s,
            max(delay_s) AS longest_s
        FROM ranked GROUP BY ALL ORDER BY ALL
    """,
    "brokers": f"""
        SELECT {_SINCE}, broker, topic, consumer_class, metric, count(*)::BIGINT AS samples,
            sum(value::DECIMAL(38, 9))::DOUBLE / count(*) AS mean,
            min(value) AS least, max(value) AS most
        FROM samples GROUP BY ALL ORDER BY ALL
    """,
}
_COUNTED = {"messages": "1", "bytes": "0"}
_RECEIVED = {
    "at_s": "NULL::DOUBLE",
    **dict.fromkeys(["topic", "subscriber", "consumer_class", "broker", "origin"], "''"),
    "delay_s": "NULL::DOUBLE",
    **_COUNTED,
}
_COLUMNS = {
    "messages": {
        "at_s": "NULL::DOUBLE",
        **dict.fromkeys(["topic", "publisher", "broker"], "''"),
        **_COUNTED,
    },
    "deliveries": _RECEIVED,
    "requests": _RECEIVED,
    "samples": {
        "at_s": "NULL::DOUBLE",
        **dict.fromkeys(["broker", "topic", "consumer_class", "metric"], "''"),
        "value": "NULL::DOUBLE",
    },
}
"""Of each table, its columns and what stands for a null or for a column that is not there."""


def facts_by_duckdb(records: Path, *, window_s: int, memory: str = "") -> Any:
    """Return a function that gives a table of facts of a folder of records by its name, as Arrow;
    `memory` limits what DuckDB takes, such as `2GB`."""
    # Who computes no facts by SQL does without.
    import duckdb

    base = duckdb.connect()
    if memory:
        base.execute(f"SET memory_limit = '{memory}'")
    for table, columns in _COLUMNS.items():
        files = [str(file) for file in sorted((records / table).glob("*.parquet"))]
        there = set(base.read_parquet(files).columns) if files else set()
        read = [
            f"coalesce({name}, {default}) AS {name}" if name in there else f"{default} AS {name}"
            for name, default in columns.items()
        ]
        source = f"read_parquet({files})" if files else "(SELECT 1 WHERE false)"
        base.execute(f"CREATE VIEW {table} AS SELECT {', '.join(read)} FROM {source}")

    def table_of(name: str) -> Any:
        return base.sql(QUESTIONS[name].replace("{w}", str(window_s))).to_arrow_table()

    return table_of
