"""Routing cost of goal topologies: every method, two baselines, and the optimum of small ones.

    python -m benchmarks.goal_topologies [--brokers 50 150 300] [--small 10] [--seed 1]

Random places, trees and topics (each wanted by up to a third of the brokers), every link allowed,
cost = messages x links + 20 x messages in flight. Baselines in the same run: today's random tree
and the spanning tree of least latency (networkx). Small: six brokers, against all 1296 trees. CPU
seconds are this process's, kernels compiled before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from functools import partial
from statistics import mean

import networkx as nx
import numpy as np

from tests.weir.topologies.instances import all_trees, problem
from weir.model.evaluation import EvaluationProblem
from weir.model.transformation import Edge
from weir.routing.arrays import pair_arrays, traffic_arrays
from weir.routing.cost import edge_rows, loads, routing
from weir.stop import never
from weir.topologies import Designer, designers
from weir.topologies._descent import Tree
from weir.warm_up import warm_up_topologies

Make = Callable[[EvaluationProblem], frozenset[Edge]]


def least_latency(asked: EvaluationProblem) -> frozenset[Edge]:
    """The plain baseline: a minimum spanning tree, blind to traffic."""
    pairs = pair_arrays(asked)
    names = sorted(asked.names)
    graph = nx.from_numpy_array(np.where(np.isfinite(pairs.weight), pairs.weight, 0.0))
    return frozenset((names[a], names[b]) for a, b in nx.minimum_spanning_edges(graph, data=False))


def methods() -> dict[str, Make]:
    """Every way to a tree that is compared."""
    found: dict[str, Make] = {"least latency (networkx)": least_latency}
    for name, method in designers().items():
        found[name] = partial(designed, method)
    return found


def designed(method: Designer, asked: EvaluationProblem) -> frozenset[Edge]:
    """With the usual parameters."""
    return method.design(asked, method.Params(), stop=never, seed=0)


def compare(brokers: Iterable[int], seed: int) -> None:
    """One table for the sizes asked for."""
    print("| brokers | topics | method | cost, today = 100 % | relayed, msg/s | degree | CPU, s |")
    print("|---|---|---|---|---|---|---|")
    for size in brokers:
        asked = problem(brokers=size, topics=size, seed=seed)
        today = routing(asked, asked.today).cost_per_s
        for name, make in methods().items():
            began_s = time.process_time()
            edges = make(asked)
            took_s = time.process_time() - began_s
            found = routing(asked, edges)
            relayed = sum(load.relayed for load in loads(asked, edges).brokers.values())
            share = f"{100 * found.cost_per_s / today:.1f} %"
            print(
                f"| {size} | {size} | {name} | {share} | {relayed:,.0f} | {found.degree} "
                f"| {took_s:.2f} |",
                flush=True,
            )


def against_optimum(instances: int, seed: int) -> None:
    """How far above the best of all trees of six brokers."""
    above: dict[str, list[float]] = {name: [] for name in methods()}
    for number in range(instances):
        asked = problem(brokers=6, topics=5, seed=seed * 1000 + number, capacities=number % 2 == 1)
        traffic, pairs = traffic_arrays(asked, asked.names), pair_arrays(asked)
        best = min(
            Tree(traffic, pairs, asked.weights.per_overload, edge_rows(e, traffic.number)).cost
            for e in all_trees(sorted(asked.names))
        )
        for name, make in methods().items():
            above[name].append(routing(asked, make(asked)).cost_per_s / best - 1)
    print("\n| method | optimal | mean above the optimum | worst |\n|---|---|---|---|")
    for name, shares in above.items():
        optimal = sum(share < 1e-9 for share in shares)
        print(
            f"| {name} | {optimal} of {instances} | {100 * mean(shares):.2f} % "
            f"| {100 * max(shares):.2f} % |"
        )


def whole_trees(size: int, seed: int) -> None:
    """How long a whole tree and the exchanges of one link take to judge."""
    asked = problem(brokers=size, topics=size, seed=seed)
    traffic, pairs = traffic_arrays(asked, asked.names), pair_arrays(asked)
    tree = Tree(traffic, pairs, 10.0, edge_rows(asked.today, traffic.number))
    began_s = time.process_time()
    for v in range(1, size):
        tree.best_exchange(v)
    each_s = (time.process_time() - began_s) / (size - 1)
    rows = tree.rows
    began_s = time.process_time()
    for _ in range(20):
        tree.reset(rows)
    whole_s = (time.process_time() - began_s) / 20
    print(
        f"\n{size} brokers, {size} topics: a whole tree {1e3 * whole_s:.2f} ms CPU, all exchanges "
        f"of one link {1e3 * each_s:.2f} ms CPU."
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--brokers", type=int, nargs="+", default=[50, 150, 300])
    parser.add_argument("--small", type=int, default=10, metavar="INSTANCES")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warm_up_topologies()
    compare(options.brokers, options.seed)
    against_optimum(options.small, options.seed)
    whole_trees(max(options.brokers), options.seed)


if __name__ == "__main__":
    main()
