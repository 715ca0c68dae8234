"""Read recordings of messages from Parquet, and refuse what does not fit (docs/formats.md).

Both engines read with this module: in this process piece by piece, on Spark some pieces in each
task. A piece is a row group of a file. A recording is surveyed first, which reads its times and
names once, so that a refusal counts all rows that do not fit and comes before anything is computed.
`grouping` brings the rows together by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pandas.util import hash_array
from pyarrow import compute, parquet
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from spark_tasks.recording_files import SUFFIX, data_files, is_data
from weir.correlation.activity import check_step, time_step_s
from weir.errors import InvalidProblem

By = Literal["publisher", "topic"]

LATEST_S = 1e11
"""Unix seconds of the year 5138: what lies beyond was given in a smaller unit."""

MOST_AT_ONCE = 1_000_000
"""Messages of one row: more at one moment are taken for a mistake."""

FEW = 5
"""Topics that a refusal names."""

SAMPLE = 1024
"""Names of which the borders of parts are made: those with the smallest hashes, which are as good
as drawn at random and the same whoever drew them."""

MODIFIED_S = 1e-3
"""Times of a file that differ by less are the same, however they were rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A row group of one file of a recording."""

    path: str
    row_group: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording that can be read: where it lies, its pieces, and what tells it from another."""

    uri: str
    pieces: Sequence[Piece]
    columns: frozenset[str]
    bytes: int
    """Of all files together."""
    modified_s: float
    """When the file that was written last was written, in Unix seconds."""

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """Some rows: each has the place of its name in `names`, and when its messages were sent."""

    names: Sequence[str]
    codes: np.ndarray
    at_s: np.ndarray
    publishers: np.ndarray
    """A number for the publisher of each, by which they are counted; none where by publisher."""
    counts: np.ndarray
    """How many messages each row is; none where all are one."""


