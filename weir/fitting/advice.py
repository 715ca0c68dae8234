"""Which operating points are missing, and what they would tell.

For every coefficient that the points do not fix, the corners of what the flow may do are tried:
low and high rate, one consumer and as many as there may be. The best corner is the one that takes
most of the coefficient's variance away: adding a row x to the design M = X'X lowers the variance of
b_j from C_jj to C_jj - c_j^2 / (1 + x'c), c = C x, C = M^-1. Corners above the capacity are
brought down, first in consumers, then in rate, by the larger of old and fitted coefficients, scaled
down together where they predict more than was measured: a model that is far too high must not
forbid the tests that would mend it.

The paper needed "tests with a high rate and few consumers, and tests with a low rate and a large
number of consumers"; this finds which, from what was measured already.

Cost: O(terms^3 + unidentified x corners x terms^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weir.fitting.case import Kind

if TYPE_CHECKING:
    from weir.fitting.case import Case, Term
    from weir.fitting.fit import CaseFit
    from weir.utility import FloatArray

RIDGE = 1e-9
"""Stands for what is known of a direction without any point: next to nothing."""

FULL = 0.95
"""Share of the capacity up to which a test may load a broker."""

LOW_RATE = 0.05
"""Of the highest rate, where a flow may stop altogether."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPoint:
    """Measure this for some minutes. Rates in msg/s, populations in consumers."""

    broker: str
    resource: str
    flow: str
    rate_per_s: float
    consumer_class: str
    """Empty: whoever is there."""
    consumers: int
    tells: tuple[tuple[str, str], ...]
    """(kind, name) of the coefficients that it would fix."""
    sentence: str


def _low(term: Term) -> float:
    return term.rate_min_per_s or LOW_RATE * term.rate_max_per_s


def _corners(case: Case, flow: int, consumers: int | None) -> list[tuple[float, int]]:
    term = case.terms[flow]
    rates = [_low(term), term.rate_max_per_s]
    most = 1 if consumers is None else max(1, case.terms[consumers].population_max)
    return [(rate, n) for rate in rates if rate > 0 for n in sorted({1, most})]


def _row(case: Case, flow: int, consumers: int | None, rate: float, n: int) -> FloatArray:
    """The usual row with this flow at `rate` and its other classes as they usually are."""
    row = np.asarray(case.design.mean(axis=0) if len(case.loads) else np.zeros(len(case.terms)))
    idle = case.column(Kind.IDLE)
    if idle is not None:
        row[idle] = 1.0
    name = case.terms[flow].name
    row[flow] = rate
    for index, term in enumerate(case.terms):
        if term.kind is Kind.CLASS and term.flow == name:
            seen = case.populations(index)
            usual = float(seen.mean()) if len(seen) else 0.0
            row[index] = rate * (n if index == consumers else usual)
    return row


def _fits(
    case: Case, costs: FloatArray, flow: int, consumers: int | None, rate: float, n: int
) -> tuple[float, int] | None:
    """The corner, brought down until the broker can carry it; None when nothing is left."""
    room = FULL * case.capacity
    for _ in range(60):
        if float(costs @ _row(case, flow, consumers, rate, n)) <= room:
            return rate, n
        if n > 1:
            n = max(1, int(0.8 * n))
        elif rate > 1.01 * _low(case.terms[flow]):
            rate = max(_low(case.terms[flow]), 0.8 * rate)
        else:
            return None
    return None


def missing_points(case: Case, fit: CaseFit) -> tuple[MissingPoint, ...]:
    """What to measure next, most telling first; empty when every coefficient is identified."""
    open_ = [
        index
        for index, coefficient in enumerate(fit.coefficients)
        if not coefficient.identified and case.terms[index].kind is not Kind.IDLE
    ]
    if not open_:
        return ()
    lengths = np.sqrt(np.einsum("ij,ij->j", case.design, case.design))
    reach = np.array([_reach(case, term) for term in case.terms])
    scale = np.where(lengths > 0, lengths, np.maximum(reach, 1.0))
    scaled = case.design / scale
    inverse = np.linalg.inv(scaled.T @ scaled + RIDGE * np.eye(len(case.terms)))
    costs = _believed(case, fit)
    found: dict[tuple[str, str, float, int], list[int]] = {}
    for index in open_:
        best = _best(case, costs, inverse, scale, index)
        if best is not None:
            found.setdefault(best, []).append(index)
    return tuple(
        _point(case, key, indexes)
        for key, indexes in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    )


