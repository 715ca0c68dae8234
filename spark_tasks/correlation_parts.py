"""Search a gathered recording for publishers that burst together: what the tasks do.

The files of a search lie beside those of the recording, one for each part:

    profiles-N, moments-N    what is known of each publisher by itself, and its moments off a comb
    keys-N                   its keys, a column for each band
    pairs-N, edges-N         candidates whose smaller id lies in part N; those that burst together
    members-N, cuts-N        components of edges, some of them in each part, with their edges

An id says in which part it lies: parts hold ids that follow each other (`Gathered.offsets`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spark_tasks.gathering import read_part
from spark_tasks.io import read_columns, write_columns
from weir.correlation.activity import Activity, Search
from weir.correlation.coincidence import judge
from weir.correlation.groups import components_of
from weir.correlation.periods import Profiles, period_groups, profiles_of
from weir.correlation.signatures import banding, pairs_of_band, signatures


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Where a search has its files, and what it searches for; travels to every task."""

    folder: str
    offsets: Sequence[int]
    """The first id of each part, and how many publishers there are."""
    since_s: float
    until_s: float
    search: Search

    @property
    def publishers(self) -> int:
        """How many publishers there are."""
        return self.offsets[-1]

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return self.until_s - self.since_s

    @property
    def plan(self) -> Any:
        """The bands that all publishers get their keys by."""
        return banding(
            publishers=self.publishers,
            since_s=self.since_s,
            until_s=self.until_s,
            search=self.search,
        )

    def numbers(self) -> list[int]:
        """Return the parts that hold publishers."""
        sizes = np.diff(self.offsets)
        return np.flatnonzero(sizes).tolist()

    def by_part(self, ids: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Return which of ascending ids lie in each part that has some."""
        ends = np.searchsorted(ids, self.offsets)
        for number, (low, high) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
            if low < high:
                yield number, ids[low:high]

    # --- each publisher by itself

    def profile(self, number: int) -> Iterator[tuple[int, Any]]:
        """Write profiles and keys of a part; give what is known of its periods to part 0."""
        part = read_part(self.folder, number)
        activity = Activity(
            names=tuple(part.names),
            starts=part.starts,
            at_s=part.at_s,
            since_s=self.since_s,
            until_s=self.until_s,
        )
        ids = np.arange(self.offsets[number], self.offsets[number + 1])
        profiles = profiles_of(activity, ids, self.search)
        write_columns(
            f"{self.folder}/profiles-{number}",
            {
                "moments": np.diff(profiles.starts),
                "period_s": profiles.period_s,
                "phase_s": profiles.phase_s,
                "messages": profiles.messages,
            },
        )
        write_columns(f"{self.folder}/moments-{number}", {"at_s": profiles.moments_s})
        plan = self.plan
        with_keys, keys = signatures(profiles, plan)
        columns = {f"key_{band}": keys[:, band] for band in range(plan.bands)}
        write_columns(f"{self.folder}/keys-{number}", {"id": with_keys, **columns})
        periodic = ~np.isnan(profiles.period_s)
        judged = np.union1d(with_keys, ids[periodic])
        yield (
            0,
            {
                "judged": len(judged),
                "ids": ids[periodic],
                "period_s": profiles.period_s[periodic],
                "phase_s": profiles.phase_s[periodic],
            },
        )

    def periods(self, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Give how many could be judged, and the groups of equal period and phase."""
        ids, period_s, phase_s = (
            np.concatenate([block[name] for block in blocks])
            for name in ("ids", "period_s", "phase_s")
        )
        order = np.argsort(ids)
        ids, period_s, phase_s = ids[order], period_s[order], phase_s[order]
        groups = period_groups(
            ids, period_s, phase_s, duration_s=self.duration_s, search=self.search
        )
        yield 0, (sum(block["judged"] for block in blocks), period_s, groups)

    def profiles(self, number: int) -> Profiles:
        """Read the profiles of a part."""
        columns = read_columns(f"{self.folder}/profiles-{number}")
        return Profiles(
            ids=np.arange(self.offsets[number], self.offsets[number + 1]),
            starts=_starts(columns["moments"]),
            moments_s=read_columns(f"{self.folder}/moments-{number}")["at_s"],
            period_s=columns["period_s"],
            phase_s=columns["phase_s"],
            messages=columns["messages"],
        )

    # --- pairs

    def keys(self, number: int) -> Iterator[tuple[int, Any]]:
        """Give the keys of a part to their bands."""
        columns = read_columns(f"{self.folder}/keys-{number}")
        ids = columns.pop("id")
        if len(ids):
            for band in range(len(columns)):
                yield band, (number, ids, columns[f"key_{band}"])

    def candidates(self, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Give the pairs of a band to the parts of their smaller ids."""
        blocks.sort(key=lambda block: int(block[0]))
        ids = np.concatenate([ids for _, ids, _ in blocks])
        keys = np.concatenate([keys for _, _, keys in blocks])
        pairs = pairs_of_band(ids, keys)
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        for number, first in self.by_part(pairs[:, 0]):
            low = int(np.searchsorted(pairs[:, 0], first[0]))
            yield number, pairs[low : low + len(first)]

    def keep_pairs(self, number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Write the pairs of a part, each once, though several bands may have met it."""
        pairs = np.concatenate(blocks)
        # One number a pair: sorting rows of two takes several times as long.
        packed = np.unique(pairs[:, 0] * self.publishers + pairs[:, 1])
        first, second = packed // self.publishers, packed % self.publishers
        write_columns(f"{self.folder}/pairs-{number}", {"first": first, "second": second})
        yield number, (number, len(packed))

    def ask_moments(self, number: int) -> Iterator[tuple[int, Any]]:
        """Ask the parts for the moments of everybody in the pairs of this one."""
        pairs = read_columns(f"{self.folder}/pairs-{number}")
        wanted = np.unique(np.concatenate([pairs["first"], pairs["second"]]))
        for part, ids in self.by_part(wanted):
            yield part, (number, ids)

    def send_moments(self, number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Give the moments asked for to the parts that asked."""
        profiles = self.profiles(number)
        for to, ids in blocks:
            rows = ids - self.offsets[number]
            yield to, (ids, *_rows(rows, profiles.starts, profiles.moments_s))

    def judge_pairs(self, number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Write the pairs of a part that burst together; give how many there are."""
        ids, starts, moments_s = _joined(blocks)
        columns = read_columns(f"{self.folder}/pairs-{number}")
        pairs = np.column_stack([columns["first"], columns["second"]])
        verdicts = judge(
            np.searchsorted(ids, pairs),
            starts,
            moments_s,
            publishers=self.publishers,
            duration_s=self.duration_s,
            search=self.search,
        )
        edges = pairs[np.asarray(verdicts.together, dtype=bool)]
        columns = {"first": edges[:, 0], "second": edges[:, 1]}
        write_columns(f"{self.folder}/edges-{number}", columns)
        yield number, (number, len(edges))

    # --- components

    def components(self, numbers: Sequence[int], most: int) -> Iterator[tuple[int, Any]]:
        """Cut all edges into components and write about as many publishers of them to each of at
        most so many files."""
        read = [read_columns(f"{self.folder}/edges-{number}") for number in numbers]
        edges = np.column_stack(
            [np.concatenate([columns[name] for columns in read]) for name in ("first", "second")]
        )
        members = components_of(edges)
        component = np.zeros(self.publishers, dtype=np.int64)
        for at, ids in enumerate(members):
            component[ids] = at
        of_edge = component[edges[:, 0]]
        edges = edges[np.argsort(of_edge, kind="stable")]
        sizes = np.array([len(ids) for ids in members], dtype=np.int64)
        lines = np.bincount(of_edge, minlength=len(members))
        # By what their edges cost; a component is never cut.
        share = np.minimum(np.cumsum(lines) * most // (int(lines.sum()) + 1), most - 1)
        ends = _starts(lines)
        for number in np.unique(share).tolist():
            low, high = np.searchsorted(share, [number, number + 1]).tolist()
            of_members = np.repeat(np.arange(low, high), sizes[low:high])
            ids = np.concatenate(members[low:high])
            write_columns(f"{self.folder}/members-{number}", {"component": of_members, "id": ids})
            inside = edges[ends[low] : ends[high]]
            columns = {
                "component": np.repeat(np.arange(low, high), lines[low:high]),
                "first": inside[:, 0],
                "second": inside[:, 1],
            }
            write_columns(f"{self.folder}/cuts-{number}", columns)
            yield number, number


def _starts(sizes: np.ndarray) -> np.ndarray:
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _rows(
    rows: np.ndarray, starts: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes and values of some rows."""
    sizes = starts[rows + 1] - starts[rows]
    before = _starts(sizes)
    at = np.repeat(starts[rows] - before[:-1], sizes) + np.arange(before[-1])
    return sizes, values[at]


def _joined(blocks: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ids, starts and values of rows that came in blocks, by their ids."""
    blocks.sort(key=lambda block: int(block[0][0]))
    ids, sizes, values = (np.concatenate([block[at] for block in blocks]) for at in range(3))
    return ids, _starts(sizes), values
