"""Make groups of pairs that burst together, each around one publisher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.correlation.activity import Floats, Ints, Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Star:
    """A leader and those that burst together with it."""

    leader: int
    members: Ints
    """Ascending, with the leader."""


def components_of(edges: Ints) -> Sequence[Ints]:
    """Return the connected components of pairs of ids, each ascending, by their smallest id."""
    raise NotImplementedError


def stars_of(
    component: Ints,
    edges: Ints,
    starts: Ints,
    moments_s: Floats,
    *,
    publishers: int,
    duration_s: float,
    search: Search,
) -> Sequence[Star]:
    """Return the groups of one component; rows of `starts` are the publishers of `component`."""
    raise NotImplementedError