def _believed(case: Case, fit: CaseFit) -> FloatArray:
    """Coefficients that predict no less than what was measured, and at its highest no more."""
    costs = np.array(
        [
            max(term.old or 0.0, found.value)
            for term, found in zip(case.terms, fit.coefficients, strict=True)
        ]
    )
    predicted = float((case.design @ costs).max(initial=0.0))
    measured = float(case.loads.max(initial=0.0))
    return costs * min(1.0, measured / predicted) if predicted > 0 and measured > 0 else costs


def _reach(case: Case, term: Term) -> float:
    if term.kind is Kind.IDLE:
        return 1.0
    flow = case.column(Kind.FLOW, term.flow or term.name)
    rate = case.terms[flow].rate_max_per_s if flow is not None else 1.0
    return rate * (term.population_max if term.kind is Kind.CLASS else 1)


def _best(
    case: Case, costs: FloatArray, inverse: FloatArray, scale: FloatArray, index: int
) -> tuple[str, str, float, int] | None:
    term = case.terms[index]
    flow = case.column(Kind.FLOW, term.name if term.kind is Kind.FLOW else term.flow)
    if flow is None:
        return None
    name = case.terms[flow].name
    own = [i for i, t in enumerate(case.terms) if t.kind is Kind.CLASS and t.flow == name]
    partners: list[int | None] = [index] if term.kind is Kind.CLASS else [*own] or [None]
    best: tuple[float, tuple[str, str, float, int]] | None = None
    for consumers in partners:
        for corner in _corners(case, flow, consumers):
            kept = _fits(case, costs, flow, consumers, *corner)
            if kept is None:
                continue
            x = _row(case, flow, consumers, *kept) / scale
            c = inverse @ x
            gain = float(c[index] ** 2 / ((1.0 + x @ c) * inverse[index, index]))
            label = "" if consumers is None else case.terms[consumers].name
            if best is None or gain > best[0] * (1 + 1e-9):
                best = (gain, (name, label, float(f"{kept[0]:.3g}"), kept[1]))
    return None if best is None else best[1]


def _point(case: Case, key: tuple[str, str, float, int], indexes: list[int]) -> MissingPoint:
    flow, label, rate, n = key
    column = case.column(Kind.FLOW, flow)
    assert column is not None
    rates = case.design[:, column]
    middle = (_low(case.terms[column]) + case.terms[column].rate_max_per_s) / 2
    pace = "a low rate" if rate < middle else "a high rate"
    who = "" if not label else f" with {'few' if n <= 1 else n} consumers of {label}"
    whom = [case.populations(i) for i in indexes if case.terms[i].kind is Kind.CLASS]
    seen = "so far it carried nothing"
    if len(rates) and rates.max() > 0:
        seen = f"so far it was measured {_span(rates, 'msg/s')}"
        if whom and len(whom[0]):
            seen += f" and {_span(whom[0], 'consumers')}"
    return MissingPoint(
        broker=case.broker,
        resource=case.resource,
        flow=flow,
        rate_per_s=rate,
        consumer_class=label,
        consumers=n if label else 0,
        tells=tuple((case.terms[i].kind.value, case.terms[i].name) for i in indexes),
        sentence=f"Measure {flow} at {pace} ({rate:g} msg/s){who}; {seen}.",
    )


def _span(values: FloatArray, unit: str) -> str:
    """Where the values lie; one number where they hardly move."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 0.02 * high:
        return f"only at {high:.3g} {unit}"
    return f"between {low:.3g} and {high:.3g} {unit}"
