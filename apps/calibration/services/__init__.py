"""Change calibration: fits, decisions on them, settings, the online loop."""

from typing import Any

from apps.accounts.models import User
from apps.calibration.services.computation import KIND
from apps.calibration.services.decide import fit_apply, fit_discard, fit_undo
from apps.calibration.services.online import calibration_tick
from apps.calibration.services.settings import settings_for, settings_update
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.systems.models import System

__all__ = [
    "calibration_tick",
    "fit_apply",
    "fit_discard",
    "fit_request",
    "fit_undo",
    "settings_for",
    "settings_update",
]


def fit_request(*, system: System, actor: User | None, **asked: Any) -> Run:
    """Freeze telemetry and open a run on it; `asked` as `computation.freeze` takes it."""
    return computation_start(KIND, system=system, actor=actor, **asked)
