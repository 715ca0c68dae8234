"""Read executions and what is in force."""

from apps.executions.selectors.executions import (
    commands_given,
    edges_in_force,
    execution_count_by_state,
    execution_news,
    executions_counted,
    executions_in_full,
    following_of,
    in_force,
    measured_pauses,
    observed_of,
    overtaken_by,
    publishers_left_out,
    value_shown,
    waiting_for,
)

__all__ = [
    "commands_given",
    "edges_in_force",
    "execution_count_by_state",
    "execution_news",
    "executions_counted",
    "executions_in_full",
    "following_of",
    "in_force",
    "measured_pauses",
    "observed_of",
    "overtaken_by",
    "publishers_left_out",
    "value_shown",
    "waiting_for",
]
