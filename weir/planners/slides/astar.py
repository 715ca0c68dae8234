"""The fewest slides between two trees, proven: A* with the bound of `crossing_bound`.

A state is where the links that have to go are now; the links in both trees never move, and no link
moves any more once it is one of the tree to reach. A state's estimate is the bound of the problem
that begins there:

    links that stay whose set is not empty + sets that have to come up and are not there,

where a goal link that was made stays and has to get rid of all sets but its own. A slide changes
one set, so the estimates of all states that can follow are found from that of the state at hand.

States are taken by cost so far + estimate, among equals the one with least to go, then the newest.
Source: P. E. Hart, N. J. Nilsson, B. Raphael: A Formal Basis for the Heuristic Determination of
Minimum Cost Paths. IEEE Transactions on Systems Science and Cybernetics 4 (1968).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.expansion import BARRED, estimate, gain, spread, stays_for_good
from weir.planners.slides.search_table import ENTRIES, FOUND, LOOKED, STATES, enter, next_entry

if TYPE_CHECKING:
    from weir.planners.slides.expansion import Case, Expansion
    from weir.planners.slides.search_table import SearchTable

MOST_BROKERS, MOST_LINKS = 64, 63
"""Brokers and changed links of a case at most: a set of goal links is one word."""

GOING_ON, NONE, DONE, FULL = 0, 1, 2, 3
"""How `look` ends: after so many states, with no plan below the limit, with one, out of room."""


@compiled_inside
def _with(
    case: Case, table: SearchTable, node: Expansion, state: int, slot: int, code: int
) -> None:
    """The state's links with another in the place of one, in order, into `node.new`."""
    size = 0
    for at in range(case.width):
        if at != slot:
            node.new[size] = table.links[state, at]
            size += 1
    at = case.width - 1
    while at > 0 and node.new[at - 1] > code:
        node.new[at] = node.new[at - 1]
        at -= 1
    node.new[at] = code


class AtHand(NamedTuple):
    """The state whose followers are entered, and what is known of it."""

    state: int
    rest: int
    """Its estimate."""
    known: int
    """How many different sets it has."""
    below: int
    """Plans of fewer slides than this are what is wanted."""


@compiled_inside
def _slide_end(
    case: Case, table: SearchTable, node: Expansion, at_hand: AtHand, slot: int, mover: np.uint64,
    stay: int, end: int,
) -> None:  # fmt: skip
    """Enter the states after slides of one end of a link."""
    state, known = at_hand.state, at_hand.known
    cost = int(np.int64(table.cost[state])) + 1
    staying = case.first[end + 1] - case.first[end]
    for at in range(staying + node.degree[end]):
        to = case.others[case.first[end] + at] if at < staying else node.near[end, at - staying]
        if to == stay or case.locked[to]:
            continue
        if case.staying[to] + node.degree[to] >= case.cap:
            continue
        goal = int(np.int64(case.bit[stay, to]))
        if goal == BARRED:
            continue
        link = to if node.parent[to] == end else end
        after = at_hand.rest + gain(node, known, link, mover, goal)
        if cost + after >= at_hand.below:
            continue
        _with(case, table, node, state, slot, (min(stay, to) << 6) | max(stay, to))
        enter(table, node.new, case.width, cost, state, after)


@compiled
def look(case: Case, table: SearchTable, node: Expansion, below: int, states: int) -> int:
    """Look at up to so many states; `below`: plans of fewer slides are what is wanted."""
    most_ways = 2 * case.width * (case.brokers - 1)
    while states > 0:
        if table.control[STATES] + most_ways > len(table.cost):
            return FULL
        if table.control[ENTRIES] + most_ways > len(table.then):
            return FULL
        entry = next_entry(table, below)
        if entry < 0:
            return NONE
        state = int(np.int64(table.state[entry]))
        if table.cost[state] < table.paid[entry]:
            continue  # reached in fewer slides since
        states -= 1
        table.control[LOOKED] += 1
        if spread(case, table, node, state):
            table.control[FOUND] = state
            return DONE
        rest, known = estimate(case, node)
        at_hand = AtHand(state, rest, known, below)
        for at in range(1, case.brokers):
            v = node.order[at]
            if stays_for_good(node, v) or case.locked[v] or case.locked[node.parent[v]]:
                continue
            p, slot, mover = node.parent[v], node.slot[v], node.sums[v]
            _slide_end(case, table, node, at_hand, slot, mover, v, p)
            _slide_end(case, table, node, at_hand, slot, mover, p, v)
    return GOING_ON
