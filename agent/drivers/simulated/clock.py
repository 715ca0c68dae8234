"""Run an event loop whose seconds are shorter than real ones."""

from __future__ import annotations

import asyncio
import selectors


class _Hurried(selectors.DefaultSelector):
    """Wait in real seconds when asked to wait in the loop's."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            timeout /= self._speed
        return super().select(timeout)


class HurriedLoop(asyncio.SelectorEventLoop):
    """Shorten all waiting to 1/`speed` of its time, as long as there is processor time left for
    it."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        super().__init__(_Hurried(speed))

    def time(self) -> float:
        return super().time() * self._speed
