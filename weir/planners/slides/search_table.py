"""Hold what an exact search has seen: states, the way to each, and those still to be examined.

A state is where the links that go are now, each as low broker * 64 + high broker, ascending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Int16s = NDArray[np.int16]
    Codes = NDArray[np.uint16]

STATES, ENTRIES, LEVEL, LOOKED, FOUND = 0, 1, 2, 3, 4
"""Places of `control`: states and entries in the table, the least cost + estimate of what is open
(no plan has fewer slides), states looked at, the goal's state."""

FNV, FNV_PRIME, S29 = np.uint64(1469598103934665603), np.uint64(1099511628211), np.uint64(29)


class SearchTable(NamedTuple):
    """What was seen, in arrays that one search after the other can use."""

    links: Codes  # (states, width): where the links are, low broker * 64 + high broker, ascending
    table: Int32s  # a hash table of states; -1: free
    cost: Int16s  # per state: slides so far
    came: Int32s  # per state: the state before it
    head: Int32s  # (cost + estimate, estimate): the newest open entry; -1: none
    then: Int32s  # per entry: the next one of the same value
    state: Int32s  # per entry
    paid: Int16s  # per entry: the state's cost when it was entered
    control: Ints


def new_table(states: int, width: int, most: int) -> SearchTable:
    """Allocate a table for so many states and for plans of fewer than `most` slides."""
    size = 1 << max(4, int(2 * states - 1).bit_length())
    return SearchTable(
        links=np.empty((states, width), np.uint16),
        table=np.full(size, -1, np.int32),
        cost=np.empty(states, np.int16),
        came=np.empty(states, np.int32),
        head=np.full((most + 1, most + 1), -1, np.int32),
        then=np.empty(2 * states, np.int32),
        state=np.empty(2 * states, np.int32),
        paid=np.empty(2 * states, np.int16),
        control=np.zeros(8, np.int64),
    )


@compiled_inside
def place_of(table: SearchTable, links: Codes, width: int) -> tuple[int, int]:
    """Return the number of the state with these links, or -1, and its slot in the hash table."""
    value = FNV
    for at in range(width):
        value = (value ^ np.uint64(links[at])) * FNV_PRIME
        value ^= value >> S29
    last = len(table.table) - 1
    place = int(np.int64(value & np.uint64(last)))
    while True:
        state = int(np.int64(table.table[place]))
        if state < 0:
            return -1, place
        same = True
        for at in range(width):
            if table.links[state, at] != links[at]:
                same = False
                break
        if same:
            return state, place
        place = (place + 1) & last


@compiled_inside
def enter(table: SearchTable, links: Codes, width: int, cost: int, came: int, rest: int) -> None:
    """Record a way to a state, unless one as short is known."""
    state, place = place_of(table, links, width)
    if state < 0:
        state = table.control[STATES]
        table.control[STATES] += 1
        for at in range(width):
            table.links[state, at] = links[at]
        table.table[place] = state
    elif table.cost[state] <= cost:
        return
    table.cost[state] = cost
    table.came[state] = came
    entry = table.control[ENTRIES]
    table.control[ENTRIES] += 1
    table.state[entry] = state
    table.paid[entry] = cost
    value = max(cost + rest, table.control[LEVEL])
    table.then[entry] = table.head[value, rest]
    table.head[value, rest] = entry


@compiled
def open_table(table: SearchTable, links: Codes, width: int) -> None:
    """Begin with the links where they are; forget what was in the table."""
    table.table[:] = -1
    table.head[:] = -1
    table.control[:] = 0
    enter(table, links, width, 0, -1, 0)


@compiled
def moved_to(table: SearchTable, larger: SearchTable, width: int) -> None:
    """Copy everything into a table with more room."""
    states, entries = table.control[STATES], table.control[ENTRIES]
    larger.links[:states] = table.links[:states]
    larger.cost[:states] = table.cost[:states]
    larger.came[:states] = table.came[:states]
    larger.then[:entries] = table.then[:entries]
    larger.state[:entries] = table.state[:entries]
    larger.paid[:entries] = table.paid[:entries]
    larger.head[:] = table.head
    larger.control[:] = table.control
    for state in range(states):
        _, place = place_of(larger, larger.links[state], width)
        larger.table[place] = state


@compiled_inside
def next_entry(table: SearchTable, below: int) -> int:
    """Take the best open entry, or -1 where all others lead to no plan below the limit."""
    while table.control[LEVEL] < below:
        level = table.control[LEVEL]
        for rest in range(level + 1):
            entry = int(np.int64(table.head[level, rest]))
            if entry >= 0:
                table.head[level, rest] = table.then[entry]
                return entry
        table.control[LEVEL] += 1
    return -1


@compiled
def slides_to(table: SearchTable, width: int, state: int, out: Ints) -> int:
    """The slides (stays, from, to) that lead to a state, into `out`; how many."""
    size = int(np.int64(table.cost[state]))
    for at in range(size - 1, -1, -1):
        before = int(np.int64(table.came[state]))
        gone, made = 0, 0
        x, y = 0, 0
        while x < width or y < width:  # both ascend
            if y == width or (x < width and table.links[before, x] < table.links[state, y]):
                gone = int(np.int64(table.links[before, x]))
                x += 1
            elif x == width or table.links[before, x] > table.links[state, y]:
                made = int(np.int64(table.links[state, y]))
                y += 1
            else:
                x += 1
                y += 1
        a, b, c, d = gone >> 6, gone & 63, made >> 6, made & 63
        stays = a if a in (c, d) else b
        out[at, 0] = stays
        out[at, 1] = a + b - stays
        out[at, 2] = c + d - stays
        state = before
    return size
