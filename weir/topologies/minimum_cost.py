r"""The tree of least routing cost for the traffic, from several beginnings, each descended.

Finding it is NP-hard (the optimum communication spanning tree, Johnson, Lenstra, Rinnooy Kan), so
this is a search: every beginning is improved by the best exchange of one link at a time until none
pays (`_descent`), then the best tree is shaken by a few random exchanges and descended again, as
often as `rounds` says.

Beginnings, as far as the allowed links and degrees let them be trees:

* today's tree;
* the links of most traffic between their two ends first (maximum spanning tree);
* the cheapest links first (minimum spanning tree);
* the cut tree of the traffic between pairs (Gomory, Hu), which is optimal where every topic has one
  subscriber, every pair may be linked at the same price and no degree limits (Hu 1974);
* every one of the `hubs` busiest brokers as the middle, the others linked to what is nearest.

| Hu 1974 | here |
|---|---|
| requirement r_ij | `pairwise`: msg/s between two brokers, a multicast shared by its receivers |
| optimum requirement tree | the cut tree of those |

Cost: O(brokers^2 x groups of topics) per sweep of a descent; brokers - 1 maximum flows.

References
----------
T. C. Hu. Optimum Communication Spanning Trees. SIAM J. Computing 3(3), 1974. doi:10.1137/0203015
D. Gusfield. Very Simple Methods for All Pairs Network Flow Analysis. SIAM J. Computing 19(1), 1990.
doi:10.1137/0219009
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from weir.plugins import about, check_fields
from weir.topologies import DesignProgress, NoTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge
    from weir.topologies._descent import Tree
    from weir.topologies._spanning import Ground

NAME = "minimum_cost"
TITLE = "Minimum cost tree"
SUMMARY = "The cheapest tree for the traffic that descents from several beginnings find."
SEEDED = True

MOST_CUTS = 300
"""Brokers up to which the cut tree is computed."""

FLOW_UNITS = 1_000_000
"""The largest requirement in whole units, for maximum flows count in whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Limit how long and how widely the method searches."""

    rounds: int = field(
        default=20,
        metadata=about(
            help="Times the best tree is shaken and descended again", min=0, max=100_000
        ),
    )
    shake: int = field(
        default=4, metadata=about(help="Random exchanges of links in one shake", min=1, max=1000)
    )
    hubs: int = field(
        default=3, metadata=about(help="Busiest brokers tried as the middle", min=0, max=100)
    )

    def __post_init__(self) -> None:
        check_fields(self)


def design(
    problem: EvaluationProblem,
    params: Params,
    *,
    stop: Callable[[DesignProgress], bool],
    seed: int,
) -> frozenset[Edge]:
    """Return the cheapest tree found; raise NoTree where no beginning is one."""
    from weir.topologies._descent import descend
    from weir.topologies._spanning import Ground

    ground = Ground(problem)
    rng = np.random.default_rng(seed)
    best: Tree | None = None
    refused: NoTree | None = None
    for make in _beginnings(ground, params):
        try:
            tree = make()
        except NoTree as error:
            refused = refused or error
            continue
        so_far = None if best is None else best.cost
        done = descend(tree, rng, stop, best=so_far)
        if best is None or tree.cost < best.cost:
            best = tree
        if not done:
            return ground.edges(best)
    if best is None:
        raise refused or NoTree("no allowed links")
    kept = best.rows
    cost = best.cost
    for round in range(1, params.rounds + 1):
        best.reset(kept)
        shaken(best, params.shake, rng)
        done = descend(best, rng, stop, round=round, best=cost)
        if best.cost < cost:
            cost, kept = best.cost, best.rows
        if not done:
            break
    best.reset(kept)
    return ground.edges(best)


def shaken(tree: Tree, times: int, rng: np.random.Generator) -> None:
    """Random links, each replaced by any other that is allowed there."""
    for v in rng.permutation(len(tree.parent)):
        if times == 0:
            return
        if tree.may_go(int(v)):
            ends = tree.random_exchange(int(v), rng)
            if ends is not None:
                tree.exchange(int(v), *ends)
                times -= 1


def pairwise(ground: Ground) -> np.ndarray:
    """Messages per second between every two brokers, both ways.

    What one publisher sends to several brokers is shared among them: it crosses common links once.
    """
    traffic = ground.traffic
    receivers = np.maximum(1.0, traffic.wants.sum(axis=0))
    one_way = traffic.sent @ (traffic.wants / receivers).T
    both = one_way + one_way.T
    np.fill_diagonal(both, 0.0)
    return np.asarray(both)


def _beginnings(ground: Ground, params: Params) -> Iterator[Callable[[], Tree]]:
    between = pairwise(ground)
    weight = np.where(np.isfinite(ground.pairs.weight), ground.pairs.weight, 0.0)
    yield ground.today
    yield partial(ground.spanning, -between)
    yield partial(ground.spanning, ground.pairs.weight)
    if 2 < len(between) <= MOST_CUTS and between.any():
        yield partial(ground.spanning, _preferring(cut_tree(between), between))
    busy = np.argsort(-between.sum(axis=1), kind="stable")[: params.hubs]
    for hub in busy:
        # Near the middle first, and cheap: a star where degrees allow, else levels around it.
        around = weight[hub]
        yield partial(ground.spanning, weight + around[:, None] + around[None, :])


def _preferring(rows: np.ndarray, between: np.ndarray) -> np.ndarray:
    """Prices by which these links come first, those of most traffic before."""
    price = -between / max(1e-300, between.max())
    price[rows[:, 0], rows[:, 1]] -= 2.0
    price[rows[:, 1], rows[:, 0]] -= 2.0
    return np.asarray(price)


def cut_tree(between: np.ndarray) -> np.ndarray:
    """A tree whose links are minimum cuts between all pairs, by Gusfield's method."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n = len(between)
    units = np.rint(between / between.max() * FLOW_UNITS).astype(np.int32)
    graph = csr_array(units)
    towards = np.zeros(n, dtype=np.int64)
    for s in range(1, n):
        t = int(towards[s])
        flow = maximum_flow(graph, s, t).flow
        residual = graph - flow
        residual.data[residual.data < 0] = 0
        residual.eliminate_zeros()
        side = breadth_first_order(residual, s, return_predecessors=False)
        near = np.zeros(n, dtype=bool)
        near[side] = True
        moved = near & (towards == t)
        moved[s] = False
        towards[moved] = s
        if near[towards[t]]:
            towards[s], towards[t] = towards[t], s
    return np.stack([np.arange(1, n), towards[1:]], axis=1)
