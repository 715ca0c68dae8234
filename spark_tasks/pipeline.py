"""Compute the facts of a folder of records in this process; what both engines share of that.

The records are read piece by piece and summed (`spark_tasks.facts`), so that memory holds the sums
and one piece. `spark_tasks.jobs.pipeline` does the same with many pieces side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pyarrow import compute as arrow

from spark_tasks.facts import LEVELS, Facts, merged, observed, summed
from spark_tasks.io import read_table
from spark_tasks.kept_sums import (
    BY_SPAN,
    ROOTS,
    WHOLE,
    Counts,
    Kept,
    between,
    by_span,
    kept_at,
    part_name,
    read_between,
    span_of,
    window_cuts,
)
from spark_tasks.records import (
    RecordPiece,
    Records,
    RecordsChanged,
    check_same,
    new_records_at,
    read_piece,
    records_at,
)
from weir.errors import InvalidProblem

LONGEST_WINDOW_S = 86_400

UNFINISHED_S = 60.0
"""A file that is no Parquet and younger is taken for one that is being written."""

CLOCKS_S = 5.0
"""By so much the clock of the storage may be before this one."""

STEP_ROWS = 8_000_000
"""One process reads about so many in a step: their sums are in memory."""

MERGED_AT = 4_000_000
"""Rows of parts of one level that are kept before they are merged."""

Report = Callable[[str, int, int], None]
"""Takes the phase, how much of it is done, and of how much."""

Absorb = Callable[[Kept, Records, Report], Mapping[str, Counts]]
"""Writes what becomes of the sums and facts with some records, aside; gives what was read."""


class Sums:
    """Levels and counts of the pieces that were added, in any order."""

    def __init__(self) -> None:
        self.counts: dict[str, Counts] = {}
        self._parts: dict[str, list[Any]] = {}
        self._rows: dict[str, int] = {}

    def add(self, uri: str, piece: RecordPiece, window_s: int) -> None:
        """Read a piece of the records at `uri` and add it. Raises OSError."""
        checked = read_piece(uri, piece)
        counts = self.counts.setdefault(piece.table, Counts())
        here = Counts(rows=piece.rows, used=len(checked.rows))
        here.count_problems(checked.quarantined)
        if len(checked.rows):
            extremes = arrow.min_max(checked.rows["at_s"]).as_py()
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
            of_table = refused.filter(arrow.equal(refused["table"], table))
            counts = self.counts.setdefault(table, Counts())
            counts.rows += arrow.sum(of_table["rows"]).as_py() or 0
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


def compute(
    uri: str,
    out_uri: str,
    *,
    window_s: int,
    keep: bool,
    most_rows: int,
    absorb: Absorb,
    report: Report,
) -> bytes:
    """Make facts of the records at `uri` below `out_uri` and return the summary.

    With `keep`, of those records that were not read yet, in steps of about `most_rows` rows, each
    of which counts as a whole (`spark_tasks.kept_sums`); else of all, in a new folder. Raises
    InvalidProblem. Files that change while they are read are left for the next time.
    """
    if not keep:
        kept = Kept(out_uri=out_uri, window_s=check_window(window_s), keep=False)
        records = records_at(uri)
        kept.commit(records, absorb(kept, records, report))
        return kept.finish()
    kept = kept_at(out_uri, check_window(window_s))
    records = _not_read_yet(uri, kept)
    for share in records.shares(most_rows):
        try:
            counts = absorb(kept, share, report)
        except (RecordsChanged, FileNotFoundError):
            # They are as if nobody had looked yet, and the next step is another one's.
            kept.drop_step()
            continue
        kept.commit(share, counts)
    return kept.finish()


def check_readable(
    uri: str, out_uri: str, *, window_s: int, keep: bool, patient: bool = False
) -> int:
    """Check what can be checked before anything is computed; return how many files of records there
    are to read. Raises InvalidProblem, unless `patient` also where there are no records."""
    check_window(window_s)
    if not keep:
        return len(records_at(uri).files)
    kept = kept_at(out_uri, window_s)
    records = _not_read_yet(uri, kept)
    if not (kept.step or records.pieces or patient):
        records_at(uri)
    return len(records.files)


def _not_read_yet(uri: str, kept: Kept) -> Records:
    """Return the files of records that are new. Raises InvalidProblem."""
    now_s = time.time()
    return new_records_at(uri, kept.known, unfinished=(now_s - UNFINISHED_S, now_s + CLOCKS_S))


def compute_here(
    uri: str, out_uri: str, *, window_s: int, report: Report, keep: bool = False
) -> bytes:
    """Make facts of records in this process, as `compute` does."""
    return compute(
        uri,
        out_uri,
        window_s=window_s,
        keep=keep,
        most_rows=STEP_ROWS,
        absorb=absorb_here,
        report=report,
    )


def absorb_here(kept: Kept, records: Records, report: Report) -> dict[str, Counts]:
    """Write what becomes of the sums and facts with these records; return what was read. Raises
    InvalidProblem."""
    sums = Sums()
    sums.refuse(records)
    done = 0
    for piece in records.pieces:
        sums.add(records.uri, piece, kept.window_s)
        done += piece.rows
        report("read", done, records.rows)
    check_same(records, alone=not kept.keep)
    levels = sums.levels()
    for facts in WHOLE:
        new = level_of(facts.level, levels)
        if len(new):
            rows = merged(LEVELS[facts.level], [*map(read_table, kept.files_of(facts.name)), new])
            made = finished(facts, {facts.level: rows}, kept.window_s)
            kept.write_facts(facts.name, part_name(0), made)
    spans: dict[int, dict[str, Any]] = {}
    for name in ROOTS:
        if name in levels:
            for span, rows in by_span(levels.pop(name), span_of(kept.window_s)):
                spans.setdefault(span, {})[name] = rows
    for number, span in enumerate(sorted(spans)):
        _write_parts(kept, span, spans.pop(span))
        report("write", number + 1, number + 1 + len(spans))
    return sums.counts


def _write_parts(kept: Kept, span: int, new: Mapping[str, Any]) -> None:
    """Add new rows of levels to the sums of a span, some neighbouring windows at a time."""
    places = {name: kept.sums_of(name, {span}).get(span, []) for name in ROOTS}
    old = [read_table(place, ["window"]) for several in places.values() for place in several]
    cuts = window_cuts([rows["window"] for rows in [*new.values(), *old]])
    for number, (since, before) in enumerate(zip_longest(cuts, cuts[1:])):
        pieces: dict[str, list[Any]] = {}
        for name in ROOTS:
            some = [between(new[name], since, before)] if name in new else []
            for place in places[name]:
                some += read_between(place, since, before)
            if any(map(len, some)):
                pieces[name] = some
        write_span(kept, part_name(span, number), pieces, BY_SPAN)


def write_span(
    kept: Kept, part: str, pieces: Mapping[str, Sequence[Any]], tables: Sequence[Facts]
) -> dict[str, Any]:
    """Write a part of the sums, and of those tables of facts that are made of them. Returns the
    levels of the part that were computed."""
    levels = {name: merged(LEVELS[name], parts) for name, parts in pieces.items()}
    for name, rows in levels.items():
        kept.write_sums(name, part, rows)
    for facts in tables:
        rows = finished(facts, levels, kept.window_s)
        if len(rows):
            kept.write_facts(facts.name, part, rows)
    return levels


def finished(facts: Facts, levels: dict[str, Any], window_s: int) -> Any:
    """Return the rows of a table of facts, in its order."""
    rows = level_of(facts.level, levels).sort_by([(key, "ascending") for key in facts.order])
    return facts.finish(rows, window_s)


def level_of(name: str, levels: dict[str, Any]) -> Any:
    """Return a level, computed of its source where it is not known, and known from then on."""
    if name not in levels:
        level = LEVELS[name]
        if level.source is None:
            levels[name] = merged(level, [])
        else:
            levels[name] = summed(level, level_of(level.source, levels))
    return levels[name]
