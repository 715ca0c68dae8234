"""Read batches of records as they are sent, and check their rows (docs/formats.md)."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import json as arrow_json

from spark_tasks.landing import days_of
from spark_tasks.records import TABLES, UNREADABLE, Column, check_rows, misfit
from weir.errors import InvalidProblem

JSON_LINES, CSV, PARQUET = "application/x-ndjson", "text/csv", "application/vnd.apache.parquet"

MOST_ROWS = 100_000
"""Of one batch."""
MOST_BYTES = 128 * 1024 * 1024
"""Of all texts of a batch, however often a file packs the same one."""
MOST_DAYS = 1000
"""Days over which the rows of a batch may spread: each has a file of its own."""
MOST_CHARACTERS = 200
"""Of a name, as in the catalogue."""
MOST_OF_METRIC = 64
"""Of a metric: beside three names of four bytes a character, an index of Postgres holds no more."""
UNSHOWN = "holds a character that cannot be shown"
LONGEST_LINE_BYTES = 64 * 1024
READ_BYTES = 1024 * 1024
"""Of a column of a file at a time."""
LATE = "at_s: late,"
"""How the problem of rows begins that came later than the system takes them."""
EARLY_S = 300.0
"""How far ahead of the clock here a record may be."""
WHOLE = re.compile(r"[+-]?[0-9]{1,40}")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A row that does not fit, and its first problem."""

    row: int
    """Its place in the batch, from 0."""
    problem: str
    content: bytes
    """As it was sent, or as JSON."""
    whole: bool = True
    """Whether that is all of the row, so that it can be checked again as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRows:
    """The rows of a batch as they were sent."""

    columns: Any
    """A table of those that could be read, with the columns that were given."""
    places: np.ndarray
    """The place of each of them in the batch."""
    content: Callable[[int], tuple[bytes, bool]]
    """Gives what was sent of one of them, by its number in the table, and whether that is all."""
    unread: Sequence[SetAside]
    """The others."""

    def __len__(self) -> int:
        return len(self.places) + len(self.unread)


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


def sent_rows(body: bytes, media_type: str, table: str) -> SentRows:
    """Return the rows of a batch. Raises InvalidProblem where the whole of it cannot be read."""
    rows = _READERS[media_type](body, table)
    if not len(rows):
        raise InvalidProblem("rows", "the batch holds no rows; send at least one")
    return rows


def rows_again(rows: Iterable[tuple[int, bytes]], table: str) -> SentRows:
    """Return rows that were set aside: the place of each, and its JSON as it was or is now."""
    return _in_columns((_json_row(row, content) for row, content in rows), table)


def check_batch(
    sent: SentRows, table: str, *, now_s: float, late_after_s: float | None
) -> CheckedBatch:
    """Check the rows of a batch that arrived at `now_s` (Unix seconds). `late_after_s`: how much
    older than that a record may be; None: as old as it likes."""
    checked, problem, problems = check_rows(table, sent.columns)

    def add(wrong: np.ndarray, words: str) -> None:
        problems.append(words)
        problem[wrong & (problem == 0)] = len(problems)

    for column in TABLES[table]:
        if column.kind == "text":
            most = MOST_OF_METRIC if column.name == "metric" else MOST_CHARACTERS
            for words, wrong in _odd_names(checked[column.name], most):
                add(wrong, f"{column.name}: {words}")
    at_s = checked["at_s"].to_numpy()
    add(at_s > now_s + EARLY_S, f"at_s: more than {EARLY_S:,.0f} s ahead of the clock of Weir")
    if late_after_s is not None:
        late = at_s < now_s - late_after_s
        add(late, f"{LATE} more than {late_after_s:,.0f} s before it arrived")
    fits = problem == 0
    day = days_of(np.where(fits, at_s, 0.0))
    days = np.unique(day[fits])
    if len(days) > MOST_DAYS:
        add(~np.isin(day, days[:MOST_DAYS]), f"at_s: the batch is of more than {MOST_DAYS:,} days")
    aside = list(sent.unread)
    for number in np.flatnonzero(problem).tolist():
        words, (content, whole) = problems[problem[number] - 1], sent.content(number)
        row = int(sent.places[number])
        aside.append(SetAside(row=row, problem=words, content=content, whole=whole))
    aside.sort(key=lambda each: each.row)
    return CheckedBatch(rows=checked.filter(pa.array(problem == 0)), set_aside=aside)


def _odd_names(names: Any, most: int) -> Iterator[tuple[str, np.ndarray]]:
    """Return which rows have names that the catalogue could not hold, by problem."""
    by_problem: dict[str, list[str]] = {}
    for name in names.unique().to_pylist():
        if words := _name_problem(name, most):
            by_problem.setdefault(words, []).append(name)
    for words, odd in by_problem.items():
        wrong = compute.is_in(names, pa.array(odd, pa.string()))
        yield words, wrong.combine_chunks().to_numpy(zero_copy_only=False)


def _name_problem(name: str, most: int) -> str:
    if len(name) > most:
        return f"longer than {most} characters"
    return "" if name.isprintable() else UNSHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A row that was read by itself: its members, or why it has none."""

    row: int
    content: bytes
    whole: bool = True
    values: Mapping[str, Any] | None = None
    problem: str = ""