@dataclass(slots=True, kw_only=True)
class Survey:
    """What is known of a recording, or of some pieces of it, before it is read."""

    rows: int = 0
    """Of the topic, as all that follows."""
    messages: int = 0
    since_s: float = np.inf
    until_s: float = -np.inf
    step_s: float = np.inf
    """What all times are multiples of (`time_step_s`); 0 for finer ones."""
    wrong: dict[str, int] = field(default_factory=dict)
    """Rows that do not fit, by the column and what is wrong with it."""
    topics: list[str] = field(default_factory=list)
    """The first few."""
    sample: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Names with the smallest hashes, with those and how many rows they have."""


def recording_at(uri: str, *, by: By, topic: str = "") -> Recording:
    """Look at a recording: its files, its columns, their types. Raises InvalidProblem.

    `uri` is the address of a Parquet file or of a folder of such files.
    """
    system, root = FileSystem.from_uri(uri)
    name = root.rstrip("/").rpartition("/")[2]
    info = system.get_file_info(root)
    if info.type == FileType.NotFound:
        raise InvalidProblem(name, "there is no such recording; name a Parquet file or a folder")
    files = [info] if info.type == FileType.File else files_of(system, root)
    if not files:
        message = f"holds no file whose name ends with {SUFFIX}; name a folder that does"
        raise InvalidProblem(name, message)
    pieces: list[Piece] = []
    columns: frozenset[str] = frozenset()
    for each in files:
        try:
            with parquet.ParquetFile(each.path, filesystem=system) as file:
                shape, schema = file.metadata, file.schema_arrow
        except (pa.ArrowInvalid, OSError) as error:
            message = f"cannot be read as Parquet: {str(error).splitlines()[0]}"
            raise InvalidProblem(each.path.rpartition("/")[2], message) from None
        pieces += [
            Piece(path=each.path, row_group=at, rows=shape.row_group(at).num_rows)
            for at in range(shape.num_row_groups)
        ]
        here = _columns_of(schema, by=by, topic=topic)
        if columns and here != columns:
            odd = ", ".join(sorted(here ^ columns))
            message = f"has other columns than the files before it ({odd}); give all the same"
            raise InvalidProblem(each.path.rpartition("/")[2], message)
        columns = here
    if not sum(piece.rows for piece in pieces):
        raise InvalidProblem(name, "holds no messages; name a recording that does")
    return Recording(
        uri=uri,
        pieces=[piece for piece in pieces if piece.rows],
        columns=columns,
        bytes=sum(each.size for each in files),
        modified_s=max(each.mtime_ns for each in files) / 1e9,
    )


def files_of(system: Any, root: str, suffix: str = SUFFIX) -> list[Any]:
    """Return what is known of the files of a folder, in the order in which they are read; an empty
    `suffix` is of all. Raises InvalidProblem for a name that is no text."""
    if isinstance(system, LocalFileSystem):
        names = [str(file) for file in data_files(Path(root), suffix)]
        try:
            return list(system.get_file_info(names))
        except UnicodeEncodeError as error:
            message = f"a file has a name that is not UTF-8, {error.object!a}; rename it"
            raise InvalidProblem(root.rpartition("/")[2], message) from None
    inside = system.get_file_info(FileSelector(root, recursive=True))
    files = [each for each in inside if each.type == FileType.File]
    data = [each for each in files if is_data(each.path[len(root) :].strip("/").split("/"), suffix)]
    return sorted(data, key=lambda each: str(each.path))


def _columns_of(schema: Any, *, by: By, topic: str) -> frozenset[str]:
    """Return which of the known columns there are. Raises InvalidProblem for one that is missing or
    of another type."""
    kinds = {
        "publisher": (_is_text, "text"),
        "at_s": (_is_time, "numbers (Unix seconds) or timestamps"),
        "topic": (_is_text, "text"),
        "messages": (pa.types.is_integer, "whole numbers"),
    }
    needed = ("publisher", "at_s", "topic") if by == "topic" else ("publisher", "at_s")
    for column in needed:
        if column not in schema.names:
            present = ", ".join(schema.names[:8])
            message = f"the recording has no such column, only {present}; add or rename it"
            raise InvalidProblem(column, message)
    for column, (fits, words) in kinds.items():
        if schema.names.count(column) > 1:
            raise InvalidProblem(column, "the recording has several such columns; leave one")
        if column in schema.names and not fits(schema.field(column).type):
            message = f"must be {words}, not {schema.field(column).type}; convert the column"
            raise InvalidProblem(column, message)
    return frozenset(kinds) & frozenset(schema.names)


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_time(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_timestamp(kind))


def check_unchanged(recording: Recording, frozen: Any) -> None:
    """Check that a recording is the one whose size and time were frozen, where they were. Raises
    InvalidProblem."""
    size, modified_s = frozen.get("bytes"), frozen.get("modified_s")
    other_size = size is not None and size != recording.bytes
    other_time = modified_s is not None and abs(modified_s - recording.modified_s) > MODIFIED_S
    if other_size or other_time:
        name = frozen.get("name") or recording.uri.rstrip("/").rpartition("/")[2]
        raise InvalidProblem(name, "the recording has changed since this was started; start again")


def check_still(recording: Recording, *, by: By, topic: str = "") -> None:
    """Check that a recording was not replaced while it was read. Raises InvalidProblem."""
    frozen = {"bytes": recording.bytes, "modified_s": recording.modified_s}
    check_unchanged(recording_at(recording.uri, by=by, topic=topic), frozen)


def _table(recording: Recording, piece: Piece) -> Any:
    system, _ = FileSystem.from_uri(recording.uri)
    text = [column for column in ("publisher", "topic") if column in recording.columns]
    with parquet.ParquetFile(piece.path, filesystem=system, read_dictionary=text) as file:
        return file.read_row_group(piece.row_group, columns=sorted(recording.columns))


def seconds_of(column: Any) -> Any:
    """Return times as Unix seconds; null stays null. A timestamp without a zone is in UTC."""
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return column.cast(pa.float64(), safe=False)
    per_s = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
    return compute.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), per_s)


def _coded(column: Any) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts of a column and the place of each row's among them."""
    whole = column.combine_chunks().dictionary_encode() if column.num_chunks else None
    if whole is None:
        return [], np.zeros(0, dtype=np.int64)
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.unify_dictionaries().combine_chunks()
    # A dictionary may hold a text twice, or one that no row has.
    texts = whole.dictionary.to_pylist()
    indices = whole.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    used = np.flatnonzero(np.bincount(indices, minlength=len(texts)))
    place: dict[str, int] = {}
    merged = np.zeros(len(texts), dtype=np.int64)
    for at in used.tolist():
        merged[at] = place.setdefault(texts[at], len(place))
    return list(place), merged[indices]


def messages_of(recording: Recording, piece: Piece, *, by: By, topic: str = "") -> Messages:
    """Return the rows of one piece, of one topic where one is named and the recording knows
    topics. What does not fit is not looked for again: see `survey_of`."""
    table = _of_topic(_table(recording, piece), topic)
    names, codes = _coded(table[by])
    at_s = seconds_of(table["at_s"]).to_numpy().astype(np.float64)
    publishers = np.zeros(0, dtype=np.uint64)
    if by == "topic":
        others, other_codes = _coded(table["publisher"])
        publishers = _hashes(others)[other_codes]
    counts = np.zeros(0, dtype=np.int64)
    if "messages" in recording.columns:
        counts = table["messages"].to_numpy().astype(np.int64)
    return Messages(names=names, codes=codes, at_s=at_s, publishers=publishers, counts=counts)


def _of_topic(table: Any, topic: str) -> Any:
    if topic and "topic" in table.column_names:
        return table.filter(compute.equal(table["topic"].cast(pa.string()), topic))
    return table


def _hashes(names: Sequence[str]) -> np.ndarray:
    return np.asarray(hash_array(np.array(names, dtype=object), categorize=False), dtype=np.uint64)


