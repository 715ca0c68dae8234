"""Bound the bytes of messages in this process; further messages wait at the broker or are shed.

One half is for best effort, whose publishers cannot be slowed down; the other is for reliable
messages, which are fetched only while there is room. Payloads and headers count from their arrival
until their targets hold them; the process itself and its socket buffers come on top.
"""

from __future__ import annotations

from collections.abc import Callable

MIB = 1 << 20
DEFAULT_MIB = 256


class Pool:
    """Count bytes against a limit that its users check; `on_room` calls back once there is room
    again."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.most = 0
        """The largest number of bytes that was ever used."""
        self._waiting: set[Callable[[], None]] = set()

    @property
    def full(self) -> bool:
        """Return whether the limit is reached."""
        return self.used >= self.limit

    @property
    def free(self) -> int:
        """Return the number of bytes that may still be taken."""
        return max(0, self.limit - self.used)

    def take(self, size: int) -> None:
        """Count this many bytes as used."""
        self.used += size
        if self.used > self.most:
            self.most = self.used

    def give(self, size: int) -> None:
        """Count this many bytes as free again."""
        self.used -= size
        if self._waiting and self.used < self.limit:
            waiting, self._waiting = self._waiting, set()
            for callback in waiting:
                callback()

    def on_room(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when there is room."""
        self._waiting.add(callback)

    def forget(self, callback: Callable[[], None]) -> None:
        """Cancel a callback of `on_room`."""
        self._waiting.discard(callback)


class Memory:
    """Bound the messages that one agent may hold."""

    def __init__(self, limit: int = DEFAULT_MIB * MIB) -> None:
        self.best_effort = Pool(limit // 2)
        self.reliable = Pool(limit // 2)
        self.readers = 0
        """The number of reliable sources that share the pool."""

    @property
    def used(self) -> int:
        """Return the bytes of messages in this process now."""
        return self.best_effort.used + self.reliable.used

    def share(self, largest: int) -> int:
        """Return the bytes that one reader may request at once, so that all pending answers fit,
        but always enough for one message of the `largest` size."""
        return max(largest, self.reliable.free // (2 * max(1, self.readers)))
