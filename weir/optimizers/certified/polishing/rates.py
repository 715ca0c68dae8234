"""The best rates at given populations: a concave problem, solved through its prices.

max sum W_i(r_i) subject to A(n) r <= 1 (rows in shares of capacity) and the rate bounds. The
dual is convex and smooth, but for straight pieces of W; a projected Newton method with a line
search finds the prices. Rates are then drawn in so that every row fits, and what is left is
given out: the answer is feasible at any moment, and the dual value bounds it from above.

Where W has straight pieces, rates at given prices are not unique: proximal terms pull them
towards the last answer, and the problem is solved again until its bound is met.

Cost: one pass over the entries per iteration, plus M^3 / 6 for up to DENSE_ROWS congested rows;
beyond that conjugate gradients. Fails: never infeasible; may stop short of the optimum on
degenerate linear problems, the gap then says by how much.

References:
    D. P. Bertsekas. Projected Newton methods for optimization problems with simple
    constraints. SIAM J. Control Optim. 20(2), 1982. doi:10.1137/0320018
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.optimizers.certified.polishing.grid import Grid, Point
from weir.optimizers.certified.polishing.newton import direction
from weir.optimizers.certified.polishing.response import best_rate, marginal, worth
from weir.utility import FloatArray

MAX_HALVINGS = 30
ARMIJO = 1e-4
RESIDUAL = 1e-13
"""Prices are found once loads are within this share of capacity."""

PROXIMAL_ROUNDS = 40
PULL = 1e-3
"""First strength of the pull, in mean slopes of the flow over its range."""

HEADROOM = 2.0
"""A flow's cap is this multiple of what it could have alone: at the cap itself the load would
not yield to the price, and Newton's method would see a wall where there is a row."""

MOST_VISITS = 1e7
"""Terms and entries that one solution may look at: a fifth of a second, roughly. Larger problems
go on from the same prices and rates when they are asked again."""

FEWEST_LOOKS = 20.0

GAP = 1e-12
"""Rates are the best once their utility is this close to the bound, relative to it."""


class Concave(NamedTuple):
    """The problem of the best rates at given populations. Sizes as in `Grid`."""

    coef: FloatArray
    """E: share of capacity per message."""
    weight: FloatArray
    """T: consumers times scale."""
    top: FloatArray
    """F: msg/s that no flow can exceed."""
    pull: FloatArray
    """F: strength of the pull towards the anchor, utility per (msg/s) squared; 0: none."""
    anchor: FloatArray
    """F: msg/s."""


class Answer(NamedTuple):
    """Prices and what follows from them. Sizes as in `Grid`."""

    price: FloatArray
    """M: worth of all of each row's capacity."""
    rate: FloatArray
    """F: the best msg/s of each flow."""
    yielding: FloatArray
    """F: by how much the rate falls when a message gets dearer."""
    slack: FloatArray
    """M: limit minus load, in shares of capacity."""


@compiled
def refresh(grid: Grid, point: Point) -> None:
    """Compute the entries and term weights at these populations."""
    population, coef, weight = point.population, point.coef, point.weight
    coef[:] = grid.entry_base
    weight[:] = 0.0
    for j in range(len(population)):
        if population[j] > 0.0:
            weight[grid.class_term[j]] += population[j] * grid.at.scale[j]
            for k in range(grid.part_entry.shape[1]):
                if grid.part_entry[j, k] >= 0:
                    coef[grid.part_entry[j, k]] += population[j] * grid.part_cost[j, k]


@compiled_inside
def tops(grid: Grid, coef: FloatArray, top: FloatArray) -> bool:
    """A rate that each flow cannot exceed, however little the others take.

    False if the minimum rates do not fit.
    """
    least = np.zeros(len(grid.limit))
    for i in range(len(top)):
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            least[grid.entry_row[e]] += coef[e] * grid.at.rate_min[i]
    for m in range(len(least)):
        if least[m] > grid.limit[m] * (1.0 + 1e-14):
            return False
    for i in range(len(top)):
        low = grid.at.rate_min[i]
        top[i] = grid.high[i]
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            if coef[e] > 0.0:
                m = grid.entry_row[e]
                room = max(grid.limit[m] - least[m], 0.0)
                top[i] = min(top[i], low + HEADROOM * room / coef[e])
    return True


