"""The independent validator: it knows the problem and the steps, and no planner.

It proves a step by its conflicts instead of by its orders: actions that neither remove a link that
another needs or removes, nor make the same link, nor meet a broker that comes or goes, apply in
every subset and order, each to a tree and leaving a tree. A maximum degree is held against all
arrivals of a step and none of its departures.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from weir.errors import InvalidProblem
from weir.transformation.moves import Change, apply, change, gaining, neighbours, price

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.model.transformation import Move, Steps, Transformation
    from weir.transformation.moves import Neighbours


def check(problem: Transformation, steps: Steps) -> float:
    """The price of the steps, if they lead from initial to goal by the rules.

    Raises InvalidProblem that names the action (`steps[2][0].to`) or the step and says why not.
    """
    tree = neighbours(problem.initial, problem.initial_brokers)
    total = 0.0
    for s, step in enumerate(steps):
        if not step:
            raise InvalidProblem(f"steps[{s}]", "is empty; leave it out")
        total += _check_step(problem, tree, step, s)
    reached = frozenset((a, b) for a, others in tree.items() for b in others if a < b)
    for a, b in sorted(problem.goal - reached):
        raise InvalidProblem("steps", f"end without the goal's link {a}-{b}")
    for a, b in sorted(reached - problem.goal):
        raise InvalidProblem("steps", f"end with the link {a}-{b}, which the goal does not have")
    for broker in sorted(tree.keys() ^ problem.goal_brokers):
        raise InvalidProblem("steps", f"end {'with' if broker in tree else 'without'} {broker}")
    return total


def _check_step(
    problem: Transformation, tree: Neighbours, step: Sequence[Move], index: int
) -> float:
    total = 0.0
    changes = []
    for a, move in enumerate(step):
        try:
            found = change(tree, move)
            _check_rules(problem, move, found)
            total += price(move, found, problem.options.action_costs)
        except InvalidProblem as error:
            raise error.below(f"steps[{index}][{a}]") from None
        changes.append(found)
    _check_together(problem, tree, step, changes, index)
    for move in step:
        apply(tree, move)
    return total


def _check_rules(problem: Transformation, move: Move, found: Change) -> None:
    options = problem.options
    for broker in found.participants:
        if broker in options.frozen_brokers:
            raise InvalidProblem("broker", f"{broker} is frozen")
        if broker not in problem.initial_brokers and broker not in problem.goal_brokers:
            raise InvalidProblem("broker", f"no broker {broker}")
    if found.removes is not None:
        if found.removes in options.frozen_links:
            raise InvalidProblem("from", f"link {'-'.join(found.removes)} is frozen")
        if found.removes in problem.goal and not options.move_goal_links:
            raise InvalidProblem("from", f"link {'-'.join(found.removes)} is the goal's; it stays")
    if move.op == "detach" and move.broker in problem.goal_brokers:
        raise InvalidProblem("broker", f"{move.broker} is in the goal; it stays")
    if move.op == "append":
        if move.broker in problem.initial_brokers:
            raise InvalidProblem("broker", f"{move.broker} is in today's overlay; it only moves")
        alone = problem.initial_brokers.isdisjoint(problem.goal_brokers)
        if found.makes not in problem.goal and not alone:
            raise InvalidProblem("to", f"{move.to} is no neighbour of {move.broker} in the goal")


def _check_together(
    problem: Transformation,
    tree: Neighbours,
    step: Sequence[Move],
    changes: Sequence[Change],
    index: int,
) -> None:
    where = f"steps[{index}]"
    if problem.options.parallel == "broker-disjoint":
        counts = Counter(b for found in changes for b in set(found.participants))
        for broker, times in counts.items():
            if times > 1:
                raise InvalidProblem(where, f"{broker} takes part in {times} actions")
    removed = Counter(found.removes for found in changes if found.removes is not None)
    made = Counter(found.makes for found in changes if found.makes is not None)
    needed = {link for found in changes for link in found.needs}
    for link, times in removed.items():
        name = "-".join(link)
        if times > 1:
            raise InvalidProblem(where, f"{times} actions remove the link {name}")
        if link in needed:
            raise InvalidProblem(where, f"one action removes the link {name}, another needs it")
    for link, times in made.items():
        if times > 1:
            raise InvalidProblem(where, f"{times} actions make the link {'-'.join(link)}")
    for move, found in zip(step, changes, strict=True):
        if move.op in ("append", "detach"):
            meet = [c for c in changes if c is not found and move.broker in c.participants]
            if meet:
                raise InvalidProblem(
                    where, f"{move.broker} is {move.op}ed while another action uses it"
                )
    limit = problem.options.max_degree
    if limit is not None:
        gains = Counter(broker for found in changes for broker in gaining(found))
        for broker, more in gains.items():
            most = len(tree.get(broker, ())) + more
            if most > limit:
                raise InvalidProblem(
                    where, f"{broker} may have {most} links at once, {limit} are allowed"
                )
