"""Evaluation problems: random ones from hypothesis and from seeds, and all small trees."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from typing import TYPE_CHECKING

import networkx as nx
from hypothesis import strategies as st

from weir.codec.evaluation import evaluation_from_dict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge


def problem(
    *,
    brokers: int,
    topics: int,
    seed: int,
    capacities: bool = False,
    degrees: bool = False,
    every_link: bool = True,
    **more: object,
) -> EvaluationProblem:
    """Places on a map, a random tree, topics with one to three publishers."""
    rng = random.Random(f"{brokers}/{topics}/{seed}")
    names = [f"b{at:03}" for at in range(brokers)]
    today = [[names[rng.randrange(at)], names[at]] for at in range(1, brokers)]
    options = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.5]
    return evaluation_from_dict(
        {
            "brokers": [
                {
                    "id": name,
                    "capacity_per_s": rng.uniform(100, 1000) if capacities else None,
                    "degree_max": rng.choice([None, 3, 4]) if degrees else None,
                    "x": rng.random(),
                    "y": rng.random(),
                }
                for name in names
            ],
            "links": [
                {
                    "a": a,
                    "b": b,
                    "latency_s": rng.uniform(0.001, 0.1),
                    "capacity_per_s": rng.uniform(50, 500) if capacities else None,
                }
                for a, b in options
            ],
            "missing_links": {"latency_s": 0.001, "latency_s_per_unit": 0.1}
            if every_link
            else None,
            "traffic": [
                {
                    "topic": f"t{at}",
                    "published": {
                        rng.choice(names): rng.uniform(1, 100) for _ in range(rng.randint(1, 3))
                    },
                    "interested": {
                        name: rng.uniform(0, 100)
                        for name in rng.sample(names, rng.randint(1, max(1, brokers // 3)))
                    },
                }
                for at in range(topics)
            ],
            "today": today,
            "weights": {"per_second": 20.0},
            **more,
        }
    )


@st.composite
def problems(draw: st.DrawFn) -> EvaluationProblem:
    """Small ones of every kind."""
    return problem(
        brokers=draw(st.integers(2, 9)),
        topics=draw(st.integers(0, 6)),
        seed=draw(st.integers(0, 10**6)),
        capacities=draw(st.booleans()),
        degrees=draw(st.booleans()),
        every_link=draw(st.booleans()),
    )


def all_trees(names: Sequence[str]) -> Iterator[frozenset[Edge]]:
    """Every labelled tree, by its Prüfer sequence."""
    n = len(names)
    if n <= 2:
        yield frozenset([(names[0], names[1])] if n == 2 else [])
        return
    for code in itertools.product(range(n), repeat=n - 2):
        degree = [1 + code.count(at) for at in range(n)]
        links = []
        for at in code:
            leaf = degree.index(1)
            links.append((leaf, at))
            degree[leaf] -= 1
            degree[at] -= 1
        last, other = (at for at in range(n) if degree[at] == 1)
        links.append((last, other))
        yield frozenset((names[min(pair)], names[max(pair)]) for pair in links)


def link_messages(
    problem: EvaluationProblem, edges: frozenset[Edge]
) -> dict[tuple[str, str], float]:
    """Messages per second by link and direction, publication by publication along paths."""
    tree = nx.Graph(list(edges))
    tree.add_nodes_from(problem.names)
    rates: dict[tuple[str, str], float] = defaultdict(float)
    for topic in problem.traffic:
        for source, rate in topic.published.items():
            ways = [nx.shortest_path(tree, source, to) for to in topic.interested]
            for hop in {hop for way in ways for hop in itertools.pairwise(way)}:
                rates[hop] += rate
    return rates
