"""Gather a recording on Spark: its messages by name, cut into parts that lie beside the answer.

Part i holds names that come before those of part i + 1, so that the place of a name among all is
its place in the part plus the names of the parts before. One file a part; only their sizes come
back to whoever asks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spark_tasks.blocks import Steps, collected, even_shares, exchange, spread
from spark_tasks.grouping import Grouped, borders_of, cut_at, grouped
from spark_tasks.io import read_columns, write_columns
from spark_tasks.partitions import cores
from spark_tasks.recordings import (
    By,
    Survey,
    check_still,
    check_survey,
    check_unchanged,
    merged,
    messages_of,
    recording_at,
    survey_of,
)

PARTS_PER_CORE = 4
PART_ROWS = 4_000_000
"""A part has about so many at most: a task holds it several times over while it sorts."""

READ_ROWS = 8_000_000
"""A task reads about so many at most."""

Report = Callable[[str, int, int], None]
"""Takes the phase, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A recording in parts: where they lie, and how many names and messages each has."""

    folder: str
    survey: Survey
    names: Sequence[int]
    messages: Sequence[int]

    @property
    def offsets(self) -> list[int]:
        """Return the place of each part's first name among all, and how many names there are."""
        return [0, *np.cumsum(self.names).tolist()]


def gather(
    spark: Any,
    uri: str,
    folder: str,
    *,
    by: By,
    report: Report,
    topic: str = "",
    within_s: float | None = None,
    frozen: Any = None,
) -> Gathered:
    """Survey a recording, then bring the messages of each name together; `within_s`: how far apart
    what is compared in it may be. Raises InvalidProblem."""
    recording = recording_at(uri, by=by, topic=topic)
    check_unchanged(recording, frozen or {})
    side_by_side = cores(spark)
    tasks = max(PARTS_PER_CORE * side_by_side, -(-recording.rows // READ_ROWS))
    shares = even_shares(recording.pieces, tasks)

    def surveyed(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
        yield number, merged(survey_of(recording, piece, by=by, topic=topic) for piece in given[0])

    survey = merged(
        collected(spread(spark, shares, surveyed), Steps(report, "survey", len(shares)))
    )
    check_survey(survey, topic, within_s)
    wanted = max(PARTS_PER_CORE * side_by_side, -(-survey.rows // PART_ROWS))
    borders = borders_of(survey, wanted)
    parts = len(borders) + 1

    def read(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
        for piece in given[0]:
            yield from cut_at(messages_of(recording, piece, by=by, topic=topic), borders)

    def kept(number: int, blocks: list[Any]) -> Iterator[tuple[int, Any]]:
        part = grouped(blocks)
        write_part(folder, number, part)
        yield number, (number, len(part.names), int(part.messages.sum()))

    sizes = {
        number: (names, messages)
        for number, names, messages in collected(
            exchange(spread(spark, shares, read), parts, kept), Steps(report, "gather", parts)
        )
    }
    # Survey and messages are of one recording, or there is no answer.
    check_still(recording, by=by, topic=topic)
    # A part may be without names: its borders came from a survey of hashes.
    whole = [sizes.get(number, (0, 0)) for number in range(parts)]
    return Gathered(
        folder=folder,
        survey=survey,
        names=[names for names, _ in whole],
        messages=[messages for _, messages in whole],
    )


def write_part(folder: str, number: int, part: Grouped) -> None:
    """Write the messages of some names."""
    columns = {"name": list(part.names), "rows": np.diff(part.starts)}
    if len(part.publishers):
        columns["publishers"] = part.publishers
    write_columns(f"{folder}/names-{number}", columns)
    columns = {"at_s": part.at_s}
    if len(part.counts):
        columns["messages"] = part.counts
    write_columns(f"{folder}/times-{number}", columns)


def read_part(folder: str, number: int) -> Grouped:
    """Read what `write_part` wrote."""
    columns = read_columns(f"{folder}/names-{number}")
    starts = np.zeros(len(columns["name"]) + 1, dtype=np.int64)
    np.cumsum(columns["rows"], out=starts[1:])
    times, none = read_columns(f"{folder}/times-{number}"), np.zeros(0, dtype=np.int64)
    return Grouped(
        names=columns["name"].tolist(),
        starts=starts,
        at_s=times["at_s"],
        publishers=columns.get("publishers", none),
        counts=times.get("messages", none),
    )
