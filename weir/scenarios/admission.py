"""What would admit a class: every lever of its explanation, tried by solving again.

`weir.allocation.explanation` says where the verdict turns while everything else holds still.
Nothing holds still: a class that comes in takes room, and prices rise. So each lever is set where
the explanation puts it and a little beyond, the whole problem is solved again, and if the class
still stays out the lever goes further, step by step, until it comes in or the last step is done.

| lever | at its first step | then |
|---|---|---|
| `worth` | one brings `AHEAD` more than it costs | that times `FURTHER` |
| `rate` | the highest (lowest) rate allowed is the one at which the verdict turns | no further |
| `capacity` of a class in part in | what the rest takes and the node has not | no more |
| `capacity` of a class that is out | the node's, times each of `GROWTH` | until it comes in |

Cost: a solution per step, warm-started by the caller. Assumes that `explanation` is one of a class
of `problem` and of an answer to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from weir.allocation.explanation import Explanation, Verdict
from weir.scenarios.capacities import NodeCapacity
from weir.scenarios.consumers import Selection, UtilityWeight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from weir.model import Flow, Problem, Result

AHEAD = 1.02
"""One is made to bring so much more than it costs: at just its price it would be indifferent."""

FURTHER = (1.0, 1.1, 1.3, 1.7, 2.5)
GROWTH = (1.1, 1.4, 2.0, 4.0)


class Lever(StrEnum):
    """Name what has to change for more consumers to be admitted."""

    WORTH = "worth"
    RATE = "rate"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A lever where it stood at last, and what solving again then gave."""

    lever: Lever
    resource: str = ""
    """Whose capacity; empty for the other levers."""
    before: float
    """1 for `worth`; msg/s; units per second."""
    after: float
    admitted: int
    """Of the class; 0: not even so."""
    utility: float
    """Of the whole allocation, by the utility functions of the problem as it is: a lever that
    makes a class worth more must not count what it adds by definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    lever: Lever
    resource: str = ""
    before: float
    after: float
    problem: Problem


def trials(
    problem: Problem,
    explanation: Explanation,
    *,
    solve: Callable[[Problem], Result],
    enough: Callable[[], bool] = lambda: False,
) -> tuple[Trial, ...]:
    """One trial per lever that could admit more of the class; none where all of it is in.

    The first step of each lever is always tried; `enough` is asked before each further one.
    """
    found: list[Trial] = []
    for steps in _levers(problem, explanation):
        trial: Trial | None = None
        for step in steps:
            if trial is not None and enough():
                break
            result = solve(step.problem)
            trial = Trial(
                lever=step.lever,
                resource=step.resource,
                before=step.before,
                after=step.after,
                admitted=result.populations.get(explanation.consumer_class, 0),
                utility=_utility(problem, result),
            )
            if trial.admitted > explanation.admitted:
                break
        if trial is not None:
            found.append(trial)
    return tuple(found)


def _utility(problem: Problem, result: Result) -> float:
    return math.fsum(
        admitted * float(row.utility.value(result.rates[row.flow]))
        for row in problem.classes
        if (admitted := result.populations.get(row.id, 0))
    )


def _levers(problem: Problem, why: Explanation) -> Iterator[Iterator[_Step]]:
    if why.admitted >= why.wanted or why.verdict in (Verdict.NOBODY, Verdict.WORTHLESS):
        return
    if why.verdict == Verdict.COSTS_MORE:
        yield _worth(problem, why)
        if why.rate_at_margin_per_s is not None:
            yield _rate(problem, why, why.rate_at_margin_per_s)
        if why.binding is not None:
            yield _grown(problem, why, why.binding)
    else:
        yield _room(problem, why)


def _worth(problem: Problem, why: Explanation) -> Iterator[_Step]:
    if why.value <= 0:
        return
    for further in FURTHER:
        scale = AHEAD * further * why.price / why.value
        which = Selection(by="classes", ids=(why.consumer_class,))
        edited = UtilityWeight(which=which, scale=scale).apply(problem)
        yield _Step(lever=Lever.WORTH, before=1.0, after=scale, problem=edited)


def _rate(problem: Problem, why: Explanation, rate: float) -> Iterator[_Step]:
    def bounded(flow: Flow) -> Flow:
        if flow.id != why.flow:
            return flow
        if rate < why.rate_per_s:
            return replace(flow, rate_max=max(rate, flow.rate_min))
        return replace(flow, rate_min=min(rate, flow.rate_max))

    flows = tuple(bounded(flow) for flow in problem.flows)
    edited = replace(problem, flows=flows)
    yield _Step(lever=Lever.RATE, before=why.rate_per_s, after=rate, problem=edited)


def _grown(problem: Problem, why: Explanation, resource: str) -> Iterator[_Step]:
    before = _capacity(problem, why.node, resource)
    for growth in GROWTH:
        yield _with_capacity(problem, why.node, resource, before, before * growth)


def _room(problem: Problem, why: Explanation) -> Iterator[_Step]:
    """Room for all the rest of the class: each resource that is short of it, all in one step."""
    rest = why.wanted - why.admitted
    short = {need.resource: rest * need.units_per_s - need.room for need in why.needs}
    worst = max(short, key=lambda name: short[name], default=None)
    if worst is None or short[worst] <= 0:
        return
    edited = problem
    for name, amount in short.items():
        if amount > 0:
            before = _capacity(problem, why.node, name)
            edited = _with_capacity(edited, why.node, name, before, before + amount).problem
    before = _capacity(problem, why.node, worst)
    yield _Step(
        lever=Lever.CAPACITY,
        resource=worst,
        before=before,
        after=before + short[worst],
        problem=edited,
    )


def _capacity(problem: Problem, node: str, resource: str) -> float:
    return next(row.capacity.get(resource, 0.0) for row in problem.nodes if row.id == node)


def _with_capacity(
    problem: Problem, node: str, resource: str, before: float, after: float
) -> _Step:
    edited = NodeCapacity(nodes=(node,), resource=resource, set=after).apply(problem)
    return _Step(
        lever=Lever.CAPACITY, resource=resource, before=before, after=after, problem=edited
    )
