"""Small problems: every choice of the nodes that each flow serves, one after the other.

With that fixed every way costs, and the certified search bounds what is left. The largest of these
bounds holds for all choices, so it often proves what one set of prices for all choices cannot.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from weir.allocation.serving import waiting
from weir.model.forwarding import served
from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model import Problem, Result

MOST_CHOICES = 32
MOST_CLASSES = 40

OPTIMAL_GAP = 1e-9
"""Relative distance to the bound at which an answer counts as optimal."""


def with_every_choice(
    problem: Problem,
    found: Result,
    solve: Callable[[Problem], Result],
    *,
    stop: Callable[[Progress], bool],
) -> Result:
    """The answer found, or a better one with a lower bound; as it is where there are many choices
    or `stop` says enough before the last one."""
    hosts = waiting(problem)
    count = math.prod(2 ** len(nodes) for nodes in hosts.values())
    if count > MOST_CHOICES or len(problem.classes) > MOST_CLASSES:
        return found
    best, bound = found, 0.0
    choices = itertools.product(*(_subsets(nodes) for nodes in hosts.values()))
    for choice in choices:
        progress = Progress(
            iteration=found.iterations,
            utility=best.utility,
            best_utility=best.utility,
            upper_bound=found.upper_bound,
        )
        if stop(progress):
            return _told(found, best, found.upper_bound, status="time_limit")
        one = solve(served(problem, dict(zip(hosts, choice, strict=True))))
        if one.status == "infeasible":
            continue
        assert one.upper_bound is not None
        bound = max(bound, one.upper_bound)
        if one.utility > best.utility:
            best = one
    assert found.upper_bound is not None
    bound = min(found.upper_bound, max(bound, best.utility))
    gap = bound - best.utility
    status = "optimal" if gap <= OPTIMAL_GAP * abs(bound) else found.status
    return _told(found, best, bound, status=status)


def _subsets(nodes: set[str]) -> list[tuple[str, ...]]:
    ordered = sorted(nodes)
    sizes = range(len(ordered) + 1)
    return [subset for size in sizes for subset in itertools.combinations(ordered, size)]


def _told(found: Result, best: Result, bound: float | None, *, status: str) -> Result:
    assert bound is not None
    return replace(
        found,
        status=status,
        rates=best.rates,
        populations=best.populations,
        utility=best.utility,
        node_prices=best.node_prices,
        link_prices=best.link_prices,
        upper_bound=bound,
        iterations=found.iterations + 1,
        trace=(*found.trace, best.utility),
        bounds=(*found.bounds, bound),
    )
