"""Placement of a topic's publishers over brokers: one file per method, found by folder.

A member defines NAME (its file name), TITLE, SUMMARY, Params (a frozen dataclass that checks
itself) and `place(problem, params, *, seed)`. Files whose names begin with an underscore are what
the methods share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from weir.plugins import Registry

if TYPE_CHECKING:
    from weir.model.placement import Placement, PlacementProblem

DEFAULT = "srtm"


class Placer(Protocol):
    """What a module of this folder offers."""

    NAME: str
    TITLE: str
    SUMMARY: str
    Params: type[Any]

    def place(self, problem: PlacementProblem, params: Any, *, seed: int) -> Placement:
        """Return a broker for each publisher; whoever has no room is left without one."""
        ...


_REGISTRY: Registry[Placer] = Registry(
    "weir.placement",
    'no method "{}" for placements',
    beside=(
        *(
            "adaptation",
            "answer",
            "explained",
            "handover",
            "ledger",
            "moves",
            "options",
            "profiling",
            "rounds",
        ),
        *("simulated_adaptation", "simulated_brokers", "what_if"),
    ),
)
placers = _REGISTRY.members
placer = _REGISTRY.find
