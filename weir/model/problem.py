"""The allocation problem: who sends what where, who wants it, what it costs.

| paper (Lumezanu 2006, section 2) | here |
|---|---|
| i, r_i^min, r_i^max | `Flow.id`, `rate_min`, `rate_max` |
| b, c_b; l, c_l | `Node.id`, `capacity`; `Link.id`, `capacity` |
| F_{b,i}, L_{l,i} | `Flow.node_costs[b]`, `Flow.link_costs[l]` |
| j, flowMap(j), attachMap, n_j^max | `ConsumerClass.id`, `flow`, `node`, `population_max` |
| G_{b,j}, U_j | `ConsumerClass.costs`, `utility` |

Beyond the paper a node may have several resources. A class may sit on a node that its flow
lists no cost for; the flow then costs nothing there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.model.forwarding import Forwarding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.utility import Utility


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A broker: capacity per resource, in units of work per second."""

    id: str
    capacity: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An overlay edge with one capacity, in units of work per second."""

    id: str
    capacity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """How a flow gets to a node: from which one, and over which link of the problem, if any."""

    upstream: str
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Routed traffic of one producer; rates in messages per second, costs per message."""

    id: str
    rate_min: float
    rate_max: float
    node_costs: Mapping[str, Mapping[str, float]]
    link_costs: Mapping[str, float]
    source: str | None = None
    """The node at which the flow enters, where known."""
    route: Mapping[str, Hop] = field(default_factory=dict)
    """Node to the hop that leads there; see `weir.model.forwarding`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerClass:
    """Consumers of one flow at one node that share cost (per message and consumer) and utility."""

    id: str
    flow: str
    node: str
    population_max: int
    costs: Mapping[str, float]
    utility: Utility


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A whole allocation problem. Build it with `weir.codec`, which checks it."""

    resources: tuple[str, ...]
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    flows: tuple[Flow, ...]
    classes: tuple[ConsumerClass, ...]
    forwarding: Forwarding = Forwarding.ALWAYS