def _in_columns(rows: Iterable[_Row], table: str) -> SentRows:
    """Read the members of rows one by one. Raises InvalidProblem."""
    columns = TABLES[table]
    values: dict[str, list[Any]] = {column.name: [] for column in columns}
    contents: list[bytes] = []
    places: list[int] = []
    unread: list[SetAside] = []
    for each in rows:
        check_number(len(places) + len(unread) + 1)
        cells: Any = None if each.problem else _cells(each.values or {}, columns)
        if each.problem or isinstance(cells, str):
            problem = each.problem or cells
            content, whole = each.content, each.whole
            unread.append(SetAside(row=each.row, problem=problem, content=content, whole=whole))
            continue
        places.append(each.row)
        contents.append(each.content)
        for name, cell in zip(values, cells, strict=True):
            values[name].append(cell)
    return SentRows(
        columns=pa.table(values, schema=schema_of(table)),
        places=np.array(places, dtype=np.int64),
        content=lambda number: (contents[number], True),
        unread=unread,
    )


def check_number(rows: int) -> None:
    if rows > MOST_ROWS:
        raise InvalidProblem("rows", f"a batch has at most {MOST_ROWS:,} rows; split it")


def schema_of(table: str) -> Any:
    return pa.schema([(column.name, _ARROW[column.kind]) for column in TABLES[table]])


def _json_lines(body: bytes, table: str) -> SentRows:
    lines = [line for line in map(bytes.strip, body.split(b"\n")) if line]
    check_number(len(lines))
    columns = _all_at_once(body, lines, table)
    if columns is None:
        return _in_columns((_json_row(row, line) for row, line in enumerate(lines)), table)
    return SentRows(
        columns=columns,
        places=np.arange(len(lines)),
        content=lambda number: (lines[number], True),
        unread=(),
    )


def _all_at_once(body: bytes, lines: Sequence[bytes], table: str) -> Any:
    """Return the columns of JSON lines where all of them have the types of the table, None where
    they have to be read one by one: that takes four times as long, and says what is wrong."""
    if not all(line[:1] == b"{" and line[-1:] == b"}" for line in lines):
        return None  # a reader that looks for objects might find others than there are lines
    if max(map(len, lines), default=0) > LONGEST_LINE_BYTES:
        return None
    try:
        body.decode()
        columns = arrow_json.read_json(
            pa.BufferReader(body),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(body) + 1),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=schema_of(table), unexpected_field_behavior="ignore"
            ),
        )
    except (UnicodeDecodeError, pa.ArrowException):
        return None
    return columns if len(columns) == len(lines) else None


def _json_row(row: int, line: bytes) -> _Row:
    if len(line) > LONGEST_LINE_BYTES:
        problem = f"longer than {LONGEST_LINE_BYTES // 1024} KiB"
        content = line[:LONGEST_LINE_BYTES]
        return _Row(row=row, content=content, whole=False, problem=problem)
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return _Row(row=row, content=line, problem="is not JSON")
    if not isinstance(values, dict):
        return _Row(row=row, content=line, problem="is no JSON object")
    return _Row(row=row, content=line, values=values)


def _csv(body: bytes, table: str) -> SentRows:
    return _in_columns(_csv_rows(body, table), table)


def _csv_rows(body: bytes, table: str) -> Iterator[_Row]:
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
            if not cells:
                continue
            if header is None:
                header = [name.strip() for name in cells]
                _check_header(header, table)
                continue
            if len(cells) != len(header):
                problem = f"has {len(cells)} cells, the header {len(header)}"
                content = json.dumps(cells).encode()
                yield _Row(row=row, content=content, whole=False, problem=problem)
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


