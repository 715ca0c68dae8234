"""Change studies: ask for them, and store what their running jobs send."""

from typing import Any

from apps.accounts.models import User
from apps.runs.services.computations import computation_start
from apps.studies.models import Study
from apps.studies.services.check import study_check
from apps.studies.services.computation import KIND
from apps.studies.services.edit import study_delete, study_rename
from apps.studies.services.receive_points import study_points_receive
from apps.systems.models import System

__all__ = ["study_check", "study_delete", "study_points_receive", "study_rename", "study_start"]


def study_start(*, system: System, actor: User | None, **asked: Any) -> Study:
    """Freeze a model and open a run on it; `asked` as `computation.freeze` takes it."""
    run = computation_start(KIND, system=system, actor=actor, **asked)
    return Study.objects.get(run=run)
