"""Read runs and the kinds of computation."""

from apps.runs.selectors.computations import (
    JSON,
    Again,
    Answer,
    Computation,
    Question,
    Reading,
    computation_of,
    computations,
    computed_of,
    kind_choices,
    run_explanation,
    schedulable_choices,
    snapshot_type,
)
from apps.runs.selectors.runs import (
    active_run_news,
    run_count_by_state,
    run_news,
    run_note,
    run_rows,
)

__all__ = [
    "JSON",
    "Again",
    "Answer",
    "Computation",
    "Question",
    "Reading",
    "active_run_news",
    "computation_of",
    "computations",
    "computed_of",
    "kind_choices",
    "run_count_by_state",
    "run_explanation",
    "run_news",
    "run_note",
    "run_rows",
    "schedulable_choices",
    "snapshot_type",
]
