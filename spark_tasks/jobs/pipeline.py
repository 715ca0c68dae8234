"""Compute the facts of a folder of records on Spark (the shape `pipeline`).

The payload names the window, `inputs` of the order say where the records lie and where the tables
go, storage that all executors share. A few tasks per core sum pieces of the records, each writes
its sums beside the answer as one file a level; Spark merges those by key and writes what `finish`
makes of them in order. `spark_tasks.facts` says what is summed, for both engines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow.fs import FileSystem
from pyspark import StorageLevel
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from spark_tasks.blocks import Steps, collected, even_shares, spread
from spark_tasks.facts import FACTS, LEVELS, Facts, finished_schema, schema_of
from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer, write_table
from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores
from spark_tasks.pipeline import Counts, Sums, check_window, summary
from spark_tasks.progress import Reporter
from spark_tasks.records import check_same, records_at
from weir.errors import WeirError

TASKS_PER_CORE = 4

TASK_ROWS = 4_000_000
"""A task reads about so many at most: its sums are in memory until they are written."""

_MERGES: dict[str, Callable[[Any], Any]] = {
    "sum": functions.sum,
    "min": functions.min,
    "max": functions.max,
    "count": functions.count,
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
    folder = f"{output_uri}-parts"
    records = records_at(order.inputs["records"])
    tasks = max(TASKS_PER_CORE * cores(spark), -(-records.rows // TASK_ROWS))
    shares = even_shares(records.pieces, tasks)

    def read(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
        sums = Sums()
        for piece in given[0]:
            sums.add(records, piece, window_s)
        levels = sums.levels()
        for name, rows in levels.items():
            write_table(f"{folder}/{name}/part-{number}.parquet", rows)
        yield number, (sums.counts, list(levels))

    with Reporter(order.progress_url, order.progress_token) as reporter:

        def report(phase: str, done: int, total: int) -> None:
            reporter.offer({"phase": phase, "done": done, "total": total})

        refusals = Sums()
        refusals.refuse(records)
        for name, rows in refusals.levels().items():
            write_table(f"{folder}/{name}/part-refused.parquet", rows)
        written = set(refusals.levels())
        counts = refusals.counts
        parts = collected(spread(spark, shares, read), Steps(report, "read", len(shares)))
        for share, names in parts:
            written.update(names)
            for table, each in share.items():
                counts.setdefault(table, Counts()).add(each)
        # Sums are of one state of the records, or there is no answer.
        check_same(records)
        frames = Frames(spark, folder, written)
        sizes = {}
        try:
            for number, facts in enumerate(FACTS):
                place = f"{order.inputs['out']}/{facts.name}"
                sizes[facts.name] = _write(frames.level(facts.level), facts, window_s, place)
                report("write", number + 1, len(FACTS))
        finally:
            frames.release()
    return summary(window_s, counts, sizes)


class Frames:
    """Levels as frames of Spark: those that several others need are computed once."""

    def __init__(self, spark: Any, folder: str, written: set[str]) -> None:
        self._spark, self._folder, self._written = spark, folder, written
        self._frames: dict[str, Any] = {}
        self._kept: list[Any] = []
        uses = [level.source for level in LEVELS.values()] + [facts.level for facts in FACTS]
        self._shared = {name for name, count in Counter(uses).items() if count > 1}

    def level(self, name: str) -> Any:
        """Return the frame of a level."""
        if name not in self._frames:
            frame = self._merged(name)
            if name in self._shared:
                frame = frame.persist(StorageLevel.DISK_ONLY)
                self._kept.append(frame)
            self._frames[name] = frame
        return self._frames[name]

    def _merged(self, name: str) -> Any:
        level = LEVELS[name]
        schema = from_arrow_schema(schema_of(level))
        if level.source is not None:
            source, measures = self.level(level.source), level.measures
        else:
            if name not in self._written:
                return self._spark.createDataFrame([], schema)
            source = self._spark.read.schema(schema).parquet(f"{self._folder}/{name}")
            measures = {measure: (merge, measure) for measure, (merge, _) in level.measures.items()}
        added = [_MERGES[merge](of).alias(measure) for measure, (merge, of) in measures.items()]
        frame = source.groupBy(*level.keys).agg(*added)
        return frame.select(*(functions.col(f.name).cast(f.dataType) for f in schema.fields))

    def release(self) -> None:
        """Free what was kept on the executors' disks."""
        for frame in self._kept:
            frame.unpersist()


def _write(frame: Any, facts: Facts, window_s: int, uri: str) -> int:
    """Write a table of facts in its order; return how many rows it has."""
    schema = finished_schema(facts)
    groups = facts.order != LEVELS[facts.level].keys

    def finish(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces = (pa.Table.from_batches([batch]) for batch in batches)
        for piece in _not_cut(pieces, facts.order) if groups else pieces:
            yield from facts.finish(piece, window_s).cast(schema).to_batches()

    frame = frame.orderBy(*facts.order).mapInArrow(finish, from_arrow_schema(schema))
    frame.write.mode("overwrite").option("compression", "zstd").parquet(uri)
    system, path = FileSystem.from_uri(uri)
    dataset = parquet.ParquetDataset(path, filesystem=system)
    return sum(fragment.metadata.num_rows for fragment in dataset.fragments)


def _not_cut(pieces: Iterator[Any], keys: Sequence[str]) -> Iterator[Any]:
    """Return ordered rows in other pieces, so that rows whose keys are equal are in one of them."""
    rest = None
    for piece in pieces:
        rows = piece if rest is None else pa.concat_tables([rest, piece])
        last = np.ones(len(rows), dtype=np.bool_)
        for key in keys:
            last &= compute.equal(rows[key], rows[key][-1]).to_numpy()
        begins = int(np.argmax(last))
        yield rows.slice(0, begins)
        rest = rows.slice(begins)
    if rest is not None:
        yield rest
