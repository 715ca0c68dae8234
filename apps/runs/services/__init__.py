"""The life of a run. Every transition is made here, under the row's lock, with its event row."""

from apps.runs.services.runs import (
    CancelWasAsked,
    RunTakenAway,
    attempt_of_token,
    progress_token,
    run_again,
    run_cancel,
    run_cancelled,
    run_claim,
    run_fail,
    run_finish,
    run_heartbeat,
    run_lost,
    run_open,
    run_progress,
    runs_reap,
    snapshot_freeze,
)

__all__ = [
    "CancelWasAsked",
    "RunTakenAway",
    "attempt_of_token",
    "progress_token",
    "run_again",
    "run_cancel",
    "run_cancelled",
    "run_claim",
    "run_fail",
    "run_finish",
    "run_heartbeat",
    "run_lost",
    "run_open",
    "run_progress",
    "runs_reap",
    "snapshot_freeze",
]
