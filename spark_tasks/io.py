"""The only reader and writer of datasets: snapshots in, answers out, as one-row Parquet."""

from typing import Any

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
    """The snapshot as a frame of one row and one partition."""
    return spark.read.schema(SNAPSHOT_SCHEMA).parquet(uri).coalesce(1)


def write_answer(frame: Any, uri: str) -> None:
    """Compute the frame and keep it."""
    frame.write.mode("overwrite").parquet(uri)


def read_answer(spark: Any, uri: str) -> tuple[bytes | None, str | None]:
    """Answer and error of a finished job; exactly one of them is given."""
    row = spark.read.schema(ANSWER_SCHEMA).parquet(uri).collect()[0]
    return (None if row.payload is None else bytes(row.payload)), row.error
