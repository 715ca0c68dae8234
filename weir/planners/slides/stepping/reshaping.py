"""Compiled: a plan reshaped window by window, so that its busiest brokers take part in less.

With disjoint brokers no plan has fewer steps than its busiest broker has slides, and a plan put in
order by `ordering` comes close to that. So some slides on a few brokers are planned anew, where a
broker costs the more, the busier it is in the plan at hand; the result is kept if the plan got
shorter or its busy brokers less busy, now and then also if it got a little worse (annealing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.beam import MAX_LEVELS
from weir.planners.slides.bits import chance
from weir.planners.slides.evaluate import busy_steps
from weir.planners.slides.queue import Queue, as_plan, fill, pass_head
from weir.planners.slides.stepping.ordering import ordered
from weir.planners.slides.window import Bench, Draw, Ground, close, gather, new_bench, replan

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
    brokers: int = 24
    """Brokers of a window, at most."""
    heat: float = 1.0
    """By how many steps' worth a plan may get worse, on the average."""


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


@compiled_inside
def _judged(
    plan: Int32s, brokers: int, by_broker: bool, taste: Taste, load: Floats
) -> tuple[Int32s, int, float]:
    """The plan by rising step, its steps and its strain; `load` is written anew."""
    step = np.zeros(len(plan), np.int64)
    steps, order = ordered(plan, brokers, by_broker, busy_steps(brokers, plan), step)
    loads_of(plan, load)
    return plan[order], steps, strain(plan, steps, load, taste)


@compiled_inside
def _busy_place(plan: Int32s, load: Floats, random: Masks) -> int:
    """A place of the plan, mostly one whose slide needs a busy broker."""
    busiest = load.max()
    at = 0
    for _try in range(8):
        at = int(np.int64(chance(random) * len(plan)))
        if chance(random) < 0.2:
            break
        if max(load[plan[at, 0]], load[plan[at, 1]], load[plan[at, 2]]) > 0.75 * busiest:
            break
    return at


@compiled_inside
def _price_brokers(ground: Ground, taste: Taste, load: Floats, random: Masks) -> None:
    """Make busy brokers dear."""
    busiest = load.max()
    for b in range(len(load)):
        ground.broker_price[b] = (
            taste.price * (load[b] / busiest) ** taste.price_power * (0.5 + chance(random))
        )


@compiled_inside
def _replanned(queue: Queue, ground: Ground, bench: Bench, taste: Taste, random: Masks) -> bool:
    """Plan the window at the head of the queue anew; whether another way was found."""
    most = 6 + int(np.int64(chance(random) * (taste.brokers - 5)))
    eager = 1.0 if chance(random) < 0.5 else 0.3 + 0.7 * chance(random)
    slides = 3 * taste.brokers - 6
    count, inside = gather(queue, bench, ground.by_broker, most, slides, eager, random)
    length = -1
    if count >= 2:
        beta = 0.25 + 0.7 * chance(random)
        width = 4 << int(np.int64(chance(random) * 4))
        slack = taste.slack * chance(random)
        draw = Draw(beta, width, slack, chance(random) < 0.5)
        length, _saved = replan(queue, ground, bench, count, inside, True, draw, random)
    close(queue, bench, count, inside, length)
    return length >= 0


@compiled
def reshape(
    queue: Queue, ground: Ground, parent: Ints, degree: Ints, plan: Int32s, windows: int,
    taste: Taste, random: Masks,
) -> tuple[Int32s, Int32s, int]:  # fmt: skip
    """Re-plan `windows` windows: (plan at hand, the one of fewest steps, these steps).

    `parent` and `degree` are those of the tree before the plan.
    """
    brokers = len(parent)
    bench = new_bench()
    load, other_load = np.zeros(brokers), np.zeros(brokers)
    plan, steps, value = _judged(plan, brokers, ground.by_broker, taste, load)
    best, best_steps = plan, steps
    for _ in range(windows):
        places = 2 * len(plan) + MAX_LEVELS
        if places > len(queue.stamp):
            break
        fill(queue, plan, parent, degree)
        for _pass in range(_busy_place(plan, load, random)):
            pass_head(queue)
        _price_brokers(ground, taste, load, random)
        if not _replanned(queue, ground, bench, taste, random):
            continue
        other, steps, other_value = _judged(
            as_plan(queue), brokers, ground.by_broker, taste, other_load
        )
        if other_value <= value - taste.heat * np.log(max(chance(random), 1e-12)):
            plan, value = other, other_value
            load[:] = other_load
            if steps < best_steps or (steps == best_steps and len(plan) < len(best)):
                best, best_steps = plan, steps
    ground.broker_price[:] = 0.0
    return plan, best, best_steps
