"""Read the traffic between a system's brokers and its effect on the overlay in force."""

from collections import Counter, defaultdict
from typing import Any

from apps.evaluations.selectors.problem import evaluation_problem, known_links
from apps.evaluations.selectors.traffic import traffic_now
from apps.systems.models import System
from apps.telemetry.selectors import latest_samples
from apps.topology.models import Overlay
from apps.topology.services import edges_of
from weir.actions import edge
from weir.errors import InvalidProblem
from weir.routing.cost import loads, routing_of

MOST_PAIRS = 20_000
"""The number of pairs, the largest ones; a page draws no more."""


def traffic_overview(system: System, *, window_s: float) -> dict[str, Any]:
    """Pairs, links and brokers with their rates; without an overlay in force only the pairs."""
    reading = traffic_now(system, window_s=window_s)
    overlay = Overlay.objects.filter(system=system, in_force=True).first()
    today = edges_of(overlay) if overlay else frozenset()
    pairs = sorted(reading.pairs().items(), key=lambda row: (-row[1], row[0]))[:MOST_PAIRS]
    overview: dict[str, Any] = {
        "source": reading.source,
        "detail": reading.detail,
        "window_s": reading.window_s,
        "model_version": system.model_version,
        "overlay": overlay.public_id if overlay else None,
        "overlay_name": overlay.name if overlay else "",
        "published_per_s": reading.published_per_s,
        "pairs": [{"source": a, "target": b, "rate_per_s": rate} for (a, b), rate in pairs],
    }
    return {**overview, **_on_overlay(system, reading, today)}


def _on_overlay(system: System, reading: Any, today: frozenset[tuple[str, str]]) -> dict[str, Any]:
    empty: dict[str, Any] = {"traffic_per_s": 0.0, "in_flight": 0.0, "overloaded": []}
    if not today:
        return {**empty, "links": [], "brokers": []}
    try:
        problem = evaluation_problem(
            system=system,
            brokers={broker for pair in today for broker in pair},
            today=today,
            traffic=reading,
            options={},
            weights={},
            horizon_s=1.0,
        )
    except InvalidProblem:
        return {**empty, "links": [], "brokers": []}
    there = loads(problem, today)
    routing = routing_of(problem, today, there)
    model = known_links(system)
    capacity = {site.broker: site.capacity_per_s for site in problem.brokers}
    sent, degree = _sent(system), Counter(broker for pair in today for broker in pair)
    return {
        "traffic_per_s": routing.link_messages_per_s,
        "in_flight": routing.in_flight,
        "overloaded": list(routing.overloaded),
        "links": [
            {
                "a": a,
                "b": b,
                "traffic_per_s": load,
                "measured_per_s": sent.get((a, b)),
                "latency_s": model.get((a, b), (None, 0.0))[0],
                "capacity_per_s": model[a, b][1] if (a, b) in model else None,
            }
            for (a, b), load in there.links.items()
        ],
        "brokers": [
            {
                "broker": name,
                "published_per_s": load.published,
                "received_per_s": load.received,
                "relayed_per_s": load.relayed,
                "delivered_per_s": load.delivered,
                "handled_per_s": load.handled,
                "capacity_per_s": capacity.get(name),
                "links": degree[name],
            }
            for name, load in there.brokers.items()
        ],
    }


def _sent(system: System) -> dict[tuple[str, str], float]:
    """Return what agents sent over each link lately, both directions together."""
    total: dict[tuple[str, str], float] = defaultdict(float)
    for sample in latest_samples(system):
        for neighbour, row in sample.payload.get("links", {}).items():
            total[edge(sample.broker.name, neighbour)] += float(row.get("sent_per_s") or 0.0)
    return dict(total)