def survey_of(recording: Recording, piece: Piece, *, by: By, topic: str = "") -> Survey:
    """Return what is known of one piece; rows that do not fit are counted, not refused yet."""
    table = _table(recording, piece)
    wrong: dict[str, int] = {}
    for column in sorted(recording.columns):
        if empty := table[column].null_count:
            wrong[f"{column}: null"] = empty
        if column in ("publisher", "topic"):
            if broken := int(undecodable(table[column]).sum()):
                wrong[f"{column}: not UTF-8"] = broken
                return Survey(wrong=wrong)
            nameless = compute.equal(table[column].cast(pa.string()), "")
            if empty := int(compute.sum(nameless).as_py() or 0):
                wrong[f"{column}: empty"] = empty
    at_s = seconds_of(table["at_s"]).drop_null().to_numpy()
    if odd := int((~np.isfinite(at_s)).sum()):
        wrong["at_s: not finite"] = odd
    if late := int((np.isfinite(at_s) & (np.abs(at_s) > LATEST_S)).sum()):
        wrong["at_s: beyond the year 5000, so not in seconds"] = late
    if "messages" in recording.columns:
        sent = table["messages"].drop_null().to_numpy()
        if few := int((sent < 1).sum()):
            wrong["messages: below 1"] = few
        if many := int((sent > MOST_AT_ONCE).sum()):
            wrong[f"messages: above {MOST_AT_ONCE:,} at one moment"] = many
    topics: list[str] = []
    if "topic" in recording.columns:
        topics = sorted(text for text in _texts(table["topic"]) if text is not None)[:FEW]
    if wrong:
        return Survey(wrong=wrong, topics=topics)
    table = _of_topic(table, topic)
    at_s = seconds_of(table["at_s"]).to_numpy()
    messages = len(at_s)
    if "messages" in recording.columns:
        messages = int(compute.sum(table["messages"].cast(pa.int64())).as_py() or 0)
    names, codes = _coded(table[by])
    return Survey(
        rows=len(at_s),
        messages=messages,
        since_s=float(at_s.min()) if len(at_s) else np.inf,
        until_s=float(at_s.max()) if len(at_s) else -np.inf,
        step_s=time_step_s(at_s),
        topics=topics,
        sample=_sample(names, np.bincount(codes, minlength=len(names))),
    )


def undecodable(column: Any) -> np.ndarray:
    """Return which values of a text column are none: Parquet does not check them."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        values = column.cast(pa.string()).cast(pa.binary()).to_pylist()
        return np.array([value is not None and not _decodes(value) for value in values])
    return np.zeros(len(column), dtype=np.bool_)


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _texts(column: Any) -> list[Any]:
    return list(column.unique().to_pylist())


def _sample(names: Sequence[str], rows: np.ndarray) -> dict[str, tuple[int, int]]:
    """Return those of the names with the smallest hashes, with these and their rows."""
    hashes = _hashes(names)
    some = (
        np.argpartition(hashes, SAMPLE)[:SAMPLE] if len(names) > SAMPLE else np.arange(len(names))
    )
    return _smallest((names[at], (int(hashes[at]), int(rows[at]))) for at in some.tolist())


def _smallest(sample: Iterable[tuple[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    return dict(heapq.nsmallest(SAMPLE, sample, key=lambda pair: (pair[1][0], pair[0])))


def _with_rows(
    sample: dict[str, tuple[int, int]], other: dict[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Return a sample with the rows of another added. Who is in that of all was in that of each
    piece, so that its rows are whole."""
    both = dict(sample)
    for name, (hashed, rows) in other.items():
        both[name] = (hashed, rows + both.get(name, (hashed, 0))[1])
    return _smallest(both.items())


def merged(surveys: Iterable[Survey]) -> Survey:
    """Return what is known of pieces together."""
    whole = Survey()
    for each in surveys:
        whole.rows += each.rows
        whole.messages += each.messages
        whole.since_s = min(whole.since_s, each.since_s)
        whole.until_s = max(whole.until_s, each.until_s)
        whole.step_s = min(whole.step_s, each.step_s)
        for what, count in each.wrong.items():
            whole.wrong[what] = whole.wrong.get(what, 0) + count
        whole.topics = sorted({*whole.topics, *each.topics})[:FEW]
        whole.sample = _with_rows(whole.sample, each.sample)
    return whole


def check_survey(survey: Survey, topic: str = "", within_s: float | None = None) -> None:
    """Refuse rows that do not fit, a topic of which there is none, and a search that is finer than
    the times. Raises InvalidProblem."""
    for what, count in sorted(survey.wrong.items()):
        column, _, problem = what.partition(": ")
        rows = "1 row is" if count == 1 else f"{count:,} rows are"
        raise InvalidProblem(column, f"{rows} {problem}; leave them out or mend them")
    if not survey.messages:
        known = ", ".join(f'"{name}"' for name in survey.topics)
        raise InvalidProblem(
            "topic", f'the recording has no message of "{topic}"; it has those of {known}'
        )
    if within_s is not None:
        check_step(survey.step_s, within_s, survey.rows)
