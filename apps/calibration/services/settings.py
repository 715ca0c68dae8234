"""Create and change a system's calibration settings; each change is audited."""

from typing import Any

from apps.calibration.models import CalibrationSettings
from apps.systems.models import System
from apps.systems.services import row_for, row_update


def settings_for(system: System) -> CalibrationSettings:
    """Return the system's row; made on demand."""
    return row_for(CalibrationSettings, system)


def settings_update(*, settings: CalibrationSettings, **change: Any) -> CalibrationSettings:
    """Change the given members, as `row_update` does."""
    return row_update(settings=settings, topic="calibration", **change)
