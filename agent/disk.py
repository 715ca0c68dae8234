"""What the state directory asks of a disk: replace a whole file so that it survives a power cut."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol


class Disk(Protocol):
    """One agent's directory; every method blocks and raises OSError."""

    @property
    def place(self) -> str:
        """How people call it, for sentences."""
        ...

    def read(self, name: str) -> bytes | None:
        """The whole file; None when there is none."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """After any crash the file holds all of `data` once this has returned; while it runs, and
        when it raises, `data` or what was there before. Raises when the directory was given back.
        """
        ...

    def close(self) -> None:
        """Give the directory back; idempotent."""
        ...


Worker = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs what blocks without holding up the event loop; one call at a time."""


class InUse(OSError):
    """Another process has the directory."""


class FileDisk:
    """A directory of the file system, this process's alone while this object is open."""

    def __init__(self, directory: Path) -> None:
        """Takes the directory. Raises OSError; InUse when another process has it."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise InUse(error.errno, "in use by another agent") from error

    @property
    def place(self) -> str:
        return str(self.directory)

    def read(self, name: str) -> bytes | None:
        try:
            return (self.directory / name).read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, name: str, data: bytes) -> None:
        if self._lock < 0:  # the directory may be another process's by now
            raise OSError(errno.EBADF, "it was given back")
        # Beside, flushed, renamed, the name flushed: each step alone leaves old or new.
        path = self.directory / name
        new = path.with_name(name + ".new")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(new, path)
        folder = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class ThreadWorker:
    """One thread, begun with the first work."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._over = False

    async def __call__(self, work: Callable[[], None]) -> None:
        if self._over:
            raise OSError(errno.EBADF, "nothing is written any more")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="state")
        await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Wait for what is being written; what waits for its turn is not written."""
        self._over = True
        pool, self._pool = self._pool, None
        if pool is not None:
            with contextlib.suppress(RuntimeError):
                pool.shutdown(wait=True)
