"""Resource models from measurements: what one message and one consumer cost a broker.

    load(t) = idle + sum_i A_i r_i(t) + sum_j B_j r_i(j)(t) n_j(t)

`records` turns telemetry into cases (one per broker and resource), `fit` finds the coefficients,
`advice` says which operating points are missing, `sizes` covers storage and network, where a
coefficient is a mean size; `correction` and `latency_bound` work online, between two fits.
"""

from weir.fitting.advice import MissingPoint, missing_points
from weir.fitting.case import Case, Kind, Term
from weir.fitting.correction import Correction, CorrectionParams, correct
from weir.fitting.fit import CaseFit, Coefficient, fit_case
from weir.fitting.latency_bound import rate_bound
from weir.fitting.sizes import fit_sizes

__all__ = [
    "Case",
    "CaseFit",
    "Coefficient",
    "Correction",
    "CorrectionParams",
    "Kind",
    "MissingPoint",
    "Term",
    "correct",
    "fit_case",
    "fit_sizes",
    "missing_points",
    "rate_bound",
]
