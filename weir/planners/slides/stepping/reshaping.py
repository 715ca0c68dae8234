"""Compiled: a plan reshaped window by window, so that its busiest brokers take part in less.

With disjoint brokers no plan has fewer steps than its busiest broker has slides, and a plan put in
order by `ordering` comes close to that. So some slides on a few brokers are planned anew, where a
broker costs the more, the busier it is in the plan at hand; the result is kept if the plan got
shorter or its busy brokers less busy, now and then also if it got a little worse (annealing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled
from weir.planners.slides.beam import MAX_LEVELS
from weir.planners.slides.bits import chance
from weir.planners.slides.evaluate import busy_steps
from weir.planners.slides.queue import Queue, as_plan, fill, pass_head, push_front, remove
from weir.planners.slides.stepping.ordering import ordered
from weir.planners.slides.window import MAX_TAINT, Ground, gather, replan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Int32s = NDArray[np.int32]
    Masks = NDArray[np.uint64]

NORM = 8.0
"""The load of a plan is that of its brokers in this norm: nearly the busiest one's."""


class Taste(NamedTuple):
    """How plans are judged and how brokers are priced while a window is planned anew."""

    load: float = 0.5
    """What a slide less at the busiest broker is worth, in steps."""
    slide: float = 0.02
    """What a slide less in the whole plan is worth, in steps."""
    price: float = 1.0
    """Price of the busiest broker, in slides."""
    price_power: float = 3.0
    """Another broker costs its share of the busiest one's load to this power."""
    slack: float = 3.0
    """By how much a window may get dearer, at most."""


@compiled
def loads_of(plan: Int32s, load: Floats) -> None:
    """How many slides each broker takes part in."""
    load[:] = 0.0
    for at in range(len(plan)):
        for part in range(3):
            load[plan[at, part]] += 1.0


@compiled
def strain(plan: Int32s, steps: int, load: Floats, taste: Taste) -> float:
    """What a plan is judged by: its steps, how busy its busy brokers are, its slides."""
    busiest = max(1.0, load.max())
    total = 0.0
    for b in range(len(load)):
        if load[b] > 0.3 * busiest:
            total += (load[b] / busiest) ** NORM
    return steps + taste.load * busiest * total ** (1.0 / NORM) + taste.slide * len(plan)


@compiled
def reshape(
    queue: Queue, ground: Ground, parent: Ints, degree: Ints, plan: Int32s, windows: int,
    max_brokers: int, heat: float, taste: Taste, random: Masks,
) -> tuple[Int32s, Int32s, int]:  # fmt: skip
    """Re-plan `windows` windows: (plan at hand, the one of fewest steps, these steps)."""
    brokers = len(parent)
    taken = np.empty(MAX_LEVELS, np.int64)
    cursor = np.empty(64, np.int64)
    tainted = np.empty((MAX_TAINT + 4, 3), np.int64)
    out = np.empty((MAX_LEVELS, 3), np.int64)
    load, other_load = np.zeros(brokers), np.zeros(brokers)
    step = np.zeros(len(plan), np.int64)
    steps, order = ordered(plan, brokers, ground.by_broker, busy_steps(brokers, plan), step)
    plan = plan[order]
    loads_of(plan, load)
    value = strain(plan, steps, load, taste)
    best, best_steps = plan, steps
    for _ in range(windows):
        places = 2 * len(plan) + MAX_LEVELS
        if places > len(queue.stamp):
            break
        fill(queue, plan, parent, degree)
        busiest = load.max()
        at = 0
        for _try in range(8):
            at = int(np.int64(chance(random) * len(plan)))
            if chance(random) < 0.2:
                break
            if max(load[plan[at, 0]], load[plan[at, 1]], load[plan[at, 2]]) > 0.75 * busiest:
                break
        for _pass in range(at):
            pass_head(queue)
        for b in range(brokers):
            ground.broker_price[b] = (
                taste.price * (load[b] / busiest) ** taste.price_power * (0.5 + chance(random))
            )
        most = 6 + int(np.int64(chance(random) * (max_brokers - 5)))
        eager = 1.0 if chance(random) < 0.5 else 0.3 + 0.7 * chance(random)
        count, inside = gather(
            queue, ground.by_broker, most, 3 * max_brokers - 6, eager, random, taken, cursor,
            tainted,
        )  # fmt: skip
        length = -1
        if count >= 2:
            beta = 0.25 + 0.7 * chance(random)
            width = 4 << int(np.int64(chance(random) * 4))
            slack = taste.slack * chance(random)
            length, _saved = replan(
                queue, ground, True, count, inside, taken, beta, width, slack,
                chance(random) < 0.5, random, out,
            )  # fmt: skip
        if length >= 0:
            for at in range(count):
                remove(queue, taken[at])
            for at in range(length - 1, -1, -1):
                push_front(
                    queue, queue.broker[out[at, 0]], queue.broker[out[at, 1]],
                    queue.broker[out[at, 2]],
                )  # fmt: skip
        for at in range(inside):
            queue.local[queue.broker[at]] = -1
        if length < 0:
            continue
        other = as_plan(queue)
        step = np.zeros(len(other), np.int64)
        other_steps, order = ordered(
            other, brokers, ground.by_broker, busy_steps(brokers, other), step
        )
        loads_of(other, other_load)
        other_value = strain(other, other_steps, other_load, taste)
        if other_value <= value - heat * np.log(max(chance(random), 1e-12)):
            plan, value = other[order], other_value
            load[:] = other_load
            if other_steps < best_steps or (other_steps == best_steps and len(plan) < len(best)):
                best, best_steps = plan, other_steps
    ground.broker_price[:] = 0.0
    return plan, best, best_steps
