"""Over which settings the slides' experiments are run: what they do not give is a range here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.mapping import RATIOS, weights_of
from weir.clustering.loads import SLIDES, MarketShape, market_load
from weir.model.mapping import NOWHERE, MappingProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from weir.model.mapping import FlowMap

SHAPES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "4 markets": {"markets": 4},
    "16 markets": {"markets": 16},
    "1 market a user": {"markets_per_user": 1},
    "8 markets a user": {"markets_per_user": 8},
    "popular topics are the busy ones": {"noise": 0.0},
    "popular topics are hardly the busy ones": {"noise": 1.0},
    "fan-out over all published topics": {"fan_out": 10.9},
}
"""Market loads by name, as changes of the defaults."""

DEAR_TRANSPORT = 2.0
"""A ratio, beside those of `benchmarks.mapping`, at which the streams of a group are not worth
telling apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many settings are run."""

    base: MarketShape
    """The default load."""
    seeds: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    """Streams and groups."""
    shapes: tuple[str, ...]
    ratios: tuple[float, ...]
    searched_seeds: tuple[int, ...]
    """With which the slow methods are run on the default load."""
    searched: tuple[tuple[int, int], ...]
    """Sizes at which the slow methods are run on other loads than the default one."""
    searched_ratios: tuple[float, ...]
    streams: tuple[int, ...]
    groups: tuple[int, ...]
    hours: tuple[int, ...]
    """Of today, in which a map is made."""
    wildcard_users: tuple[int, ...]
    scenario: tuple[int, int, int]
    """Topics, users and topics of a user in the slides' first scenario."""


USUAL = Effort(
    base=SLIDES,
    seeds=(1, 2, 3),
    sizes=((100, 10), (200, 20), (200, 100), (500, 50), (1000, 100), (1000, 250), (2000, 200)),
    shapes=tuple(SHAPES),
    ratios=RATIOS,
    searched_seeds=(1,),
    searched=((200, 20), (1000, 100)),
    searched_ratios=(0.1, 1.0),
    streams=(100, 200, 500, 1000, 2000),
    groups=(10, 20, 50, 100, 200, 500),
    hours=tuple(range(0, 24, 3)),
    wildcard_users=(1, 2, 5, 10, 20, 50),
    scenario=(100_000, 1_000, 350),
)
QUICK = Effort(
    base=MarketShape(flows=2_000, users=150, least=10, mean=40.0, most=80),
    seeds=(1,),
    sizes=((50, 10), (100, 20)),
    shapes=("defaults", "1 market a user"),
    ratios=(0.25, 1.0),
    searched_seeds=(1,),
    searched=((100, 20),),
    searched_ratios=(0.25,),
    streams=(20, 50, 100),
    groups=(10, 20),
    hours=(0, 12),
    wildcard_users=(1, 5, 10, 50),
    scenario=(5_000, 200, 70),
)
"""A load of a tenth of the size: whether everything works, not what comes out."""


@cache
def load(base: MarketShape, shape: str, seed: int) -> MappingProblem:
    """Return a market load; how many streams and groups it has is decided by `sized`."""
    return market_load(seed, replace(base, **SHAPES[shape]))


def sized(
    problem: MappingProblem, streams: int, groups: int, ratio: float = RATIOS[0]
) -> MappingProblem:
    """Return the same load for so many streams and groups, weighed by this ratio."""
    return replace(
        problem,
        max_streams=streams,
        max_groups=groups,
        pinned_group=np.full(streams, NOWHERE, dtype=np.int64),
        weights=weights_of(ratio),
    )


def mapped(
    method: Any,
    problem: MappingProblem,
    seed: int,
    *,
    report: Callable[[Any], None] = lambda progress: None,
    **parameters: Any,
) -> FlowMap:
    """Return the map that a method comes to when nobody stops it."""
    flow_map: FlowMap = method.cluster(
        problem, method.Params(**parameters), seed=seed, stop=lambda: False, report=report
    )
    return flow_map


def span(values: Iterable[float], digits: int = 2) -> str:
    """Return the least and the largest of some values."""
    each = list(values)
    low, high = (f"{value:,.{digits}f}" for value in (min(each), max(each)))
    return low if low == high else f"{low} to {high}"
