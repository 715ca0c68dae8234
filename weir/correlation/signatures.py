"""Meet publishers that share many moments without comparing all pairs (MinHash over time bins).

Time is cut into bins of 4 within_s. The bin with the smallest hash is the same for two publishers
with the chance J = shared bins / bins of either; a key of `rows` such bins is the same with J^rows.
Each of `bands` keys has hashes and a grid of its own: the grids begin at random places, so that no
two moments fall between two bins in all of them. Who has the same key in some band is compared.

Two publishers of equally many moments that share s of them meet in a band with J^rows, where
J = s' / (2 - s') and s' = s x 7/8: moments half of within_s apart share a bin with 7/8. `rows` are
as many as keep what meets by chance below a twentieth of the publishers a band, at one moment every
30 s; `bands` as many as leave 5 % of such pairs unmet. Members of a group of three and more meet by
way of others, too.

Reference: A. Z. Broder. On the resemblance and containment of documents. SEQUENCES 1997.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled
from weir.correlation.chance import log_poisson_tail
from weir.correlation.coincidence import FEWEST, log_allowed

if TYPE_CHECKING:
    from weir.correlation.activity import Ints, Search
    from weir.correlation.periods import Profiles

BIN = 4.0
"""Width of a bin in units of within_s."""

SAME_BIN = 0.875
"""Chance that moments half of within_s apart fall into one bin."""

MOMENT_EVERY_S = 30.0
"""Of a usual publisher: chance collisions are kept rare for it."""

COLLISIONS = 0.05
"""Publishers that meet another by chance in one band, at most."""

MISSED = 0.05
"""Pairs of the least share that meet in no band, at most."""

MOST_BANDS, MOST_ROWS = 600, 8

FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0x9E3779B97F4A7C15)
LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


@dataclass(frozen=True, slots=True, kw_only=True)
class Banding:
    """How many hashes make a key, and how many keys a publisher gets."""

    bands: int
    rows: int
    bin_s: float
    since_s: float
    fewest_moments: int
    """A publisher with fewer cannot be told from chance and gets no keys."""


def banding(*, publishers: int, since_s: float, until_s: float, search: Search) -> Banding:
    """Choose bands and rows so that chance rarely makes pairs and similar ones meet."""
    bin_s = BIN * search.within_s
    same = search.least_share * SAME_BIN
    alike = same / (2.0 - same)
    collision = min(bin_s / (2.0 * MOMENT_EVERY_S), 0.5)
    rows = 1
    while (
        publishers * collision**rows > COLLISIONS
        and rows < MOST_ROWS
        and _bands(alike, rows + 1) <= MOST_BANDS
    ):
        rows += 1
    return Banding(
        bands=_bands(alike, rows),
        rows=rows,
        bin_s=bin_s,
        since_s=since_s,
        fewest_moments=_fewest(publishers, until_s - since_s, search),
    )


def _bands(alike: float, rows: int) -> int:
    return math.ceil(math.log(MISSED) / math.log1p(-(alike**rows)))


def _fewest(publishers: int, duration_s: float, search: Search) -> int:
    """Return how many moments two publishers that share all need to be told from chance."""
    allowed = log_allowed(publishers, search)
    window = max(duration_s, 2.0 * search.within_s)
    most = max(math.floor(window / search.within_s) + 2, FEWEST)
    for count in range(FEWEST, most):
        if log_poisson_tail(count, count * count * 2.0 * search.within_s / window) < allowed:
            return count
    return most


@compiled
def mixed(value: Any) -> Any:
    """Return 64 bits of which each depends on all of the value (the end of SplitMix64)."""
    value = (value ^ (value >> SHIFTS[0])) * FIRST
    value = (value ^ (value >> SHIFTS[1])) * SECOND
    return value ^ (value >> SHIFTS[2])


@compiled
def band_keys(
    rows_of: Any,
    starts: Any,
    moments: Any,
    since: float,
    width: float,
    band: int,
    factors: Any,
    out: Any,
) -> None:
    """Fill `out` with the keys of the rows given, in one band."""
    seed = mixed(np.uint64(band + 1) * STEP)
    begins = (seed >> np.uint64(11)) / 9007199254740992.0
    per_s = 1.0 / width
    longest = 0
    for row in rows_of:
        longest = max(longest, starts[row + 1] - starts[row])
    values = np.empty(longest, dtype=np.uint64)
    for index in range(len(rows_of)):
        low = starts[rows_of[index]]
        count = starts[rows_of[index] + 1] - low
        for at in range(count):
            place = np.int64(math.floor((moments[low + at] - since) * per_s + begins))
            values[at] = mixed(np.uint64(place) * STEP ^ seed)
        key = seed
        # One good hash, then cheap ones made of it.
        for factor in factors:
            lowest = LARGEST
            for at in range(count):
                lowest = min(lowest, values[at] * factor)
            key = mixed((key ^ lowest) * STEP)
        out[index] = key


def factors_of(rows: int) -> Any:
    """Return odd factors, one a row of a key."""
    with np.errstate(over="ignore"):
        steps = (np.arange(1, rows + 1, dtype=np.uint64) * STEP) ^ FIRST
        return steps * SECOND | np.uint64(1)


def enough_moments(profiles: Profiles, plan: Banding) -> Ints:
    """Return the rows of publishers with moments enough to be told from chance."""
    rows: Ints = np.flatnonzero(np.diff(profiles.starts) >= plan.fewest_moments)
    return rows


def keys_of_band(profiles: Profiles, plan: Banding, rows: Ints, band: int) -> Any:
    """Return the keys of some rows in one band."""
    keys = np.empty(len(rows), dtype=np.uint64)
    band_keys(
        rows,
        profiles.starts,
        profiles.moments_s,
        plan.since_s,
        plan.bin_s,
        band,
        factors_of(plan.rows),
        keys,
    )
    return keys


def signatures(profiles: Profiles, plan: Banding) -> tuple[Ints, Any]:
    """Return the ids of publishers with enough moments and their keys (uint64, publishers x
    bands)."""
    rows = enough_moments(profiles, plan)
    keys = np.empty((len(rows), plan.bands), dtype=np.uint64)
    for band in range(plan.bands):
        keys[:, band] = keys_of_band(profiles, plan, rows, band)
    return profiles.ids[rows], keys


@compiled
def repeated(keys: Any, table: Any, out: Any) -> int:
    """Fill `out` with the rows of keys that may occur twice; return how many. `table` is zero, and
    its length a power of two."""
    mask = np.uint64(len(table) - 1)
    for key in keys:
        slot = key & mask
        if table[slot] < 2:
            table[slot] += 1
    count = 0
    for row in range(len(keys)):
        if table[keys[row] & mask] == 2:
            out[count] = row
            count += 1
    return count


def pairs_of_band(ids: Ints, keys: Any) -> Ints:
    """Return candidate pairs (m x 2, smaller id first, each once) of one band.

    Everybody with one key is paired with the smallest id that has it, and with the next one: m
    publishers make 2 m - 3 pairs.
    """
    ids, keys = np.asarray(ids, dtype=np.int64), np.ascontiguousarray(keys, dtype=np.uint64)
    if len(ids) < 2:
        return np.empty((0, 2), dtype=np.int64)
    # Most keys are alone: they are left out before anything is sorted.
    table = np.zeros(1 << (8 * len(ids)).bit_length(), dtype=np.uint8)
    rows = np.empty(len(ids), dtype=np.int64)
    rows = rows[: repeated(keys, table, rows)]
    ids, keys = ids[rows], keys[rows]
    order = np.lexsort((ids, keys))
    ids, keys = ids[order], keys[order]
    begins = np.ones(len(ids), dtype=bool)
    begins[1:] = keys[1:] != keys[:-1]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(ids)), 0))
    follows = np.flatnonzero(~begins)
    to_first = np.stack([ids[first[follows]], ids[follows]], axis=1)
    beyond = follows[first[follows] != follows - 1]
    to_next = np.stack([ids[beyond - 1], ids[beyond]], axis=1)
    return np.concatenate([to_first, to_next])
