"""An agent with one of its safeguards taken out, so that one can see the chaos run see it.

python -m tests.chaos --without pause|positions|waiting
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from agent.__main__ import main
from agent.drivers.nats.stream_writer import StreamWriter
from agent.pump import Pump
from agent.router import Router


def pause() -> None:
    """Participants of a shift go on reading."""

    def go_on(*_: Any) -> None:
        return

    Router.pause = go_on  # type: ignore[method-assign]
    Router.hold = go_on  # type: ignore[method-assign]


def positions() -> None:
    """Nobody asks what a stream holds already."""

    async def nothing(*_: Any) -> int:
        return 0

    StreamWriter._position = nothing  # type: ignore[method-assign]


def waiting() -> None:
    """Sources let go before the targets hold."""
    hand_on = Pump._hand_on

    async def settle_first(self: Pump, batch: Any) -> None:
        await self._driver.settle(batch)
        await hand_on(self, batch)

    Pump._hand_on = settle_first  # type: ignore[method-assign]


SAFEGUARDS: dict[str, Callable[[], None]] = {
    "pause": pause,
    "positions": positions,
    "waiting": waiting,
}


if __name__ == "__main__":
    SAFEGUARDS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
