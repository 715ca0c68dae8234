"""Read files of records in parts, each small enough for a batch (docs/formats.md, *Records from
files*).

Where a file is cut follows from what stands before the cut alone: who reads it again gets the same
parts, and who appended to it the same but for the last.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow.fs import FileSystem, FileType

from spark_tasks.recordings import files_of
from spark_tasks.records import TABLES, UNREADABLE
from spark_tasks.sent_records import (
    CSV,
    JSON_LINES,
    MOST_ROWS,
    PARQUET,
    READ_BYTES,
    SentRows,
    columns_sent,
    open_parquet,
    sent_rows,
)
from weir.errors import InvalidProblem

SUFFIXES = {".parquet": PARQUET, ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".csv": CSV}
MOST_TEXT_BYTES = 32 * 1024 * 1024
"""Of a part of a file of text, as of the body of a batch."""
LONGEST_READ = 1024 * 1024
"""Of a line: of a longer one of JSON the beginning is set aside, one of CSV is refused."""
ROWS_AT_ONCE = 10_000
"""Of a file of Parquet."""

CREDENTIALS = re.compile("//[^/@]*@")
"""What an address of an object store may hold, and nobody is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """A file of a table of records."""

    table: str
    path: str
    name: str
    """Its path below the folder."""
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFolder:
    """A folder with files of records."""

    system: Any
    files: Sequence[RecordFile]
    """Those that can be read, in the order in which they are."""
    left_out: int
    """Files of other kinds, or in no folder of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of a file that are one batch."""

    first_row: int
    rows: int
    sha256: str
    """Of its text, or of the whole file of Parquet."""
    size_bytes: int
    read: Callable[[], SentRows]
    """Gives the rows. Raises InvalidProblem."""


def record_folder(uri: str, table: str = "") -> RecordFolder:
    """Look at a folder with a folder for each table, or with files of one `table`. Raises
    InvalidProblem where there is none of them, or no such folder."""
    place = CREDENTIALS.sub("//", uri).partition("?")[0]
    try:
        system, root = FileSystem.from_uri(uri)
        root = root.rstrip("/")
        if system.get_file_info(root or "/").type != FileType.Directory:
            raise InvalidProblem(place, "there is no such folder; name one with files of records")
        inside = files_of(system, root, "")
    except InvalidProblem:
        raise
    except UNREADABLE as error:
        raise InvalidProblem(
            place, f"cannot be read: {CREDENTIALS.sub('//', first_line(error))}"
        ) from error
    files = []
    for each in inside:
        name = each.path[len(root) :].strip("/")
        media_type = SUFFIXES.get("." + name.rpartition(".")[2])
        of = table or (name.partition("/")[0] if "/" in name else "")
        if media_type is not None and of in TABLES:
            of_file = {"table": of, "path": each.path, "name": name}
            files.append(RecordFile(**of_file, media_type=media_type, size_bytes=each.size))
    if not files:
        kinds, tables = ", ".join(SUFFIXES), ", ".join(TABLES)
        where = "" if table else f" in any of the folders {tables}; where all are of one, name it"
        raise InvalidProblem(place, f"holds no file that ends in {kinds}{where}")
    order = list(TABLES)
    files.sort(key=lambda each: (order.index(each.table), each.name))
    return RecordFolder(system=system, files=files, left_out=len(inside) - len(files))


