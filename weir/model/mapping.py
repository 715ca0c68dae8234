"""Mapping problems and their answers: flows into streams, streams into groups.

A user joins every group that carries something it wants. It drops streams that it does not want at
the transport, and messages that it does not want at the messaging layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NOWHERE", "FlowMap", "FormerMap", "Interests", "MappingProblem", "Moving", "Weights"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What receiving costs, in work."""

    transport: float
    """Of a packet."""
    messaging: float
    """Of a message."""
    aggregation: float
    """Messages in a packet; at least 1."""

    @property
    def packet_share(self) -> float:
        """Return the transport's work for one message: `a` of the cost function."""
        return self.transport / self.aggregation


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """What moving takes, for whoever judges a map by it; methods go by the charges alone."""

    flow_work: float
    """Of moving a flow to another stream."""
    stream_work: float
    """Of moving a stream to another group."""
    horizon_s: float
    """The time over which that work has to pay."""
    flows_per_s: float
    """Flows that are moved in a second."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Interests:
    """Who wants which flow, by flow: those of flow i are `users[starts[i]:starts[i + 1]]`."""

    starts: NDArray[np.int64]
    """One more than there are flows."""
    users: NDArray[np.int32]
    """Rising within a flow, none twice."""
    user_count: int

    @cached_property
    def audiences(self) -> NDArray[np.int64]:
        """Return how many users want each flow."""
        return np.diff(self.starts)

    @cached_property
    def by_user(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the same by user: where each begins, and flows in rising order."""
        flows = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), self.audiences)
        order = np.argsort(self.users, kind="stable")
        counts = np.bincount(self.users, minlength=self.user_count)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), flows[order]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormerMap:
    """The map in force, from which moves are counted."""

    stream_of: NDArray[np.int64]
    """By flow; NOWHERE for one that it does not map."""
    group_of: NDArray[np.int64]
    """By stream; NOWHERE for one that it does not use."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MappingProblem:
    """Flows with their rates and audiences, and the streams and groups there are for them."""

    flows: tuple[str, ...]
    rates_per_s: NDArray[np.float64]
    users: tuple[str, ...]
    interests: Interests
    max_streams: int
    max_groups: int
    weights: Weights
    pinned_stream: NDArray[np.int64]
    """By flow, NOWHERE where it may go to any."""
    pinned_group: NDArray[np.int64]
    """By stream, NOWHERE where it may lie in any."""
    former: FormerMap | None = None
    move_cost: float = 0.0
    """Work per second that a flow in another stream than before is charged."""
    stream_move_cost: float = 0.0
    """Work per second that a stream in another group than before is charged."""
    moving: Moving | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowMap:
    """A map: flows nobody wants are NOWHERE, and so are streams without a flow."""

    stream_of: NDArray[np.int64]
    """By flow."""
    group_of: NDArray[np.int64]
    """By stream, `max_streams` long."""
    complete: bool = True
    """Whether the method came to its end before it was stopped."""
