"""What if: edits of a problem, sweeps over them, and schedules of populations through a day.

A study (`Sweep` or `Schedule`) expands into units of cases; `solve_unit` gives a row per case.
All of it is pure: the local engine and the Spark job run the same loop over the same units.
"""

from weir.scenarios.document import repeatable, study_csv, study_document
from weir.scenarios.edits import applied, edit_from_dict, edit_to_dict
from weir.scenarios.engine import solve_unit
from weir.scenarios.expansion import AS_IS, Case, Unit, check, count_cases, expand
from weir.scenarios.spec import Schedule, Study, Sweep, study_from_dict, study_to_dict

__all__ = [
    "AS_IS",
    "Case",
    "Schedule",
    "Study",
    "Sweep",
    "Unit",
    "applied",
    "check",
    "count_cases",
    "edit_from_dict",
    "edit_to_dict",
    "expand",
    "repeatable",
    "solve_unit",
    "study_csv",
    "study_document",
    "study_from_dict",
    "study_to_dict",
]
