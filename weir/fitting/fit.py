r"""Non-negative least squares of one case, with intervals.

    minimise ||y - X b||^2   subject to b >= 0

| paper (Bhola 2006, section III.A) | here |
|---|---|
| CPU utilisation of the server | `Case.loads` / capacity |
| A_i, B_j | coefficients of kind flow and class |
| error (constant) term | the idle coefficient, and `residual_sd` |

Without the bound, tests at low rates alone give a negative A (the paper saw it); with it they
give 0 and an interval that says how little was learned.

Columns are divided by their length first, so that A and B, which differ by the number of
consumers, weigh the same in every test of rank. A column that never moved is left out.

Intervals: covariance on the free set (coefficients above 0), robust against load-dependent
noise (HC3), Student's t with points - free terms degrees of freedom. A coefficient at 0 gets [0, u]
with u from the fit in which it is free too. That set is itself an outcome of chance: with columns
that move together, one flow may take the work of others, which end at 0, and look certain. So an
interval reaches at least as far as that of ordinary least squares, where all columns are free.
Where columns cannot be told apart (singular values below RANK of the largest) there is no
interval: `high` is None. All this makes intervals too wide rather than too narrow; coverage is
tested by simulation.

A coefficient is `identified` when its interval is no wider than itself (about +-50 %).

Assumptions: errors of different points are independent. Points come from windows of several
seconds, so that what one window holds back the next does not repay. Errors of the regressors (rates
are counts over a window) are small against their range.

Cost: O(points x terms^2). Fails for nothing a case can hold; `enough` is False below
terms + SPARE points, and then no interval is given.

References:
    C. L. Lawson, R. J. Hanson. Solving Least Squares Problems. 1974, chapter 23.
    J. G. MacKinnon, H. White. Some heteroskedasticity-consistent covariance matrix estimators with
    improved finite sample properties. J. Econometrics 29, 1985. doi:10.1016/0304-4076(85)90158-7
    S. Bhola, M. Astley, R. Saccone, M. Ward. Utility-aware resource allocation in an event
    processing system. ICAC 2006. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from weir.fitting.case import Kind

if TYPE_CHECKING:
    from weir.fitting.case import Case, Term
    from weir.utility import FloatArray

RANK = 1e-7
"""Singular values below this share of the largest count as 0."""

SPARE = 2
"""Points beyond the number of terms that a spread of the residuals needs."""

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One fitted number, in units of the resource per message (idle: per second)."""

    term: Term
    value: float
    low: float
    high: float | None
    """None: the points say nothing about how large it may be."""
    vif: float | None
    """Variance inflation: how much worse the other columns make this one; None is infinite."""
    identified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFit:
    """The fit of one broker and resource."""

    broker: str
    resource: str
    capacity: float
    coefficients: tuple[Coefficient, ...]
    points: int
    enough: bool
    condition: float | None
    """Of the scaled design; None is infinite. Above 1e3 some coefficients are guesses."""
    r_squared: float | None
    residual_sd: float | None
    """Units of the resource per second."""
    measured: FloatArray
    fitted: FloatArray


def _scaled(design: FloatArray) -> tuple[FloatArray, FloatArray, np.ndarray]:
    lengths = np.sqrt(np.einsum("ij,ij->j", design, design))
    moved = lengths > 0
    return design[:, moved] / lengths[moved], lengths, moved


