r"""Few relays at few links per broker: topic-connected greedily, then cut down to a tree.

An overlay is topic-connected when the brokers of every topic (those that publish or want it) are
connected among themselves, so that nobody relays what its clients do not care for. Link after link
is added that joins most parts of topics, each part weighed by what the topic publishes: the greedy
merge of Chockler et al. Brokers take at most `degree` links at first, and one more whenever
nothing below that limit joins anything (after Onus and Richa, who keep the highest degree low).
The tree is the maximum spanning tree of the links chosen, weighed by what each joined when it was
chosen; parts that share no topic are joined by the cheapest links. Single exchanges then lower the
routing cost without any broker above the degree reached.

Assumptions: a tree cannot be topic-connected for every topic at once, so some relays remain, and
the order of links, not their latency, decides.

| Chockler et al. 2007 | here |
|---|---|
| nodes interested in topic t | brokers that publish or want it |
| contribution of a link: topics whose parts it joins | the same, weighed by messages per second |

Cost: O(brokers^2 x groups of topics) updates in all, and O(brokers^2) per link chosen.

References
----------
G. Chockler, R. Melamed, Y. Tock, R. Vitenberg. Constructing Scalable Overlays for Pub-Sub with
Many Topics. PODC 2007. doi:10.1145/1281100.1281118
M. Onus, A. W. Richa. Minimum Maximum-Degree Publish-Subscribe Overlay Network Design. IEEE/ACM
Transactions on Networking 19(5), 2011. doi:10.1109/TNET.2011.2144999
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from weir.plugins import about, check_fields
from weir.topologies import DesignProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.evaluation import EvaluationProblem
    from weir.model.transformation import Edge
    from weir.topologies._spanning import Ground

NAME = "topic_connected"
TITLE = "Topic-connected, low degree"
SUMMARY = "Joins the brokers of each topic directly, so that few messages are relayed."
SEEDED = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How low the degree is kept."""

    degree: int = field(
        default=4,
        metadata=about(help="Links per broker before any takes more", min=2, max=10_000),
    )

    descend: bool = field(
        default=True,
        metadata=about(help="Whether single exchanges of links then lower the routing cost"),
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
    """The tree of the links chosen. The seed changes nothing. Raises NoTree."""
    from weir.topologies._descent import Tree, descend
    from weir.topologies._spanning import Ground

    ground = Ground(problem)
    joined = _joined(ground, params.degree, stop)
    # What joins nothing comes last, the cheapest first.
    weight = ground.pairs.weight
    dearest = float(weight[np.isfinite(weight)].max(initial=0.0))
    price = np.where(joined > 0, -joined, weight / (1.0 + dearest))
    tree = ground.spanning(price)
    if params.descend:
        # Exchanges keep to the degree that the choice of links kept to.
        most = np.maximum(params.degree, tree.degree.max(initial=0))
        low = replace(ground.pairs, most=np.minimum(ground.pairs.most, most))
        tree = Tree(ground.traffic, low, problem.weights.per_overload, tree.rows)
        descend(tree, np.random.default_rng(0), stop)
    return ground.edges(tree)


def _joined(ground: Ground, degree: int, stop: Callable[[DesignProgress], bool]) -> np.ndarray:
    """What every chosen link joined when it was chosen, msg/s; 0 for the others."""
    traffic, pairs = ground.traffic, ground.pairs
    n, groups = traffic.sent.shape
    rate = traffic.sent.sum(axis=0)
    member = (traffic.sent > 0) | (traffic.wants > 0)
    part = np.where(member, np.arange(n)[:, None], -1)
    gain = (member * rate) @ member.T
    gain[~np.isfinite(pairs.weight)] = 0.0
    np.fill_diagonal(gain, 0.0)
    chosen = np.zeros((n, n))
    links = np.zeros(n, dtype=np.int64)
    limit = degree
    rounds = 0

    def choose(a: int, b: int) -> None:
        chosen[a, b] = chosen[b, a] = max(gain[a, b], chosen[a, b])
        links[[a, b]] += 1
        for group in np.flatnonzero(member[a] & member[b] & (part[a] != part[b])):
            one, other = (np.flatnonzero(part[:, group] == part[x, group]) for x in (a, b))
            gain[np.ix_(one, other)] -= rate[group]
            gain[np.ix_(other, one)] -= rate[group]
            part[other, group] = part[a, group]

    for a, b in sorted(pairs.fixed):
        choose(a, b)
    least = 1e-9 * max(1.0, float(rate.sum()))
    while groups and not stop(DesignProgress(round=rounds, cost_per_s=None)):
        rounds += 1
        open_to = (links < np.minimum(limit, pairs.most)).astype(float)
        open_gain = gain * open_to[:, None] * open_to[None, :]
        best = int(np.argmax(open_gain))
        if open_gain.flat[best] > least:
            choose(*divmod(best, n))
        elif limit < n and (gain > least).any() and (links < pairs.most).any():
            limit += 1
        else:
            break
    return chosen