@compiled_inside
def at_prices(grid: Grid, task: Concave, answer: Answer) -> float:
    """Set every flow's best rate; return the value of the (proximal) dual function."""
    coef, weight, pull, anchor = task.coef, task.weight, task.pull, task.anchor
    price, rate = answer.price, answer.rate
    total = np.sum(price * grid.limit)
    for i in range(len(rate)):
        cost = 0.0
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            cost += coef[e] * price[grid.entry_row[e]]
        low, top = grid.at.rate_min[i], task.top[i]
        r, answer.yielding[i] = best_rate(grid, weight, i, cost, low, top, pull[i], anchor[i])
        rate[i] = r
        total += worth(grid, weight, i, r) - cost * r
        if pull[i] > 0.0:
            total -= 0.5 * pull[i] * (r - anchor[i]) ** 2
    return total


@compiled
def slack_of(grid: Grid, coef: FloatArray, rate: FloatArray, slack: FloatArray) -> None:
    """Limit minus load of every row."""
    slack[:] = grid.limit
    for i in range(len(rate)):
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            slack[grid.entry_row[e]] -= coef[e] * rate[i]


@compiled_inside
def _residual(price: FloatArray, slack: FloatArray) -> float:
    """Measure how far prices and slacks are from complementary, in shares of capacity."""
    largest = 0.0
    for m in range(len(price)):
        largest = max(largest, price[m])
    worst = 0.0
    for m in range(len(price)):
        if slack[m] < 0.0:
            worst = max(worst, -slack[m])
        elif largest > 0.0:
            worst = max(worst, min(slack[m], price[m] / largest))
    return worst


@compiled_inside
def _descend(
    grid: Grid, task: Concave, answer: Answer, target: float, iterations: int, looks: float
) -> tuple[float, float]:
    """Projected Newton on the prices; the dual value reached and how many looks are left.

    Ends early at or below `target`, and once all flows were asked `looks` times.
    """
    price, rate, yielding, slack = answer.price, answer.rate, answer.yielding, answer.slack
    flows, rows = len(rate), len(price)
    new = Answer(np.zeros(rows), np.zeros(flows), np.zeros(flows), np.zeros(rows))
    value = at_prices(grid, task, answer)
    slack_of(grid, task.coef, rate, slack)
    residual = _residual(price, slack)
    looks -= 1.0
    for _ in range(iterations):
        if residual <= RESIDUAL or value <= target or looks <= 0.0:
            break
        step = direction(grid, task.coef, price, slack, rate, yielding, abs(value))
        length = 1.0
        moved = False
        for _ in range(MAX_HALVINGS):
            promised = 0.0
            for m in range(rows):
                new.price[m] = max(0.0, price[m] + length * step[m])
                promised += slack[m] * (new.price[m] - price[m])
            new_value = at_prices(grid, task, new)
            looks -= 1.0
            slack_of(grid, task.coef, new.rate, new.slack)
            new_residual = _residual(new.price, new.slack)
            falls = promised < 0.0 and new_value <= value + ARMIJO * promised
            level = new_value <= value + 1e-13 * abs(value) and new_residual <= 0.9 * residual
            if falls or level:
                moved = True
            if moved or looks <= 0.0:
                break
            length *= 0.5
        if not moved:
            break
        price[:] = new.price
        rate[:] = new.rate
        yielding[:] = new.yielding
        slack[:] = new.slack
        value, residual = new_value, new_residual
    return value, looks


@compiled_inside
def draw_in(grid: Grid, coef: FloatArray, rate: FloatArray, slack: FloatArray) -> None:
    """Make every row fit: each flow keeps the smallest share above its minimum on its way."""
    slack_of(grid, coef, rate, slack)
    over = False
    for m in range(len(slack)):
        if slack[m] < 0.0:
            over = True
    if not over:
        return
    least = grid.limit.copy()
    for i in range(len(rate)):
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            least[grid.entry_row[e]] -= coef[e] * grid.at.rate_min[i]
    for i in range(len(rate)):
        keep = 1.0
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            m = grid.entry_row[e]
            if slack[m] < 0.0 and coef[e] > 0.0:
                keep = min(keep, max(least[m], 0.0) / (least[m] - slack[m]))
        low = grid.at.rate_min[i]
        rate[i] = low + keep * (rate[i] - low)
    slack_of(grid, coef, rate, slack)


