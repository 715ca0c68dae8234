"""Build the program of all plans of T steps, minimising their cost, and read its answer as steps.

Appendix A of the paper, in fewer variables. Per slide a and step t, x(a, t) says that it runs; per
link e and time t between the steps, c(e, t) says that it exists. Then

- c(e, t) = c(e, t-1) + the x that make e - the x that remove it           (equations 2 to 9, 14)
- x of slides that need e + the x that remove e <= c(e, t-1)           (mutual exclusion, 10 to 13)

The paper's y are read off these: predel is what removes e, add what makes it, preadd what needs it,
maintain is c(e, t-1) without predel; del never happens, since a slide requires what it deletes.
Slides (i, j, k) and (i, k, j) share a row of the second kind: both need j-k, and i is linked to j
or to k, not to both, in a tree.

Added for `broker-disjoint`: per broker and step at most one slide. For a maximum degree D
(section V): the links of b before a step and all slides of that step that end at b are at most D,
which is then so in every subset and order of the step.

Source: Salehi et al. appendix A, sections III.D and V.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.model.transformation import Move
from weir.planners.ipitt.rows import Rows
from weir.solvers import BinaryProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import ActionCosts, Options, Steps
    from weir.planners.ipitt.horizon import Ground, Horizon
    from weir.transformation.indexed import Indexed
    from weir.utility import FloatArray

NOWHERE = -1
"""Instead of a column: a constant."""


class Model:
    """Columns: the slides of step 1, of step 2, ..., then the links after step 1, ..., T-1."""

    def __init__(self, of: Ground, within: Horizon, options: Options, prices: FloatArray) -> None:
        self._of, self._within, self._options = of, within, options
        self.steps = len(within.slides)
        self._first = np.cumsum([0, *(len(chosen) for chosen in within.slides)])
        self.slides = int(self._first[-1])
        column = self.slides
        self._links = np.full((self.steps + 1, len(of.fixed)), NOWHERE, dtype=np.int64)
        for t in range(1, self.steps):
            free = np.flatnonzero(within.links[t] & ~of.fixed)
            self._links[t, free] = np.arange(column, column + len(free))
            column += len(free)
        self.columns = column
        self._prices = prices

    def program(self, *, ask: Callable[[], None], most_terms: int | None = None) -> BinaryProgram:
        """The rows. `ask` is called now and then and may raise.

        Raises TooLarge where they have more coefficients than `most_terms`.
        """
        rows = Rows(most_terms)
        for t in range(1, self.steps + 1):
            self._links_change(rows, t)
            ask()
            self._slides_exclude(rows, t)
            ask()
            if self._options.parallel == "broker-disjoint":
                self._brokers_take_turns(rows, t)
            if self._options.max_degree is not None:
                self._degrees(rows, t, self._options.max_degree)
            ask()
        rows.expect(0)
        cost = np.zeros(self.columns)
        cost[: self.slides] = self._prices[np.concatenate(self._within.slides)]
        matrix, least, most = rows.stacked(self.columns)
        return BinaryProgram(cost=cost, matrix=matrix, least=least, most=most)

    def _of_step(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = self._within.slides[t - 1]
        return chosen, self._first[t - 1] + np.arange(len(chosen))

    def _known(self, t: int, links: np.ndarray) -> FloatArray:
        """Return the constant part of the links at time t (today's tree or goal); 0 where free."""
        if 0 < t < self.steps:
            return np.zeros(len(links))
        tree = self._of.initial if t == 0 else self._of.goal
        there: FloatArray = tree[links].astype(np.float64)
        return there

    def _links_change(self, rows: Rows, t: int) -> None:
        chosen, x = self._of_step(t)
        free = ~self._of.fixed
        links = np.flatnonzero((self._within.links[t - 1] | self._within.links[t]) & free)
        row = rows.new(len(links), of=links, among=len(free))
        rows.put(row, self._links[t, links], 1.0)
        rows.put(row, self._links[t - 1, links], -1.0)
        rows.put(rows.row_of(self._of.makes[chosen]), x, -1.0)
        rows.put(rows.row_of(self._of.removes[chosen]), x, 1.0)
        change = self._known(t - 1, links) - self._known(t, links)
        rows.limit(change, change)

    def _slides_exclude(self, rows: Rows, t: int) -> None:
        chosen, x = self._of_step(t)
        needs, removes = self._of.needs[chosen], self._of.removes[chosen]
        loose = ~self._of.fixed[needs]
        size = len(self._of.fixed)
        pairs, place = np.unique(
            self._of.slides.i[chosen][loose].astype(np.int64) * size + needs[loose],
            return_inverse=True,
        )
        unneeded = np.setdiff1d(removes, needs[loose])
        links = np.concatenate([pairs % size, unneeded])
        row = rows.new(len(links))
        rows.put(row[place], x[loose], 1.0)
        # Each row holds, besides, all slides that remove its link.
        order = np.argsort(removes, kind="stable")
        begin = np.searchsorted(removes[order], links, side="left")
        length = np.searchsorted(removes[order], links, side="right") - begin
        rows.expect(int(length.sum()))
        skip = np.repeat(begin - np.cumsum(length) + length, length)
        rows.put(np.repeat(row, length), x[order[skip + np.arange(length.sum())]], 1.0)
        rows.put(row, self._links[t - 1, links], -1.0)
        rows.limit(np.full(len(links), -np.inf), self._known(t - 1, links))

    def _brokers_take_turns(self, rows: Rows, t: int) -> None:
        chosen, x = self._of_step(t)
        slides = self._of.slides
        row = rows.new(self._of.brokers)
        for who in (slides.i, slides.j, slides.k):
            rows.put(row[who[chosen]], x, 1.0)
        rows.limit(np.full(len(row), -np.inf), np.ones(len(row)))

    def _degrees(self, rows: Rows, t: int, most: int) -> None:
        chosen, x = self._of_step(t)
        n = self._of.brokers
        row = rows.new(n)
        rows.put(row[self._of.slides.k[chosen]], x, 1.0)
        links = np.flatnonzero(self._within.links[t - 1])
        room = np.full(n, float(most))
        there = np.where(self._of.fixed[links], 1.0, self._known(t - 1, links))
        for end in (links // n, links % n):
            rows.put(row[end], self._links[t - 1, links], 1.0)
            room -= np.bincount(end, weights=there, minlength=n)
        rows.limit(np.full(n, -np.inf), room)

    def plan(self, values: np.ndarray, names: Indexed) -> Steps:
        """Return the steps of an answer, without empty ones."""
        steps = []
        for t in range(1, self.steps + 1):
            chosen, x = self._of_step(t)
            run = self._of.slides.only(chosen[values[x]])
            step = tuple(
                Move(op="shift", broker=names.names[i], source=names.names[j], to=names.names[k])
                for i, j, k in zip(run.i.tolist(), run.j.tolist(), run.k.tolist(), strict=True)
            )
            steps.append(step)
        return tuple(step for step in steps if step)

    def point(self, steps: Steps, names: Indexed) -> np.ndarray | None:
        """Return the column values of a plan of slides; None where it does not fit."""
        if len(steps) > self.steps:
            return None
        n = self._of.brokers
        values = np.zeros(self.columns, dtype=bool)
        links = self._of.initial.copy()
        for t in range(1, self.steps + 1):
            chosen, x = self._of_step(t)
            place = dict(zip(self._keys(chosen).tolist(), x.tolist(), strict=True))
            for move in steps[t - 1] if t <= len(steps) else ():
                if move.op != "shift" or move.source is None or move.to is None:
                    return None
                i, j, k = (names.number[b] for b in (move.broker, move.source, move.to))
                column = place.get((i * n + j) * n + k)
                if column is None:
                    return None
                values[column] = True
                links[min(i, j) * n + max(i, j)] = False
                links[min(i, k) * n + max(i, k)] = True
            columns = self._links[t]
            free = columns != NOWHERE
            values[columns[free]] = links[free]
        return values

    def _keys(self, chosen: np.ndarray) -> np.ndarray:
        n, slides = self._of.brokers, self._of.slides.only(chosen)
        keys: np.ndarray = (slides.i.astype(np.int64) * n + slides.j) * n + slides.k
        return keys


def prices(of: Ground, costs: ActionCosts, names: Indexed) -> FloatArray:
    """Return the price of each slide: the shift, the brokers that take part and the link that it
    makes."""
    n = of.brokers
    broker = np.array([costs.brokers.get(name, 0.0) for name in names.names])
    link = np.zeros(n * n)
    for (a, b), price in costs.links.items():
        if a in names.number and b in names.number:
            i, k = sorted((names.number[a], names.number[b]))
            link[i * n + k] = price
    who = of.slides
    paid: FloatArray = costs.shift + broker[who.i] + broker[who.j] + broker[who.k] + link[of.makes]
    return paid
