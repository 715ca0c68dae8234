"""Replace whole files of the state directory so that they survive a power failure."""

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
    """Store the files of one agent's directory; every method blocks and raises OSError."""

    @property
    def place(self) -> str:
        """Return the directory's name for messages to people."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return the contents of the file; None when there is none."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Replace the file. Once this has returned, the file holds all of `data` after any crash;
        while it runs, and when it raises, it holds `data` or its former contents. Raises when the
        directory was released."""
        ...

    def close(self) -> None:
        """Release the directory; calling it again does nothing."""
        ...


Worker = Callable[[Callable[[], None]], Awaitable[None]]
"""A function that runs blocking work without stopping the event loop, one call at a time."""


class InUse(OSError):
    """Signal that another process uses the directory."""


class FileDisk:
    """Use a directory of the file system, exclusively while this object is open."""

    def __init__(self, directory: Path) -> None:
        """Lock the directory. Raises OSError; InUse when another process uses it."""
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
        if self._lock < 0:  # another process may use the directory by now
            raise OSError(errno.EBADF, "the directory was released")
        # Write a new file, flush it, rename it, flush the directory: a crash between any two steps
        # leaves the old contents or the new ones.
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
    """Run work in one thread, which starts with the first work."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._over = False

    async def __call__(self, work: Callable[[], None]) -> None:
        if self._over:
            raise OSError(errno.EBADF, "the state directory is closed")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="state")
        await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Wait for the current write and drop the ones that have not started."""
        self._over = True
        pool, self._pool = self._pool, None
        if pool is not None:
            with contextlib.suppress(RuntimeError):
                pool.shutdown(wait=True)
