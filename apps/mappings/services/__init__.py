"""Start the computation of maps."""

from typing import Any

from apps.accounts.models import User
from apps.mappings.services.computation import KIND
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.systems.models import System

__all__ = ["mapping_request"]


def mapping_request(*, system: System, actor: User | None, **asked: Any) -> Run:
    """Freeze a system's flows and who wants them, and open a run on it; `asked` as
    `computation.freeze` takes it."""
    return computation_start(KIND, system=system, actor=actor, **asked)
