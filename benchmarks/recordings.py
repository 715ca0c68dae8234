"""Recordings of messages as files: made by a seed, with groups that were planted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

BEGAN_S = 1_700_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """What a recording of publishers was made of: who burst together, who kept a period."""

    events: list[list[str]]
    """Groups that send at common random moments, with jitter and misses."""
    phases: list[list[str]]
    """Groups that keep one period at one phase."""
    rows: int


def write_recording(path: Path, *, row_group: int = 1 << 20, **columns: Any) -> Path:
    """Write a recording of these columns, in the order given."""
    parquet.write_table(pa.table(columns), path, row_group_size=row_group)
    return path


def make_publishers(
    path: Path,
    *,
    publishers: int,
    seed: int,
    seconds: float = 1800.0,
    grouped_share: float = 0.2,
    periodic_share: float = 0.2,
    group: int = 20,
    row_group: int = 1 << 20,
    topic: str = "depth",
) -> Planted:
    """Write a recording of one topic: a fifth of the publishers in groups, a fifth with heartbeats
    of equal period, of which a few groups share the phase, the others at random moments.
    """
    chance = np.random.default_rng(seed)
    # Which publishers belong together cannot be read from their names.
    numbers = chance.permutation(publishers)
    names = np.array([f"s-{at:07d}" for at in range(publishers)], dtype=object)
    in_groups = int(publishers * grouped_share) // group * group
    periodic = int(publishers * periodic_share) // group * group
    who: list[np.ndarray] = []
    at_s: list[np.ndarray] = []
    events, phases = [], []
    for first in range(0, in_groups, group):
        members = numbers[first : first + group]
        bursts = np.sort(chance.uniform(0, seconds, chance.integers(25, 40)))
        sent = chance.random((len(members), len(bursts))) < 0.92
        jitter = chance.uniform(0, 0.02, sent.shape)
        rows, columns = np.nonzero(sent)
        who.append(members[rows])
        at_s.append(bursts[columns] + jitter[rows, columns])
        events.append(sorted(names[members].tolist()))
    beats = np.arange(0, seconds - 60.0, 60.0)
    # Of many publishers of one period so many share some phase by chance that a few more say
    # nothing: what is planted grows with them.
    aligned = max(group, periodic // 100)
    left = max(1, min(5, periodic // (10 * aligned)))
    for first in range(in_groups, in_groups + periodic, aligned):
        members = numbers[first : min(first + aligned, in_groups + periodic)]
        phase = chance.uniform(0, 60.0, len(members))
        if len(phases) < left:
            phase = 7.0 * (1 + len(phases)) + chance.uniform(0, 0.01, len(members))
            phases.append(sorted(names[members].tolist()))
        who.append(np.repeat(members, len(beats)))
        times = (
            phase[:, None] + beats[None, :] + chance.normal(0, 0.001, (len(members), len(beats)))
        )
        at_s.append(times.ravel())
    alone = numbers[in_groups + periodic :]
    counts = chance.poisson(25, len(alone))
    who.append(np.repeat(alone, counts))
    at_s.append(chance.uniform(0, seconds, int(counts.sum())))
    code, times = np.concatenate(who), np.concatenate(at_s)
    order = chance.permutation(len(code))
    write_recording(
        path,
        row_group=row_group,
        publisher=pa.DictionaryArray.from_arrays(
            pa.array(code[order].astype(np.int32)), pa.array(names.tolist())
        ),
        at_s=BEGAN_S + times[order],
        topic=pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(len(code), dtype=np.int32)), pa.array([topic])
        ),
    )
    return Planted(events=events, phases=phases, rows=len(code))


def make_topics(
    path: Path, *, topics: int, messages: int, seed: int, row_group: int = 1 << 20
) -> int:
    """Write a recording of many topics, of this many messages each on average, at random moments of
    ten minutes; return the rows."""
    chance = np.random.default_rng(seed)
    code = chance.integers(0, topics, topics * messages)
    names = pa.array([f"t-{at:06d}" for at in range(topics)])
    publishers = pa.array([f"p-{at}" for at in range(1000)])
    write_recording(
        path,
        row_group=row_group,
        publisher=pa.DictionaryArray.from_arrays(
            pa.array(chance.integers(0, 1000, len(code)).astype(np.int32)), publishers
        ),
        at_s=BEGAN_S + chance.uniform(0, 600, len(code)),
        topic=pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), names),
    )
    return len(code)
