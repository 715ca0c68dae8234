"""The life of a change: what a plan opens at ServiceNow or elsewhere, for people there to approve.

opening --open--> open --end--> ending --close--> closed
   |  '--drop--> closed  ^          | '--drop--> closed
   '--end--> ending      '--go_on---'

`end` says how it shall end and waits until the other side has written that down, as `open` waits
until it has made the change. `drop`: the other side has, and will have, no such change. `go_on`:
nothing was sent of the end, and the plan's execution is being rolled back.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class ChangeState(StrEnum):
    """Name the states of a change."""

    OPENING = "opening"
    OPEN = "open"
    ENDING = "ending"
    CLOSED = "closed"


class ChangeCommand(StrEnum):
    """What may happen to a change."""

    OPEN = "open"
    END = "end"
    CLOSE = "close"
    DROP = "drop"
    GO_ON = "go_on"


_S, _C = ChangeState, ChangeCommand

CHANGES = Machine(
    "change",
    {
        _S.OPENING: {_C.OPEN: _S.OPEN, _C.END: _S.ENDING, _C.DROP: _S.CLOSED},
        _S.OPEN: {_C.END: _S.ENDING},
        _S.ENDING: {_C.CLOSE: _S.CLOSED, _C.DROP: _S.CLOSED, _C.GO_ON: _S.OPEN},
        _S.CLOSED: {},
    },
)
