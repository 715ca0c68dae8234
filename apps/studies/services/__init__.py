"""Everything that changes studies: asking for them, and what their running jobs send."""

from apps.studies.services.request import (
    study_cancel,
    study_check,
    study_delete,
    study_rename,
    study_rerun,
    study_start,
)
from apps.studies.services.solve import (
    study_points_arrived,
    study_solve,
    study_store,
    study_told,
)

__all__ = [
    "study_cancel",
    "study_check",
    "study_delete",
    "study_points_arrived",
    "study_rename",
    "study_rerun",
    "study_solve",
    "study_start",
    "study_store",
    "study_told",
]
