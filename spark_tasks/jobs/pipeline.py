"""Compute the facts of a folder of records on Spark (the shape `pipeline`).

The payload names the window, `inputs` of the order say where the records lie and where the tables
go, storage that all executors share. `spark_tasks.facts` says what is summed, for both engines:

1. Each task sums pieces of the records and keeps its sums beside the answer, a file for each level.
2. Sums are exchanged by place, that is by window and topic: a part holds all of some neighbouring
   places, so that it computes whatever is about one, in its order, as one process does for all.
3. What is about all topics or all windows is summed in each part; these sums are few, and Spark
   merges and orders them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyarrow.fs import FileSystem
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from spark_tasks.blocks import Steps, collected, even_shares, exchange, spread
from spark_tasks.facts import FACTS, LEVELS, Facts, finished_schema, merged, schema_of
from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, read_table, write_answer, write_table
from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores
from spark_tasks.pipeline import (
    Counts,
    Sums,
    check_window,
    finished,
    level_of,
    summary,
    write_facts,
)
from spark_tasks.progress import Reporter
from spark_tasks.records import check_same, records_at
from weir.errors import WeirError

TASKS_PER_CORE = 4

TASK_ROWS = 4_000_000
"""A task reads about so many at most: its sums are in memory until they are written."""

PART_ROWS = 2_000_000
"""A part has about so many rows of sums: they are in memory several times over."""

SAMPLE = 1000
"""Rows of a level that a task gives to choose the borders of parts by."""

Place = tuple[int, str]
"""The number of a window, and a topic."""

_PLACE = ("window", "topic")
PLACED = tuple(facts for facts in FACTS if facts.order[:2] == _PLACE)
"""Tables about places."""
OTHERS = tuple(facts for facts in FACTS if facts not in PLACED)

_MERGES: dict[str, Callable[[Any], Any]] = {
    "sum": functions.sum,
    "min": functions.min,
    "max": functions.max,
}


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the records, write the facts, answer with the summary or the sentence of refusal."""
    payload = bytes(read_snapshot(spark, input_uri).collect()[0].payload)
    try:
        answer, error = _answer(spark, payload, output_uri, order), None
    except WeirError as problem:
        answer, error = None, str(problem)
    row = [(None if answer is None else bytearray(answer), error)]
    write_answer(spark.createDataFrame(row, ANSWER_SCHEMA).coalesce(1), output_uri)


