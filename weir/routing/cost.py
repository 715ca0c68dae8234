"""What a tree costs with the traffic given: loads of links and brokers, messages in flight.

Loads are those of `weir.model.evaluation.Routing` and `BrokerLoad`; the formulas stand in
`weir.routing.kernels`. Cost: O(brokers x groups of topics with the same interest).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.errors import InvalidProblem
from weir.model.evaluation import BrokerLoad, Routing
from weir.routing.arrays import LinkBook, TrafficArrays, traffic_arrays
from weir.transformation.trees import check_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge

OVER = 1e-9
"""Relative excess below which a load still fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """Hold the messages per second on every link and at every broker of one tree."""

    links: Mapping[Edge, float]
    """Both directions together."""
    directions: Mapping[tuple[str, str], float]
    """From the first broker to the second."""
    brokers: Mapping[str, BrokerLoad]


def loads(problem: EvaluationProblem, edges: Set[Edge]) -> Loads:
    """Loads of the tree; brokers are those of its links. Raises InvalidProblem for no tree."""
    names = _brokers(problem, edges)
    traffic = traffic_arrays(problem, names)
    parent, up, down, into = _computed(traffic, edges)
    links: dict[Edge, float] = {}
    directions: dict[tuple[str, str], float] = {}
    for v, p in enumerate(parent):
        if p >= 0:
            a, b = traffic.names[v], traffic.names[p]
            links[(a, b) if a < b else (b, a)] = float(up[v] + down[v])
            directions[a, b], directions[b, a] = float(up[v]), float(down[v])
    brokers = {
        name: BrokerLoad(
            published=float(traffic.published[at]),
            received=float(traffic.received[at]),
            relayed=max(0.0, float(into[at] - traffic.received[at])),
            delivered=float(traffic.delivered[at]),
        )
        for at, name in enumerate(traffic.names)
    }
    return Loads(
        links=dict(sorted(links.items())),
        directions=dict(sorted(directions.items())),
        brokers=brokers,
    )


def routing(problem: EvaluationProblem, edges: Set[Edge]) -> Routing:
    """What the tree costs. Raises InvalidProblem for no tree."""
    return routing_of(problem, edges, loads(problem, edges))


def routing_of(problem: EvaluationProblem, edges: Set[Edge], found: Loads) -> Routing:
    """The same from loads that are known already."""
    book = LinkBook(problem)
    capacity = {site.broker: site.capacity_per_s for site in problem.brokers}
    over = 0.0
    highest, highest_broker = 0.0, ""
    overloaded = []
    for name, load in found.brokers.items():
        known = capacity.get(name)
        if known is None:
            continue
        over += max(0.0, load.handled - known)
        if load.handled > known * (1 + OVER):
            overloaded.append(name)
        share = load.handled / known if known > 0 else (np.inf if load.handled > 0 else 0.0)
        share = min(share, 1e9)  # a broker without any capacity; JSON has no infinity
        if share > highest or not highest_broker:
            highest, highest_broker = share, name
    cost, in_flight = 0.0, 0.0
    links_over = []
    for pair, load_per_s in found.links.items():
        cost += book.weight(pair) * load_per_s
        in_flight += book.latency_s(pair) * load_per_s
        limit = book.capacity_per_s(pair)
        over += max(0.0, load_per_s - limit)
        if load_per_s > limit * (1 + OVER):
            links_over.append(pair)
    degrees = Counter(broker for pair in edges for broker in pair)
    return Routing(
        cost_per_s=cost + problem.weights.per_overload * over,
        link_messages_per_s=sum(found.links.values()),
        in_flight=in_flight,
        overload_per_s=over,
        highest_load=float(highest),
        highest_broker=highest_broker,
        overloaded=tuple(overloaded),
        overloaded_links=tuple(links_over),
        degree=max(degrees.values(), default=0),
    )


def _brokers(problem: EvaluationProblem, edges: Set[Edge]) -> frozenset[str]:
    check_tree({pair: at for at, pair in enumerate(sorted(edges))}, "edges")
    names = frozenset(broker for pair in edges for broker in pair)
    if names:
        return names
    if len(problem.brokers) > 1:
        raise InvalidProblem("edges", f"none, for {len(problem.brokers)} brokers; link them")
    return frozenset(problem.names)


def edge_rows(edges: Set[Edge], number: Mapping[str, int]) -> np.ndarray:
    """Return the links as rows of numbers, in order."""
    rows = sorted((number[a], number[b]) for a, b in edges)
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _computed(
    traffic: TrafficArrays, edges: Set[Edge]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    from weir.routing import kernels

    rows = edge_rows(edges, traffic.number)
    parent, order = kernels.rooted(len(traffic.names), rows)
    sums, count = kernels.below(parent, order, traffic.sent, traffic.wants)
    up, down = kernels.link_loads(order, sums, count)
    return parent, up, down, kernels.arrivals(parent, order, up, down)
