"""The life of an import that runs in the background: which command leads from which state to which.

    queued --start--> running --succeed--> succeeded
      |  ^               | |---refuse----> refused
      |  '----retry------' |---fail------> failed
      |                    '---cancel----> cancelled
      '--cancel--> cancelled

`refuse` ends an import whose lines are wrong, with nothing changed; `retry` puts one whose worker
died back into the queue. The four last states are final.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class ImportState(StrEnum):
    """Name the states of an import."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ImportCommand(StrEnum):
    """What may happen to an import; people give `cancel` alone."""

    START = "start"
    SUCCEED = "succeed"
    REFUSE = "refuse"
    FAIL = "fail"
    CANCEL = "cancel"
    RETRY = "retry"


_S, _C = ImportState, ImportCommand

IMPORTS = Machine(
    "import",
    {
        _S.QUEUED: {_C.START: _S.RUNNING, _C.CANCEL: _S.CANCELLED},
        _S.RUNNING: {
            _C.SUCCEED: _S.SUCCEEDED,
            _C.REFUSE: _S.REFUSED,
            _C.FAIL: _S.FAILED,
            _C.CANCEL: _S.CANCELLED,
            _C.RETRY: _S.QUEUED,
        },
        _S.SUCCEEDED: {},
        _S.REFUSED: {},
        _S.FAILED: {},
        _S.CANCELLED: {},
    },
)
