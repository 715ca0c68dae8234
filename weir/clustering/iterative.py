"""Steps of groups first and of streams first in turn, each from the map before: the slides' IT."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weir.clustering._kmeans import KMeansParams
from weir.clustering._slides import Mapper
from weir.plugins import about

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from weir.model.mapping import FlowMap, MappingProblem

NAME = "iterative"
TITLE = "Iterative (IT)"
SUMMARY = "Groups first and streams first in turn, each from the other's map; the best map is kept."


@dataclass(frozen=True, slots=True, kw_only=True)
class Params(KMeansParams):
    """The parameters of the method: how often it goes both ways, when its clusterings end."""

    rounds: int = field(
        default=10,
        metadata=about(
            help="Rounds of both steps; it ends before with a round that brings no better map.",
            min=1,
            max=1e6,
        ),
    )


def cluster(
    problem: MappingProblem,
    params: Params,
    *,
    seed: int,
    stop: Callable[[], bool],
    report: Callable[[Mapping[str, Any]], None],
) -> FlowMap:
    """Return the best map of all steps; the first is that of groups first with this seed."""
    mapper = Mapper(problem, params, seed=seed, stop=stop)
    layers = mapper.groups_first(mapper.beginning())
    best, least = layers, mapper.cost(layers)
    complete = layers.complete
    for done in range(params.rounds):
        report({"done": done, "total": params.rounds, "cost": least})
        before = least
        for step in (mapper.streams_first, mapper.groups_first):
            if not complete or stop():
                return mapper.map_of(best, complete=False)
            layers = step(layers)
            complete = layers.complete
            cost = mapper.cost(layers)
            if cost < least:
                best, least = layers, cost
        if least >= before:
            break
    report({"done": params.rounds, "total": params.rounds, "cost": least})
    return mapper.map_of(best, complete=complete)
