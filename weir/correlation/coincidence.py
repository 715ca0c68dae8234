"""Judge whether two publishers send together more often than chance explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.correlation.activity import Floats, Ints, Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdicts on some pairs, in their order."""

    shared: Ints
    """Moments of one that are together with a moment of the other, one to one."""
    by_chance: Floats
    """How many of them chance would give."""
    together: NDArray


def judge(
    pairs: Ints,
    starts: Ints,
    moments_s: Floats,
    *,
    publishers: int,
    duration_s: float,
    search: Search,
) -> Judged:
    """Judge pairs of rows of `starts`; `publishers`: how many there are in all, which says how many
    pairs chance could have chosen from."""
    raise NotImplementedError
