"""Read and write datasets: snapshots, answers and the columns of cut problems."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyarrow.fs import FileSystem
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

# Types, not their text: text is parsed by the session active in this thread, and a session made by
# another thread is not.
SNAPSHOT_SCHEMA = StructType([StructField("payload", BinaryType())])
ANSWER_SCHEMA = StructType(
    [StructField("payload", BinaryType()), StructField("error", StringType())]
)


def write_snapshot(spark: Any, payload: bytes, uri: str) -> None:
    """Put the snapshot where every executor can read it."""
    frame = spark.createDataFrame([(bytearray(payload),)], SNAPSHOT_SCHEMA)
    frame.coalesce(1).write.mode("overwrite").parquet(uri)


def read_snapshot(spark: Any, uri: str) -> Any:
    """Return the snapshot as a frame of one row and one partition."""
    return spark.read.schema(SNAPSHOT_SCHEMA).parquet(uri).coalesce(1)


def write_answer(frame: Any, uri: str) -> None:
    """Compute the frame and keep it."""
    frame.write.mode("overwrite").parquet(uri)


def read_answer(spark: Any, uri: str) -> tuple[bytes | None, str | None]:
    """Answer and error of a finished job; exactly one of them is given."""
    row = spark.read.schema(ANSWER_SCHEMA).parquet(uri).collect()[0]
    return (None if row.payload is None else bytes(row.payload)), row.error


def write_columns(uri: str, columns: Mapping[str, Any]) -> None:
    """Write arrays of equal length as one Parquet file, whole or not at all (`write_table`)."""
    write_table(uri, pa.table({name: pa.array(values) for name, values in columns.items()}))


def write_table(uri: str, table: Any, **options: Any) -> None:
    """Write one Parquet file, which is there as a whole or not at all: of a task that was killed
    nobody reads half a file."""
    system, path = FileSystem.from_uri(uri)
    folder, _, name = path.rpartition("/")
    system.create_dir(folder, recursive=True)
    unfinished = f"{folder}/.{name}-{uuid.uuid4()}"
    parquet.write_table(table, unfinished, filesystem=system, **options)
    system.move(unfinished, path)


def read_table(uri: str, columns: Sequence[str] | None = None) -> Any:
    """Read what `write_table` wrote, or some columns of it."""
    system, path = FileSystem.from_uri(uri)
    with parquet.ParquetFile(path, filesystem=system) as file:
        return file.read(columns=None if columns is None else list(columns))


def read_columns(uri: str) -> dict[str, np.ndarray]:
    """Return what `write_columns` wrote, in whatever process it is needed."""
    table = read_table(uri)
    # Own memory: compiled code wants arrays that may be written and are aligned.
    return {name: np.array(table[name].to_numpy()) for name in table.column_names}
