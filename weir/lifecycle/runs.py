"""The life of a run: which command leads from which state to which.

    queued --start--> running --succeed---------> succeeded
      |  ^               | |---find_infeasible--> infeasible
      |  '----retry------' |---fail-------------> failed
      |                    '---cancel-----------> cancelled
      |--cancel--> cancelled
      '--fail----> failed        (it could not be started at all)

`retry` puts a run whose worker died back into the queue. The four last states are final.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class RunState(StrEnum):
    """Name the states of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunCommand(StrEnum):
    """What may happen to a run."""

    START = "start"
    SUCCEED = "succeed"
    FIND_INFEASIBLE = "find_infeasible"
    FAIL = "fail"
    CANCEL = "cancel"
    RETRY = "retry"


class PersonCommand(StrEnum):
    """What a person may ask of a run. `rerun` opens a new run on the same snapshot."""

    CANCEL = "cancel"
    RERUN = "rerun"


_S, _C = RunState, RunCommand

RUNS = Machine(
    "run",
    {
        _S.QUEUED: {_C.START: _S.RUNNING, _C.FAIL: _S.FAILED, _C.CANCEL: _S.CANCELLED},
        _S.RUNNING: {
            _C.SUCCEED: _S.SUCCEEDED,
            _C.FIND_INFEASIBLE: _S.INFEASIBLE,
            _C.FAIL: _S.FAILED,
            _C.CANCEL: _S.CANCELLED,
            _C.RETRY: _S.QUEUED,
        },
        _S.SUCCEEDED: {},
        _S.INFEASIBLE: {},
        _S.FAILED: {},
        _S.CANCELLED: {},
    },
)

ENDED = RUNS.ended
"""States that nothing leaves."""


def allowed_commands(state: RunState) -> tuple[PersonCommand, ...]:
    """What a person may ask of a run in this state."""
    if RunState(state) in ENDED:
        return (PersonCommand.RERUN,)
    return (PersonCommand.CANCEL,)