@compiled_inside
def give_out(grid: Grid, task: Concave, rate: FloatArray, slack: FloatArray) -> None:
    """Grow rates into the capacity that is left, flow by flow."""
    coef, weight, top = task.coef, task.weight, task.top
    for i in range(len(rate)):
        room = top[i] - rate[i]
        for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
            if coef[e] > 0.0:
                room = min(room, slack[grid.entry_row[e]] / coef[e])
        if room > 1e-15 * rate[i] and marginal(grid, weight, i, rate[i]) > 0.0:
            rate[i] += room
            for e in range(grid.entry_start[i], grid.entry_start[i + 1]):
                slack[grid.entry_row[e]] -= coef[e] * room


@compiled_inside
def utility_of(grid: Grid, weight: FloatArray, rate: FloatArray) -> float:
    """Return the sum of W over the flows."""
    total = 0.0
    for i in range(len(rate)):
        total += worth(grid, weight, i, rate[i])
    return total


@compiled_inside
def _pulls(grid: Grid, weight: FloatArray, top: FloatArray) -> tuple[FloatArray, bool]:
    """How strongly flows with straight pieces are pulled at first, and whether any is."""
    pull = np.zeros(len(top))
    is_kinky = False
    for i in range(len(top)):
        if grid.is_kinky[i] and top[i] > grid.at.rate_min[i]:
            low = grid.at.rate_min[i]
            rise = worth(grid, weight, i, top[i]) - worth(grid, weight, i, low)
            pull[i] = PULL * max(rise, 0.0) / (top[i] - low) ** 2
            is_kinky = is_kinky or pull[i] > 0.0
    return pull, is_kinky


@compiled_inside
def _pulled_rates(
    grid: Grid, task: Concave, answer: Answer, rate: FloatArray, target: float, iterations: int,
    looks: float,
) -> tuple[float, float]:  # fmt: skip
    """As `best_rates`, where rates are pulled towards the last answer; the best go to `rate`."""
    coef, anchor, trial, slack = task.coef, task.anchor, answer.rate, answer.slack
    plain = Concave(coef, task.weight, task.top, np.zeros(len(rate)), anchor)
    trial[:] = anchor
    draw_in(grid, coef, trial, slack)
    give_out(grid, task, trial, slack)
    rate[:] = trial
    best, bound = utility_of(grid, task.weight, rate), np.inf
    for _ in range(PROXIMAL_ROUNDS):
        bound = min(bound, at_prices(grid, plain, answer))
        if bound <= target:
            return -np.inf, bound
        if best >= bound - GAP * abs(bound) or looks <= 0.0:
            break
        _, looks = _descend(grid, task, answer, -np.inf, iterations, looks - 1.0)
        draw_in(grid, coef, trial, slack)
        give_out(grid, task, trial, slack)
        found = utility_of(grid, task.weight, trial)
        stalled = found <= best + GAP * abs(best)
        if found > best:
            best = found
            rate[:] = trial
        anchor[:] = rate
        if stalled:
            task.pull[:] *= 0.1
    return best, bound


@compiled
def best_rates(grid: Grid, point: Point, target: float, iterations: int) -> tuple[float, float]:
    """The utility of the best rates and its upper bound; price and rate of the point go in and out.

    (-inf, -inf) where the minimum rates do not fit. Where the bound shows that `target` cannot
    be exceeded the search ends there: the first number is then -inf.
    """
    coef, weight, rate = point.coef, point.weight, point.rate
    flows, rows = len(rate), len(point.price)
    top = np.zeros(flows)
    if not tops(grid, coef, top):
        return -np.inf, -np.inf
    anchor = np.minimum(np.maximum(rate, grid.at.rate_min), top)
    pull, is_kinky = _pulls(grid, weight, top)
    task = Concave(coef, weight, top, pull, anchor)
    answer = Answer(point.price, np.zeros(flows), np.zeros(flows), np.zeros(rows))
    looks = max(MOST_VISITS / grid.visits, FEWEST_LOOKS)
    if is_kinky:
        return _pulled_rates(grid, task, answer, rate, target, iterations, looks)
    bound, _ = _descend(grid, task, answer, target, iterations, looks)
    if bound <= target:
        return -np.inf, bound
    draw_in(grid, coef, answer.rate, answer.slack)
    if utility_of(grid, weight, answer.rate) < bound - GAP * abs(bound):
        give_out(grid, task, answer.rate, answer.slack)
    rate[:] = answer.rate
    return utility_of(grid, weight, rate), bound
