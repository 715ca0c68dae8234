"""Appendix A of the paper, letter by letter, as an oracle: nothing is left out.

conn and rem are propositions of their own, one each per pair of brokers. With `is_directed` they
are what the text writes: conn(1, 2) and conn(2, 1) are two, and a slide touches only what it names.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy import sparse

from weir.solvers import BinaryProgram

Link = tuple[int, int]
YS = ("maintain", "preadd", "predel", "add", "del")


class AppendixA:
    """The program of T steps over all slides of `brokers` brokers."""

    def __init__(
        self,
        brokers: int,
        initial: frozenset[Link],
        goal: frozenset[Link],
        steps: int,
        *,
        is_directed: bool = False,
    ) -> None:
        pairs = list(permutations(range(brokers), 2))
        if not is_directed:
            pairs = [pair for pair in pairs if pair[0] < pair[1]]
        self.propositions = [(kind, pair) for kind in ("conn", "rem") for pair in pairs]
        self.actions = list(permutations(range(brokers), 3))
        self.steps = steps

        def name(a: int, b: int) -> Link:
            return (a, b) if is_directed else (min(a, b), max(a, b))

        goal_names = {name(*link) for link in goal}
        pre, add, gone = {}, {}, {}
        for a in self.actions:
            i, j, k = a
            old, pivot, new = name(i, j), name(j, k), name(i, k)
            pre[a] = {("conn", old), ("conn", pivot), ("rem", old)}
            add[a] = {("conn", new)} | ({("rem", new)} if new not in goal_names else set())
            gone[a] = {("conn", old), ("rem", old)}
        self._column: dict[object, int] = {}
        for t in range(1, steps + 1):
            for a in self.actions:
                self._column["x", a, t] = len(self._column)
        for t in range(steps + 1):
            for f in self.propositions:
                for y in YS:
                    self._column[y, f, t] = len(self._column)
        self._rows: list[tuple[dict[int, int], float, float]] = []
        true = {("conn", name(*link)) for link in initial}
        true |= {("rem", name(*link)) for link in initial - goal}
        for f in self.propositions:
            if f in true:
                self._row({("add", f, 0): 1}, 1, 1)
            else:
                self._row({("add", f, 0): 1, ("maintain", f, 0): 1, ("preadd", f, 0): 1}, 0, 0)
        for link in goal_names:
            f = ("conn", link)
            self._row({(y, f, steps): 1 for y in ("add", "maintain", "preadd")}, 1, np.inf)
        for t in range(1, steps + 1):
            for f in self.propositions:
                needs = {a for a in self.actions if f in pre[a]}
                makes = {a for a in self.actions if f in add[a]}
                ends = {a for a in self.actions if f in gone[a]}
                self._tie(t, makes - needs, "add", f)
                self._tie(t, ends - needs, "del", f)
                self._tie(t, needs - ends, "preadd", f)
                both = {("x", a, t): 1 for a in needs & ends}
                self._row(both | {("predel", f, t): -1}, 0, 0)
                rest = ("maintain", "del", "predel")
                self._row({(y, f, t): 1 for y in ("add", *rest)}, -np.inf, 1)
                self._row({(y, f, t): 1 for y in ("preadd", *rest)}, -np.inf, 1)
                now = {(y, f, t): 1 for y in ("preadd", "maintain", "predel")}
                then = {(y, f, t - 1): -1 for y in ("preadd", "add", "maintain")}
                self._row(now | then, -np.inf, 0)

    def _tie(self, t: int, actions: set[tuple[int, ...]], y: str, f: object) -> None:
        column = {("x", a, t): 1 for a in actions}
        self._row(column | {(y, f, t): -1}, 0, np.inf)
        for a in actions:
            self._row({("x", a, t): 1, (y, f, t): -1}, -np.inf, 0)

    def _row(self, terms: dict[object, int], least: float, most: float) -> None:
        self._rows.append(({self._column[c]: v for c, v in terms.items()}, least, most))

    @property
    def variables(self) -> int:
        return len(self._column)

    @property
    def constraints(self) -> int:
        return len(self._rows)

    def program(self) -> BinaryProgram:
        cells = [(r, c, v) for r, (terms, _, _) in enumerate(self._rows) for c, v in terms.items()]
        rows, columns, values = np.array(cells).T
        shape = (len(self._rows), len(self._column))
        cost = np.zeros(self.variables)
        cost[: len(self.actions) * self.steps] = 1.0
        return BinaryProgram(
            cost=cost,
            matrix=sparse.csr_array(
                sparse.coo_array((values.astype(float), (rows, columns)), shape=shape)
            ),
            least=np.array([row[1] for row in self._rows], dtype=float),
            most=np.array([row[2] for row in self._rows], dtype=float),
        )
