"""Mapping of flows to streams and of streams to groups: one file per method, found by folder.

A member defines NAME (its file name with hyphens), TITLE, SUMMARY, Params (a frozen dataclass that
checks itself) and `cluster(problem, params, *, seed, stop, report)`. Files whose names begin with
an underscore are what the methods share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from weir.plugins import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from weir.model.mapping import FlowMap, MappingProblem

DEFAULT = "joint"


class Clusterer(Protocol):
    """What a module of this folder offers."""

    NAME: str
    TITLE: str
    SUMMARY: str
    Params: type[Any]

    def cluster(
        self,
        problem: MappingProblem,
        params: Any,
        *,
        seed: int,
        stop: Callable[[], bool],
        report: Callable[[Mapping[str, Any]], None],
    ) -> FlowMap:
        """Return a map that keeps pins and limits: the best so far once `stop` says so.

        `report` takes `done` and `total` of what the method counts.
        """
        ...


_REGISTRY: Registry[Clusterer] = Registry(
    "weir.clustering",
    'no method "{}" for mappings',
    beside=("adaptive", "answer", "blocks", "cost", "loads", "migration", "reception"),
)
clusterers = _REGISTRY.members
clusterer = _REGISTRY.find