def parts_of(folder: RecordFolder, file: RecordFile) -> Iterator[Part]:
    """Read the parts of a file one after another; a file without rows has none. Raises
    InvalidProblem at the part from which on it cannot be read."""
    try:
        if file.media_type == PARQUET:
            with folder.system.open_input_file(file.path) as source:
                yield from _parquet_parts(source, file)
            return
        with folder.system.open_input_stream(file.path, compression=None) as stream:
            parts = _csv_parts if file.media_type == CSV else _json_parts
            yield from parts(io.BufferedReader(stream, READ_BYTES), file.table)
    except InvalidProblem:
        raise
    except UNREADABLE as error:
        raise InvalidProblem("rows", f"cannot be read: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _parquet_parts(source: Any, file: RecordFile) -> Iterator[Part]:
    sha256 = hashlib.file_digest(source, "sha256").hexdigest()

    def begin() -> Any:
        source.seek(0)
        return source

    with open_parquet(begin, file.table) as (opened, names):
        total = opened.metadata.num_rows

        def part(columns: Any, first: int) -> Part:
            return Part(
                first_row=first,
                rows=len(columns),
                sha256=sha256,
                size_bytes=file.size_bytes * len(columns) // max(total, 1),
                read=partial(columns_sent, columns, file.table),
            )

        first, held = 0, opened.schema_arrow.empty_table().select(names)
        for batch in opened.iter_batches(batch_size=ROWS_AT_ONCE, columns=names):
            held = pa.concat_tables([held, pa.Table.from_batches([batch])])
            while len(held) >= MOST_ROWS:
                yield part(held.slice(0, MOST_ROWS), first)
                first, held = first + MOST_ROWS, held.slice(MOST_ROWS)
        if len(held):
            yield part(held, first)
        if first + len(held) != total:
            problem = f"there are {first + len(held):,} rows, not {total:,}"
            raise InvalidProblem("rows", f"cannot be read to the end: {problem}")


def _json_parts(stream: io.BufferedReader, table: str) -> Iterator[Part]:
    return _text_parts(b"", _lines(stream), JSON_LINES, table)


def _lines(stream: io.BufferedReader) -> Iterator[bytes]:
    """Return the lines that hold something; of one that is too long its beginning."""
    while line := stream.readline(LONGEST_READ):
        text = line.strip()
        if not text:
            continue
        yield text
        while len(line) == LONGEST_READ and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_READ)


def _csv_parts(stream: io.BufferedReader, table: str) -> Iterator[Part]:
    rows = _csv_rows(stream)
    header = next(rows, b"")
    return _text_parts(header, rows, CSV, table)


def _csv_rows(stream: io.BufferedReader) -> Iterator[bytes]:
    """Return the header and the rows as they stand there: lines, where no cell has several."""
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    lines: list[str] = []

    def following() -> Iterator[str]:
        size = 0
        while line := text.readline(LONGEST_READ):
            size = size + len(line) if lines else len(line)
            if len(line) == LONGEST_READ or size > MOST_TEXT_BYTES:
                where = f"line {reader.line_num + 1}"
                raise InvalidProblem("rows", f"{where} is too long for a row; is a quote open?")
            lines.append(line)
            yield line

    reader = csv.reader(following(), strict=True)
    try:
        for cells in reader:
            row = "".join(lines).rstrip("\r\n")
            lines.clear()
            if cells:
                yield row.encode()
    except UnicodeDecodeError:
        raise InvalidProblem("rows", "is not UTF-8; save it as UTF-8 (CSV UTF-8)") from None
    except csv.Error as error:
        raise InvalidProblem("rows", f"line {reader.line_num} is no CSV: {error}") from None


def _text_parts(
    header: bytes, rows: Iterator[bytes], media_type: str, table: str
) -> Iterator[Part]:
    """Return rows of text in parts, each below the header."""
    first, size = 0, 0
    held: list[bytes] = []
    for row in rows:
        if held and (len(held) == MOST_ROWS or size + len(row) > MOST_TEXT_BYTES):
            count = len(held)
            yield _text_part(header, held, first, media_type, table)
            first, size = first + count, 0
        held.append(row)
        size += len(row) + 1
    if held:
        yield _text_part(header, held, first, media_type, table)


def _text_part(header: bytes, rows: list[bytes], first: int, media_type: str, table: str) -> Part:
    """Return a part of these rows, and empty the list: they are in memory once."""
    count = len(rows)
    body = b"\n".join([header, *rows] if header else rows)
    rows.clear()
    return Part(
        first_row=first,
        rows=count,
        sha256=hashlib.sha256(body).hexdigest(),
        size_bytes=len(body),
        read=lambda: sent_rows(body, media_type, table),
    )
