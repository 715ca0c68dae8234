"""Compute the facts of a folder of records in this process; what both engines share of that.

The records are read piece by piece and summed (`spark_tasks.facts`), so that memory holds the sums
and one piece. `spark_tasks.jobs.pipeline` does the same with many pieces side by side.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pyarrow import compute

from spark_tasks.facts import FACTS, LEVELS, Facts, merged, observed, summed
from spark_tasks.io import write_table
from spark_tasks.records import RecordPiece, Records, check_same, read_piece, records_at
from weir.errors import InvalidProblem

FORMAT = 1
LONGEST_WINDOW_S = 86_400

MERGED_AT = 4_000_000
"""Rows of parts of one level that are kept before they are merged."""

Report = Callable[[str, int, int], None]
"""Takes the phase, how much of it is done, and of how much."""


@dataclass(slots=True, kw_only=True)
class Counts:
    """How many rows of one table were read, and what became of them."""

    rows: int = 0
    used: int = 0
    since_s: float = np.inf
    until_s: float = -np.inf
    problems: dict[str, int] = field(default_factory=dict)
    """Quarantined rows by problem."""

    def add(self, other: Counts) -> None:
        self.rows += other.rows
        self.used += other.used
        self.since_s = min(self.since_s, other.since_s)
        self.until_s = max(self.until_s, other.until_s)
        for problem, rows in other.problems.items():
            self.problems[problem] = self.problems.get(problem, 0) + rows

    def count_problems(self, quarantined: Any) -> None:
        by_problem = quarantined.group_by("problem").aggregate([("rows", "sum")])
        for each in by_problem.to_pylist():
            self.add(Counts(problems={each["problem"]: each["rows_sum"]}))


class Sums:
    """Levels and counts of the pieces that were added, in any order."""

    def __init__(self) -> None:
        self.counts: dict[str, Counts] = {}
        self._parts: dict[str, list[Any]] = {}
        self._rows: dict[str, int] = {}

    def add(self, records: Records, piece: RecordPiece, window_s: int) -> None:
        """Read a piece and add it. Raises OSError."""
        checked = read_piece(records, piece)
        counts = self.counts.setdefault(piece.table, Counts())
        here = Counts(rows=piece.rows, used=len(checked.rows))
        here.count_problems(checked.quarantined)
        if len(checked.rows):
            extremes = compute.min_max(checked.rows["at_s"]).as_py()
            here.since_s, here.until_s = extremes["min"], extremes["max"]
            for name, rows in observed(piece.table, checked.rows, window_s).items():
                self._keep(name, summed(LEVELS[name], rows))
        if len(checked.quarantined):
            self._keep("quarantined", checked.quarantined)
        counts.add(here)

    def refuse(self, records: Records) -> None:
        """Add the files that cannot be used, and name all tables that have files."""
        refused = records.refused
        for table in records.tables:
            of_table = refused.filter(compute.equal(refused["table"], table))
            counts = self.counts.setdefault(table, Counts())
            counts.rows += compute.sum(of_table["rows"]).as_py() or 0
            counts.count_problems(of_table)
        if len(refused):
            self._keep("quarantined", refused)

    def _keep(self, name: str, part: Any) -> None:
        parts = self._parts.setdefault(name, [])
        parts.append(part)
        # Merged when they are twice what was left the last time, so that each row is merged a few
        # times only, however many pieces there are.
        if sum(map(len, parts)) > max(MERGED_AT, 2 * self._rows.get(name, 0)):
            self._parts[name] = [merged(LEVELS[name], parts)]
            self._rows[name] = len(self._parts[name][0])

    def levels(self) -> dict[str, Any]:
        """Return the levels that have rows, merged."""
        return {name: merged(LEVELS[name], parts) for name, parts in self._parts.items()}


def check_window(window_s: Any) -> int:
    """Return the window in seconds. Raises InvalidProblem."""
    if isinstance(window_s, bool) or not isinstance(window_s, int):
        raise InvalidProblem("window", "must be a whole number of seconds")
    if not 1 <= window_s <= LONGEST_WINDOW_S:
        raise InvalidProblem("window", f"must be 1 to {LONGEST_WINDOW_S:,} s, not {window_s:,}")
    return window_s


def compute_here(uri: str, out_uri: str, *, window_s: int, report: Report) -> bytes:
    """Read the records at `uri`, write the tables of facts below `out_uri`, return the summary.
    Raises InvalidProblem."""
    records = records_at(uri)
    sums = Sums()
    sums.refuse(records)
    done = 0
    for piece in records.pieces:
        sums.add(records, piece, check_window(window_s))
        done += piece.rows
        report("read", done, records.rows)
    check_same(records)
    levels = sums.levels()
    sizes = {}
    for number, facts in enumerate(FACTS):
        rows = finished(facts, levels, window_s)
        sizes[facts.name] = len(rows)
        write_facts(out_uri, facts, 0, rows)
        report("write", number + 1, len(FACTS))
    return summary(window_s, sums.counts, sizes)


def finished(facts: Facts, levels: dict[str, Any], window_s: int) -> Any:
    """Return the rows of a table of facts, in its order."""
    rows = level_of(facts.level, levels).sort_by([(key, "ascending") for key in facts.order])
    return facts.finish(rows, window_s)


def write_facts(out_uri: str, facts: Facts, number: int, rows: Any) -> None:
    """Write a file of a table of facts; files are read in the order of their numbers."""
    write_table(f"{out_uri}/{facts.name}/part-{number:05}.parquet", rows, compression="zstd")


def level_of(name: str, levels: dict[str, Any]) -> Any:
    """Return a level, computed of its source where it is not known, and known from then on."""
    if name not in levels:
        level = LEVELS[name]
        if level.source is None:
            levels[name] = merged(level, [])
        else:
            levels[name] = summed(level, level_of(level.source, levels))
    return levels[name]


def summary(window_s: int, counts: Mapping[str, Counts], sizes: Mapping[str, int]) -> bytes:
    """Return what is said of all facts together, as JSON."""
    used = [each for each in counts.values() if each.used]
    document = {
        "format": FORMAT,
        "window_s": window_s,
        "since_s": min((each.since_s for each in used), default=None),
        "until_s": max((each.until_s for each in used), default=None),
        "records": {
            table: {
                "rows": each.rows,
                "used": each.used,
                "quarantined": dict(sorted(each.problems.items())),
            }
            for table, each in sorted(counts.items())
        },
        "facts": {facts.name: sizes[facts.name] for facts in FACTS},
    }
    return json.dumps(document, indent=2).encode()
