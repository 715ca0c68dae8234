"""Read records from Parquet, piece by piece, and set aside the rows that do not fit
(docs/formats.md, *Records and facts*).

Both engines read with this module. A piece is a row group of a file. What does not fit is never
dropped without a word: each row has its place and its problem in `Checked.quarantined`, and a file
that cannot be used at all is named in `Records.refused`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow.fs import FileSystem, FileType

from spark_tasks.recordings import LATEST_S, MOST_AT_ONCE, files_of, undecodable
from weir.errors import InvalidProblem

Kind = Literal["time", "text", "whole", "number"]

UNREADABLE = (pa.ArrowException, OSError, ValueError)
"""What a reader raises of bytes that are no Parquet, or not all of it."""

WHOLE_FILE = -1
"""The row of a problem that all rows of a file share."""

QUARANTINED = pa.schema(
    [
        ("table", pa.string()),
        ("file", pa.string()),
        ("row", pa.int64()),
        ("problem", pa.string()),
        ("rows", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table of records: what it holds and what is allowed."""

    name: str
    kind: Kind
    required: bool = False
    default: Any = None
    """What stands for a null, and for a column that is not there; None: it stays null."""
    least: float = -np.inf
    most: float = np.inf
    choices: tuple[str, ...] = ()
    """What a text may be; empty: anything."""


