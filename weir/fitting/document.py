"""A whole system's fit as plain data: model and totals in, one answer per broker and resource out.

`fit_plain` is what one Spark task does for one broker; `answer_of` puts the parts together. Both
engines call the same two, so they agree byte for byte but for the rounding of sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir import __version__
from weir.errors import InvalidProblem
from weir.fitting.advice import missing_points
from weir.fitting.case import Kind
from weir.fitting.fit import fit_case
from weir.fitting.records import Windows, term_of
from weir.fitting.sizes import fit_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weir.fitting.case import Case, Term
    from weir.fitting.fit import CaseFit, Coefficient

FORMAT = 1
MEASURES = ("cpu", "storage", "network")

SHOWN_POINTS = 300
"""Points of the residual plot that an answer keeps, evenly spread over time."""


def model_checked(plain: Any) -> dict[str, Any]:
    """The model line. Raises InvalidProblem naming what is missing."""
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise InvalidProblem("model", f"must be an object with format {FORMAT}")
    cases = plain.get("cases")
    if not isinstance(cases, list):
        raise InvalidProblem("model.cases", "must be a list")
    for index, case in enumerate(cases):
        if not isinstance(case, dict) or case.get("measure") not in MEASURES:
            known = ", ".join(MEASURES)
            raise InvalidProblem(f"model.cases[{index}].measure", f"must be one of {known}")
    window = plain.get("window_s")
    if isinstance(window, bool) or not isinstance(window, int | float) or not window > 0:
        raise InvalidProblem("model.window_s", "must be above 0")
    return plain


def fit_plain(plain: Mapping[str, Any], windows: Windows) -> dict[str, Any]:
    """The answer for one broker and resource."""
    terms = tuple(term_of(term) for term in plain["terms"])
    if plain["measure"] == "cpu":
        case = windows.case(plain, terms)
        fit = fit_case(case)
        return _regression(case, fit)
    return _sizes(plain, terms, windows)


def answer_of(parts: Sequence[Mapping[str, Any]], snapshot_hash: str) -> dict[str, Any]:
    """The whole answer, in one order whoever computed what."""
    rows = sorted(parts, key=lambda part: (part["broker"], part["resource"]))
    return {
        "format": FORMAT,
        "kernel_version": __version__,
        "snapshot_hash": snapshot_hash,
        "cases": rows,
    }


def _coefficient(found: Coefficient) -> dict[str, Any]:
    return {
        "kind": found.term.kind.value,
        "name": found.term.name,
        "flow": found.term.flow,
        "old": found.term.old,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "vif": found.vif,
        "identified": found.identified,
    }


def _regression(case: Case, fit: CaseFit) -> dict[str, Any]:
    every = max(1, -(-fit.points // SHOWN_POINTS))
    before = case.predicted()
    return {
        "broker": fit.broker,
        "resource": fit.resource,
        "measure": "cpu",
        "capacity": fit.capacity,
        "points": fit.points,
        "enough": fit.enough,
        "condition": fit.condition,
        "r_squared": fit.r_squared,
        "residual_sd": fit.residual_sd,
        "coefficients": [_coefficient(found) for found in fit.coefficients],
        "scatter": [
            {
                "measured": float(fit.measured[i]),
                "fitted": float(fit.fitted[i]),
                "before": float(before[i]),
            }
            for i in range(0, fit.points, every)
        ],
        "advice": [
            {
                "flow": point.flow,
                "rate_per_s": point.rate_per_s,
                "consumer_class": point.consumer_class,
                "consumers": point.consumers,
                "tells": [{"kind": kind, "name": name} for kind, name in point.tells],
                "sentence": point.sentence,
            }
            for point in missing_points(case, fit)
        ],
    }


def _sizes(plain: Mapping[str, Any], terms: tuple[Term, ...], windows: Windows) -> dict[str, Any]:
    found = []
    points = 0
    for term in terms:
        if term.kind is Kind.IDLE:
            continue
        sizes, counts = windows.sizes(term.flow)
        points = max(points, len(counts))
        found.append(fit_sizes(term, size_bytes=sizes, messages=counts))
    quiet = [c for c in found if not c.identified and c.term.kind is Kind.FLOW]
    return {
        "broker": plain["broker"],
        "resource": plain["resource"],
        "measure": plain["measure"],
        "capacity": float(plain["capacity"]),
        "points": points,
        "enough": points > 1,
        "condition": None,
        "r_squared": None,
        "residual_sd": None,
        "coefficients": [_coefficient(c) for c in found],
        "scatter": [],
        "advice": [
            {
                "flow": c.term.flow,
                "rate_per_s": c.term.rate_min_per_s or c.term.rate_max_per_s,
                "consumer_class": "",
                "consumers": 0,
                "tells": [{"kind": c.term.kind.value, "name": c.term.name}],
                "sentence": f"Send messages of {c.term.flow} for some minutes; "
                "so far too few were weighed.",
            }
            for c in quiet
        ],
    }
