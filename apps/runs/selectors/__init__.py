"""Read runs and the kinds of computation."""

from apps.runs.selectors.computations import (
    Again,
    Answer,
    Computation,
    Question,
    computation_of,
    computations,
    computed_of,
    kind_choices,
    schedulable_choices,
)
from apps.runs.selectors.runs import (
    Named,
    active_run_news,
    objects_named,
    run_count_by_state,
    run_infeasibility,
    run_news,
    run_rows,
)

__all__ = [
    "Again",
    "Answer",
    "Computation",
    "Named",
    "Question",
    "active_run_news",
    "computation_of",
    "computations",
    "computed_of",
    "kind_choices",
    "objects_named",
    "run_count_by_state",
    "run_infeasibility",
    "run_news",
    "run_rows",
    "schedulable_choices",
]