_MESSAGES = Column(name="messages", kind="whole", default=1, least=1, most=MOST_AT_ONCE)
_COUNTS = (_MESSAGES, Column(name="bytes", kind="whole", default=0, least=0, most=1 << 32))
_LONGEST_DELAY_S = 1e6
_RECEIVED = (
    Column(name="at_s", kind="time", required=True),
    Column(name="topic", kind="text", required=True),
    Column(name="subscriber", kind="text", required=True),
    Column(name="consumer_class", kind="text", default=""),
    Column(name="broker", kind="text", default=""),
    Column(name="origin", kind="text", default=""),
    Column(name="delay_s", kind="number", least=0.0, most=_LONGEST_DELAY_S),
    *_COUNTS,
)
DELAY_KINDS = ("delivery", "answer", "gate")
"""Until a message was received, until a request was answered, and at the gate of a topic."""
TABLES: dict[str, tuple[Column, ...]] = {
    "messages": (
        Column(name="at_s", kind="time", required=True),
        Column(name="topic", kind="text", required=True),
        Column(name="publisher", kind="text", required=True),
        Column(name="broker", kind="text", default=""),
        *_COUNTS,
    ),
    "deliveries": _RECEIVED,
    "requests": _RECEIVED,
    "samples": (
        Column(name="at_s", kind="time", required=True),
        Column(name="broker", kind="text", required=True),
        Column(name="topic", kind="text", default=""),
        Column(name="consumer_class", kind="text", default=""),
        Column(name="metric", kind="text", required=True),
        Column(name="value", kind="number", required=True, least=-1e15, most=1e15),
    ),
    "delays": (
        Column(name="at_s", kind="time", required=True),
        Column(name="topic", kind="text", required=True),
        Column(name="kind", kind="text", required=True, choices=DELAY_KINDS),
        Column(name="consumer_class", kind="text", default=""),
        Column(name="broker", kind="text", default=""),
        Column(name="delay_s", kind="number", required=True, least=0.0, most=_LONGEST_DELAY_S),
        _MESSAGES,
    ),
}
_WORDS = {
    "time": "numbers (Unix seconds) or timestamps",
    "text": "text",
    "whole": "whole numbers",
    "number": "numbers",
}
_TYPES = {"time": pa.float64(), "text": pa.string(), "whole": pa.int64(), "number": pa.float64()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPiece:
    """A row group of one file of a table."""

    table: str
    path: str
    file: str
    """The path below the folder of all records."""
    row_group: int
    first_row: int
    rows: int


Mark = tuple[int, int]
"""The size of a file and when it was changed, in nanoseconds: another one where it was replaced."""

REFUSED = -1
"""In the place of the size: none of the file was used, so that it may be mended."""

NEVER = (np.inf, -np.inf)


class RecordsChanged(InvalidProblem):
    """A file of records that changed while it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """A file of a table of records, usable or not."""

    table: str
    path: str
    file: str
    """The path below the folder of all records."""
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Files of a folder of records: their pieces, and those that cannot be used, with the
    reason."""

    uri: str
    files: Sequence[RecordFile]
    pieces: Sequence[RecordPiece]
    refused: Any
    """A table like QUARANTINED."""

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    @property
    def tables(self) -> set[str]:
        """Return those that have files."""
        return {each.table for each in self.files}

    def shares(self, most_rows: int) -> Iterator[Records]:
        """Return the files in shares of about so many rows at most, one file at least."""
        rows: Counter[str] = Counter()
        for piece in self.pieces:
            rows[piece.file] += piece.rows
        share: list[RecordFile] = []
        here = 0
        for each in self.files:
            if share and here + rows[each.file] > most_rows:
                yield self._only(share)
                share, here = [], 0
            share.append(each)
            here += rows[each.file]
        if share:
            yield self._only(share)

    def _only(self, files: Sequence[RecordFile]) -> Records:
        names = {each.file for each in files}
        refused = self.refused.filter(compute.is_in(self.refused["file"], pa.array(sorted(names))))
        pieces = [piece for piece in self.pieces if piece.file in names]
        return Records(uri=self.uri, files=files, pieces=pieces, refused=refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The rows of a piece that can be used, and the others."""

    rows: Any
    """A table with all columns of its kind, defaults in place of what was left out."""
    quarantined: Any
    """A table like QUARANTINED."""


def records_at(uri: str) -> Records:
    """Look at a folder of records: its tables, their files and columns. Raises InvalidProblem where
    there is nothing that can be read."""
    records = new_records_at(uri, {})
    if not records.pieces:
        name, refused = _name_of(uri), records.refused.to_pylist()
        if refused:
            message = f"{refused[0]['file']}: {refused[0]['problem']}; mend the file"
            raise InvalidProblem(name, message)
        known = ", ".join(TABLES)
        raise InvalidProblem(name, f"holds no records; name a folder with any of {known}")
    return records


def new_records_at(
    uri: str, known: Mapping[str, Mark], *, unfinished: tuple[float, float] = NEVER
) -> Records:
    """Look at those files of a folder of records that are not `known`, by their paths in it.

    A file that is no Parquet and was written in the time `unfinished` (Unix seconds) is taken for
    one that is being written, and left out; so is one that changes while it is looked at. One that
    was called otherwise when it was known has no pieces. Raises InvalidProblem where there is no
    such folder, or a file that is known is another one by now.
    """
    system, root = FileSystem.from_uri(uri)
    root = root.rstrip("/")
    info = system.get_file_info(root)
    if info.type != FileType.Directory:
        missing = info.type == FileType.NotFound
        message = "there is no such folder" if missing else "is no folder"
        tables = ", ".join(TABLES)
        message = f"{message}; name one that holds any of the folders {tables}"
        raise InvalidProblem(_name_of(uri), message)
    files: list[RecordFile] = []
    pieces: list[RecordPiece] = []
    refused: list[dict[str, Any]] = []
    there = [
        (table, each.path, each.path[len(root) + 1 :], _mark(each))
        for table in TABLES
        if system.get_file_info(f"{root}/{table}").type == FileType.Directory
        for each in files_of(system, f"{root}/{table}")
        if each.type == FileType.File
    ]
    gone = {known[file] for file in known.keys() - {file for _, _, file, _ in there}}
    for table, path, file, mark in there:
        before = known.get(file)
        if before in (mark, (REFUSED, mark[1])):
            continue
        if before is not None and before[0] != REFUSED:
            message = "has another size or time than when it was read; begin a new folder of facts"
            raise InvalidProblem(file, message)
        here = RecordFile(table=table, path=path, file=file, mark=mark)
        # Storage that knows whole seconds alone gives many files the same time.
        if mark in gone and mark[1] % 10**9:
            files.append(here)
            continue
        rows, problem = 0, None
        try:
            with parquet.ParquetFile(path, filesystem=system) as opened:
                shape, schema = opened.metadata, opened.schema_arrow
            rows = shape.num_rows
            problem = misfit(schema, table)
        except UNREADABLE as error:
            if unfinished[0] <= mark[1] / 1e9 <= unfinished[1]:
                continue
            problem = f"cannot be read as Parquet: {_first_line(error)}"
        if unfinished != NEVER and _mark(system.get_file_info(path)) != mark:
            continue
        files.append(here)
        if problem is not None:
            row = {"table": table, "file": file, "row": WHOLE_FILE, "rows": rows}
            refused.append({**row, "problem": problem})
            continue
        first = 0
        for at in range(shape.num_row_groups):
            group_rows = shape.row_group(at).num_rows
            place = {"table": table, "path": path, "file": file, "row_group": at}
            pieces.append(RecordPiece(**place, first_row=first, rows=group_rows))
            first += group_rows
    return Records(
        uri=uri,
        files=files,
        pieces=[piece for piece in pieces if piece.rows],
        refused=pa.Table.from_pylist(refused, schema=QUARANTINED),
    )


def check_same(records: Records, *, alone: bool) -> None:
    """Check that no file was replaced or removed meanwhile, and none added where these shall be
    `alone`. Raises RecordsChanged."""
    system, _ = FileSystem.from_uri(records.uri)
    now = system.get_file_info([each.path for each in records.files])
    same = [_mark(each) for each in now] == [each.mark for each in records.files]
    if not same or (alone and len(new_records_at(records.uri, {}).files) != len(records.files)):
        message = "the records have changed since this was started; start again"
        raise RecordsChanged(_name_of(records.uri), message)


def _mark(info: Any) -> Mark:
    """Return the mark of a file; of one that is gone, none that a file has."""
    return (info.size, info.mtime_ns) if info.type == FileType.File else (REFUSED, REFUSED)


def _name_of(uri: str) -> str:
    _, root = FileSystem.from_uri(uri)
    return str(root).rstrip("/").rpartition("/")[2]


def misfit(schema: Any, table: str) -> str | None:
    """Return why a file with these columns is none of this table, None where it is one."""
    for column in TABLES[table]:
        count = schema.names.count(column.name)
        if count > 1:
            return f"{column.name}: there are several such columns"
        if not count:
            if column.required:
                return f"{column.name}: there is no such column"
            continue
        kind = schema.field(column.name).type
        if not _fits(kind, column.kind):
            return f"{column.name}: must be {_WORDS[column.kind]}, not of the type {kind}"
    return None


def _fits(kind: Any, wanted: Kind) -> bool:
    types = pa.types
    if types.is_null(kind):
        return True
    if wanted == "text":
        inner = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(inner) or types.is_large_string(inner))
    if wanted == "whole":
        return bool(types.is_integer(kind))
    number = types.is_floating(kind) or types.is_integer(kind)
    return bool(number or (wanted == "time" and types.is_timestamp(kind)))


def read_piece(uri: str, piece: RecordPiece) -> Checked:
    """Read one piece of the records at `uri` and check its rows; where it is damaged all of them
    are set aside. Raises OSError where the file cannot be reached."""
    columns = TABLES[piece.table]
    system, _ = FileSystem.from_uri(uri)
    try:
        with parquet.ParquetFile(piece.path, filesystem=system) as file:
            present = [each.name for each in columns if each.name in file.schema_arrow.names]
            table = file.read_row_group(piece.row_group, columns=present)
    except UNREADABLE as error:
        # What the operating system says has a number; what the reader finds in the bytes has none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        return _damaged(piece, _first_line(error))
    if table.num_rows != piece.rows:
        return _damaged(piece, f"there are {table.num_rows:,} rows, not {piece.rows:,}")
    try:
        return _checked_rows(piece, table)
    except pa.ArrowException as error:  # texts that are longer than a column can be
        return _damaged(piece, _first_line(error))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def check_rows(name: str, table: Any) -> tuple[Any, np.ndarray, list[str]]:
    """Check rows of a table of records, with the columns that were given.

    Returns all rows with all columns, defaults in place of what was left out; of each row the
    number of its first problem, 0 where it fits; and the problems, of which the first has number 1.
    """
    problem = np.zeros(table.num_rows, dtype=np.int64)
    problems: list[str] = []
    arrays: dict[str, Any] = {}
    for column in TABLES[name]:
        if column.name not in table.column_names:
            kind = _TYPES[column.kind]
            arrays[column.name] = pa.repeat(pa.scalar(column.default, kind), table.num_rows)
            continue
        arrays[column.name], misfits = _checked(table[column.name], column)
        for words, wrong in misfits:
            if wrong.any():
                problems.append(f"{column.name}: {words}")
                problem[wrong & (problem == 0)] = len(problems)
    return pa.table(arrays), problem, problems


def _checked_rows(piece: RecordPiece, table: Any) -> Checked:
    whole, problem, problems = check_rows(piece.table, table)
    if not problems:
        return Checked(rows=whole, quarantined=QUARANTINED.empty_table())
    at = np.flatnonzero(problem)
    quarantined = pa.table(
        {
            "table": pa.repeat(pa.scalar(piece.table), len(at)),
            "file": pa.repeat(pa.scalar(piece.file), len(at)),
            "row": piece.first_row + at,
            "problem": pa.array([problems[each - 1] for each in problem[at].tolist()], pa.string()),
            "rows": np.ones(len(at), dtype=np.int64),
        },
        schema=QUARANTINED,
    )
    return Checked(rows=whole.filter(pa.array(problem == 0)), quarantined=quarantined)


def _damaged(piece: RecordPiece, reason: str) -> Checked:
    row = {"table": piece.table, "file": piece.file, "row": piece.first_row, "rows": piece.rows}
    row |= {"problem": f"cannot be read from this row on: {reason}"}
    kinds = [(each.name, _TYPES[each.kind]) for each in TABLES[piece.table]]
    return Checked(
        rows=pa.schema(kinds).empty_table(),
        quarantined=pa.Table.from_pylist([row], schema=QUARANTINED),
    )


def _checked(given: Any, column: Column) -> tuple[Any, list[tuple[str, np.ndarray]]]:
    """Return a column in its type, with its default for nulls, and which rows have what problem."""
    misfits: list[tuple[str, np.ndarray]] = []
    null = _mask(compute.is_null(given))
    if column.required:
        misfits.append(("null", null))
    if column.kind == "text":
        return _text(given, column, misfits)
    values = _seconds(given) if column.kind == "time" else given
    if column.kind == "whole":
        # Beyond what 64 bits hold is far beyond what is allowed.
        if pa.types.is_uint64(values.type):
            most = pa.scalar(1 << 62, pa.uint64())
            values = compute.min_element_wise(values, most, skip_nulls=False)
        values = values.cast(pa.int64())
    else:
        # Of two zeros with different signs, which is the least depends on who comes first.
        values = compute.add(values.cast(pa.float64(), safe=False), 0.0)
    # A null has no value to check; what stands for it is allowed.
    stand_in = column.default if column.default is not None else max(column.least, 0.0)
    array = compute.fill_null(values, pa.scalar(stand_in, values.type)).to_numpy()
    if column.kind != "whole":
        misfits.append(("not finite", ~np.isfinite(array)))
    with np.errstate(invalid="ignore"):
        if column.kind == "time":
            late = np.abs(array) > LATEST_S
            misfits.append(("beyond the year 5000, so not in seconds", late))
        if np.isfinite(column.least):
            misfits.append((f"below {column.least:,.0f}", array < column.least))
        if np.isfinite(column.most):
            misfits.append((f"above {column.most:,.0f}", array > column.most))
    if column.default is not None:
        values = compute.fill_null(values, pa.scalar(column.default, values.type))
    return values, misfits


def _seconds(given: Any) -> Any:
    """Return times as Unix seconds, each in its second: nanoseconds before the next one are more
    digits than a float has."""
    if not pa.types.is_timestamp(given.type):
        return given
    per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[given.type.unit]
    ticks = compute.fill_null(given.cast(pa.int64()), 0).to_numpy()
    seconds, ends = ticks / per_s, np.floor_divide(ticks, per_s) + 1.0
    seconds = np.where(seconds < ends, seconds, np.nextafter(ends, -np.inf))
    return pa.array(seconds, mask=_mask(compute.is_null(given)))


def _text(
    given: Any, column: Column, misfits: list[tuple[str, np.ndarray]]
) -> tuple[Any, list[tuple[str, np.ndarray]]]:
    broken = undecodable(given)
    values = given.cast(pa.string()) if not broken.any() else _without(given, broken)
    misfits.append(("not UTF-8", broken))
    if column.required:
        empty = compute.fill_null(compute.equal(values, ""), False)
        misfits.append(("empty", _mask(empty) & ~broken))
    if column.choices:
        known = compute.is_in(values, pa.array(column.choices, pa.string()))
        words = f"must be {', '.join(column.choices[:-1])} or {column.choices[-1]}"
        misfits.append((words, ~_mask(known)))
    return compute.fill_null(values, ""), misfits


def _without(given: Any, broken: np.ndarray) -> Any:
    """Return a text column with nothing in the place of what is no text."""
    raw = given.cast(pa.string()).cast(pa.binary())
    return compute.if_else(pa.array(broken), pa.scalar(b""), raw).cast(pa.string())


def _mask(values: Any) -> np.ndarray:
    return np.asarray(
        values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    )
