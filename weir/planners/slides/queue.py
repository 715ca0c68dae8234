"""A plan as a queue that is worked through from its head, with a list per broker.

Slides are numbered places of arrays. `stamp` gives their order; what replaces a window goes to
the front, with stamps below all others, so every list stays sorted without a search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Masks = NDArray[np.uint64]

HEAD, TAIL, FREE, FRONT_STAMP, DONE, WAITING = range(6)
"""Places of `control`: first and last waiting slide, free places, the lowest stamp, slides done,
slides waiting."""


class Queue(NamedTuple):
    """Hold the arrays of a sweep over a plan: the doubly linked queue, the lists per broker and the
    current tree."""

    control: Ints
    slides: Int32s  # (places, 3): broker, source, to
    stamp: Ints
    after: Int32s
    before: Int32s
    free: Int32s
    first: Int32s  # per broker: place * 3 + which of the three it is, or -1
    next: Int32s  # per place * 3 + part
    previous: Int32s
    done: Int32s  # (places, 3): slides that the sweep has passed
    parent: Ints  # the tree before the head
    degree: Ints
    local: Int32s  # per broker: its number in the window at hand, or -1
    broker: Ints  # per number in the window


def empty_queue(brokers: int, places: int) -> Queue:
    """Allocate a queue of `places` slides for an overlay of `brokers` brokers."""
    return Queue(
        control=np.zeros(8, np.int64),
        slides=np.zeros((places, 3), np.int32),
        stamp=np.zeros(places, np.int64),
        after=np.full(places, -1, np.int32),
        before=np.full(places, -1, np.int32),
        free=np.zeros(places, np.int32),
        first=np.full(brokers, -1, np.int32),
        next=np.full(3 * places, -1, np.int32),
        previous=np.full(3 * places, -1, np.int32),
        done=np.zeros((places, 3), np.int32),
        parent=np.zeros(brokers, np.int64),
        degree=np.zeros(brokers, np.int64),
        local=np.full(brokers, -1, np.int32),
        broker=np.zeros(64, np.int64),
    )


@compiled
def fill(queue: Queue, plan: Int32s, parent: Ints, degree: Ints) -> None:
    """Load a whole plan; `parent` and `degree` describe the tree before its first slide."""
    places = len(queue.stamp)
    queue.parent[:] = parent
    queue.degree[:] = degree
    queue.first[:] = -1
    queue.control[HEAD] = queue.control[TAIL] = -1
    queue.control[FREE] = places
    queue.control[FRONT_STAMP] = len(plan)
    queue.control[DONE] = queue.control[WAITING] = 0
    for at in range(places):
        queue.free[at] = places - 1 - at
    for at in range(len(plan) - 1, -1, -1):
        push_front(queue, plan[at, 0], plan[at, 1], plan[at, 2])


@compiled
def push_front(queue: Queue, i: int, j: int, k: int) -> None:
    """Insert the slide i, j, k at the head of the queue and of its brokers' lists."""
    control = queue.control
    control[FREE] -= 1
    s = queue.free[control[FREE]]
    queue.slides[s, 0], queue.slides[s, 1], queue.slides[s, 2] = i, j, k
    control[FRONT_STAMP] -= 1
    queue.stamp[s] = control[FRONT_STAMP]
    head = control[HEAD]
    queue.before[s] = -1
    queue.after[s] = head
    if head >= 0:
        queue.before[head] = s
    else:
        control[TAIL] = s
    control[HEAD] = s
    for part in range(3):
        b = queue.slides[s, part]
        node = 3 * s + part
        old = queue.first[b]
        queue.next[node] = old
        queue.previous[node] = -1
        if old >= 0:
            queue.previous[old] = node
        queue.first[b] = node
    control[WAITING] += 1


@compiled
def remove(queue: Queue, s: int) -> None:
    """Remove slide `s` from the queue and from its brokers' lists, and free its place."""
    control = queue.control
    left, right = queue.before[s], queue.after[s]
    if left >= 0:
        queue.after[left] = right
    else:
        control[HEAD] = right
    if right >= 0:
        queue.before[right] = left
    else:
        control[TAIL] = left
    for part in range(3):
        node = 3 * s + part
        left, right = queue.previous[node], queue.next[node]
        if left >= 0:
            queue.next[left] = right
        else:
            queue.first[queue.slides[s, part]] = right
        if right >= 0:
            queue.previous[right] = left
    queue.free[control[FREE]] = s
    control[FREE] += 1
    control[WAITING] -= 1


@compiled
def pass_head(queue: Queue) -> None:
    """Apply the head slide to the tree and move it from the queue to the slides done."""
    s = queue.control[HEAD]
    i, j, k = queue.slides[s, 0], queue.slides[s, 1], queue.slides[s, 2]
    if queue.parent[i] == j:
        queue.parent[i] = k
    else:
        queue.parent[k] = i
        queue.parent[j] = k
    queue.degree[j] -= 1
    queue.degree[k] += 1
    at = queue.control[DONE]
    queue.done[at, 0], queue.done[at, 1], queue.done[at, 2] = i, j, k
    queue.control[DONE] = at + 1
    remove(queue, s)


@compiled
def as_plan(queue: Queue) -> Int32s:
    """Return all slides in order: those done, then those waiting."""
    done = queue.control[DONE]
    plan = np.empty((done + queue.control[WAITING], 3), np.int32)
    plan[:done] = queue.done[:done]
    s = queue.control[HEAD]
    at = done
    while s >= 0:
        plan[at] = queue.slides[s]
        s = queue.after[s]
        at += 1
    return plan
