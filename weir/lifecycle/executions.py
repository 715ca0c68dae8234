"""The life of an execution: one attempt at an approved plan.

    pending --start--> running --succeed--> succeeded
                        |  ^ '----fail----> failed
                        |  |
         pause: running -> pausing --settle--> paused --resume--> running
         stop:  running, pausing, paused -> stopping --settle--> stopped
         roll_back: running, pausing, paused, stopping -> rolling_back --settle--> rolled_back
                    stopped, failed -> rolling_back; rolling_back --fail--> failed

A command takes effect when the running step has ended: `settle` says so. `succeeded` and
`rolled_back` are final; what succeeded is undone by a new plan.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class ExecutionState(StrEnum):
    """Name the states of an execution."""

    PENDING = "pending"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    ROLLING_BACK = "rolling_back"
    ROLLED_BACK = "rolled_back"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class ExecutionCommand(StrEnum):
    """What may happen to an execution; the second half is the executor's own."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    ROLL_BACK = "roll_back"

    START = "start"
    SETTLE = "settle"
    SUCCEED = "succeed"
    FAIL = "fail"


PERSON_COMMANDS = (
    ExecutionCommand.PAUSE,
    ExecutionCommand.RESUME,
    ExecutionCommand.STOP,
    ExecutionCommand.ROLL_BACK,
)

_S, _C = ExecutionState, ExecutionCommand

EXECUTIONS = Machine(
    "execution",
    {
        _S.PENDING: {_C.START: _S.RUNNING, _C.STOP: _S.STOPPED},
        _S.RUNNING: {
            _C.PAUSE: _S.PAUSING,
            _C.STOP: _S.STOPPING,
            _C.ROLL_BACK: _S.ROLLING_BACK,
            _C.SUCCEED: _S.SUCCEEDED,
            _C.FAIL: _S.FAILED,
        },
        _S.PAUSING: {
            _C.SETTLE: _S.PAUSED,
            _C.RESUME: _S.RUNNING,
            _C.STOP: _S.STOPPING,
            _C.ROLL_BACK: _S.ROLLING_BACK,
            _C.SUCCEED: _S.SUCCEEDED,
            _C.FAIL: _S.FAILED,
        },
        _S.PAUSED: {
            _C.RESUME: _S.RUNNING,
            _C.STOP: _S.STOPPED,
            _C.ROLL_BACK: _S.ROLLING_BACK,
        },
        _S.STOPPING: {
            _C.SETTLE: _S.STOPPED,
            _C.ROLL_BACK: _S.ROLLING_BACK,
            _C.SUCCEED: _S.SUCCEEDED,
            _C.FAIL: _S.FAILED,
        },
        _S.STOPPED: {_C.ROLL_BACK: _S.ROLLING_BACK},
        _S.ROLLING_BACK: {_C.SETTLE: _S.ROLLED_BACK, _C.FAIL: _S.FAILED},
        _S.ROLLED_BACK: {},
        _S.SUCCEEDED: {},
        _S.FAILED: {_C.ROLL_BACK: _S.ROLLING_BACK},
    },
)

ACTIVE = frozenset({_S.PENDING, _S.RUNNING, _S.PAUSING, _S.PAUSED, _S.STOPPING, _S.ROLLING_BACK})
"""Still holds its system: no other execution of the same system may begin."""
