"""Compiled: slides in the earliest steps that their dependencies and their brokers allow.

Two slides depend on each other where one removes or makes a link that the other touches, and with
a maximum degree where they have a broker in common. Others that share a broker run in different
steps, in either order: that freedom is what a row of slides packed in its order leaves unused. A
slide takes the first step in which its three brokers are free; then the plan is pushed against its
end and back against its beginning, which never makes it longer (forward-backward improvement).

References
----------
K. Y. Li, R. J. Willis: An iterative scheduling technique for resource-constrained project
scheduling. European Journal of Operational Research 56 (1992).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Flags = NDArray[np.bool_]


@compiled
def _depends(plan: Int32s, s: int, t: int) -> bool:
    """Whether one of two slides removes or makes a link that the other touches."""
    i, j, k = plan[s, 0], plan[s, 1], plan[s, 2]
    a, b, c = plan[t, 0], plan[t, 1], plan[t, 2]
    if (i == a and (j in (b, c) or k in (b, c))) or (i in (b, c) and a in (j, k)):
        return True  # both write the link
    if (i == b and c in (j, k)) or (i == c and b in (j, k)):
        return True  # s writes what t slides along
    return bool((a == j and k in (b, c)) or (a == k and j in (b, c)))


@compiled
def dependencies(plan: Int32s, brokers: int, by_broker: bool) -> tuple[Ints, Int32s]:
    """Per slide those before it that it waits for: places into the second array, and that."""
    count = len(plan)
    first = np.zeros(count + 1, np.int64)
    waits = np.empty(16 * count + 16, np.int32)
    latest = np.full(brokers, -1, np.int64)
    chain = np.full(3 * count, -1, np.int64)
    used = 0
    for t in range(count):
        for part in range(3):
            b = plan[t, part]
            # a link that both touch ends at i or j of this slide: k's own list need not be read
            node = latest[b] if part < 2 or by_broker else -1
            while node >= 0:
                s = node // 3
                if by_broker or _depends(plan, s, t):
                    if used == len(waits):
                        more = np.empty(2 * used, np.int32)
                        more[:used] = waits
                        waits = more
                    waits[used] = s
                    used += 1
                    if by_broker:
                        break
                node = chain[node]
            chain[3 * t + part] = latest[b]
        for part in range(3):
            latest[plan[t, part]] = 3 * t + part
        first[t + 1] = used
    return first, waits


@compiled
def _free(busy: Flags, plan: Int32s, s: int, at: int) -> bool:
    return not (busy[plan[s, 0], at] or busy[plan[s, 1], at] or busy[plan[s, 2], at])


@compiled
def _forth(plan: Int32s, first: Ints, waits: Int32s, order: Ints, busy: Flags, step: Ints) -> int:
    """Each slide, in `order`, in the first step it may have; the number of steps."""
    busy[:] = False
    steps = 0
    for s in order:
        at = 0
        for n in range(first[s], first[s + 1]):
            at = max(at, step[waits[n]] + 1)
        while not _free(busy, plan, s, at):
            at += 1
        for part in range(3):
            busy[plan[s, part], at] = True
        step[s] = at
        steps = max(steps, at + 1)
    return steps


@compiled
def _back(
    plan: Int32s, first: Ints, waits: Int32s, order: Ints, busy: Flags, step: Ints,
    steps: int,
) -> None:  # fmt: skip
    """Each slide, last of `order` first, in the last step it may have."""
    busy[:] = False
    last = np.full(len(plan), steps - 1, np.int64)
    for n in range(len(plan) - 1, -1, -1):
        s = order[n]
        at = last[s]
        while not _free(busy, plan, s, at):
            at -= 1
        for part in range(3):
            busy[plan[s, part], at] = True
        step[s] = at
        for w in range(first[s], first[s + 1]):
            last[waits[w]] = min(last[waits[w]], at - 1)


@compiled
def _in_order(step: Ints, steps: int) -> Ints:
    """The slides by rising step, those of a step as they stand (a counting sort)."""
    place = np.zeros(steps + 1, np.int64)
    for s in range(len(step)):
        place[step[s] + 1] += 1
    for at in range(steps):
        place[at + 1] += place[at]
    order = np.empty(len(step), np.int64)
    for s in range(len(step)):
        order[place[step[s]]] = s
        place[step[s]] += 1
    return order


@compiled
def ordered(
    plan: Int32s, brokers: int, by_broker: bool, horizon: int, step: Ints
) -> tuple[int, Ints]:
    """The step of each slide goes to `step`; (number of steps, the slides by rising step).

    `horizon`: steps that the slides take at most when packed in their order.
    """
    first, waits = dependencies(plan, brokers, by_broker)
    busy = np.zeros((brokers, horizon + 1), np.bool_)
    steps = _forth(plan, first, waits, np.arange(len(plan)), busy, step)
    order = _in_order(step, steps)
    for _ in range(2):
        _back(plan, first, waits, order, busy, step, steps)
        order = _in_order(step, steps)
        steps = _forth(plan, first, waits, order, busy, step)
        order = _in_order(step, steps)
    return steps, order
