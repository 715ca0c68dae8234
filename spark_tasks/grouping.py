"""Bring the rows of a recording together by name: a whole one here, parts of one for Spark.

In this process, names are counted in a first pass over the pieces, so that the second writes each
row where it belongs. On Spark, `gathering` cuts pieces at names and groups what each part is given.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spark_tasks.recordings import (
    By,
    Messages,
    Survey,
    check_still,
    check_survey,
    merged,
    messages_of,
    recording_at,
    survey_of,
)

IN_MEMORY = 50_000_000
"""Rows of which times are kept in memory in one process; those of more lie in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Rows by name: those of name i are `starts[i]:starts[i + 1]`, by time and then by count."""

    names: Sequence[str]
    """Ascending, each once."""
    starts: np.ndarray
    at_s: np.ndarray
    publishers: np.ndarray
    """How many publishers each has; none where by publisher."""
    counts: np.ndarray
    """How many messages each row is; none where all are one."""

    @property
    def messages(self) -> np.ndarray:
        """Return how many messages each name has."""
        if not len(self.counts):
            return np.diff(self.starts)
        before = np.zeros(len(self.counts) + 1, dtype=np.int64)
        np.cumsum(self.counts, out=before[1:])
        return np.diff(before[self.starts])

    def of(self, at: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return times and counts of one name, by its place; counts None: all are one."""
        rows = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.at_s[rows], self.counts[rows] if len(self.counts) else None


def borders_of(survey: Survey, parts: int) -> list[str]:
    """Return names that cut all names into this many parts, at most, of about as many rows."""
    names = sorted(survey.sample)
    ends = np.cumsum([survey.sample[name][1] for name in names], dtype=np.int64)
    if not len(ends):
        return []
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts) + 1
    return [names[cut] for cut in np.unique(cuts).tolist() if cut < len(names)]


def cut_at(messages: Messages, borders: Sequence[str]) -> Iterator[tuple[int, Messages]]:
    """Return the messages of each part that has some, with its number: part i holds the names from
    border i - 1 on and below border i."""
    names = np.array(messages.names, dtype=object)
    part = np.searchsorted(np.array(borders, dtype=object), names, side="right")
    of_message = part[messages.codes]
    order = np.argsort(of_message, kind="stable")
    ends = np.searchsorted(of_message[order], np.arange(len(borders) + 2))
    local = np.zeros(len(names), dtype=np.int64)
    for number in np.unique(part).tolist():
        inside = np.flatnonzero(part == number)
        local[inside] = np.arange(len(inside))
        rows = order[ends[number] : ends[number + 1]]
        yield (
            number,
            Messages(
                names=names[inside].tolist(),
                codes=local[messages.codes[rows]],
                at_s=messages.at_s[rows],
                publishers=messages.publishers[rows] if len(messages.publishers) else rows[:0],
                counts=messages.counts[rows] if len(messages.counts) else rows[:0],
            ),
        )


def grouped(blocks: Sequence[Messages]) -> Grouped:
    """Return some messages by name; the order of the blocks does not matter."""
    names = sorted({name for block in blocks for name in block.names})
    place = {name: at for at, name in enumerate(names)}
    codes = [
        np.array([place[name] for name in block.names], dtype=np.int64)[block.codes]
        for block in blocks
    ]
    none = np.zeros(0)
    code = np.concatenate([*codes, none.astype(np.int64)])
    at_s = np.concatenate([*(block.at_s for block in blocks), none])
    counts = np.concatenate([*(block.counts for block in blocks), none.astype(np.int64)])
    # Rows of one time by their counts: the order of the blocks must not show in the last digit.
    order = np.lexsort((counts, at_s, code) if len(counts) else (at_s, code))
    publishers = np.zeros(0, dtype=np.int64)
    if any(len(block.publishers) for block in blocks):
        publishers = _distinct(code, np.concatenate([block.publishers for block in blocks]), names)
    starts = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(np.bincount(code, minlength=len(names)), out=starts[1:])
    return Grouped(
        names=names,
        starts=starts,
        at_s=at_s[order],
        publishers=publishers,
        counts=counts[order] if len(counts) else counts,
    )


