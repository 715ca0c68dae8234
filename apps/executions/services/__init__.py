"""Start executions, take people's commands, advance everything."""

from apps.executions.services.commands import (
    execution_hold,
    execution_pause,
    execution_resume,
    execution_roll_back,
    execution_start,
    execution_stop,
    executions_tick,
)

__all__ = [
    "execution_hold",
    "execution_pause",
    "execution_resume",
    "execution_roll_back",
    "execution_start",
    "execution_stop",
    "executions_tick",
]
