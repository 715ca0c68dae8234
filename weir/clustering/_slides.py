"""The two steps of which the slides' hierarchical methods consist, each from a map given.

Reference: Y. Tock, N. Naaman, A. Harpaz, G. Gershinsky. Adaptive hierarchical clustering of message
flows in a multicast data dissemination system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.clustering._kmeans import Items, cluster
from weir.model.mapping import NOWHERE, FlowMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from weir.clustering._kmeans import KMeansParams
    from weir.model.mapping import MappingProblem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layers:
    """A map of wanted flows alone, where every stream lies in a group, in use or not."""

    stream_of: NDArray[np.int64]
    """By wanted flow."""
    group_of: NDArray[np.int64]
    """By stream."""
    complete: bool = True


class Mapper:
    """The steps for one problem: pins hold, and nothing unwanted takes part."""

    def __init__(
        self,
        problem: MappingProblem,
        params: KMeansParams,
        *,
        seed: int,
        stop: Callable[[], bool],
    ) -> None:
        self.problem, self.params, self.stop = problem, params, stop
        self.rng = np.random.default_rng(seed)
        interests = problem.interests
        self.wanted = np.flatnonzero(interests.audiences > 0)
        # Flows that nobody wants have no users: the other rows lie side by side without them.
        ends = interests.starts[-1:]
        self.items = Items(
            rates=np.ascontiguousarray(problem.rates_per_s[self.wanted], dtype=np.float64),
            starts=np.concatenate([interests.starts[self.wanted], ends]).astype(np.int64),
            # Kernels are compiled for arrays that can be written.
            users=np.require(interests.users, np.int32, ["C", "W"]),
            user_count=interests.user_count,
        )
        self.pinned = problem.pinned_stream[self.wanted]
        self.fixed = self.pinned != NOWHERE

    def beginning(self) -> Layers:
        """Return streams divided equally over groups, and flows in random ones of them."""
        streams = self.some_of(np.arange(self.problem.max_streams), self.pinned[self.fixed])
        drawn = streams[self.rng.integers(0, max(len(streams), 1), len(self.wanted))]
        return Layers(
            stream_of=np.where(self.fixed, self.pinned, drawn),
            group_of=self.divided(self.problem.pinned_group),
        )

    def some_of(self, all_of_them: NDArray[np.int64], used: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those in use, and of the others as many as flows could need, rising."""
        used = np.unique(used)
        if len(all_of_them) <= len(self.wanted):
            return all_of_them
        others = np.setdiff1d(all_of_them, used)
        return np.sort(np.concatenate([used, others[: max(len(self.wanted) - len(used), 0)]]))

    def divided(self, group_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return groups where streams that were NOWHERE are dealt, each to one that has fewest."""
        group_of = group_of.copy()
        free = np.flatnonzero(group_of == NOWHERE)
        has = np.bincount(group_of[group_of != NOWHERE], minlength=self.problem.max_groups)
        low, high = 0, int(has.max()) + len(free) + 1
        while high - low > 1:
            level = (low + high) // 2
            low, high = (
                (level, high) if np.maximum(level - has, 0).sum() <= len(free) else (low, level)
            )
        more = np.maximum(low - has, 0)
        more[np.flatnonzero(has <= low)[: len(free) - int(more.sum())]] += 1
        dealt = np.repeat(np.arange(len(more)), more)
        nth = np.arange(len(dealt)) - np.repeat(np.cumsum(more) - more, more)
        group_of[free] = dealt[np.lexsort((dealt, has[dealt] + nth))]
        return group_of

    def groups_first(self, begun: Layers) -> Layers:
        """Cluster flows into groups, then those of each group into the streams that lie there."""
        flow_group = begun.group_of[begun.stream_of]
        groups = self.some_of(np.unique(begun.group_of), flow_group)
        labels, complete = cluster(
            self.items,
            len(groups),
            np.searchsorted(groups, flow_group),
            self.fixed,
            self.params,
            rng=self.rng,
            stop=self.stop,
        )
        stream_of = begun.stream_of.copy()
        streams_by_group = np.argsort(begun.group_of, kind="stable")
        grouped = begun.group_of[streams_by_group]
        flows_by_group = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=len(groups)))
        for at, group in enumerate(groups.tolist()):
            flows = flows_by_group[ends[at - 1] if at else 0 : ends[at]]
            if not len(flows):
                continue
            low, high = np.searchsorted(grouped, [group, group + 1])
            here = streams_by_group[low:high]
            stays = flow_group[flows] == group
            used = np.unique(stream_of[flows[stays]])
            if len(here) > len(flows):
                others = np.setdiff1d(here, used)
                here = np.concatenate([used, others[: max(len(flows) - len(used), 0)]])
            here = np.sort(here)
            start = self.rng.integers(0, len(here), len(flows))
            start[stays] = np.searchsorted(here, stream_of[flows[stays]])
            within, ended = cluster(
                self.items.some(flows),
                len(here),
                start,
                self.fixed[flows],
                self.params,
                rng=self.rng,
                stop=self.stop,
            )
            complete &= ended
            stream_of[flows] = here[within]
        return Layers(stream_of=stream_of, group_of=begun.group_of, complete=complete)

    def streams_first(self, begun: Layers) -> Layers:
        """Cluster flows into streams, then the resulting streams into groups."""
        streams = self.some_of(
            np.arange(self.problem.max_streams),
            np.concatenate([begun.stream_of, self.pinned[self.fixed]]),
        )
        labels, flows_ended = cluster(
            self.items,
            len(streams),
            np.searchsorted(streams, begun.stream_of),
            self.fixed,
            self.params,
            rng=self.rng,
            stop=self.stop,
        )
        stream_of = streams[labels]
        used, merged = self.items.merged(stream_of)
        groups = self.some_of(np.arange(self.problem.max_groups), begun.group_of[used])
        within, streams_ended = cluster(
            merged,
            len(groups),
            np.searchsorted(groups, begun.group_of[used]),
            self.problem.pinned_group[used] != NOWHERE,
            self.params,
            rng=self.rng,
            stop=self.stop,
        )
        group_of = self.problem.pinned_group.copy()
        group_of[used] = groups[within]
        return Layers(
            stream_of=stream_of,
            group_of=self.divided(group_of),
            complete=flows_ended and streams_ended,
        )

    def cost(self, layers: Layers) -> float:
        """Return the cost in work per second, up to rounding."""
        if not len(self.wanted):
            return 0.0
        used, streams = self.items.merged(layers.stream_of)
        _, groups = streams.merged(layers.group_of[used])
        weights = self.problem.weights
        by_stream, by_group = streams.received(), groups.received()
        return weights.packet_share * (by_group - by_stream) + weights.messaging * (
            by_stream - self.items.received()
        )

    def map_of(self, layers: Layers, *, complete: bool | None = None) -> FlowMap:
        """Return it as a map of all flows, where streams that are not in use lie NOWHERE."""
        stream_of = np.full(len(self.problem.flows), NOWHERE, dtype=np.int64)
        stream_of[self.wanted] = layers.stream_of
        group_of = np.full(self.problem.max_streams, NOWHERE, dtype=np.int64)
        used = np.unique(layers.stream_of)
        group_of[used] = layers.group_of[used]
        return FlowMap(
            stream_of=stream_of,
            group_of=group_of,
            complete=layers.complete if complete is None else complete,
        )