def _spectrum(scaled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Singular values and right vectors; as many of each as there are columns."""
    _, values, rows = np.linalg.svd(scaled, full_matrices=True)
    return np.append(values, np.zeros(scaled.shape[1] - len(values))), rows


def inflation(scaled: FloatArray) -> FloatArray:
    """Variance inflation of every unit column; inf where it is a mixture of the others."""
    values, rows = _spectrum(scaled)
    top = values.max(initial=0.0)
    with np.errstate(divide="ignore"):
        weight = np.where(values > RANK * top, 1.0 / np.maximum(values, 1e-300) ** 2, np.inf)
    share = rows.T**2
    share[share < 1e-16] = 0.0
    with np.errstate(invalid="ignore"):
        terms = share * weight
    return np.asarray(np.where(share > 0, terms, 0.0).sum(axis=1))


def _standard_errors(scaled: FloatArray, residuals: FloatArray) -> FloatArray:
    """HC3 on the columns given, which are linearly independent."""
    inverse = np.linalg.pinv(scaled, rcond=RANK)
    leverage = np.clip(np.einsum("ij,ji->i", scaled, inverse), 0.0, 1 - 1e-9)
    spread = residuals / (1.0 - leverage)
    return np.asarray(np.sqrt(np.einsum("ji,i->j", inverse**2, spread**2)))


def _half_widths(
    scaled: FloatArray, loads: FloatArray, values: FloatArray, confidence: float
) -> FloatArray:
    """Half the interval of every (scaled) coefficient; inf where nothing can be said."""
    points, terms = scaled.shape
    free = values > 0
    residuals = loads - scaled @ values
    widths = np.full(terms, np.inf)

    def of(columns: np.ndarray) -> FloatArray | None:
        chosen = scaled[:, columns]
        spare = points - chosen.shape[1]
        if spare < SPARE or np.any(np.isinf(inflation(chosen))):
            return None
        factor = float(stdtrit(spare, 0.5 + confidence / 2))
        return factor * _standard_errors(chosen, residuals)

    at_free = of(free) if free.any() else None
    if at_free is not None:
        widths[free] = at_free
    for index in np.flatnonzero(~free):
        released = free.copy()
        released[index] = True
        both = of(released)
        if both is not None:
            widths[index] = both[int(released[:index].sum())]
    return widths


def _unbounded(
    scaled: FloatArray, loads: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Ends of the intervals of ordinary least squares, which every column widens; infinite for
    columns that are mixtures of others."""
    points = len(loads)
    inverse = np.linalg.pinv(scaled, rcond=RANK)
    values = inverse @ loads
    rank = int(np.linalg.matrix_rank(scaled, tol=RANK * float(np.linalg.norm(scaled, 2))))
    factor = float(stdtrit(max(1, points - rank), 0.5 + confidence / 2))
    widths = factor * _standard_errors(scaled, loads - scaled @ values)
    widths[np.isinf(inflation(scaled))] = np.inf
    return values - widths, values + widths


def fit_case(case: Case, *, confidence: float = CONFIDENCE) -> CaseFit:
    """Coefficients of one case. The idle load is a coefficient too, if the case has the term."""
    # Whoever only describes fits, as the web server does, need not wait for it.
    from scipy.optimize import nnls

    points = len(case.loads)
    scaled, lengths, moved = _scaled(case.design)
    columns = np.flatnonzero(moved)
    values = np.zeros(len(case.terms))
    lows = np.zeros(len(case.terms))
    highs = np.full(len(case.terms), np.inf)
    factors = np.full(len(case.terms), np.inf)
    condition: float | None = None
    enough = points >= len(columns) + SPARE and bool(len(columns))
    if points and len(columns):
        top = float(np.abs(case.loads).max()) or 1.0
        solved, _ = nnls(scaled, case.loads / top, maxiter=30 * len(columns) + 100)
        solved *= top
        values[columns] = solved / lengths[columns]
        factors[columns] = inflation(scaled)
        spectrum, _ = _spectrum(scaled)
        if spectrum.min() > RANK * spectrum.max():
            condition = float(spectrum.max() / spectrum.min())
        if enough:
            widths = _half_widths(scaled, case.loads, solved, confidence)
            below, above = _unbounded(scaled, case.loads, confidence)
            told = np.isfinite(widths) & np.isfinite(factors[columns])
            low = np.maximum(0.0, np.minimum(solved - widths, below)) / lengths[columns]
            high = np.maximum(solved + widths, above) / lengths[columns]
            lows[columns] = np.where(told, low, 0.0)
            highs[columns] = np.where(told, high, np.inf)
    fitted = case.design @ values
    residuals = case.loads - fitted
    spread = float(np.sum((case.loads - case.loads.mean()) ** 2)) if points else 0.0
    spare = points - int((values > 0).sum())
    return CaseFit(
        broker=case.broker,
        resource=case.resource,
        capacity=case.capacity,
        coefficients=tuple(
            _coefficient(term, float(values[i]), float(lows[i]), float(highs[i]), float(factors[i]))
            for i, term in enumerate(case.terms)
        ),
        points=points,
        enough=enough,
        condition=condition,
        r_squared=1.0 - float(residuals @ residuals) / spread if spread > 0 else None,
        residual_sd=float(np.sqrt(residuals @ residuals / spare)) if spare > 0 else None,
        measured=case.loads,
        fitted=fitted,
    )


def _coefficient(term: Term, value: float, low: float, high: float, vif: float) -> Coefficient:
    known = np.isfinite(high)
    if term.kind is Kind.IDLE:
        identified = bool(known)
    else:
        identified = bool(known) and value > 0 and high - low <= value
    return Coefficient(
        term=term,
        value=value,
        low=low,
        high=high if known else None,
        vif=vif if np.isfinite(vif) else None,
        identified=identified,
    )
