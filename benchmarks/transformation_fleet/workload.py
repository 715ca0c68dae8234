"""Who is linked, who sends, who listens: section VI.A of the paper on topics.

A hierarchical tree; 20 publishers at its root, 5 messages per second each, on 10 topics drawn
uniformly; every subscriber wants one topic, drawn by Zipf's law with a = 1.1, at a leaf drawn
uniformly. The goal changes a share of the links at random, as in the paper: what is studied is
the way to it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weir.transformation.moves import neighbours, path
from weir.transformation.workloads import changed_tree, hierarchical_tree, problem_of

if TYPE_CHECKING:
    from weir.model.transformation import Transformation

ROOT = "1"
TOPICS = 10
ZIPF = 1.1
PUBLISHERS = 20
RATE_PER_S = 5.0
"""Of each publisher."""
MAX_DEGREE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """One topic at one leaf."""

    topic: str
    broker: str

    @property
    def consumers(self) -> str:
        """The name of its consumer class."""
        return f"{self.topic}@{self.broker}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A tree, its goals by change ratio, and everybody who listens."""

    brokers: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    goals: dict[float, Transformation]
    subscribers: tuple[Subscriber, ...]

    def system(self) -> dict[str, Any]:
        """As `benchmarks.fleet.control` wants it: nobody is limited, no gate."""
        return {
            "brokers": list(self.brokers),
            "edges": [list(link) for link in self.links],
            "flows": {t: {"delivery": "best_effort", "ingress": ROOT} for t in topics()},
            "classes": {
                s.consumers: {"flow": s.topic, "broker": s.broker, "limit": None}
                for s in self.subscribers
            },
        }


def topics() -> list[str]:
    """The names, most wanted first."""
    return [f"t{number}" for number in range(TOPICS)]


def workload(*, brokers: int, subscribers: int, ratios: tuple[float, ...], seed: int) -> Workload:
    """Drawn from the seed."""
    rng = random.Random(f"figure 6/{brokers}/{seed}")
    tree = hierarchical_tree(brokers=brokers, max_degree=MAX_DEGREE, balanced=True, rng=rng)
    goals = {
        ratio: problem_of(
            tree, changed_tree(brokers=brokers, links=tree, change_ratio=ratio, rng=rng)
        )
        for ratio in ratios
    }
    first = next(iter(goals.values()))
    linked = neighbours(first.initial)
    leaves = sorted((b for b in first.brokers if len(linked[b]) == 1 and b != ROOT), key=int)
    weights = [1.0 / (rank + 1) ** ZIPF for rank in range(TOPICS)]
    return Workload(
        brokers=first.brokers,
        links=tuple(sorted(first.initial)),
        goals=goals,
        subscribers=tuple(
            Subscriber(topic=topic, broker=rng.choice(leaves))
            for topic in rng.choices(topics(), weights, k=subscribers)
        ),
    )


def way(edges: frozenset[tuple[str, str]], broker: str) -> frozenset[str]:
    """The brokers that a message from the root to a broker passes."""
    return frozenset(path(neighbours(edges), ROOT, broker))
