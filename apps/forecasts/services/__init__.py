"""Ask for forecasts, and keep them."""

from apps.accounts.models import User
from apps.forecasts.services.computation import KIND
from apps.forecasts.services.hourly import forecasts_start
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.systems.models import System

__all__ = ["forecast_request", "forecasts_start"]


def forecast_request(*, system: System, actor: User | None, engine: str | None = None) -> Run:
    """Freeze the hours that were measured and open a run on them."""
    return computation_start(KIND, system=system, actor=actor, engine=engine)
