"""What no plan can stay below: actions, steps and price, each with its proof.

Actions: an append per added broker, a detach per removed one, and the slides that `crossing_bound`
or `token_bound` count, whichever are more (at least one per goal link that appends cannot make, at
least one per link end that has to arrive somewhere, at least one per link that stays and that
missing goal links cross). Where composites have a price, one action may move both ends of a link
anywhere, so only the missing links count, and half of the arrivals.

Steps: the longest of
- the way between the brokers of each missing goal link, and in the goal between those of each link
  that has to go (`path_bound`), where only slides count,
- with disjoint brokers, the busiest broker: every link that it loses or gains is removed or made by
  an action that it takes part in. With a arrivals and d departures at it by slides (at least), n
  slides in which it stays at its end of the sliding link: each arrival makes one of its links, each
  departure removes one, each of the n at most one of both, so a + d + n >=
  a + d + max(0, made - a, lost - d), which grows with a and with d,
- with disjoint brokers, room: a slide takes three brokers, an append or detach two,
- in `paper`, links: a step removes each of the links that may move at most once,
- appends and detaches: a broker whose nearest surviving broker in the goal is h links away is
  appended in step h at the earliest; one with several links to lose is detached after a step that
  removed the others.

Price: each counted action at its op's price, plus what its participants and its link cost. A slide
that makes a goal link, an arrival and a departure all have their brokers take part.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.transformation.crossing_bound import crossing_slides
from weir.transformation.moves import neighbours
from weir.transformation.path_bound import steps_to_join, ways
from weir.transformation.token_bound import arrivals, never_move

if TYPE_CHECKING:
    from weir.model.transformation import Transformation
    from weir.transformation.token_bound import Arrivals


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """At least so many actions, so many steps, such a price."""

    actions: int
    steps: int
    cost: float


def lower_bounds(problem: Transformation) -> Bounds:
    """All three at once. O(brokers + the ways between brokers of missing goal links)."""
    counts = arrivals(problem)
    slides = _slides(problem, counts)
    return Bounds(
        actions=slides + len(problem.added) + len(problem.removed),
        steps=_steps(problem, counts, slides),
        cost=_cost(problem, counts, slides),
    )


def lower_bound_actions(problem: Transformation) -> int:
    """Actions of any plan, at least."""
    return lower_bounds(problem).actions


def lower_bound_steps(problem: Transformation) -> int:
    """Steps of any plan, at least."""
    return lower_bounds(problem).steps


def lower_bound_cost(problem: Transformation) -> float:
    """Price of any plan, at least; without prices the number of actions."""
    return lower_bounds(problem).cost


def composites(problem: Transformation) -> bool:
    """Whether the problem allows actions other than slides, appends and detaches."""
    costs = problem.options.action_costs
    return costs.move is not None or costs.exchange is not None


def _slides(problem: Transformation, counts: Arrivals) -> int:
    """Actions besides appends and detaches, at least."""
    if not composites(problem):
        slides = max(counts.slides, _unmade(problem))
        if problem.added or problem.removed:
            return slides
        return max(slides, crossing_slides(problem))
    ends = 2 if problem.options.action_costs.exchange is not None else 1
    # Along a composite's way no end passes the brokers between: only what is wanted counts.
    wanted = 0
    if not problem.added:
        wanted = sum(max(0, counts.wanted[u] - counts.unwanted[u]) for u in counts.wanted)
    return max(_unmade(problem), -(-wanted // ends))


def _unmade(problem: Transformation) -> int:
    """Missing goal links that no append can make: each append makes one."""
    return max(0, len(problem.missing) - len(problem.added))


def _steps(problem: Transformation, counts: Arrivals, slides: int) -> int:
    if not problem.missing and not problem.removed:
        return 0
    disjoint = problem.options.parallel == "broker-disjoint"
    steps = max(1, _steps_of_churn(problem, counts))
    only_slides = not composites(problem)
    if only_slides:
        initial, goal = problem.initial, problem.goal
        fixed = never_move(problem) & initial & goal
        steps = max(steps, steps_to_join(ways(initial, goal - initial, fixed), disjoint))
        steps = max(steps, steps_to_join(ways(goal, initial - goal, fixed), disjoint))
    if disjoint:
        steps = max(steps, _busiest(problem, counts, only_slides))
        taken = (3 if only_slides else 2) * slides + 2 * (len(problem.added) + len(problem.removed))
        steps = max(steps, -(-taken // len(counts.wanted)))
        if only_slides and not problem.added and not problem.removed:
            steps = max(steps, -(-slides // max(1, len(counts.wanted) // 3)))
    else:
        movable_links = len(problem.initial - never_move(problem)) + len(problem.added)
        steps = max(steps, -(-slides // max(1, movable_links)))
    return steps


def _busiest(problem: Transformation, counts: Arrivals, only_slides: bool) -> int:
    made = Counter(u for link in problem.missing for u in link)
    gone = Counter(u for link in problem.initial - problem.goal for u in link)
    busiest = 0
    for u in counts.wanted:
        a, d = (counts.arrive[u], counts.leave[u]) if only_slides else (0, 0)
        busiest = max(busiest, a + d + max(0, made[u] - a, gone[u] - d))
    return busiest


def _steps_of_churn(problem: Transformation, counts: Arrivals) -> int:
    steps = 0
    if problem.added:
        goal = neighbours(problem.goal, problem.goal_brokers)
        reached = dict.fromkeys(problem.initial_brokers & problem.goal_brokers, 0)
        if not reached:
            reached = {min(problem.added): 1}
            return 1
        queue = deque(reached)
        while queue:
            u = queue.popleft()
            for v in goal[u]:
                if v not in reached:
                    reached[v] = reached[u] + 1 if v in problem.added else 0
                    queue.append(v)
        steps = max(reached[u] for u in problem.added)
    if problem.removed:
        several = any(counts.unwanted[u] > 1 for u in problem.removed)
        steps = max(steps, 2 if several else 1)
    return steps


def _cost(problem: Transformation, counts: Arrivals, slides: int) -> float:
    costs = problem.options.action_costs
    own = [costs.shift]
    own += [price for price in (costs.move, costs.exchange) if price is not None]
    total = min(own) * slides
    total += costs.append * len(problem.added) + costs.detach * len(problem.removed)
    total += sum(costs.links.get(link, 0.0) for link in problem.missing)
    of = costs.brokers
    total += sum(of.get(u, 0.0) for u in problem.added | problem.removed)
    if not of:
        return total
    added = problem.added
    slid = [link for link in problem.missing if not added.intersection(link)]
    as_ends = sum(of.get(a, 0.0) + of.get(b, 0.0) for a, b in slid)
    as_moved = 0.0
    if not composites(problem):
        as_moved = sum(of.get(u, 0.0) * (counts.arrive[u] + counts.leave[u]) for u in counts.arrive)
    return total + max(as_ends, as_moved)
