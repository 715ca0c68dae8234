"""An evaluation problem as arrays: traffic by broker, what links cost, what brokers may have."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.actions import edge
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge

MOST_CELLS = 100_000_000
"""Brokers x groups of topics in one table; 800 MB."""

MOST_BROKERS = 4_000
"""Above this the table of all pairs that a design looks at does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficArrays:
    """Topics that the same brokers want are one group: their loads add up."""

    names: tuple[str, ...]
    number: dict[str, int]
    sent: np.ndarray
    """(brokers, groups), msg/s."""
    wants: np.ndarray
    """(brokers, groups), 1 where clients want the group's topics."""
    published: np.ndarray
    """Per broker, msg/s, all topics, also those that nobody wants."""
    delivered: np.ndarray
    received: np.ndarray
    """Per broker, msg/s that its own clients want and others publish."""
    room: np.ndarray
    """Capacity per broker, msg/s; inf where not known."""

    @property
    def own(self) -> np.ndarray:
        """What a broker handles that does not come over links."""
        return np.asarray(self.published + self.delivered)


def traffic_arrays(problem: EvaluationProblem, names: Iterable[str]) -> TrafficArrays:
    """Traffic between these brokers; what others publish or want does not take part."""
    ordered = tuple(sorted(names))
    number = {name: at for at, name in enumerate(ordered)}
    published, delivered = np.zeros(len(ordered)), np.zeros(len(ordered))
    groups: dict[tuple[int, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in problem.traffic:
        wanting = tuple(sorted(number[name] for name in row.interested if name in number))
        for name, rate in row.interested.items():
            if name in number:
                delivered[number[name]] += rate
        for name, rate in row.published.items():
            if name in number:
                published[number[name]] += rate
                if wanting and rate > 0:
                    groups[wanting][number[name]] += rate
    # Only the publisher's own broker wants it: nothing travels.
    kept = {
        wanting: sources
        for wanting, sources in groups.items()
        if len(wanting) > 1 or sources.keys() - set(wanting)
    }
    if len(kept) * len(ordered) > MOST_CELLS:
        raise InvalidProblem(
            "traffic",
            f"{len(ordered):,} brokers x {len(kept):,} groups of topics with the same interest "
            f"are more than {MOST_CELLS:,}; merge topics or brokers",
        )
    sent, wants = np.zeros((len(ordered), len(kept))), np.zeros((len(ordered), len(kept)))
    for group, (wanting, sources) in enumerate(sorted(kept.items())):
        wants[list(wanting), group] = 1.0
        for source, rate in sources.items():
            sent[source, group] = rate
    totals = sent.sum(axis=0)
    sites = {site.broker: site for site in problem.brokers}
    capacities = [sites[name].capacity_per_s if name in sites else None for name in ordered]
    return TrafficArrays(
        names=ordered,
        number=number,
        sent=sent,
        wants=wants,
        published=published,
        delivered=delivered,
        received=((totals - sent) * wants).sum(axis=1),
        room=np.array([np.inf if x is None else x for x in capacities]),
    )


class LinkBook:
    """Latency, capacity and cost of one link at a time: what the options or the rule say."""

    def __init__(self, problem: EvaluationProblem) -> None:
        self._options = {edge(link.a, link.b): link for link in problem.links}
        self._missing = problem.missing_links
        self._today = problem.today
        self._sites = {site.broker: site for site in problem.brokers}
        self._weights = problem.weights

    def allowed(self, pair: Edge) -> bool:
        """Return whether the link stands today or may be built."""
        return pair in self._options or self._missing is not None or pair in self._today

    def latency_s(self, pair: Edge) -> float:
        """Return the latency in seconds: as given, else estimated from the map, else 0."""
        option = self._options.get(pair)
        if option is not None:
            return option.latency_s
        if self._missing is None:
            return 0.0
        return self._missing.latency_s + self._missing.latency_s_per_unit * self._distance(pair)

    def capacity_per_s(self, pair: Edge) -> float:
        """Return the link's capacity per second, infinite where none is known."""
        option = self._options.get(pair)
        found = self._missing if option is None else option
        known = None if found is None else found.capacity_per_s
        return np.inf if known is None else known

    def weight(self, pair: Edge) -> float:
        """Return the cost of one message over the link."""
        return self._weights.per_message + self._weights.per_second * self.latency_s(pair)

    def _distance(self, pair: Edge) -> float:
        a, b = (self._sites.get(name) for name in pair)
        if a is None or b is None or None in (a.x, a.y, b.x, b.y):
            return 0.0
        return float(np.hypot(a.x - b.x, a.y - b.y))  # type: ignore[operator]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairArrays:
    """Of every pair of the goal's brokers; what a design chooses from."""

    weight: np.ndarray
    """(brokers, brokers) cost per message; inf where no link may be."""
    limit: np.ndarray
    """(brokers, brokers) capacity, msg/s."""
    most: np.ndarray
    """Links that each broker may have."""
    fixed: frozenset[tuple[int, int]]
    """Links that must stay: frozen ones and those of frozen brokers."""


def pair_arrays(problem: EvaluationProblem) -> PairArrays:
    """Raises InvalidProblem for more brokers than a table of all pairs is made for."""
    names = tuple(sorted(problem.names))
    n = len(names)
    if n > MOST_BROKERS:
        raise InvalidProblem(
            "brokers", f"{n:,} brokers; a goal topology is designed for at most {MOST_BROKERS:,}"
        )
    number = {name: at for at, name in enumerate(names)}
    weights, missing = problem.weights, problem.missing_links
    if missing is None:
        latency, limit = np.full((n, n), np.inf), np.full((n, n), np.inf)
    else:
        sites = {site.broker: site for site in problem.brokers}
        place = np.array(
            [
                [np.nan if at is None else at for at in (sites[name].x, sites[name].y)]
                for name in names
            ]
        )
        apart = np.hypot(*(place[:, None, axis] - place[None, :, axis] for axis in (0, 1)))
        latency = missing.latency_s + missing.latency_s_per_unit * np.nan_to_num(apart)
        known = missing.capacity_per_s
        limit = np.full((n, n), np.inf if known is None else known)
    book = LinkBook(problem)
    listed = {edge(link.a, link.b) for link in problem.links} | problem.today
    for a, b in listed:
        if a in number and b in number:
            i, j = number[a], number[b]
            latency[i, j] = latency[j, i] = book.latency_s((a, b))
            limit[i, j] = limit[j, i] = book.capacity_per_s((a, b))
    np.fill_diagonal(latency, np.inf)
    weight = np.where(np.isfinite(latency), weights.per_message, np.inf)
    weight = weight + weights.per_second * np.where(np.isfinite(latency), latency, 0.0)
    frozen = problem.options.frozen_brokers
    fixed = {pair for pair in problem.today if pair in problem.options.frozen_links}
    fixed |= {pair for pair in problem.today if frozen.intersection(pair)}
    for name in frozen & set(names):
        row = number[name]
        kept = weight[row].copy()
        weight[row, :] = weight[:, row] = np.inf
        for a, b in fixed:
            if name in (a, b):
                other = number[b if a == name else a]
                weight[row, other] = weight[other, row] = kept[other]
    overall = problem.options.max_degree
    own = {site.broker: site.degree_max for site in problem.brokers}
    most = [min(x for x in (own[name], overall, n) if x is not None) for name in names]
    return PairArrays(
        weight=weight,
        limit=limit,
        most=np.array(most, dtype=np.int64),
        fixed=frozenset((number[a], number[b]) for a, b in fixed),
    )