def _answer(spark: Any, payload: bytes, output_uri: str, order: JobOrder) -> bytes:
    window_s = check_window(json.loads(payload).get("window_s"))
    folder, out = f"{output_uri}-parts", order.inputs["out"]
    records = records_at(order.inputs["records"])
    side_by_side = cores(spark)
    tasks = max(TASKS_PER_CORE * side_by_side, -(-records.rows // TASK_ROWS))
    shares = even_shares(records.pieces, tasks)

    def read(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
        sums = Sums()
        for piece in given[0]:
            sums.add(records, piece, window_s)
        levels = sums.levels()
        for name, rows in levels.items():
            write_table(_file(folder, name, number), rows)
        samples = [_sample(rows) for name, rows in levels.items() if _is_placed(name)]
        yield number, (sums.counts, list(levels), samples)

    with Reporter(order.progress_url, order.progress_token) as reporter:

        def report(phase: str, done: int, total: int) -> None:
            reporter.offer({"phase": phase, "done": done, "total": total})

        refusals = Sums()
        refusals.refuse(records)
        for name, rows in refusals.levels().items():
            write_table(_file(folder, name, len(shares)), rows)
        written = set(refusals.levels())
        counts = refusals.counts
        read_shares = collected(spread(spark, shares, read), Steps(report, "read", len(shares)))
        # Sums are of one state of the records, or there is no answer.
        check_same(records)
        placed: list[list[str]] = []
        samples: list[list[tuple[Place, int]]] = []
        for share, kept, some in read_shares:
            written.update(kept)
            placed.append([name for name in kept if _is_placed(name)])
            samples += some
            for table, each in share.items():
                counts.setdefault(table, Counts()).add(each)
        borders = borders_of(samples, TASKS_PER_CORE * side_by_side)

        def cut(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
            share, names = given[0]
            for name in names:
                sums = read_table(_file(folder, name, share))
                for part, piece in cut_at(sums, borders):
                    yield part, (name, piece)

        def computed(number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
            given: dict[str, list[Any]] = {}
            for name, piece in blocks:
                given.setdefault(name, []).append(piece)
            levels = {name: merged(LEVELS[name], pieces) for name, pieces in given.items()}
            rows = {}
            for facts in PLACED:
                made = finished(facts, levels, window_s)
                rows[facts.name] = len(made)
                if len(made):
                    write_facts(out, facts, number, made)
            partial = [facts.level for facts in OTHERS if LEVELS[facts.level].source is not None]
            for name in partial:
                write_table(_file(folder, name, number), level_of(name, levels))
            yield number, (rows, partial)

        frame = exchange(spread(spark, list(enumerate(placed)), cut), len(borders) + 1, computed)
        sizes = dict.fromkeys((facts.name for facts in FACTS), 0)
        for part_sizes, names in collected(frame, Steps(report, "compute", len(borders) + 1)):
            written.update(names)
            for name, size in part_sizes.items():
                sizes[name] += size
        for facts in PLACED:
            if not sizes[facts.name]:
                write_facts(out, facts, 0, finished(facts, {}, window_s))
        for number, facts in enumerate(OTHERS):
            if facts.level in written:
                sizes[facts.name] = _merge(spark, folder, facts, window_s, out)
            else:
                write_facts(out, facts, 0, finished(facts, {}, window_s))
            report("merge", number + 1, len(OTHERS))
    return summary(window_s, counts, sizes)


def _file(folder: str, level: str, number: int) -> str:
    return f"{folder}/{level}/part-{number}.parquet"


def _is_placed(level: str) -> bool:
    return set(_PLACE) <= set(LEVELS[level].keys)


def _sample(rows: Any) -> list[tuple[Place, int]]:
    """Return some places of a level, each with how many rows it stands for."""
    step = -(-len(rows) // SAMPLE)
    some = rows.take(np.arange(0, len(rows), step))
    places = zip(some["window"].to_pylist(), some["topic"].to_pylist(), strict=True)
    return [(place, step) for place in places]


def borders_of(samples: Sequence[Sequence[tuple[Place, int]]], least: int) -> list[Place]:
    """Return places that cut all places into parts of about as many rows: into so many at least
    where there are as many places, and into more of PART_ROWS."""
    some = sorted(one for sample in samples for one in sample)
    ends = np.cumsum([rows for _, rows in some], dtype=np.int64)
    if not len(ends):
        return []
    parts = max(least, -(-int(ends[-1]) // PART_ROWS))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts) + 1
    return sorted({some[cut][0] for cut in cuts.tolist() if cut < len(some)})


def cut_at(rows: Any, borders: Sequence[Place]) -> Iterator[tuple[int, Any]]:
    """Return the rows of each part that has some, with its number: part i holds the places from
    border i - 1 on and below border i."""
    topics = rows["topic"].combine_chunks().dictionary_encode()
    if isinstance(topics, pa.ChunkedArray):
        topics = topics.unify_dictionaries().combine_chunks()
    codes, names = topics.indices.to_numpy(), np.array(topics.dictionary.to_pylist(), dtype=object)
    window = rows["window"].to_numpy()
    part = np.zeros(len(rows), dtype=np.int64)
    for border_window, border_topic in borders:
        part += (window > border_window) | (
            (window == border_window) & (names >= border_topic)[codes]
        )
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(len(borders) + 2))
    for number in np.unique(part).tolist():
        yield number, rows.take(order[ends[number] : ends[number + 1]])


def _merge(spark: Any, folder: str, facts: Facts, window_s: int, out: str) -> int:
    """Merge the sums of a level that tasks have kept, write its table in order, and return how many
    rows it has."""
    level = LEVELS[facts.level]
    columns = from_arrow_schema(schema_of(level))
    schema = finished_schema(facts)

    def finish(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = facts.finish(pa.Table.from_batches([batch]), window_s)
            yield from rows.cast(schema).to_batches()

    source = spark.read.schema(columns).parquet(f"{folder}/{level.name}")
    sums = [_MERGES[merge](name).alias(name) for name, (merge, _) in level.measures.items()]
    whole = source.groupBy(*level.keys).agg(*sums)
    exact = whole.select(*(functions.col(f.name).cast(f.dataType) for f in columns.fields))
    frame = exact.orderBy(*facts.order).mapInArrow(finish, from_arrow_schema(schema))
    uri = f"{out}/{facts.name}"
    frame.write.mode("overwrite").option("compression", "zstd").parquet(uri)
    system, path = FileSystem.from_uri(uri)
    dataset = parquet.ParquetDataset(path, filesystem=system)
    return sum(fragment.metadata.num_rows for fragment in dataset.fragments)
