"""Why no allocation exists, and the smallest changes that would make one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A node's resource or a link that cannot carry the minimum rates."""

    kind: str
    """`node` or `link`."""
    id: str
    resource: str | None
    """Of a node; None for a link."""
    load: float
    """Of the minimum rates, in the resource's units of work per second."""
    capacity: float
    flows: tuple[tuple[str, float], ...]
    """The flows that load it most and their loads, largest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One number of the model, as it is and as it would have to be."""

    kind: str
    """`node`, `link` (capacity) or `flow` (minimum rate, messages per second)."""
    id: str
    resource: str | None
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """Changes that together make the problem feasible; no smaller ones of this kind do."""

    kind: str
    """`capacities`: raise what is short; `all_rates`: one factor on every minimum rate above 0;
    `few_rates`: the least total relative cut of minimum rates."""
    sentence: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Infeasibility:
    """Everything that is short, the worst first, and what would help."""

    shortages: tuple[Shortage, ...]
    relaxations: tuple[Relaxation, ...]
