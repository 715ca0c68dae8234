"""The life of a delivery: one event for one webhook.

waiting --take--> delivered
   |  '--give_up--> given_up

Both ends lead back by `repeat`: a person sends it once more, as the same message.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class DeliveryState(StrEnum):
    """Name the states of a delivery."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


class DeliveryCommand(StrEnum):
    """What may happen to a delivery."""

    TAKE = "take"
    GIVE_UP = "give_up"
    REPEAT = "repeat"


_S, _C = DeliveryState, DeliveryCommand

DELIVERIES = Machine(
    "delivery",
    {
        _S.WAITING: {
            _C.TAKE: _S.DELIVERED,
            _C.GIVE_UP: _S.GIVEN_UP,
            _C.REPEAT: _S.WAITING,
        },
        _S.DELIVERED: {_C.REPEAT: _S.WAITING},
        _S.GIVEN_UP: {_C.REPEAT: _S.WAITING},
    },
)
