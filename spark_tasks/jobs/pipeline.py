"""Compute the facts of a folder of records on Spark (the shape `pipeline`).

The payload names the window, `inputs` of the order say where the records lie and where the tables
go, storage that all executors share. `spark_tasks.facts` says what is summed, for both engines:

1. Each task sums pieces of the records and keeps its sums beside the answer, a file for each level.
2. Sums, also those kept of former records, are exchanged by place, that is by window and topic: a
   part holds all of some neighbouring places of one span (`spark_tasks.kept_sums`), so that it
   computes whatever is about one, in its order, as one process does for all.
3. What is about all topics of a window is summed in each part, then over the parts of its span.
   What is about all windows Spark merges and orders.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from spark_tasks.blocks import Steps, collected, even_shares, exchange, spread
from spark_tasks.facts import LEVELS, Facts, finished_schema, schema_of
from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, read_table, write_answer, write_table
from spark_tasks.kept_sums import (
    BY_SPAN,
    PART_ROWS,
    ROOTS,
    WHOLE,
    Counts,
    Kept,
    by_span,
    part_name,
    span_of,
)
from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores
from spark_tasks.pipeline import Report, Sums, compute, level_of, write_span
from spark_tasks.progress import Reporter
from spark_tasks.records import Records, check_same
from weir.errors import WeirError

TASKS_PER_CORE = 4

TASK_ROWS = 4_000_000
"""A task reads about so many at most: its sums are in memory until they are written."""

SAMPLE = 1000
"""Rows of a level that a task gives to choose the borders of parts by."""

Place = tuple[int, str]
"""The number of a window, and a topic."""

_PLACE = ("window", "topic")
PLACED = tuple(facts for facts in BY_SPAN if facts.order[:2] == _PLACE)
"""Tables about places."""
CROSSED = next(facts for facts in BY_SPAN if facts.name == "traffic")
"""About all topics of a window, and computed of what is about places."""
SPANNED = tuple(facts for facts in BY_SPAN if facts not in PLACED and facts != CROSSED)
STEP_ROWS = 64_000_000
"""Records of a step: what died begins again with its step."""

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
    question = json.loads(payload)
    with Reporter(order.progress_url, order.progress_token) as reporter:

        def report(phase: str, done: int, total: int) -> None:
            reporter.offer({"phase": phase, "done": done, "total": total})

        def absorb_there(kept: Kept, records: Records, report: Report) -> Mapping[str, Counts]:
            folder = f"{output_uri}-parts/{kept.step}"
            return absorb(spark, folder, kept, records, report)

        return compute(
            order.inputs["records"],
            order.inputs["out"],
            window_s=question.get("window_s"),
            keep=question.get("keep") is True,
            most_rows=STEP_ROWS,
            absorb=absorb_there,
            report=report,
        )


def absorb(
    spark: Any, folder: str, kept: Kept, records: Records, report: Report
) -> Mapping[str, Counts]:
    """Write what becomes of the sums and facts with these records; return what was read. What
    tasks leave for each other lies below `folder`. Raises InvalidProblem."""
    uri, window_s, windows = records.uri, kept.window_s, span_of(kept.window_s)
    side_by_side = cores(spark)
    tasks = max(TASKS_PER_CORE * side_by_side, -(-records.rows // TASK_ROWS))
    shares = even_shares(records.pieces, tasks) if records.pieces else []

    def read(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
        sums = Sums()
        for piece in given[0]:
            sums.add(uri, piece, window_s)
        levels = sums.levels()
        spans: set[int] = set()
        samples = []
        for name in ROOTS:
            if name in levels:
                spans.update(span for span, _ in by_span(levels[name], windows))
                if _is_placed(name):
                    samples.append(_sample(levels[name]))
        if "received" in levels:
            level_of("interests", levels)
        for name, rows in levels.items():
            write_table(_file(folder, name, number), rows)
        yield number, (sums.counts, list(levels), spans, samples)

    refusals = Sums()
    refusals.refuse(records)
    for name, rows in refusals.levels().items():
        write_table(_file(folder, name, len(shares)), rows)
    written = {name: [len(shares)] for name in refusals.levels()}
    counts = refusals.counts
    samples: list[list[tuple[Place, int]]] = []
    spans: set[int] = set()
    read_shares = collected(spread(spark, shares, read), Steps(report, "read", len(shares)))
    for number, (share, names, touched, some) in enumerate(read_shares):
        for name in names:
            written.setdefault(name, []).append(number)
        spans |= touched
        samples += some
        for table, each in share.items():
            counts.setdefault(table, Counts()).add(each)
    # Sums are of one state of the records, or there is no answer.
    check_same(records, alone=not kept.keep)
    sources = [(name, _file(folder, name, at)) for name in ROOTS for at in written.get(name, [])]
    for name in ROOTS:
        for places in kept.sums_of(name, spans).values():
            sources += [(name, place) for place in places]
            if _is_placed(name):
                samples += [_sample(read_table(place, columns=[*_PLACE])) for place in places]
    edges = sorted(spans)
    borders = borders_of(samples, TASKS_PER_CORE * side_by_side, [each * windows for each in edges])
    # What is about no topic goes by span, behind what goes by place; before the first border is
    # nothing.
    parts, several = ["", *_part_names(borders, windows)], len(borders) + 1
    parts += [part_name(span) for span in edges]

    numbers = {span: several + at for at, span in enumerate(edges)}
    # What tasks need goes to each of them; what was read before is none of their business.
    target = replace(kept, known={}, counts={}, sizes={})

    def cut(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
        for name, source in given[0]:
            rows = read_table(source)
            if _is_placed(name):
                for part, piece in cut_at(rows, borders):
                    yield part, (name, piece)
            else:
                for span, piece in by_span(rows, windows):
                    yield numbers[span], (name, piece)

    def write(number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        pieces: dict[str, list[Any]] = {}
        for name, piece in blocks:
            pieces.setdefault(name, []).append(piece)
        levels = write_span(target, parts[number], pieces, PLACED if number < several else SPANNED)
        crossed = level_of(CROSSED.level, levels) if "received" in levels else ()
        if len(crossed):
            write_table(f"{folder}/crossed/{parts[number]}.parquet", crossed)
        yield number, (number, len(crossed) > 0)

    dealt = [sources[at::tasks] for at in range(min(tasks, len(sources)))]
    frame = exchange(spread(spark, dealt, cut), len(parts), write)
    crossing: dict[int, list[str]] = {}
    for number, crosses in collected(frame, Steps(report, "write", len(parts))):
        if crosses:
            span = borders[number - 1][0] // windows
            place = f"{folder}/crossed/{parts[number]}.parquet"
            crossing.setdefault(span, []).append(place)

    def cross(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
        for span, places in given[0]:
            pieces = {CROSSED.level: [read_table(place) for place in places]}
            write_span(target, part_name(span), pieces, [CROSSED])
        yield number, len(given[0])

    groups = list(crossing.items())
    collected(spread(spark, [groups[at::tasks] for at in range(min(tasks, len(groups)))], cross))
    for number, facts in enumerate(WHOLE):
        if facts.level in written:
            new = [_file(folder, facts.level, at) for at in written[facts.level]]
            _merge(spark, [*kept.files_of(facts.name), *new], facts, kept)
        report("merge", number + 1, len(WHOLE))
    return counts


def _part_names(borders: Sequence[Place], windows: int) -> Iterator[str]:
    """Return the names of the parts that begin at these borders, each inside one span."""
    before, number = None, 0
    for window, _ in borders:
        span = window // windows
        number = number + 1 if span == before else 0
        before = span
        yield part_name(span, number)


def _file(folder: str, level: str, number: int) -> str:
    return f"{folder}/{level}/part-{number}.parquet"


def _is_placed(level: str) -> bool:
    """Return whether a level that is kept goes by place: none of its facts is about a broker."""
    return level not in {facts.level for facts in SPANNED}


def _sample(rows: Any) -> list[tuple[Place, int]]:
    """Return some places of a level, each with how many rows it stands for."""
    step = -(-len(rows) // SAMPLE)
    some = rows.take(np.arange(0, len(rows), step))
    places = zip(some["window"].to_pylist(), some["topic"].to_pylist(), strict=True)
    return [(place, step) for place in places]


def borders_of(
    samples: Sequence[Sequence[tuple[Place, int]]], least: int, edges: Sequence[int]
) -> list[Place]:
    """Return places that cut all places into parts of about as many rows: into so many at least
    where there are as many places, into more of PART_ROWS, and at the windows of `edges`."""
    some = sorted(one for sample in samples for one in sample)
    ends = np.cumsum([rows for _, rows in some], dtype=np.int64)
    at_edges: set[Place] = {(window, "") for window in edges}
    if not len(ends):
        return sorted(at_edges)
    parts = max(least, -(-int(ends[-1]) // PART_ROWS))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts) + 1
    return sorted(at_edges | {some[cut][0] for cut in cuts.tolist() if cut < len(some)})


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


def _merge(spark: Any, places: Sequence[str], facts: Facts, kept: Kept) -> None:
    """Merge the sums of a level that lie at these places, and write its table in order."""
    level = LEVELS[facts.level]
    columns = from_arrow_schema(schema_of(level))
    schema = finished_schema(facts)

    def finish(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = facts.finish(pa.Table.from_batches([batch]), kept.window_s)
            yield from rows.cast(schema).to_batches()

    source = spark.read.schema(columns).parquet(*places)
    sums = [_MERGES[merge](name).alias(name) for name, (merge, _) in level.measures.items()]
    whole = source.groupBy(*level.keys).agg(*sums)
    exact = whole.select(*(functions.col(f.name).cast(f.dataType) for f in columns.fields))
    frame = exact.orderBy(*facts.order).mapInArrow(finish, from_arrow_schema(schema))
    uri = f"{kept.staged}/facts/{facts.name}"
    frame.write.mode("overwrite").option("compression", "zstd").parquet(uri)
    system, path = FileSystem.from_uri(uri)
    written = system.get_file_info(FileSelector(path))
    data = sorted(each.path for each in written if each.base_name.startswith("part-"))
    for number, each in enumerate(data):
        system.move(each, f"{path}/{part_name(number)}.parquet")
