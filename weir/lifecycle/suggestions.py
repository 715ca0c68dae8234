"""The life of a suggestion of a correlation key: nothing is decided for ever.

    open --accept--> accepted
      |  <---undo------'
      |--reject--> rejected
         <---undo----'

`accept` gives publishers the key, `undo` takes it back and opens the suggestion again.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class SuggestionState(StrEnum):
    """Name the states of a suggestion."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class SuggestionCommand(StrEnum):
    """What a person may ask of a suggestion."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNDO = "undo"


_S, _C = SuggestionState, SuggestionCommand

SUGGESTIONS = Machine(
    "suggestion",
    {
        _S.OPEN: {_C.ACCEPT: _S.ACCEPTED, _C.REJECT: _S.REJECTED},
        _S.ACCEPTED: {_C.UNDO: _S.OPEN},
        _S.REJECTED: {_C.UNDO: _S.OPEN},
    },
)
