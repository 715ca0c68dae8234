"""Everything that changes calibration: fits, decisions on them, settings, the online loop."""

from apps.calibration.services.decide import fit_apply, fit_discard, fit_undo
from apps.calibration.services.fits import fit_request, fit_solve, fit_store
from apps.calibration.services.online import calibration_tick
from apps.calibration.services.settings import settings_for, settings_update

__all__ = [
    "calibration_tick",
    "fit_apply",
    "fit_discard",
    "fit_request",
    "fit_solve",
    "fit_store",
    "fit_undo",
    "settings_for",
    "settings_update",
]