def _csv_row(row: int, cells: Mapping[str, str], kinds: Mapping[str, str]) -> _Row:
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
    return _Row(row=row, content=json.dumps({**cells, **values}).encode(), values=values)


def _parquet(body: bytes, table: str) -> SentRows:
    try:
        with open_parquet(lambda: pa.BufferReader(body), table) as (file, names):
            check_number(file.metadata.num_rows)
            columns = file.read(columns=names)
    except InvalidProblem:
        raise
    except UNREADABLE as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidProblem("rows", f"cannot be read as Parquet: {line}") from None
    return columns_sent(columns, table)


@contextmanager
def open_parquet(source: Callable[[], Any], table: str) -> Iterator[tuple[Any, list[str]]]:
    """Open a Parquet file of a table; give it and which columns of the table it has. `source` opens
    its bytes from the beginning. Raises InvalidProblem for other columns, and UNREADABLE."""
    with parquet.ParquetFile(source()) as file:
        schema = file.schema_arrow
    problem = misfit(schema, table)
    if problem is not None:
        name, _, words = problem.partition(": ")
        raise InvalidProblem(name, f"{words}; give the columns of {table}")
    columns = [each for each in TABLES[table] if each.name in schema.names]
    # A text that many rows share is read once: what they are together is known before it is in
    # memory. Row groups are read bit by bit, however large they are.
    texts = [each.name for each in columns if each.kind == "text"]
    with parquet.ParquetFile(
        source(), read_dictionary=texts, buffer_size=READ_BYTES, pre_buffer=False
    ) as file:
        yield file, [each.name for each in columns]


def columns_sent(columns: Any, table: str) -> SentRows:
    """Return the rows of columns that were read from Parquet, with texts coded by dictionaries.
    Raises InvalidProblem for more than a batch may hold."""
    check_number(len(columns))
    texts = [each.name for each in TABLES[table] if each.kind == "text"]
    held = [columns[name] for name in texts if name in columns.column_names]
    if sum(map(_text_bytes, held)) > MOST_BYTES:
        raise InvalidProblem(
            "rows", f"its texts are longer than {MOST_BYTES // 2**20} MiB; split it"
        )
    return SentRows(
        columns=columns,
        places=np.arange(len(columns)),
        content=lambda number: _row_as_json(columns, number),
        unread=(),
    )


def _text_bytes(column: Any) -> int:
    """Return how long the texts of a column are together, bytes."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_null(chunk.type):
            continue
        if pa.types.is_dictionary(chunk.type):
            sizes = compute.binary_length(chunk.dictionary).take(chunk.indices)
        else:
            sizes = compute.binary_length(chunk)
        total += compute.sum(sizes.cast(pa.int64())).as_py() or 0
    return total


def _row_as_json(columns: Any, number: int) -> tuple[bytes, bool]:
    values, whole = {}, True
    for name in columns.column_names:
        values[name], exact = _as_json(columns[name].slice(number, 1))
        whole = whole and exact
    content = json.dumps(values).encode()
    return content[:LONGEST_LINE_BYTES], whole and len(content) <= LONGEST_LINE_BYTES


def _as_json(cell: Any) -> tuple[Any, bool]:
    """Return the only value of a column, and whether that is all of it."""
    kind = cell.type
    if pa.types.is_timestamp(kind):
        ticks = cell.cast(pa.int64())[0].as_py()
        # Calendars and lists of time zones end somewhere; a file may name any moment and zone.
        return (None if ticks is None else f"{np.datetime64(ticks, kind.unit)}Z"), True
    try:
        value = cell[0].as_py()
    except UnicodeDecodeError:
        raw = cell.cast(pa.string()).cast(pa.binary())[0].as_py()
        return raw.decode(errors="replace"), False
    return value, True


_READERS: Mapping[str, Callable[[bytes, str], SentRows]] = {
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
    try:
        value.encode()
    except UnicodeEncodeError:  # half a character, which no file can hold
        return None, UNSHOWN
    return value, ""


_CELLS: Mapping[str, Callable[[Any], tuple[Any, str]]] = {
    "time": _time,
    "text": _text,
    "whole": _whole,
    "number": _number,
}
