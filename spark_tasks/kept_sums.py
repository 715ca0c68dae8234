"""Keep sums beside the facts that were made of them: who comes later reads new records only.

Facts and sums lie in files by span, some neighbouring windows. A step reads new records and writes
aside (`_kept/step-7`) whatever changes with them: the sums and the facts of the spans that they
touch. Then `_kept/state.json` names the step and its files are moved to their places. A step that
died before that moment is as if it had never begun; what one that died after it has not moved is
moved by the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow.fs import FileSelector, FileSystem, FileType

from spark_tasks.facts import FACTS, LEVELS, schema_of
from spark_tasks.io import read_table, write_table
from spark_tasks.records import REFUSED, Mark, Records
from weir.errors import InvalidProblem

FORMAT = 1
FOLDER = "_kept"
SPAN_S = 3600

PART_ROWS = 2_000_000
"""A part has about so many rows of sums: they are in memory several times over."""

ROOTS = tuple(
    level.name for level in LEVELS.values() if level.source is None and "window" in level.keys
)
"""Levels that are kept: everything else that has windows is computed of them."""
BY_SPAN = tuple(facts for facts in FACTS if "window" in LEVELS[facts.level].keys)
WHOLE = tuple(facts for facts in FACTS if facts not in BY_SPAN)
"""Facts over all windows. They are their levels, so that they merge with what is new."""

_FILE = re.compile(r"part-(\d+)-\d+(?:-\d+)?\.parquet")
_FIRST = 10**8
"""Added to the number of a span, so that no name of a file has a sign."""
_FILES = pa.schema([("file", pa.string()), ("size", pa.int64()), ("changed_ns", pa.int64())])


@dataclass(slots=True, kw_only=True)
class Counts:
    """How many rows of one table were read, and what became of them."""

    rows: int = 0
    used: int = 0
    since_s: float | None = None
    until_s: float | None = None
    problems: dict[str, int] = field(default_factory=dict)
    """Quarantined rows by problem."""

    def add(self, other: Counts) -> None:
        self.rows += other.rows
        self.used += other.used
        if other.since_s is not None and other.until_s is not None:
            since_s = other.since_s if self.since_s is None else self.since_s
            until_s = other.until_s if self.until_s is None else self.until_s
            self.since_s = min(since_s, other.since_s)
            self.until_s = max(until_s, other.until_s)
        for problem, rows in other.problems.items():
            self.problems[problem] = self.problems.get(problem, 0) + rows

    def count_problems(self, quarantined: Any) -> None:
        by_problem = quarantined.group_by("problem").aggregate([("rows", "sum")])
        for each in by_problem.to_pylist():
            self.add(Counts(problems={each["problem"]: each["rows_sum"]}))


def span_of(window_s: int) -> int:
    """Return how many windows are a span."""
    return max(1, SPAN_S // window_s)


def by_span(rows: Any, windows: int) -> Iterator[tuple[int, Any]]:
    """Return the rows of each span that has some, `windows` of which are one."""
    span = np.floor_divide(rows["window"].to_numpy(), windows)
    numbers, counts = np.unique(span, return_counts=True)
    if len(numbers) == 1:
        yield int(numbers[0]), rows
    if len(numbers) <= 1:
        return
    order = np.argsort(span, kind="stable")
    end = 0
    for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        yield number, rows.take(pa.array(order[end : end + count]))
        end += count


def window_cuts(windows: Sequence[Any]) -> list[int]:
    """Return which windows parts of about PART_ROWS rows begin with, each of one window at least;
    `windows` are columns of window numbers."""
    numbers = [np.asarray(each.to_numpy()) for each in windows]
    counted, rows = np.unique(np.concatenate(numbers), return_counts=True)
    part = (np.cumsum(rows) - rows) // PART_ROWS
    return [int(each) for each in counted[np.flatnonzero(np.diff(part, prepend=-1))]]


def between(rows: Any, since: int, before: int | None) -> Any:
    """Return the rows of the windows from `since` on, and below `before` unless it is None."""
    kept = compute.greater_equal(rows["window"], since)
    if before is not None:
        kept = compute.and_(kept, compute.less(rows["window"], before))
    return rows.filter(kept)


def read_between(uri: str, since: int, before: int | None) -> list[Any]:
    """Read the rows of those windows, and no row groups that have none of them."""
    system, path = FileSystem.from_uri(uri)
    pieces = []
    with parquet.ParquetFile(path, filesystem=system) as file:
        place = file.schema_arrow.get_field_index("window")
        for number in range(file.num_row_groups):
            range_ = file.metadata.row_group(number).column(place).statistics
            if range_.max >= since and (before is None or range_.min < before):
                pieces.append(between(file.read_row_group(number), since, before))
    return pieces


def part_name(span: int, number: int = 0) -> str:
    """Return the name of a part of a span; names are in the order of spans and of their parts."""
    return f"part-{span + _FIRST:09}-{number:05}"


@dataclass(slots=True, kw_only=True)
class Kept:
    """What was read into a folder of facts until now, and where its sums lie."""

    out_uri: str
    window_s: int
    keep: bool
    """Whether there will be another step, which needs the sums."""
    step: int = 0
    counts: dict[str, Counts] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """How many rows each table of facts has."""
    known: dict[str, Mark] = field(default_factory=dict)
    """Files of records that were read, by their paths in the folder of records."""

    @property
    def staged(self) -> str:
        """Return where the step that is being made writes."""
        return f"{self._folder}/step-{self.step + 1}"

    @property
    def _folder(self) -> str:
        return f"{self.out_uri}/{FOLDER}"

    def write_facts(self, name: str, part: str, rows: Any) -> None:
        """Write a part of a table of facts for the step that is being made."""
        write_table(f"{self.staged}/facts/{name}/{part}.parquet", rows, compression="zstd")

    def write_sums(self, level: str, part: str, rows: Any) -> None:
        """Write a part of a level that later steps add to, if there will be any."""
        if self.keep and level in ROOTS:
            write_table(f"{self.staged}/sums/{level}/{part}.parquet", rows, compression="zstd")

    def sums_of(self, level: str, spans: Mapping[int, Any] | set[int]) -> dict[int, list[str]]:
        """Return where the sums of a level lie, by span, of those spans that have some."""
        places: dict[int, list[str]] = {}
        for name in _names(f"{self._folder}/sums/{level}"):
            if (span := _span(name)) in spans:
                places.setdefault(span, []).append(f"{self._folder}/sums/{level}/{name}")
        return places

    def files_of(self, facts: str) -> list[str]:
        """Return where a table of facts lies."""
        return [f"{self.out_uri}/{facts}/{name}" for name in _names(f"{self.out_uri}/{facts}")]

    def commit(self, records: Records, counts: Mapping[str, Counts]) -> None:
        """End the step that has read these records: from now on it counts. Raises OSError."""
        for table, each in counts.items():
            self.counts.setdefault(table, Counts()).add(each)
        for facts in FACTS:
            self.sizes[facts.name] = self._size_after(facts.name)
        refused = set(records.refused["file"].to_pylist())
        for one in records.files:
            self.known[one.file] = (REFUSED, one.mark[1]) if one.file in refused else one.mark
        self.step += 1
        if self.keep:
            self._write_state()
        self._move()

    def drop_step(self) -> None:
        """Forget the step that was being made."""
        system, folder = FileSystem.from_uri(self.staged)
        if system.get_file_info(folder).type == FileType.Directory:
            system.delete_dir(folder)

    def finish(self) -> bytes:
        """Give every table a file, forget sums that nobody will need, and return what is said of
        all facts together, as JSON."""
        system, out = FileSystem.from_uri(self.out_uri)
        for facts in FACTS if self.step else ():
            if not self.sizes.get(facts.name) and not self.files_of(facts.name):
                empty = facts.finish(schema_of(LEVELS[facts.level]).empty_table(), self.window_s)
                uri = f"{self.out_uri}/{facts.name}/{part_name(0)}-0.parquet"
                write_table(uri, empty, compression="zstd")
        if not self.keep:
            system.delete_dir(f"{out}/{FOLDER}")
        return summary(self.window_s, self.counts, self.sizes)

    def _size_after(self, facts: str) -> int:
        staged = f"{self.staged}/facts/{facts}"
        new = _names(staged)
        replaced = _replaced(facts, _names(f"{self.out_uri}/{facts}"), new)
        rows = sum(_rows(f"{staged}/{name}") for name in new)
        rows -= sum(_rows(f"{self.out_uri}/{facts}/{name}") for name in replaced)
        return self.sizes.get(facts, 0) + rows

    def _write_state(self) -> None:
        names = list(self.known)
        sizes, changed = zip(*self.known.values(), strict=True) if names else ((), ())
        files = pa.table([pa.array(names), pa.array(sizes), pa.array(changed)], schema=_FILES)
        write_table(f"{self._folder}/files-{self.step}.parquet", files, compression="zstd")
        document = {
            "format": FORMAT,
            "window_s": self.window_s,
            "step": self.step,
            "counts": {table: asdict(each) for table, each in self.counts.items()},
            "sizes": self.sizes,
        }
        system, folder = FileSystem.from_uri(self._folder)
        with system.open_output_stream(f"{folder}/.state.json") as file:
            file.write(json.dumps(document, sort_keys=True).encode())
        system.move(f"{folder}/.state.json", f"{folder}/state.json")

    def _move(self) -> None:
        """Bring the files of the last step to their places, as far as that was not done."""
        system, folder = FileSystem.from_uri(self._folder)
        _, out = FileSystem.from_uri(self.out_uri)
        step = f"{folder}/step-{self.step}"
        places = [(f"{step}/facts/{facts.name}", f"{out}/{facts.name}") for facts in FACTS]
        places += [(f"{step}/sums/{level}", f"{folder}/sums/{level}") for level in ROOTS]
        moves = []
        for source, target in places:
            new = _listed(system, source)
            mark = f"-{self.step}.parquet"
            there = [name for name in _listed(system, target) if not name.endswith(mark)]
            for name in _replaced(target.rpartition("/")[2], there, new):
                system.delete_file(f"{target}/{name}")
            moves += [(f"{source}/{name}", f"{target}/{name[:-8]}{mark}") for name in new]
        for source, target in moves:
            system.create_dir(target.rpartition("/")[0], recursive=True)
            system.move(source, target)
        for each in system.get_file_info(FileSelector(folder, allow_not_found=True)):
            if each.base_name.startswith("step-"):
                system.delete_dir(each.path)
            elif each.base_name.startswith("files-") and each.base_name != f"files{mark}":
                system.delete_file(each.path)


def kept_at(out_uri: str, window_s: int) -> Kept:
    """Return what a folder of facts was made of; of a new one, nothing.

    Raises InvalidProblem where it has windows of another length, or is not empty and nothing is
    kept in it.
    """
    system, folder = FileSystem.from_uri(f"{out_uri}/{FOLDER}")
    name = folder.split("/")[-2]
    kept = Kept(out_uri=out_uri, window_s=window_s, keep=True)
    if system.get_file_info(f"{folder}/state.json").type != FileType.File:
        _, out = FileSystem.from_uri(out_uri)
        inside = system.get_file_info(FileSelector(out, allow_not_found=True))
        if {each.base_name for each in inside} - {FOLDER, "summary.json"}:
            message = "is not empty, and nothing is kept in it; name a new folder for these facts"
            raise InvalidProblem(name, message)
        kept._move()
        return kept
    with system.open_input_stream(f"{folder}/state.json") as file:
        content = file.read()
    try:
        document = json.loads(content)
    except ValueError:
        message = f"its {FOLDER}/state.json is damaged; name a new folder"
        raise InvalidProblem(name, message) from None
    if document["format"] != FORMAT:
        message = f"was written by another version of Weir (format {document['format']})"
        raise InvalidProblem(name, f"{message}; name a new folder")
    if document["window_s"] != window_s:
        message = f"its facts have windows of {document['window_s']:,} s, not {window_s:,} s"
        raise InvalidProblem("window", f"{message}; name a new folder for these")
    kept.step, kept.sizes = document["step"], document["sizes"]
    kept.counts = {table: Counts(**each) for table, each in document["counts"].items()}
    files = read_table(f"{out_uri}/{FOLDER}/files-{kept.step}.parquet").to_pydict()
    marks = zip(files["size"], files["changed_ns"], strict=True)
    kept.known = dict(zip(files["file"], marks, strict=True))
    kept._move()
    return kept


def _replaced(table: str, there: list[str], new: list[str]) -> list[str]:
    """Return which files of a table the new ones take the place of."""
    if any(table == facts.name for facts in WHOLE):
        return there if new else []
    spans = {_span(name) for name in new}
    return [name for name in there if _span(name) in spans]


def _span(name: str) -> int:
    match = _FILE.fullmatch(name)
    return 0 if match is None else int(match[1]) - _FIRST


def _names(uri: str) -> list[str]:
    system, folder = FileSystem.from_uri(uri)
    return _listed(system, folder)


def _listed(system: Any, folder: str) -> list[str]:
    """Return the names of the files of a folder that are no beginnings of others, in order."""
    inside = system.get_file_info(FileSelector(folder, allow_not_found=True))
    names = (each.base_name for each in inside if each.type == FileType.File)
    return sorted(name for name in names if name.endswith(".parquet") and name[0] != ".")


def _rows(uri: str) -> int:
    system, path = FileSystem.from_uri(uri)
    with parquet.ParquetFile(path, filesystem=system) as file:
        return int(file.metadata.num_rows)


def summary(window_s: int, counts: Mapping[str, Counts], sizes: Mapping[str, int]) -> bytes:
    """Return what is said of all facts together, as JSON."""
    times = [each for one in counts.values() for each in (one.since_s, one.until_s)]
    used = [each for each in times if each is not None]
    document = {
        "format": FORMAT,
        "window_s": window_s,
        "since_s": min(used, default=None),
        "until_s": max(used, default=None),
        "records": {
            table: {
                "rows": each.rows,
                "used": each.used,
                "quarantined": dict(sorted(each.problems.items())),
            }
            for table, each in sorted(counts.items())
        },
        "facts": {facts.name: sizes.get(facts.name, 0) for facts in FACTS},
    }
    return json.dumps(document, indent=2).encode()
