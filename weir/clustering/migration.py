"""The way from the map in force to another one, flow by flow and stream by stream.

Moves come in an order in which whoever stops halfway has gained most: flows without a stream first,
then what saves most at its place. A stream has its group before a flow enters it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.model.mapping import FlowMap, FormerMap, MappingProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One flow that changes its stream, or one stream that changes its group."""

    what: Literal["flow", "stream"]
    place: int
    """Of the flow among the problem's flows, or the number of the stream."""
    before: int
    """Its stream, or group; NOWHERE where it has none."""
    after: int
    saves: float
    """By how much the cost falls at its place in the order, work per second; negative: it rises."""


def migration(
    problem: MappingProblem, former: FormerMap | None, target: FlowMap
) -> tuple[Move, ...]:
    """Return the moves that make the target of the map in force, in the order to make them."""
    raise NotImplementedError


def costs_along(
    problem: MappingProblem,
    former: FormerMap | None,
    moves: Sequence[Move],
    ends: Sequence[int],
) -> list[float]:
    """Return what the map costs after the first `ends[k]` moves, each work per second, exactly."""
    raise NotImplementedError
