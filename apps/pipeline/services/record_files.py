"""Write slices of a log as Parquet files: a folder for each table.

It imports pyarrow, so only who writes records imports this module.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from weir.records.slices import Columns, Slice, Text

ROW_GROUP = 250_000
"""Rows of a row group, at least, but for the last one of a table."""
FILE_ROWS = 4_000_000
"""Rows after which a file is ended."""

COLUMNS = {
    "messages": ("at_s", "topic", "publisher", "broker", "messages", "bytes"),
    "deliveries": (
        *("at_s", "topic", "subscriber", "consumer_class", "broker", "origin", "delay_s"),
        *("messages", "bytes"),
    ),
    "requests": (
        *("at_s", "topic", "subscriber", "consumer_class", "broker", "origin", "delay_s"),
        *("messages", "bytes"),
    ),
    "samples": ("at_s", "broker", "metric", "value"),
}
"""The columns of each table (docs/formats.md)."""

NUMBERS = {"at_s": pa.float64(), "delay_s": pa.float64(), "value": pa.float64()}
COUNTS = {"messages": pa.int64(), "bytes": pa.int64()}


def schema_of(table: str) -> pa.Schema:
    """Return the columns of a table as Arrow has them while they are written."""
    kinds = NUMBERS | COUNTS
    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([(name, kinds.get(name, text)) for name in COLUMNS[table]])


class _TableWriter:
    """The files of one table while they are written."""

    def __init__(self, folder: Path, table: str) -> None:
        folder.mkdir()
        self._folder, self._schema = folder, schema_of(table)
        self._coded = [name for name in COLUMNS[table] if name not in NUMBERS]
        self._names: dict[str, pa.Array] = {}
        self._waiting: list[pa.RecordBatch] = []
        self._file: Any = None
        self._files = self._in_file = 0
        self.rows = 0

    def add(self, columns: Columns) -> None:
        """Take rows; they are written when they fill a row group."""
        batch = pa.record_batch(
            [self._array(name, columns) for name in self._schema.names], schema=self._schema
        )
        self._waiting.append(batch)
        self.rows += batch.num_rows
        if sum(each.num_rows for each in self._waiting) >= ROW_GROUP:
            self._write()

    def end(self) -> None:
        """Write what waits; a table without rows has a file that says its columns."""
        if self._waiting or not self._files:
            self._write()
        self.close()

    def close(self) -> None:
        """Close the file that is open, if any."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _array(self, name: str, columns: Columns) -> pa.Array:
        column = columns[name]
        if isinstance(column, Text):
            if name not in self._names:
                self._names[name] = pa.array(column.names, pa.string())
            return pa.DictionaryArray.from_arrays(column.codes, self._names[name])
        return pa.array(column, from_pandas=name == "delay_s")

    def _write(self) -> None:
        if self._file is None:
            self._file = parquet.ParquetWriter(
                self._folder / f"part-{self._files:05}.parquet",
                self._schema,
                compression="zstd",
                use_dictionary=self._coded,
                # Whoever reads it sees plain texts, however they are stored.
                store_schema=False,
            )
            self._files += 1
            self._in_file = 0
        table = pa.Table.from_batches(self._waiting, self._schema)
        self._file.write_table(table, row_group_size=max(table.num_rows, 1))
        self._waiting = []
        self._in_file += table.num_rows
        if self._in_file >= FILE_ROWS:
            self.close()


def write_records(folder: Path, tables: Iterable[str], slices: Iterable[Slice]) -> dict[str, int]:
    """Write a log into a folder and return the rows of each table. Raises OSError."""
    writers = {}
    with ExitStack() as open_files:
        for table in tables:
            writers[table] = _TableWriter(folder / table, table)
            open_files.callback(writers[table].close)
        for each in slices:
            for table, columns in each.tables.items():
                writers[table].add(columns)
        for writer in writers.values():
            writer.end()
    return {table: writer.rows for table, writer in writers.items()}
