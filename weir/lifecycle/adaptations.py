"""The life of a decision to move parts of a bucket.

shrinking --grow--> growing --confirm--> done
    |                  '--give_up--> given_up
    '--give_up--> given_up

Larger parts are asked for by `grow` alone, once brokers have confirmed the smaller ones. What is
given up is safe: nobody holds more than the contract, and the next decision starts from there.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class DecisionState(StrEnum):
    """Name the states of a decision."""

    SHRINKING = "shrinking"
    GROWING = "growing"
    DONE = "done"
    GIVEN_UP = "given_up"


class DecisionCommand(StrEnum):
    """What may happen to a decision."""

    GROW = "grow"
    CONFIRM = "confirm"
    GIVE_UP = "give_up"


_S, _C = DecisionState, DecisionCommand

DECISIONS = Machine(
    "decision",
    {
        _S.SHRINKING: {_C.GROW: _S.GROWING, _C.GIVE_UP: _S.GIVEN_UP},
        _S.GROWING: {_C.CONFIRM: _S.DONE, _C.GIVE_UP: _S.GIVEN_UP},
        _S.DONE: {},
        _S.GIVEN_UP: {},
    },
)
