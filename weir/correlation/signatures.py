"""Meet publishers that share many moments without comparing all pairs (MinHash over time bins)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weir.correlation.activity import Floats, Ints, Search
    from weir.correlation.periods import Profiles


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
    raise NotImplementedError


def signatures(profiles: Profiles, plan: Banding) -> tuple[Ints, Any]:
    """Return the ids of publishers with enough moments and their keys (uint64, publishers x
    bands)."""
    raise NotImplementedError


def pairs_of_band(ids: Ints, keys: Any) -> Ints:
    """Return candidate pairs (m x 2, smaller id first, each once) of one band."""
    raise NotImplementedError


__all__ = ["Banding", "Floats", "banding", "pairs_of_band", "signatures"]
