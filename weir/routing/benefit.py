"""Is a candidate worth its way? Routing saved over a horizon, less what the transformation costs.

    net benefit = saved per second x horizon - (price of the actions + price of messages held)

An action pauses its brokers (docs/algorithms/shift.md): they stop reading their publishers and the
neighbours outside of the action, so that what arrives meanwhile waits. It holds `pause_s` x (what
its brokers publish + what reaches them over links that the action does not touch). An append pauses
nobody. The plan is replayed action by action, each on the loads that the ones before it left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.routing.arrays import traffic_arrays
from weir.routing.cost import edge_rows
from weir.transformation.moves import apply, change, neighbours

if TYPE_CHECKING:
    from weir.model.evaluation import EvaluationProblem, PlanRow, Routing
    from weir.model.transformation import Edge, Move, Steps


ROOT = 0
"""Of the kernels' trees; a slide never gives it a parent."""


class Replay:
    """Loads while a plan is carried out: after a slide only one link's load is new."""

    def __init__(self, problem: EvaluationProblem) -> None:
        self._problem = problem
        self._pause_s = problem.disruption.pause_s
        self._tree = neighbours(problem.today, problem.today_brokers)
        self._rebuild()

    def _rebuild(self) -> None:
        """Compute all loads of the tree as it is now."""
        from weir.routing import kernels

        edges = {(a, b) for a, others in self._tree.items() for b in others if a < b}
        traffic = self._traffic = traffic_arrays(self._problem, self._tree)
        rows = edge_rows(edges, traffic.number)
        self._crossing = kernels.crossing
        self._parent, order = kernels.rooted(len(traffic.names), rows)
        self._sums, self._count = kernels.below(self._parent, order, traffic.sent, traffic.wants)
        self._up, self._down = kernels.link_loads(order, self._sums, self._count)
        self._into = kernels.arrivals(self._parent, order, self._up, self._down)

    def held(self, move: Move) -> float:
        """Carry the action out; messages that waited for it. Raises InvalidProblem."""
        paused = self._paused_rate(move) if move.op != "append" else 0.0
        apply(self._tree, move)
        if move.op == "shift":
            assert move.source is not None
            assert move.to is not None
            number = self._traffic.number
            self._slide(number[move.broker], number[move.source], number[move.to])
        else:
            self._rebuild()
        return paused * self._pause_s

    def _paused_rate(self, move: Move) -> float:
        """What the action's brokers publish and what comes to them from outside, msg/s."""
        done = change(self._tree, move)
        number = self._traffic.number
        members = [number[name] for name in done.participants if name in number]
        rate = float((self._traffic.published[members] + self._into[members]).sum())
        inside = {*done.needs, *([] if done.removes is None else [done.removes])}
        for a, b in sorted(inside):  # in one order: sums are rounded
            i, j = number[a], number[b]
            child = i if self._parent[i] == j else j
            rate -= float(self._up[child] + self._down[child])
        return max(0.0, rate)

    def _slide(self, i: int, j: int, k: int) -> None:
        """Link i-j becomes i-k along j-k; sums are those of everything below a broker."""
        parent, sums, count = self._parent, self._sums, self._count
        if parent[i] == j:
            # The broker nearer to the root keeps its sums; the other gains or loses i's.
            lower, sign = (j, -1.0) if parent[j] == k else (k, 1.0)
            self._into[j] -= self._up[i]
            self._into[k] += self._up[i]
            parent[i] = k
            sums[lower] += sign * sums[i]
            count[lower] += sign * count[i]
            self._reload(lower)
            return
        # i is above j, so k is below it: k takes j's place, and j hangs below k.
        self._drop(j)
        self._drop(k)
        sums_j, count_j = sums[j] - sums[k], count[j] - count[k]
        sums[k], count[k] = sums[j].copy(), count[j].copy()
        sums[j], count[j] = sums_j, count_j
        parent[k], parent[j] = i, k
        self._load(k)
        self._load(j)

    def _reload(self, v: int) -> None:
        self._drop(v)
        self._load(v)

    def _drop(self, v: int) -> None:
        self._into[v] -= self._down[v]
        self._into[self._parent[v]] -= self._up[v]

    def _load(self, v: int) -> None:
        near = np.maximum(self._sums[v], 0.0)
        self._up[v], self._down[v] = self._crossing(
            near, self._count[v], self._sums[ROOT], self._count[ROOT]
        )
        self._into[v] += self._down[v]
        self._into[self._parent[v]] += self._up[v]

    @property
    def edges(self) -> frozenset[Edge]:
        """Return the tree as it is now."""
        return frozenset((a, b) for a, others in self._tree.items() for b in others if a < b)


def held_messages(problem: EvaluationProblem, steps: Steps) -> float:
    """Messages that wait for some action of the plan. Raises InvalidProblem naming the action."""
    replay = Replay(problem)
    return sum(replay.held(move) for step in steps for move in step)


def transformation_cost(problem: EvaluationProblem, *, price: float, held: float) -> float:
    """In the unit of routing: a plan's price and the messages that it holds."""
    terms = problem.disruption
    return terms.per_action * price + terms.per_held_message * held


def net_benefit(problem: EvaluationProblem, *, saved_per_s: float, cost: float) -> float:
    """What is saved over the horizon less the cost of the transformation."""
    return saved_per_s * problem.horizon_s - cost


def sentences(
    problem: EvaluationProblem, today: Routing, goal: Routing, row: PlanRow
) -> tuple[str, ...]:
    """What the candidate brings and costs, with numbers."""
    saved = today.cost_per_s - goal.cost_per_s
    share = (
        f" ({minus(f'{-100 * saved / today.cost_per_s:+.1f}')} %)" if today.cost_per_s > 0 else ""
    )
    over = saved * problem.horizon_s
    told = [
        f"Routing costs {goal.cost_per_s:,.1f} link messages per second instead of "
        f"{today.cost_per_s:,.1f}{share}; {goal.link_messages_per_s:,.1f} msg/s over links "
        f"instead of {today.link_messages_per_s:,.1f}.",
        f"Over {problem.horizon_s:,.0f} s that saves {minus(f'{over:,.0f}')} link messages; the "
        f"way there costs {row.transformation_cost:,.0f}: {_counted(row.actions, 'action')} "
        f"in {_counted(row.steps, 'step')}, about {_waiting(row.held_messages)}.",
        f"Net benefit {minus(f'{row.net_benefit:,.0f}')} link messages"
        + ("." if row.net_benefit > 0 else ": doing nothing is better."),
    ]
    if today.overloaded and set(goal.overloaded) == set(today.overloaded):
        told.append(f"Above capacity as before: {_named(goal.overloaded)}.")
    elif today.overloaded or goal.overloaded:
        told.append(
            f"Above capacity: {_named(goal.overloaded)} instead of {_named(today.overloaded)}."
        )
    if goal.highest_broker:
        share = f"{100 * goal.highest_load:.0f} %"
        told.append(f"The busiest broker is {goal.highest_broker} at {share}.")
    return tuple(told)


def minus(text: str) -> str:
    """Format the number with a minus sign in the place of a hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _waiting(messages: float) -> str:
    number = round(messages)
    return f"{_counted(number, 'message')} " + ("waits" if number == 1 else "wait")


def _named(brokers: tuple[str, ...]) -> str:
    if not brokers:
        return "no broker"
    few = ", ".join(brokers[:5])
    return few if len(brokers) <= 5 else f"{few} and {len(brokers) - 5} more"
