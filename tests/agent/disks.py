"""Disks for tests: one that forgets in a power cut what was not flushed, one that can be full."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.disk import FileDisk


class PowerCut(BaseException):
    """The machine has no power any more."""


class ForgetfulSystem:
    """In place of `os` in `agent.disk`: a file system that keeps exactly what POSIX promises.

    The bytes of a file are safe once the file was flushed, a name once its directory was; before
    that a name may be safe or not, as the disk likes. `after` cuts the power after so many calls.
    """

    def __init__(self, after: int | None = None) -> None:
        self.calls = 0
        self._after = after
        self._bytes: dict[int, bytes] = {}
        self._safe_bytes: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        self._safe_names: dict[str, int] = {}
        self._open: dict[int, int | None] = {}
        self._next = 3

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _call(self) -> None:
        if self._after is not None and self.calls >= self._after:
            raise PowerCut
        self.calls += 1

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        self._call()
        self._next += 1
        inode: int | None = None
        if flags & os.O_CREAT:
            inode = self._names.setdefault(str(path), self._next)
            if flags & os.O_TRUNC or inode not in self._bytes:
                self._bytes[inode] = b""
        self._open[self._next] = inode
        return self._next

    def write(self, file: int, data: bytes) -> int:
        self._call()
        inode = self._open[file]
        assert inode is not None
        # Never all at once: a caller that does not look at the answer loses the rest.
        part = bytes(data[: max(1, len(data) // 2)])
        self._bytes[inode] += part
        return len(part)

    def fsync(self, file: int) -> None:
        self._call()
        inode = self._open[file]
        if inode is None:
            self._safe_names = dict(self._names)
        else:
            self._safe_bytes[inode] = self._bytes[inode]

    def replace(self, old: Path, new: Path) -> None:
        self._call()
        self._names[str(new)] = self._names.pop(str(old))

    def close(self, file: int) -> None:
        del self._open[file]

    def possible(self, path: Path) -> set[bytes | None]:
        """What the file may hold after a power cut now."""
        return {
            None if inode is None else self._safe_bytes.get(inode, b"")
            for inode in (self._safe_names.get(str(path)), self._names.get(str(path)))
        }


class FullableDisk(FileDisk):
    """A directory whose disk is full while `full` says so for the file that is written."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.full: Callable[[str, bytes], bool] = lambda name, data: False
        self.refused = 0

    def replace(self, name: str, data: bytes) -> None:
        if self.full(name, data):
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().replace(name, data)
