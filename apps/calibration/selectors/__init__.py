"""Read calibration: what snapshots use, what a fit is made of, what is in force."""

from apps.calibration.selectors.calibrated import (
    calibrated_problem,
    calibration_stamp,
    settings_of,
)
from apps.calibration.selectors.costs import Cost, CostKey, costs_at, predicted_loads
from apps.calibration.selectors.document import fit_document, offer_minute_sums
from apps.calibration.selectors.measures import measure_of
from apps.calibration.selectors.state import bounds_of, corrections_of, fit_rows

__all__ = [
    "Cost",
    "CostKey",
    "bounds_of",
    "calibrated_problem",
    "calibration_stamp",
    "corrections_of",
    "costs_at",
    "fit_document",
    "fit_rows",
    "measure_of",
    "offer_minute_sums",
    "predicted_loads",
    "settings_of",
]
