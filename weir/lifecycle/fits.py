"""The life of a fit: from what was found in telemetry to what became of it.

    proposed --apply--> applied --undo--> undone
       '------discard------> discarded

`apply` writes coefficients into the model, `undo` puts the costs back that it replaced. A fit that
was undone or discarded stays so; another one is found in newer telemetry.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class FitState(StrEnum):
    """Name the states of a fit."""

    PROPOSED = "proposed"
    APPLIED = "applied"
    UNDONE = "undone"
    DISCARDED = "discarded"


class FitCommand(StrEnum):
    """What a person may ask of a fit."""

    APPLY = "apply"
    DISCARD = "discard"
    UNDO = "undo"


_S, _C = FitState, FitCommand

FITS = Machine(
    "fit",
    {
        _S.PROPOSED: {_C.APPLY: _S.APPLIED, _C.DISCARD: _S.DISCARDED},
        _S.APPLIED: {_C.UNDO: _S.UNDONE},
        _S.UNDONE: {},
        _S.DISCARDED: {},
    },
)
