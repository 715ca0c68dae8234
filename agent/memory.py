"""How many bytes of messages may wait in this process; what is more waits at the broker or is shed.

One half is for best effort, whose senders nobody can hold back; the other for reliable messages,
which are fetched only while there is room. Counted are payloads and headers from their arrival to
the moment their targets hold them; the process itself and its buffers of sockets come on top.
"""

from __future__ import annotations

from collections.abc import Callable

MIB = 1 << 20
DEFAULT_MIB = 256


class Pool:
    """A bound that is kept by those who ask it; `on_room` calls back once there is room again."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.most = 0
        """The most that was ever used."""
        self._waiting: set[Callable[[], None]] = set()

    @property
    def full(self) -> bool:
        """Whether nothing more should come."""
        return self.used >= self.limit

    @property
    def free(self) -> int:
        """Bytes that may still come."""
        return max(0, self.limit - self.used)

    def take(self, size: int) -> None:
        """So much has come."""
        self.used += size
        if self.used > self.most:
            self.most = self.used

    def give(self, size: int) -> None:
        """So much has gone."""
        self.used -= size
        if self._waiting and self.used < self.limit:
            waiting, self._waiting = self._waiting, set()
            for callback in waiting:
                callback()

    def on_room(self, callback: Callable[[], None]) -> None:
        """Call once when there is room."""
        self._waiting.add(callback)

    def forget(self, callback: Callable[[], None]) -> None:
        """Do not call."""
        self._waiting.discard(callback)


class Memory:
    """What one agent may keep of messages."""

    def __init__(self, limit: int = DEFAULT_MIB * MIB) -> None:
        self.best_effort = Pool(limit // 2)
        self.reliable = Pool(limit // 2)
        self.readers = 0
        """How many sources of reliable messages share the pool."""

    @property
    def used(self) -> int:
        """Bytes that wait here now."""
        return self.best_effort.used + self.reliable.used

    def share(self, largest: int) -> int:
        """Bytes that one reader may ask for at once, so that all answers that are on their way fit;
        but always enough for one message of the `largest` size."""
        return max(largest, self.reliable.free // (2 * max(1, self.readers)))
