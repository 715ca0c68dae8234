"""Cluster flows into as many streams as there are groups, one in each: no hierarchy.

The slides' non-hierarchical filtering: whoever joins a group receives all that it carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.clustering._kmeans import KMeansParams
from weir.clustering._kmeans import cluster as clustered
from weir.clustering._slides import Layers, Mapper
from weir.model.mapping import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from weir.model.mapping import FlowMap, MappingProblem

NAME = "flat"
TITLE = "Flat"
SUMMARY = "K-means of flows into groups that carry one stream each; streams are not used to filter."


@dataclass(frozen=True, slots=True, kw_only=True)
class Params(KMeansParams):
    """The parameters of the method: when its clustering ends."""


def cluster(
    problem: MappingProblem,
    params: Params,
    *,
    seed: int,
    stop: Callable[[], bool],
    report: Callable[[Mapping[str, Any]], None],
) -> FlowMap:
    """Return the map of one clustering; only pinned flows bring a second stream into a group."""
    mapper = Mapper(problem, params, seed=seed, stop=stop)
    streams, group_of = _one_each(mapper)
    start = mapper.rng.integers(0, max(len(streams), 1), len(mapper.wanted))
    start[mapper.fixed] = np.searchsorted(streams, mapper.pinned[mapper.fixed])
    labels, complete = clustered(
        mapper.items, len(streams), start, mapper.fixed, params, rng=mapper.rng, stop=stop
    )
    layers = Layers(stream_of=streams[labels], group_of=group_of, complete=complete)
    report({"done": 1, "total": 1, "cost": mapper.cost(layers)})
    return mapper.map_of(layers)


def _one_each(mapper: Mapper) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return streams, rising, one for each group that can have one, and where all streams lie."""
    needed = np.unique(mapper.pinned[mapper.fixed])
    order = np.concatenate([needed, np.setdiff1d(np.arange(mapper.problem.max_streams), needed)])
    # In this order, those that pinned flows need are the first to be given to empty groups.
    placed = np.empty_like(order)
    placed[order] = mapper.divided(mapper.problem.pinned_group[order])
    carriers = order[np.unique(placed[order], return_index=True)[1]]
    streams = np.concatenate([needed, np.setdiff1d(carriers, needed)])
    streams = streams[: max(len(mapper.wanted), len(needed))]
    group_of = np.full(mapper.problem.max_streams, NOWHERE, dtype=np.int64)
    group_of[streams] = placed[streams]
    return np.sort(streams), group_of
