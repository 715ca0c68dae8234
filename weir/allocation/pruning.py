"""Two-stage solving: pay for a flow only where somebody receives it (section 2.4, point 2).

Stage one assumes that every flow reaches every node that hosts a class of it. Where stage one
admits none of a flow's consumers at a node, the flow need not go there: its cost at that node
(F) becomes 0, its classes there stay refused, and the problem is solved again from the prices of
stage one. The better of the two answers is kept, so pruning never loses utility.

Which costs may go. The model knows what a flow costs at each node and link, not the order in
which it passes them. So only the cost at a node that *hosts* classes of the flow with
somebody waiting, all of them refused, is left out. Kept are: costs at nodes without such
classes (they may lie on the way to others, or be the source) and all link costs (the last link to
a pruned node falls idle too, but the model does not say which one that is). Weir's brokers
forward a flow to a neighbour only while somebody admitted behind it wants it, so the cost does
vanish there. The limit: where a pruned node also relays the flow to other nodes it still bears
the relaying. Give relays a node of their own in the model, or do not prune.

The answer names what was left out in `Result.pruned`; its loads, bound and feasibility are those
of `as_routed(problem, result.pruned)`.

References:
    C. Lumezanu, S. Bhola, M. Astley. Utility optimization for event-driven distributed
    infrastructures. ICDCS 2006. doi:10.1109/ICDCS.2006.79
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from weir.allocation.serving import solve_where_wanted
from weir.codec.start import start_of
from weir.model import Forwarding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from weir.model import Problem, Result, Start
    from weir.stop import Progress

Pruned = dict[str, tuple[str, ...]]
"""Flow to the nodes, in order of id, that it no longer goes to."""


class SolveOnce(Protocol):
    """An optimizer with its parameters and seed filled in."""

    def __call__(
        self,
        problem: Problem,
        *,
        stop: Callable[[Progress], bool],
        on_progress: Callable[[Progress], None] | None,
        start: Start | None,
    ) -> Result:
        """Solve the problem of one stage of pruning."""
        ...


def in_two_stages(
    solve_once: SolveOnce,
    problem: Problem,
    *,
    prune: bool,
    stop: Callable[[Progress], bool],
    on_progress: Callable[[Progress], None] | None,
    start: Start | None,
) -> Result:
    """The better of the answer with everything routed and, if asked, the answer after pruning.

    Where the problem says that flows go only where they are wanted, `weir.allocation.serving`
    decides where, exactly, and `prune` says nothing more.
    """
    if problem.forwarding is Forwarding.WANTED:
        return solve_where_wanted(
            solve_once, problem, stop=stop, on_progress=on_progress, start=start
        )
    first = solve_once(problem, stop=stop, on_progress=on_progress, start=start)
    pruned = unwanted(problem, first) if prune and first.status != "infeasible" else {}
    if not pruned:
        return first

    def later(progress: Progress) -> Progress:
        return replace(
            progress,
            iteration=progress.iteration + first.iterations,
            best_utility=max(progress.best_utility, first.utility),
        )

    second = solve_once(
        as_routed(problem, pruned),
        stop=lambda progress: stop(later(progress)),
        on_progress=None if on_progress is None else lambda told: on_progress(later(told)),
        start=start_of(first),
    )
    if second.utility <= first.utility:
        return first
    return replace(
        second,
        problem_hash=first.problem_hash,
        iterations=first.iterations + second.iterations,
        trace=first.trace + second.trace,
        bounds=first.bounds + second.bounds,
        pruned=pruned,
    )


def unwanted(problem: Problem, result: Result) -> Pruned:
    """Where a flow costs something and all consumers that wait for it there were refused."""
    admitted: dict[tuple[str, str], int] = defaultdict(int)
    waiting: set[tuple[str, str]] = set()
    for consumers in problem.classes:
        place = (consumers.flow, consumers.node)
        admitted[place] += result.populations.get(consumers.id, 0)
        if consumers.population_max > 0:
            waiting.add(place)
    pruned: Pruned = {}
    for flow in sorted(problem.flows, key=lambda flow: flow.id):
        nodes = tuple(
            node
            for node in sorted(flow.node_costs)
            if (flow.id, node) in waiting
            and not admitted[flow.id, node]
            and any(cost > 0 for cost in flow.node_costs[node].values())
        )
        if nodes:
            pruned[flow.id] = nodes
    return pruned


def as_routed(problem: Problem, pruned: Mapping[str, tuple[str, ...]]) -> Problem:
    """The problem without the pruned costs; classes at pruned places admit nobody."""
    if not pruned:
        return problem
    gone = {(flow, node) for flow, nodes in pruned.items() for node in nodes}
    return replace(
        problem,
        flows=tuple(
            replace(
                flow,
                node_costs={
                    node: costs
                    for node, costs in flow.node_costs.items()
                    if (flow.id, node) not in gone
                },
            )
            if flow.id in pruned
            else flow
            for flow in problem.flows
        ),
        classes=tuple(
            replace(consumers, population_max=0)
            if (consumers.flow, consumers.node) in gone
            else consumers
            for consumers in problem.classes
        ),
    )
