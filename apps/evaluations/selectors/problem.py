"""Read a system as the kernel's evaluation problem: places, links, traffic, today's tree."""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from apps.catalog.selectors import system_problem
from apps.evaluations.selectors.traffic import TrafficReading
from apps.systems.models import System
from apps.topology.models import Broker, Link
from weir.actions import edge
from weir.codec.evaluation import evaluation_from_dict
from weir.model.evaluation import EvaluationProblem, Traffic
from weir.model.transformation import Edge
from weir.transformation.moves import neighbours

MOST_ESTIMATED = 150
"""The number of brokers up to which every unknown link gets an estimate of its own."""

Costs = Mapping[str, float]


def evaluation_problem(
    *,
    system: System,
    brokers: Iterable[str],
    today: Iterable[Edge],
    traffic: TrafficReading,
    options: Mapping[str, Any],
    weights: Mapping[str, float],
    horizon_s: float,
    pause_s: float | None = None,
) -> EvaluationProblem:
    """Return the checked problem over `brokers`, those of the goal. Raises InvalidProblem.

    `pause_s`: how long one action holds what crosses its links; None leaves it to the kernel.
    """
    wanted = sorted(brokers)
    tree = sorted(today)
    known = {*wanted, *(broker for pair in tree for broker in pair)}
    rows = {row.name: row for row in Broker.objects.filter(system=system)}
    links = _links(system, known)
    capacity = capacities(system, traffic, tree)
    plain = {
        "brokers": [
            {
                "id": name,
                "capacity_per_s": capacity.get(name),
                "x": rows[name].map_x if name in rows else None,
                "y": rows[name].map_y if name in rows else None,
            }
            for name in wanted
        ],
        "links": [
            {"a": a, "b": b, "latency_s": latency_s, "capacity_per_s": capacity_per_s}
            for (a, b), (latency_s, capacity_per_s) in sorted(links.items())
        ],
        "missing_links": _missing(links),
        "traffic": [
            {
                "topic": row.topic,
                "published": {b: r for b, r in row.published.items() if b in known},
                "interested": {b: r for b, r in row.interested.items() if b in known},
            }
            for row in traffic.topics
        ],
        "today": [list(pair) for pair in tree],
        "weights": dict(weights),
        "horizon_s": horizon_s,
        "disruption": {} if pause_s is None else {"pause_s": pause_s},
        "options": dict(options),
    }
    return evaluation_from_dict(plain)


def known_links(system: System) -> dict[Edge, tuple[float | None, float]]:
    """Pairs of brokers that the model links: latency in seconds where known, capacity."""
    links: dict[Edge, tuple[float | None, float]] = {}
    for a, b, latency_s, capacity in Link.objects.filter(system=system).values_list(
        "source__name", "target__name", "latency_s", "capacity"
    ):
        pair = edge(a, b)
        other = links.get(pair, (None, 0.0))
        latencies = [x for x in (latency_s, other[0]) if x is not None]
        # A link in each direction is one link of the overlay.
        links[pair] = (min(latencies, default=None), max(capacity, other[1]))
    return links


def _links(system: System, known: set[str]) -> dict[Edge, tuple[float, float | None]]:
    """Return the model's links, and between other brokers of a small system the path over known
    links.

    A direct link runs over the same cables, so it is no slower than the way over relays: the
    estimate claims no latency that nobody measured.
    """
    model = {pair: row for pair, row in known_links(system).items() if known.issuperset(pair)}
    links: dict[Edge, tuple[float, float | None]] = {
        pair: (latency_s or 0.0, capacity) for pair, (latency_s, capacity) in model.items()
    }
    if len(known) > MOST_ESTIMATED or not links:
        return links
    around: dict[str, dict[str, float]] = defaultdict(dict)
    for (a, b), (latency_s, _) in links.items():
        around[a][b] = around[b][a] = latency_s
    room = _median(capacity for _, capacity in links.values() if capacity is not None)
    for start in sorted(known):
        for end, latency_s in _distances(around, start).items():
            if start < end and (start, end) not in links:
                links[start, end] = (latency_s, room)
    return links


