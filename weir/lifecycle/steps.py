"""The life of a step and of the actions that run together in it.

step:    pending --begin--> in_progress --complete--> completed
                                |  '--bury--> dead
                                '--abort--> aborting --settle--> aborted, --bury--> dead
         pending --skip--> aborted

action:  pending --prepare--> preparing --commit--> committed --finish--> done
            ^                    |                      '--bury--> dead
            |                    '--abort--> aborting --settle--> aborted
            '------- retry ------------------------------------------'
         pending --skip--> aborted
         pending, preparing, aborting, aborted --adopt--> committed
         committed, dead --revert--> aborted

`adopt` and `revert` follow what participants have done by a person's decision, or before the
database was set back; see `weir.coordination.coordinator`.

`commit` is the point of no return: before it an action can only end as if it had never been,
after it only as done. `dead` needs a person: an agent that never answered after the commit.
A completed step may hold aborted actions only if it is itself aborted; every `done` action of an
aborted step stays valid and is undone only by a rollback.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class StepState(StrEnum):
    """Name the states of a step."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    ABORTING = "aborting"
    ABORTED = "aborted"
    DEAD = "dead"


class StepCommand(StrEnum):
    """What may happen to a step."""

    BEGIN = "begin"
    COMPLETE = "complete"
    ABORT = "abort"
    SETTLE = "settle"
    BURY = "bury"
    SKIP = "skip"


class ActionState(StrEnum):
    """Name the states of an action."""

    PENDING = "pending"
    PREPARING = "preparing"
    COMMITTED = "committed"
    DONE = "done"
    ABORTING = "aborting"
    ABORTED = "aborted"
    DEAD = "dead"


class ActionCommand(StrEnum):
    """What may happen to an action."""

    PREPARE = "prepare"
    COMMIT = "commit"
    FINISH = "finish"
    ABORT = "abort"
    SETTLE = "settle"
    RETRY = "retry"
    BURY = "bury"
    SKIP = "skip"
    ADOPT = "adopt"
    REVERT = "revert"


_S, _C = StepState, StepCommand

STEPS = Machine(
    "step",
    {
        _S.PENDING: {_C.BEGIN: _S.IN_PROGRESS, _C.SKIP: _S.ABORTED},
        _S.IN_PROGRESS: {
            _C.COMPLETE: _S.COMPLETED,
            _C.ABORT: _S.ABORTING,
            _C.BURY: _S.DEAD,
        },
        _S.ABORTING: {_C.SETTLE: _S.ABORTED, _C.BURY: _S.DEAD},
        _S.COMPLETED: {},
        _S.ABORTED: {},
        _S.DEAD: {},
    },
)

_A, _D = ActionState, ActionCommand

ACTIONS = Machine(
    "action",
    {
        _A.PENDING: {
            _D.PREPARE: _A.PREPARING,
            _D.SKIP: _A.ABORTED,
            _D.ADOPT: _A.COMMITTED,
        },
        _A.PREPARING: {
            _D.COMMIT: _A.COMMITTED,
            _D.ABORT: _A.ABORTING,
            _D.ADOPT: _A.COMMITTED,
        },
        _A.COMMITTED: {_D.FINISH: _A.DONE, _D.BURY: _A.DEAD, _D.REVERT: _A.ABORTED},
        _A.ABORTING: {_D.SETTLE: _A.ABORTED, _D.ADOPT: _A.COMMITTED},
        _A.ABORTED: {_D.RETRY: _A.PENDING, _D.ADOPT: _A.COMMITTED},
        _A.DONE: {},
        _A.DEAD: {_D.FINISH: _A.DONE, _D.REVERT: _A.ABORTED},
    },
)