def _distinct(code: np.ndarray, other: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return how many different values each code meets."""
    return np.bincount(_pairs(code, other)[0], minlength=len(names))


def _pairs(code: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair of values once."""
    order = np.lexsort((other, code))
    code, other = code[order], other[order]
    first = np.ones(len(code), dtype=np.bool_)
    first[1:] = (code[1:] != code[:-1]) | (other[1:] != other[:-1])
    return code[first], other[first]


def read_recording(
    uri: str, *, by: By, topic: str = "", within_s: float | None = None
) -> tuple[Survey, Grouped]:
    """Read a whole recording in this process, by publisher or by topic; `within_s`: how far apart
    what is compared in it may be. Raises InvalidProblem.

    Memory: its names and one piece, and 8 bytes a row, 16 where rows hold several messages. Beyond
    IN_MEMORY rows those bytes lie in files that are gone when the arrays are.
    """
    recording = recording_at(uri, by=by, topic=topic)
    survey = merged(survey_of(recording, each, by=by, topic=topic) for each in recording.pieces)
    check_survey(survey, topic, within_s)
    place: dict[str, int] = {}
    sizes = np.zeros(0, dtype=np.int64)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for piece in recording.pieces:
        block = messages_of(recording, piece, by=by, topic=topic)
        code = _places(block.names, place)
        here = np.bincount(code[block.codes], minlength=len(place))
        here[: len(sizes)] += sizes
        sizes = here
        if by == "topic":
            pairs.append(_pairs(code[block.codes], block.publishers))
    # Places are of what was read before; what comes now must be the same.
    check_still(recording, by=by, topic=topic)
    names = sorted(place)
    rank = np.empty(len(names), dtype=np.int64)
    rank[[place[name] for name in names]] = np.arange(len(names))
    starts = np.zeros(len(names) + 1, dtype=np.int64)
    ordered = np.empty_like(sizes)
    ordered[rank] = sizes
    np.cumsum(ordered, out=starts[1:])
    at_s = _room(survey.rows, np.float64)
    several = "messages" in recording.columns
    counts = _room(survey.rows if several else 0, np.int64)
    free = starts[:-1].copy()
    for piece in recording.pieces:
        block = messages_of(recording, piece, by=by, topic=topic)
        code = rank[_places(block.names, place)][block.codes]
        order = np.argsort(code, kind="stable")
        code = code[order]
        firsts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]]) if len(code) else code
        here = np.diff(np.r_[firsts, len(code)])
        at = np.repeat(free[code[firsts]] - firsts, here) + np.arange(len(code))
        at_s[at] = block.at_s[order]
        if several:
            counts[at] = block.counts[order]
        free[code[firsts]] += here
    check_still(recording, by=by, topic=topic)
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if several:
            order = np.lexsort((counts[first:last], at_s[first:last]))
            counts[first:last] = counts[first:last][order]
            at_s[first:last] = at_s[first:last][order]
        else:
            at_s[first:last].sort()
    publishers = np.zeros(0, dtype=np.int64)
    if by == "topic":
        code, other = (np.concatenate(column) for column in zip(*pairs, strict=True))
        publishers = _distinct(rank[code], other, names)
    whole = Grouped(names=names, starts=starts, at_s=at_s, publishers=publishers, counts=counts)
    return survey, whole


def _places(names: Sequence[str], place: dict[str, int]) -> np.ndarray:
    return np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)


def _room(count: int, kind: Any) -> np.ndarray:
    if count <= IN_MEMORY:
        return np.empty(count, dtype=kind)
    file = tempfile.TemporaryFile(prefix="weir-recording-")  # noqa: SIM115
    # The file has no name any more: it is gone with the array.
    return np.memmap(file, dtype=kind, mode="w+", shape=(count,))
