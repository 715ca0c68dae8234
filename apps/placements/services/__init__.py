"""Start the computation of placements."""

from typing import Any

from apps.accounts.models import User
from apps.placements.services.again import placement_again
from apps.placements.services.computation import KIND
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.systems.models import System

__all__ = ["placement_again", "placement_request"]


def placement_request(*, system: System, actor: User | None, **asked: Any) -> Run:
    """Freeze a topic's publishers and open a run on them; `asked` as `computation.freeze` takes
    it."""
    return computation_start(KIND, system=system, actor=actor, **asked)
