"""Read batches of records as they are sent, check their rows, and keep those that fit.

What is kept lies below a folder of the system as `TABLE/date=2026-11-29/batch-ID.parquet`, a file
for each day (UTC) of the batch: a folder of records as the pipeline reads it (docs/formats.md). A
file is named by its batch, so who lands a batch again writes the same files over.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from spark_tasks.records import TABLES, UNREADABLE, Column, check_rows, misfit
from weir.errors import InvalidProblem

JSON_LINES, CSV, PARQUET = "application/x-ndjson", "text/csv", "application/vnd.apache.parquet"

MOST_ROWS = 200_000
"""Of one batch."""
MOST_BYTES = 512 * 1024 * 1024
"""Of the columns of a batch once they are unpacked, as its own file says."""
MOST_CHARACTERS = 200
"""Of a name, as in the catalogue."""
LONGEST_LINE_BYTES = 64 * 1024
EARLY_S = 300.0
"""How far ahead of the clock here a record may be."""
MOST_DAYS = 1000
"""Days over which the rows of a batch may spread: each has a file of its own."""

DAY_S = 86_400
WHOLE = re.compile(r"[+-]?[0-9]{1,40}")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
DATE = "date="
FILE = re.compile(r"\.?batch-([0-9a-f-]{36})\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRow:
    """A row as it was sent: its place, its text, and its members or why it has none."""

    row: int
    """From 0; lines without content have none."""
    content: bytes
    values: Mapping[str, Any] | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A row that does not fit, and its first problem."""

    row: int
    problem: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBatch:
    """The rows of a batch that fit, and the others."""

    rows: Any
    """A table with all columns of its kind."""
    set_aside: Sequence[SetAside]

    @property
    def since_s(self) -> float | None:
        return compute.min(self.rows["at_s"]).as_py()  # type: ignore[no-any-return]

    @property
    def until_s(self) -> float | None:
        return compute.max(self.rows["at_s"]).as_py()  # type: ignore[no-any-return]


def sent_rows(body: bytes, media_type: str, table: str) -> list[SentRow]:
    """Return the rows of a batch. Raises InvalidProblem where the whole of it cannot be read."""
    rows: list[SentRow] = []
    for row in _READERS[media_type](body, table):
        if len(rows) == MOST_ROWS:
            raise InvalidProblem("rows", f"a batch has at most {MOST_ROWS:,} rows; split it")
        rows.append(row)
    if not rows:
        raise InvalidProblem("rows", "the batch holds no rows; send at least one")
    return rows


def check_batch(
    rows: Iterable[SentRow], table: str, *, now_s: float, late_after_s: float | None
) -> CheckedBatch:
    """Check the rows of a batch that arrived at `now_s` (Unix seconds). `late_after_s`: how much
    older than that a record may be; None: as old as it likes."""
    aside: list[SetAside] = []
    fitting: list[SentRow] = []
    columns = TABLES[table]
    values: dict[str, list[Any]] = {column.name: [] for column in columns}
    for sent in rows:
        cells: Any = None if sent.problem else _cells(sent.values or {}, columns)
        if sent.problem or isinstance(cells, str):
            problem = sent.problem or cells
            aside.append(SetAside(row=sent.row, problem=problem, content=sent.content))
            continue
        fitting.append(sent)
        for name, cell in zip(values, cells, strict=True):
            values[name].append(cell)
    kinds = [(column.name, _ARROW[column.kind]) for column in columns]
    whole, problem, problems = check_rows(table, pa.table(values, schema=pa.schema(kinds)))
    at_s = whole["at_s"].to_numpy()
    early = at_s > now_s + EARLY_S
    problems.append(f"at_s: more than {EARLY_S:,.0f} s ahead of the clock of Weir")
    problem[early & (problem == 0)] = len(problems)
    if late_after_s is not None:
        problems.append(f"at_s: late, more than {late_after_s:,.0f} s before it arrived")
        problem[(at_s < now_s - late_after_s) & (problem == 0)] = len(problems)
    for place in np.flatnonzero(problem).tolist():
        sent, words = fitting[place], problems[problem[place] - 1]
        aside.append(SetAside(row=sent.row, problem=words, content=sent.content))
    aside.sort(key=lambda each: each.row)
    return CheckedBatch(rows=whole.filter(pa.array(problem == 0)), set_aside=aside)


