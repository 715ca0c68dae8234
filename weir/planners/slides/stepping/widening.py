"""Compiled: from each kept state several randomly filled steps, each result valued and named."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weir.compiled import compiled, compiled_inside
from weir.planners.slides.bits import scrambled
from weir.planners.slides.stepping.crossings import State, Worths, survey
from weir.planners.slides.stepping.filling import Choice, Rules, fill


class States(NamedTuple):
    """The fields of `State` for S states at once, one after the other along the first axis."""

    ends: np.ndarray
    """(S, L, 2) int32"""
    rows: np.ndarray
    """(S, L, W) uint64"""
    length: np.ndarray
    """(S, G) int32"""
    fixed: np.ndarray
    """(S, G) bool"""
    room: np.ndarray
    """(S, B) int32"""


class Children(NamedTuple):
    """The S states after a step, as many for each state before it, and the steps themselves."""

    states: States
    taken: np.ndarray
    """(S, G, 3) int32: the slides (i, j, k) of the step."""
    counts: np.ndarray
    """(S,) int32: how many these are."""
    left: np.ndarray
    """(S,) what is left to do after the step, valued."""
    names: np.ndarray
    """(S,) int64: a number that equal trees share."""
    still: np.ndarray
    """(S,) int32: goal links that are still missing."""


@compiled
def sow(seed: int) -> None:
    """Seed the generator of the compiled code."""
    np.random.seed(seed)


@compiled_inside
def _rest(state: State, worths: Worths) -> float:
    """How much is left to do: the worth of all open ways, links and brokers."""
    loads = survey(state, worths.bundle)
    left = 0.0
    for g in range(state.length.shape[0]):
        left += worths.pull[state.length[g]]
    for f in range(state.ends.shape[0]):
        left += worths.link_share * worths.bundle[loads.crossing[f]]
    if worths.load_share > 0:
        for b in range(state.room.shape[0]):
            left += worths.load_share * loads.broker[b] ** worths.load_power
    return left


@compiled_inside
def _name_of(state: State) -> int:
    """A number that equal trees share, whichever link is where."""
    name = np.uint64(0)
    brokers = state.room.shape[0]
    for f in range(state.length.shape[0]):
        a, b = state.ends[f, 0], state.ends[f, 1]
        name += scrambled(np.uint64(min(a, b) * brokers + max(a, b)))
    return int(np.int64(name))


@compiled_inside
def _copied(now: States, b: int, then: States, at: int) -> State:
    """Copy a state to its place among those after the step, and return it."""
    then.ends[at] = now.ends[b]
    then.rows[at] = now.rows[b]
    then.length[at] = now.length[b]
    then.fixed[at] = now.fixed[b]
    then.room[at] = now.room[b]
    return State(then.ends[at], then.rows[at], then.length[at], then.fixed[at], then.room[at])


@compiled
def widen(
    now: States, first: int, last: int, rules: Rules, worths: Worths, rest: Worths, choice: Choice,
    out: Children,
) -> None:  # fmt: skip
    """Fill steps from each of the states first..last-1; the results go to their rows of `out`.

    `rest` values what is left after the step. The first child of a state is filled without chance.
    """
    children = out.counts.shape[0] // now.length.shape[0]
    for b in range(first, last):
        for c in range(children):
            at = b * children + c
            state = _copied(now, b, out.states, at)
            own = Choice(
                choice.noise if c else 0.0,
                choice.skip * np.random.random() if c else 0.0,
                choice.least if c else 1e-9,
                choice.hitch,
            )
            out.counts[at] = fill(state, rules, worths, own, out.taken[at])
            out.left[at] = _rest(state, rest)
            out.names[at] = _name_of(state)
            out.still[at] = 0
            for g in range(state.length.shape[0]):
                if state.length[g] > 1:
                    out.still[at] += 1
