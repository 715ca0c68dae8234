"""Search a gathered recording for publishers that burst together: what the tasks do.

The files of a search lie beside those of the recording, one for each part:

    profiles-N, moments-N    what is known of each publisher by itself, and its moments off a comb
    keys-N                   its keys, a column for each band
    pairs-N, edges-N         candidates whose smaller id lies in part N; those that burst together
    event-members-N, cuts-N  components of edges, some of them in each file, with their edges
    period-members-N, beats-N  groups of equal period and phase, and their leaders

An id says in which part it lies: parts hold ids that follow each other (`Gathered.offsets`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from spark_tasks.gathering import read_part
from spark_tasks.grouping import Grouped
from spark_tasks.io import read_columns, write_columns
from weir.correlation.activity import Activity, Search, moments_of
from weir.correlation.coincidence import judge
from weir.correlation.groups import components_of, stars_of
from weir.correlation.periods import PeriodGroup, Profiles, period_groups, profiles_of
from weir.correlation.signatures import banding, pairs_of_band, signatures
from weir.correlation.suggest import event_group, judged_of, period_group, rows_of

EVENT, PERIOD = "event", "period"


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
        """Return how many publishers there are."""
        return self.offsets[-1]

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return self.until_s - self.since_s

    @property
    def plan(self) -> Any:
        """Choose the bands by which all publishers get their keys."""
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
        for number, (low, high) in enumerate(pairwise(ends.tolist())):
            if low < high:
                yield number, ids[low:high]

    def activity(self, part: Grouped) -> Activity:
        """Return the messages of a part in the window of all."""
        return Activity(
            names=tuple(part.names),
            starts=part.starts,
            at_s=part.at_s,
            since_s=self.since_s,
            until_s=self.until_s,
            messages=part.messages,
        )

    # --- each publisher by itself

    def profile(self, number: int) -> Iterator[tuple[int, Any]]:
        """Write profiles and keys of a part; give what is known of its periods to part 0."""
        activity = self.activity(read_part(self.folder, number))
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
        yield (
            0,
            {
                "judged": int(judged_of(profiles, plan).sum()),
                "ids": ids[periodic],
                "period_s": profiles.period_s[periodic],
                "phase_s": profiles.phase_s[periodic],
            },
        )

    def periods(self, blocks: list[Any], most: int) -> Iterator[tuple[int, Any]]:
        """Write the groups of equal period and phase to at most so many files; give how many
        publishers could be judged, all periods, and the numbers of those files."""
        ids, period_s, phase_s = (
            np.concatenate([block[name] for block in blocks])
            for name in ("ids", "period_s", "phase_s")
        )
        order = np.argsort(ids)
        ids, period_s, phase_s = ids[order], period_s[order], phase_s[order]
        groups = period_groups(
            ids, period_s, phase_s, duration_s=self.duration_s, search=self.search
        )
        sizes = np.array([len(group.ids) for group in groups], dtype=np.int64)
        numbers = []
        for number, low, high in _shares(sizes, most):
            some = groups[low:high]
            columns = {
                "group": np.repeat(np.arange(len(some)), sizes[low:high]),
                "id": np.concatenate([group.ids for group in some]),
            }
            write_columns(f"{self.folder}/{PERIOD}-members-{number}", columns)
            beats = {
                name: np.array([getattr(group, name) for group in some])
                for name in ("leader", "period_s", "phase_s", "bystanders")
            }
            write_columns(f"{self.folder}/beats-{number}", beats)
            numbers.append(number)
        yield 0, (sum(block["judged"] for block in blocks), period_s, numbers)

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
        """Give the moments that were wanted to the parts that want them."""
        profiles = self.profiles(number)
        for to, ids in blocks:
            rows = ids - self.offsets[number]
            begins, times_s = rows_of(profiles.starts, profiles.moments_s, rows)
            yield to, (ids, np.diff(begins), times_s)

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
        ends = _starts(lines)
        for number, low, high in _shares(lines, most):
            columns = {
                "group": np.repeat(np.arange(high - low), sizes[low:high]),
                "id": np.concatenate(members[low:high]),
            }
            write_columns(f"{self.folder}/{EVENT}-members-{number}", columns)
            inside = edges[ends[low] : ends[high]]
            columns = {
                "group": np.repeat(np.arange(high - low), lines[low:high]),
                "first": inside[:, 0],
                "second": inside[:, 1],
            }
            write_columns(f"{self.folder}/cuts-{number}", columns)
            yield number, number

    # --- evidence

    def ask_members(self, kind: str, number: int) -> Iterator[tuple[int, Any]]:
        """Ask the parts for everybody in the components or groups of a file."""
        members = read_columns(f"{self.folder}/{kind}-members-{number}")
        for part, ids in self.by_part(np.unique(members["id"])):
            yield part, (number, ids)

    def send_members(self, kind: str, number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Give names, messages and moments of those wanted; all moments where by period."""
        part, profiles = read_part(self.folder, number), self.profiles(number)
        starts, moments_s = profiles.starts, profiles.moments_s
        if kind == PERIOD:
            moments = moments_of(self.activity(part), self.search.within_s)
            starts, moments_s = moments.starts, moments.at_s
        for to, ids in blocks:
            rows = ids - self.offsets[number]
            begins, times_s = rows_of(starts, moments_s, rows)
            names = [part.names[row] for row in rows.tolist()]
            yield to, (ids, np.diff(begins), times_s, profiles.messages[rows], names)

    def event_evidence(self, number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Give the groups of the components of a file."""
        people = _People(blocks)
        members = read_columns(f"{self.folder}/{EVENT}-members-{number}")
        cuts = read_columns(f"{self.folder}/cuts-{number}")
        edges = np.column_stack([cuts["first"], cuts["second"]])
        groups = []
        for component, inside in zip(
            _split(members["id"], members["group"]), _split(edges, cuts["group"]), strict=True
        ):
            _, starts, moments_s, _ = people.of(component)
            stars = stars_of(
                component,
                inside,
                starts,
                moments_s,
                publishers=self.publishers,
                duration_s=self.duration_s,
                search=self.search,
            )
            groups += [
                event_group(
                    star,
                    *people.of(star.members),
                    publishers=self.publishers,
                    since_s=self.since_s,
                    until_s=self.until_s,
                    search=self.search,
                )
                for star in stars
            ]
        yield number, groups

    def period_evidence(self, number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Give the groups of equal period and phase of a file."""
        people = _People(blocks)
        members = read_columns(f"{self.folder}/{PERIOD}-members-{number}")
        beats = read_columns(f"{self.folder}/beats-{number}")
        groups = []
        for at, ids in enumerate(_split(members["id"], members["group"])):
            beat = PeriodGroup(
                ids=ids,
                leader=int(beats["leader"][at]),
                period_s=float(beats["period_s"][at]),
                phase_s=float(beats["phase_s"][at]),
                bystanders=float(beats["bystanders"][at]),
            )
            group = period_group(
                beat,
                *people.of(ids),
                since_s=self.since_s,
                until_s=self.until_s,
                search=self.search,
            )
            groups += [] if group is None else [group]
        yield number, groups


class _People:
    """Names, moments and messages of publishers, as they came in blocks."""

    def __init__(self, blocks: list[Any]) -> None:
        self._ids, self._starts, self._moments_s = _joined(blocks)
        self._messages = np.concatenate([block[3] for block in blocks])
        self._names = [name for block in blocks for name in block[4]]

    def of(self, ids: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
        """Return names, starts, moments and messages of some, by ascending ids."""
        rows = np.searchsorted(self._ids, ids)
        starts, moments_s = rows_of(self._starts, self._moments_s, rows)
        return [self._names[row] for row in rows.tolist()], starts, moments_s, self._messages[rows]


def _shares(costs: np.ndarray, most: int) -> Iterator[tuple[int, int, int]]:
    """Return number, begin and end of at most so many stretches of about the same cost."""
    whole = int(costs.sum())
    share = (np.cumsum(costs) - costs) * most // max(whole, 1)
    for number, at in enumerate(np.unique(share).tolist()):
        low, high = np.searchsorted(share, [at, at + 1]).tolist()
        yield number, low, high


def _split(values: np.ndarray, groups: np.ndarray) -> list[np.ndarray]:
    """Return the values of each group; groups ascend from 0 on."""
    return np.split(values, np.flatnonzero(np.diff(groups)) + 1)


def _starts(sizes: np.ndarray) -> np.ndarray:
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _joined(blocks: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ids, starts and values of rows that came in blocks, by their ids."""
    blocks.sort(key=lambda block: int(block[0][0]))
    ids, sizes, values = (np.concatenate([block[at] for block in blocks]) for at in range(3))
    return ids, _starts(sizes), values
