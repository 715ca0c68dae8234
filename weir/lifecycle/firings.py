"""The life of a firing: a schedule came due or a trigger's condition held, so it is computed again.

waiting --start--> computing --finish--> done
   |  |                |
   |  '--merge--> merged
   '----fail---------- '--fail--> failed

At most one firing of a system waits and one computes. `merge`: another one waits already, so this
one is remembered with it, once. `done` covers every outcome that nobody needs to mend, also that
there was nothing to change.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class FiringState(StrEnum):
    """Name the states of a firing."""

    WAITING = "waiting"
    COMPUTING = "computing"
    DONE = "done"
    MERGED = "merged"
    FAILED = "failed"


class FiringCommand(StrEnum):
    """What may happen to a firing."""

    START = "start"
    MERGE = "merge"
    FINISH = "finish"
    FAIL = "fail"


_S, _C = FiringState, FiringCommand
FIRINGS = Machine(
    "firing",
    {
        _S.WAITING: {_C.START: _S.COMPUTING, _C.MERGE: _S.MERGED, _C.FAIL: _S.FAILED},
        _S.COMPUTING: {_C.FINISH: _S.DONE, _C.FAIL: _S.FAILED},
        _S.DONE: {},
        _S.MERGED: {},
        _S.FAILED: {},
    },
)
