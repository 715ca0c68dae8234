"""Put ever fewer flows into random streams, each time followed by a step of groups first.

The slides' RRA, random restart with annealing. How the percentage diminishes is ours: by a factor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.clustering._kmeans import KMeansParams
from weir.clustering._slides import Layers, Mapper
from weir.plugins import about

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from weir.model.mapping import FlowMap, MappingProblem

NAME = "random-restart"
TITLE = "Random restart with annealing (RRA)"
SUMMARY = "Reassigns ever fewer flows at random, then goes groups first; the best map is kept."


@dataclass(frozen=True, slots=True, kw_only=True)
class Params(KMeansParams):
    """The parameters of the method: how much is reassigned how often, when clusterings end."""

    rounds: int = field(
        default=15, metadata=about(help="Times that flows are reassigned.", min=1, max=1e6)
    )
    reassigned: float = field(
        default=0.5,
        metadata=about(help="Part of the flows that is reassigned first.", min=0.0, max=1.0),
    )
    diminished: float = field(
        default=0.75,
        metadata=about(help="What each time leaves of that part.", min=0.0, max=1.0),
    )


def cluster(
    problem: MappingProblem,
    params: Params,
    *,
    seed: int,
    stop: Callable[[], bool],
    report: Callable[[Mapping[str, Any]], None],
) -> FlowMap:
    """Return the best map of all rounds; the first is that of groups first with this seed."""
    mapper = Mapper(problem, params, seed=seed, stop=stop)
    layers = mapper.groups_first(mapper.beginning())
    best, least = layers, mapper.cost(layers)
    complete = layers.complete
    free = np.flatnonzero(~mapper.fixed)
    part = params.reassigned
    for done in range(params.rounds):
        report({"done": done, "total": params.rounds, "cost": least})
        if not complete or stop():
            return mapper.map_of(best, complete=False)
        chosen = mapper.rng.permutation(free)[: round(part * len(free))]
        stream_of = layers.stream_of.copy()
        stream_of[chosen] = mapper.rng.integers(0, problem.max_streams, len(chosen))
        layers = mapper.groups_first(Layers(stream_of=stream_of, group_of=layers.group_of))
        complete = layers.complete
        cost = mapper.cost(layers)
        if cost < least:
            best, least = layers, cost
        part *= params.diminished
    report({"done": params.rounds, "total": params.rounds, "cost": least})
    return mapper.map_of(best, complete=complete)