def _distances(around: Mapping[str, Mapping[str, float]], start: str) -> dict[str, float]:
    """Find the fastest path over known links to every broker, by Dijkstra's algorithm."""
    best = {start: 0.0}
    queue = [(0.0, start)]
    while queue:
        far, broker = heapq.heappop(queue)
        if far > best[broker]:
            continue
        for other, latency_s in around.get(broker, {}).items():
            there = far + latency_s
            if there < best.get(other, float("inf")):
                best[other] = there
                heapq.heappush(queue, (there, other))
    return best


def _missing(links: Mapping[Edge, tuple[float, float | None]]) -> dict[str, float | None]:
    """Return the assumed link of an unknown pair: as slow as the slowest known link, of middling
    capacity."""
    return {
        "latency_s": max((latency_s for latency_s, _ in links.values()), default=0.0),
        "capacity_per_s": _median(c for _, c in links.values() if c is not None),
    }


def _median(amounts: Iterable[float]) -> float | None:
    ordered = sorted(amounts)
    return ordered[len(ordered) // 2] if ordered else None


def capacities(
    system: System, traffic: TrafficReading, today: Collection[Edge]
) -> dict[str, float]:
    """Return how many messages per second each broker can handle, at the mix of work that it has
    today.

    The model knows work per message and resource; here one number has to stand for a broker's
    capacity. A message counts when it comes in, is relayed, or is handed to a consumer. What
    nothing reaches today is judged by the mix of the whole system. Brokers of unknown cost have
    no capacity.
    """
    problem = system_problem(system)
    per_flow, per_copy = _costs(problem)
    work: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    handled: dict[str, float] = defaultdict(float)
    for row in traffic.topics:
        rate = sum(row.published.values())
        for broker in _reached(row, today):
            handled[broker] += rate
            for resource, cost in per_flow.get(row.topic, {}).items():
                work[broker][resource] += cost * rate
        for broker, copies in row.interested.items():
            handled[broker] += copies
            for resource, cost in per_copy.get(row.topic, {}).items():
                work[broker][resource] += cost * copies
    every = sum(handled.values())
    if every <= 0:
        return {}
    mean: dict[str, float] = defaultdict(float)
    for done in work.values():
        for resource, amount in done.items():
            mean[resource] += amount / every
    rates: dict[str, float] = {}
    for node in problem["nodes"]:
        own, count = work.get(node["id"], {}), handled.get(node["id"], 0.0)
        one = {r: amount / count for r, amount in own.items()} if count > 0 else mean
        rooms = [
            node["capacity"][r] / cost for r, cost in one.items() if cost and r in node["capacity"]
        ]
        if rooms:
            rates[node["id"]] = min(rooms)
    return rates


def _reached(row: Traffic, today: Collection[Edge]) -> set[str]:
    """Return the brokers that the topic's messages pass: the smallest part of the tree that joins
    them."""
    ends = {broker for broker, rate in row.published.items() if rate > 0} | {*row.interested}
    tree = neighbours(frozenset(today), frozenset(ends))
    bare = [broker for broker, others in tree.items() if len(others) <= 1 and broker not in ends]
    while bare:
        broker = bare.pop()
        for other in tree.pop(broker):
            tree[other].discard(broker)
            if len(tree[other]) <= 1 and other not in ends:
                bare.append(other)
    return set(tree)


def _costs(problem: Mapping[str, Any]) -> tuple[dict[str, Costs], dict[str, Costs]]:
    """Return the work per message at a broker, and per copy handed to a consumer, by topic and
    resource."""
    per_flow: dict[str, Costs] = {
        flow["id"]: _mean(flow["node_costs"].values()) for flow in problem["flows"]
    }
    of_topic: dict[str, list[Costs]] = defaultdict(list)
    for row in problem["classes"]:
        of_topic[row["flow"]].append(row["costs"])
    return per_flow, {topic: _mean(rows) for topic, rows in of_topic.items()}


def _mean(rows: Iterable[Costs]) -> dict[str, float]:
    given = list(rows)
    total: dict[str, float] = defaultdict(float)
    for row in given:
        for resource, cost in row.items():
            total[resource] += cost / len(given)
    return dict(total)
