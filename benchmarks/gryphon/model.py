"""The paper's server as an allocation problem: one node, one resource.

CPU is counted in percent of the server. The constants are those of section V; what one consumer
of a request-response flow costs is inside the flow's own A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weir.codec import problem_from_dict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weir.model import Problem

SERVER, CPU = "server", "cpu"

CPU_PERCENT = 70.0
"""Threshold of the trading day, excess capacity and latency experiments; see docs/gryphon.md."""

RATE_MIN, RATE_MAX = 10.0, 200.0
"""Messages per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """CPU percent per message, and per message and consumer."""

    a: float
    b: float


BEST_EFFORT = Kind(a=0.00146092, b=0.00103146)
RELIABLE = Kind(a=0.0148354, b=0.00113717)
REQUEST_RESPONSE = Kind(a=0.1347943, b=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSpec:
    """A flow at the server; rates in messages per second."""

    id: str
    kind: Kind
    rate_min: float = RATE_MIN
    rate_max: float = RATE_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSpec:
    """Consumers of a flow that want to be admitted."""

    id: str
    flow: str
    population: int
    utility: dict[str, Any]


def linear(weight: float) -> dict[str, Any]:
    """w r for one consumer."""
    return {"kind": "linear", "weight": weight}


def server(*, cpu: float, flows: Iterable[FlowSpec], classes: Iterable[ClassSpec]) -> Problem:
    """A checked problem; `cpu` is the threshold in percent."""
    kinds = {flow.id: flow for flow in flows}
    return problem_from_dict(
        {
            "resources": [CPU],
            "nodes": [{"id": SERVER, "capacity": {CPU: cpu}}],
            "links": [],
            "flows": [
                {
                    "id": flow.id,
                    "rate_min": flow.rate_min,
                    "rate_max": flow.rate_max,
                    "node_costs": {SERVER: {CPU: flow.kind.a}},
                    "link_costs": {},
                }
                for flow in kinds.values()
            ],
            "classes": [
                {
                    "id": entry.id,
                    "flow": entry.flow,
                    "node": SERVER,
                    "population_max": entry.population,
                    "costs": {CPU: kinds[entry.flow].kind.b} if kinds[entry.flow].kind.b else {},
                    "utility": entry.utility,
                }
                for entry in classes
            ],
        }
    )
