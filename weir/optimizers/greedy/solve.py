r"""Gryphon's greedy: begin at the minimum, grow whatever brings most per unit of the bottleneck.

All rates begin at r_min, all populations at 0; the rate or population of the highest
benefit-cost ratio grows until complete or until a resource is used up (`growth`). One run per
primary bottleneck, whose consumption is the cost in the ratio, while every constraint is
respected; the best run is kept. The runs are in `weir.allocation.growth`.

Assumptions: concave utilities. The ratio of a class falls while its rate grows, so what was
admitted early may turn out dear: a heuristic, no bound. It never takes back.

| paper (Bhola 2006, section IV.B) | here |
|---|---|
| n flows, m classes | F, C |
| r_alloc, n_alloc | `GreedyRun.rates`, `populations` |
| A_i, B_j | `GreedyModel.flow_loads`, `class_loads` |
| primary bottleneck | the constraint of weight 1 |

Readings and additions:

* The paper has one server. Here a constraint is any resource of any node or any link, and one more
  run weighs all of them by 1 / capacity: with several nodes no single one prices the others.
  With one resource at one node both are the paper's algorithm.
* Utilities that are not piecewise linear are replaced by chords below them, off by at most
  `error` of their range between r_min and r_max (`growth.segmented`). The utility reported is
  exact.
* Ties share the bottleneck equally, measured in what they consume.
* Populations are cut to whole ones at the end. Then each class that lost a part of a consumer
  gets a whole one if it fits, best ratio first, and rates grow into what is left.
* One-to-one and request-response flows are classes of one consumer.

Cost: the paper's O(n m + m) counts a look at every flow per step. Here a queue gives the best
flow, so a run takes O((m + S) log n) for m classes and S segments, plus sorting the classes of
a flow whenever its rate moves; a test counts the operations. The loops are Python's: a run over
10,000 classes takes about a second.

References:
    S. Bhola, M. Astley, R. Saccone, M. Ward. Utility-aware resource allocation in an event
    processing system. ICAC 2006. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from weir.allocation.growth.once import greedy_once
from weir.allocation.growth.passes import BOTTLENECKS, ERROR
from weir.allocation.pruning import in_two_stages
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Result, Start
    from weir.stop import Progress

NAME = "greedy"
TITLE = "Gryphon's greedy"
SUMMARY = "Grows the rate or population of the best benefit per cost. One pass, no bound."


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How finely curves are cut and how many bottlenecks are tried."""

    error: float = field(
        default=ERROR,
        metadata=about(
            help="Chords lie below a curve by at most this share of its range of values",
            min=1e-8,
            max=0.5,
        ),
    )
    bottlenecks: int = field(
        default=BOTTLENECKS,
        metadata=about(
            help="Primary bottlenecks tried, the one most asked for first", min=0, max=100_000
        ),
    )
    prune: bool = field(
        default=False,
        metadata=about(
            help="Solve again without the cost of flows at nodes that refused all their consumers"
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)


def solve(
    problem: Problem,
    params: Params,
    *,
    stop: Callable[[Progress], bool],
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    start: Start | None = None,
) -> Result:
    """The best of the runs until `stop`; an iteration is a run. A start changes nothing."""
    return in_two_stages(
        partial(
            greedy_once,
            method=NAME,
            seed=seed,
            error=params.error,
            bottlenecks=params.bottlenecks,
        ),
        problem,
        prune=params.prune,
        stop=stop,
        on_progress=on_progress,
        start=start,
    )