def land(uri: str, table: str, batch: uuid.UUID, rows: Any) -> None:
    """Keep rows of a batch below the folder `uri` of its system, on the disk once this returns.
    Raises InvalidProblem where they are of too many days, OSError where they cannot be written."""
    if not len(rows):
        return
    system, root = FileSystem.from_uri(uri)
    day = np.floor(rows["at_s"].to_numpy() / DAY_S).astype(np.int64)
    days = np.unique(day)
    if len(days) > MOST_DAYS:
        message = f"the rows are of {len(days):,} days, at most {MOST_DAYS:,} are taken; split them"
        raise InvalidProblem("rows", message)
    for each in days.tolist():
        folder = f"{root}/{table}/{DATE}{np.datetime64(each, 'D')}"
        system.create_dir(folder, recursive=True)
        part = rows if len(days) == 1 else rows.filter(pa.array(day == each))
        _write(system, f"{folder}/batch-{batch}.parquet", part)


def batch_files(
    uri: str, table: str, batch: uuid.UUID, since_s: float, until_s: float
) -> list[str]:
    """Return the paths of a batch's files; its rows are of `since_s` to `until_s`."""
    system, root = FileSystem.from_uri(uri)
    first, last = (
        np.datetime64(int(since_s // DAY_S), "D"),
        np.datetime64(int(until_s // DAY_S), "D"),
    )
    folders = system.get_file_info(FileSelector(f"{root}/{table}", allow_not_found=True))
    paths = [
        f"{each.path}/batch-{batch}.parquet"
        for each in folders
        if each.base_name.startswith(DATE)
        and first <= np.datetime64(each.base_name[len(DATE) :]) <= last
    ]
    return sorted(each.path for each in system.get_file_info(paths) if each.type == FileType.File)


def remove_files(uri: str, *, kept: Callable[[uuid.UUID], bool], unchanged_since_s: float) -> int:
    """Remove the files of batches that are not kept and were written before `unchanged_since_s`
    (Unix seconds), and folders that are empty then. Returns how many files were removed."""
    system, root = FileSystem.from_uri(uri)
    inside = system.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
    removed, full = 0, set()
    for each in inside:
        if each.type != FileType.File:
            continue
        named = FILE.match(each.base_name)
        young = each.mtime_ns / 1e9 >= unchanged_since_s
        # What begins with a dot is what somebody died over while writing it.
        finished = not each.base_name.startswith(".")
        if named is None or young or (finished and kept(uuid.UUID(named[1]))):
            full.add(each.path.rpartition("/")[0])
            continue
        system.delete_file(each.path)
        removed += 1
    for each in inside:
        if each.base_name.startswith(DATE) and each.path not in full:
            _remove_if_empty(system, each.path)
    return removed


def _remove_if_empty(system: Any, folder: str) -> None:
    # On a local disk a batch may land meanwhile: only the disk itself can tell. Elsewhere a folder
    # is a prefix of names, and gone with the last of them.
    if isinstance(system, LocalFileSystem):
        try:
            os.rmdir(folder)
        except OSError:
            return


def _write(system: Any, path: str, rows: Any) -> None:
    folder, _, name = path.rpartition("/")
    unfinished = f"{folder}/.{name}-{uuid.uuid4()}"
    parquet.write_table(rows, unfinished, filesystem=system, compression="zstd")
    local = isinstance(system, LocalFileSystem)
    if local:
        _sync(unfinished)
    system.move(unfinished, path)
    if local:
        _sync(folder)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _json_lines(body: bytes, table: str) -> Iterator[SentRow]:
    row = 0
    for line in body.split(b"\n"):
        line = line.strip()
        if not line:
            continue
        yield json_row(row, line)
        row += 1


def json_row(row: int, line: bytes) -> SentRow:
    """Return a row of JSON lines."""
    if len(line) > LONGEST_LINE_BYTES:
        problem = f"longer than {LONGEST_LINE_BYTES // 1024} KiB"
        return SentRow(row=row, content=line[:LONGEST_LINE_BYTES], problem=problem)
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return SentRow(row=row, content=line, problem="is not JSON")
    if not isinstance(values, dict):
        return SentRow(row=row, content=line, problem="is no JSON object")
    return SentRow(row=row, content=line, values=values)


def _csv(body: bytes, table: str) -> Iterator[SentRow]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidProblem("rows", "is not UTF-8; save it as UTF-8 (CSV UTF-8)") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    kinds = {column.name: column.kind for column in TABLES[table]}
    row = 0
    try:
        for cells in reader:
            if not any(cells):
                continue
            if header is None:
                header = [name.strip() for name in cells]
                _check_header(header, table)
                continue
            content = json.dumps(dict(zip(header, cells, strict=False))).encode()
            if len(cells) != len(header):
                problem = f"has {len(cells)} cells, the header {len(header)}"
                yield SentRow(row=row, content=content, problem=problem)
            else:
                yield _csv_row(row, dict(zip(header, cells, strict=True)), kinds)
            row += 1
    except csv.Error as error:
        raise InvalidProblem("rows", f"line {reader.line_num} is no CSV: {error}") from None


def _check_header(header: Sequence[str], table: str) -> None:
    for column in TABLES[table]:
        if header.count(column.name) > 1:
            raise InvalidProblem(column.name, "the header names it twice; name each column once")
        if column.required and column.name not in header:
            raise InvalidProblem(column.name, "the header has no such column; add it")


def _csv_row(row: int, cells: Mapping[str, str], kinds: Mapping[str, str]) -> SentRow:
    """Return a row of texts with its numbers read; an empty cell is a null."""
    values: dict[str, Any] = {}
    for name, kind in kinds.items():
        text: Any = cells.get(name) or None
        if kind != "text" and text is not None:
            if WHOLE.fullmatch(text):
                text = int(text)
            elif NUMBER.fullmatch(text):
                text = float(text)
        values[name] = text
    return SentRow(row=row, content=json.dumps(values).encode(), values=values)


def _parquet(body: bytes, table: str) -> Iterator[SentRow]:
    try:
        with parquet.ParquetFile(pa.BufferReader(body)) as file:
            shape = file.metadata
            groups = [shape.row_group(at) for at in range(shape.num_row_groups)]
            problem = misfit(file.schema_arrow, table)
            if problem is not None:
                name, _, words = problem.partition(": ")
                raise InvalidProblem(name, f"{words}; give the columns of {table}")
            if shape.num_rows > MOST_ROWS:
                message = (
                    f"a batch has at most {MOST_ROWS:,} rows, not {shape.num_rows:,}; split it"
                )
                raise InvalidProblem("rows", message)
            if sum(group.total_byte_size for group in groups) > MOST_BYTES:
                raise InvalidProblem("rows", "unpacked it is larger than 512 MiB; split it")
            names = [each.name for each in TABLES[table] if each.name in file.schema_arrow.names]
            rows = file.read(columns=names).to_pylist()
    except InvalidProblem:
        raise
    except (*UNREADABLE, OverflowError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidProblem("rows", f"cannot be read as Parquet: {line}") from None
    for row, values in enumerate(rows):
        yield SentRow(row=row, content=json.dumps(values, default=str).encode(), values=values)


_READERS: Mapping[str, Callable[[bytes, str], Iterator[SentRow]]] = {
    JSON_LINES: _json_lines,
    CSV: _csv,
    PARQUET: _parquet,
}
_ARROW = {"time": pa.float64(), "text": pa.string(), "whole": pa.int64(), "number": pa.float64()}
_MOST_WHOLE = 1 << 62
"""Beyond what is allowed anywhere, and not beyond what 64 bits hold."""


def _cells(values: Mapping[str, Any], columns: Sequence[Column]) -> list[Any] | str:
    """Return the values of a row in the order of the columns, or what is wrong with one."""
    cells = []
    for column in columns:
        value = values.get(column.name)
        if value is not None:
            value, problem = _CELLS[column.kind](value)
            if problem:
                return f"{column.name}: {problem}"
        cells.append(value)
    return cells


def _time(value: Any) -> tuple[Any, str]:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None, "must be Unix seconds or a time by ISO 8601"
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment.timestamp(), ""
    return _number(value, "must be Unix seconds or a time by ISO 8601")


def _number(value: Any, problem: str = "must be a number") -> tuple[Any, str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, problem
    try:
        return float(value), ""
    except OverflowError:
        return None, "not finite"


def _whole(value: Any) -> tuple[Any, str]:
    if isinstance(value, bool) or not isinstance(value, int):
        return None, "must be a whole number"
    return max(-_MOST_WHOLE, min(_MOST_WHOLE, value)), ""


def _text(value: Any) -> tuple[Any, str]:
    if not isinstance(value, str):
        return None, "must be text"
    if len(value) > MOST_CHARACTERS:
        return None, f"longer than {MOST_CHARACTERS} characters"
    if not value.isprintable():
        # Among them halves of characters, which no file can hold, and nulls, which no table can.
        return None, "holds a character that cannot be shown"
    return value, ""


_CELLS: Mapping[str, Callable[[Any], tuple[Any, str]]] = {
    "time": _time,
    "text": _text,
    "whole": _whole,
    "number": _number,
}
