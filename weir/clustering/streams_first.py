"""Cluster flows into streams, and the resulting streams into groups: the slides' SF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weir.clustering._kmeans import KMeansParams
from weir.clustering._slides import Mapper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from weir.model.mapping import FlowMap, MappingProblem

NAME = "streams-first"
TITLE = "Streams first (SF)"
SUMMARY = "K-means of flows into streams, then of the resulting streams into groups."


@dataclass(frozen=True, slots=True, kw_only=True)
class Params(KMeansParams):
    """The parameters of the method: when its clusterings end."""


def cluster(
    problem: MappingProblem,
    params: Params,
    *,
    seed: int,
    stop: Callable[[], bool],
    report: Callable[[Mapping[str, Any]], None],
) -> FlowMap:
    """Return the map of one step from a random beginning."""
    mapper = Mapper(problem, params, seed=seed, stop=stop)
    layers = mapper.streams_first(mapper.beginning())
    report({"done": 1, "total": 1, "cost": mapper.cost(layers)})
    return mapper.map_of(layers)
