"""Exchange blocks of arrays between tasks: few large rows instead of one a message.

A block is a row of Spark: the number of the part that shall have it, and a value. What is sorted
and counted is done in arrays inside the tasks; Spark brings the blocks to where they belong.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

BLOCKS = StructType([StructField("to", IntegerType()), StructField("payload", BinaryType())])
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
MOST_BATCH_BYTES = 16 << 20
"""Of blocks on their way into a task: a few of them, so that they need little room at once."""


class _Piece(Protocol):
    @property
    def rows(self) -> int: ...


P = TypeVar("P", bound=_Piece)


def even_shares(pieces: Sequence[P], tasks: int) -> list[list[P]]:
    """Return the pieces in so many shares at most, neighbours together, of about as many rows."""
    most = -(-sum(piece.rows for piece in pieces) // tasks)
    shares: list[list[P]] = [[]]
    rows = 0
    for piece in pieces:
        if shares[-1] and rows + piece.rows > most:
            shares.append([])
            rows = 0
        shares[-1].append(piece)
        rows += piece.rows
    return shares


class Steps:
    """Report how many of some parts are done, one more each time that it is called."""

    def __init__(self, report: Callable[[str, int, int], None], phase: str, total: int) -> None:
        self._report, self._phase, self._total, self._done = report, phase, total, 0

    def __call__(self, value: Any) -> None:
        self._done += 1
        self._report(self._phase, self._done, self._total)


Work = Callable[[int, list[Any]], Iterator[tuple[int, Any]]]
"""Takes the number of a part and its blocks, in any order; gives blocks for others."""


def spread(spark: Any, given: Sequence[Any], work: Work) -> Any:
    """Call `work` in a task for each of the values given; return the frame of what it gives."""
    spark.conf.set(BATCH_BYTES, str(MOST_BATCH_BYTES))
    # A range has a part at least, even of nothing.
    values = [pickle.dumps(value) for value in given]

    def in_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(work(number, [pickle.loads(values[number])]))

    return spark.range(0, len(values), 1, max(len(values), 1)).mapInArrow(in_task, BLOCKS)


def exchange(frame: Any, parts: int, work: Work) -> Any:
    """Bring the blocks of each number into one task and go on with them; return the new frame."""

    def in_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered: dict[int, list[Any]] = {}
        for batch in batches:
            columns = (batch.column(0).to_pylist(), batch.column(1).to_pylist())
            for number, payload in zip(*columns, strict=True):
                gathered.setdefault(number, []).append(pickle.loads(payload))
        for number in sorted(gathered):
            yield from _batches(work(number, gathered.pop(number)))

    return frame.repartitionById(parts, "to").mapInArrow(in_task, BLOCKS)


def collected(frame: Any, report: Callable[[Any], None] = lambda value: None) -> list[Any]:
    """Compute the frame; return what its blocks hold, by their numbers. `report` takes each
    when it arrives."""
    numbered: list[tuple[int, Any]] = []
    for row in frame.toLocalIterator():
        numbered.append((row.to, pickle.loads(bytes(row.payload))))
        report(numbered[-1][1])
    return [value for _, value in sorted(numbered, key=lambda pair: pair[0])]


def _batches(blocks: Iterator[tuple[int, Any]]) -> Iterator[pa.RecordBatch]:
    # What is pickled was written by the same code in another task of the same job.
    for number, value in blocks:
        payload = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        columns = [pa.array([number], pa.int32()), pa.array([payload], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["to", "payload"])
