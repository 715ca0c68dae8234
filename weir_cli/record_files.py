"""Cut files of records into batches that the API takes: always at the same places."""

import csv
import hashlib
import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weir_cli.ending import CommandError

FORMATS = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
"""What records are written in -> the type of a body."""
SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
STDIN = Path("-")

MOST_ROWS = 100_000
MOST_BYTES = 32 * 1024 * 1024
"""Of one batch, as its rows."""
ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows of a file that are sent as one batch."""

    first_row: int
    body: bytes
    digest: str
    """The SHA-256 of the file up to the end of these rows; of a file that is one batch the digest
    by which the API calls it."""


def format_of(path: Path, given: str | None) -> str:
    """Return what a file is written in. Raises CommandError."""
    written_in = given or SUFFIXES.get(path.suffix.lower())
    if written_in is None:
        what = "standard input" if path == STDIN else str(path)
        raise CommandError(f"{what}: in which format is it? Give --format {', '.join(FORMATS)}.")
    return written_in


def batches_of(path: Path, written_in: str) -> Iterator[Batch]:
    """Read a file, or standard input for `-`, batch by batch. Raises CommandError."""
    try:
        if path == STDIN:
            stdin: Any = sys.stdin.buffer
            yield from _batches(stdin, path, written_in)
            return
        with path.open("rb") as stream:
            yield from _batches(stream, path, written_in)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}.") from error


def _batches(stream: io.BufferedReader, path: Path, written_in: str) -> Iterator[Batch]:
    if written_in == "parquet":
        return _of_parquet(stream, path)
    if written_in == "csv":
        rows, header = _csv_rows(stream, path), b""
        for row, counts in rows:
            header += row
            if counts:
                break
        return _of_text(header, rows, path)
    return _of_text(b"", _lines(stream), path)


def _lines(stream: io.BufferedReader) -> Iterator[tuple[bytes, int]]:
    while line := stream.readline(MOST_BYTES + 1):
        yield line, 1 if line.strip() else 0


def _csv_rows(stream: io.BufferedReader, path: Path) -> Iterator[tuple[bytes, int]]:
    """Return the header, then each row as it stands there, and whether it is one: an empty line is
    none, and a cell may have several lines."""
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    lines: list[str] = []

    def following() -> Iterator[str]:
        while line := text.readline(MOST_BYTES + 1):
            lines.append(line)
            yield line

    reader = csv.reader(following(), strict=True)
    try:
        for cells in reader:
            row = "".join(lines).encode()
            lines.clear()
            yield row, 1 if cells else 0
    except csv.Error as error:
        raise CommandError(f"{path}: line {reader.line_num} is no CSV: {error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: is not UTF-8; save it as UTF-8 (CSV UTF-8).") from error
    finally:
        text.detach()


def _of_text(header: bytes, rows: Iterable[tuple[bytes, int]], path: Path) -> Iterator[Batch]:
    """Return rows of text as they stand there, below the header, which counts with each batch."""
    digest = hashlib.sha256(header)
    # A header alone that ends the file has no line end behind it.
    above = header if not header or header.endswith((b"\n", b"\r")) else header + b"\n"
    first = number = 0
    held, size = [header], len(above)
    for row, counts in rows:
        if number and (number + counts > MOST_ROWS or size + len(row) > MOST_BYTES):
            yield Batch(first_row=first, body=b"".join(held), digest=digest.hexdigest())
            first, number, held, size = first + number, 0, [above], len(above)
        size += len(row)
        if size > MOST_BYTES:
            raise CommandError(f"{path}: row {first + number:,} is longer than a batch may be.")
        held.append(row)
        number += counts
        digest.update(row)
    if number:
        yield Batch(first_row=first, body=b"".join(held), digest=digest.hexdigest())


def _of_parquet(stream: io.BufferedReader, path: Path) -> Iterator[Batch]:
    """Return a file as it is where it is one batch; its rows written anew where it is several."""
    if path == STDIN:
        body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise CommandError("Parquet on standard input has 32 MiB at most; give a file.")
        yield Batch(first_row=0, body=body, digest=hashlib.sha256(body).hexdigest())
        return
    digest = hashlib.file_digest(stream, "sha256").hexdigest()
    small = stream.tell() <= MOST_BYTES
    stream.seek(0)
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        if not small:
            text = f"{path}: larger than a batch may be; `pip install pyarrow`, which cuts it."
            raise CommandError(text) from error
        yield Batch(first_row=0, body=stream.read(), digest=digest)
        return
    try:
        with parquet.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False) as file:
            if not file.metadata.num_rows:
                return
            if small and file.metadata.num_rows <= MOST_ROWS:
                stream.seek(0)
                yield Batch(first_row=0, body=stream.read(), digest=digest)
                return
            for first, body in _cut(file, path):
                yield Batch(first_row=first, body=body, digest=digest)
    except (pyarrow.ArrowException, ValueError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise CommandError(f"{path}: cannot be read as Parquet: {line}.") from error


def _cut(file: Any, path: Path) -> Iterator[tuple[int, bytes]]:
    """Return the rows of a file of Parquet as files of as many as a batch may have, and the place
    of the first of each."""
    from pyarrow import BufferOutputStream, Table, concat_tables, parquet

    def written(rows: Any) -> bytes:
        to = BufferOutputStream()
        parquet.write_table(rows, to, compression="zstd")
        body: bytes = to.getvalue().to_pybytes()
        if len(body) > MOST_BYTES:
            text = f"{path}: {MOST_ROWS:,} rows from {first:,} on are larger than a batch may be."
            raise CommandError(text)
        return body

    first, held = 0, file.schema_arrow.empty_table()
    for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
        held = concat_tables([held, Table.from_batches([batch])])
        while len(held) >= MOST_ROWS:
            yield first, written(held.slice(0, MOST_ROWS))
            first, held = first + MOST_ROWS, held.slice(MOST_ROWS)
    if len(held):
        yield first, written(held)
