"""State directories in memory, behind the names that `agent.disk` takes from the operating system.

A killed process loses nothing that it has written; a power failure loses what was not synced: the
contents of a file since its last fsync, and the names of a directory since the directory's.

| fault | what happens |
|---|---|
| full | nothing can be written: ENOSPC |
| broken sync | fsync fails: EIO; after a power failure what was written is there, or not |
| lying | fsync says yes and does nothing |
| slow | the process stands still for as long as the disk takes |
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from tests.lives.loop import PROCESS, Killed, Process

PLACE = "agent.disk"
"""Where agents call the operating system."""


class _File:
    __slots__ = ("data", "synced")

    def __init__(self) -> None:
        self.data = b""
        self.synced: bytes | None = None


class SimDisk:
    """One directory."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.names: dict[str, _File] = {}
        self._durable: dict[str, _File] = {}
        self.full = self.broken_sync = self.lying = False
        self.slow_s = 0.0
        self.holder: Process | None = None
        """Who holds the lock."""
        self.operations = 0
        self.on_operation: Callable[[], None] = lambda: None
        """Called before each operation that writes: the place to die in."""

    def operate(self) -> None:
        """One call that writes."""
        process = PROCESS.get()
        if process is not None and not process.alive:
            raise Killed
        self.operations += 1
        self.on_operation()
        if process is not None and not process.alive:
            raise Killed
        if self.slow_s and process is not None:
            process.freeze(self.slow_s * self.rng.random())

    def need_room(self) -> None:
        """Raises ENOSPC on a full disk."""
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync_file(self, file: _File) -> None:
        """fsync of a file."""
        self.operate()
        if self.broken_sync or self.full:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if not self.lying:
            file.synced = file.data

    def sync_names(self) -> None:
        """fsync of the directory."""
        self.operate()
        if self.broken_sync:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if not self.lying:
            self._durable = dict(self.names)

    def lose_power(self) -> None:
        """What was not synced is there, or not, or half of it."""
        for name in sorted({*self.names, *self._durable}):
            new, old = self.names.get(name), self._durable.get(name)
            file = new if new is old or self.rng.random() < 0.5 else old
            if file is None:
                self.names.pop(name, None)
                continue
            self.names[name] = file
            if file.synced != file.data:
                draw = self.rng.random()
                if draw < 0.4:
                    file.data = file.synced or b""
                elif draw < 0.6:
                    file.data = file.data[: int(len(file.data) * self.rng.random())]
                file.synced = file.data
        self._durable = dict(self.names)

    def snapshot(self) -> dict[str, bytes]:
        """A copy of the directory, for `restore`."""
        return {name: file.data for name, file in self.names.items()}

    def restore(self, snapshot: dict[str, bytes]) -> None:
        """The directory is what it was once; an empty snapshot: it was lost."""
        self.names = {}
        for name, data in snapshot.items():
            self.names[name] = file = _File()
            file.data = file.synced = data
        self._durable = dict(self.names)


class SimPath:
    """What `agent.disk` uses of a `pathlib.Path`."""

    def __init__(self, disk: SimDisk, name: str = "") -> None:
        self.disk = disk
        self.name = name

    def __truediv__(self, name: str) -> SimPath:
        return SimPath(self.disk, name)

    def __str__(self) -> str:
        return f"state/{self.name}"

    def with_name(self, name: str) -> SimPath:
        """A sibling."""
        return SimPath(self.disk, name)

    def mkdir(self, **options: Any) -> None:
        """It is there already."""

    def exists(self) -> bool:
        """Whether there is such a file."""
        return not self.name or self.name in self.disk.names

    def read_bytes(self) -> bytes:
        """The contents, as the process sees them."""
        if self.name not in self.disk.names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        return self.disk.names[self.name].data

    def read_text(self) -> str:
        """The contents as text."""
        return self.read_bytes().decode()

    def replace(self, target: SimPath) -> SimPath:
        """Rename over whatever is there."""
        self.disk.operate()
        self.disk.names[target.name] = self.disk.names.pop(self.name)
        return target

    rename = replace

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the name."""
        self.disk.operate()
        if self.disk.names.pop(self.name, None) is None and not missing_ok:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)


class _Descriptor:
    """An open file, or the open directory; compares with 0 as a number does."""

    def __init__(self, path: SimPath, file: _File | None) -> None:
        self.path = path
        self.file = file

    def __ge__(self, other: int) -> bool:
        return True

    def __lt__(self, other: int) -> bool:
        return False

    # As what `os.fdopen` returns.

    def __enter__(self) -> _Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def fileno(self) -> _Descriptor:
        return self

    def flush(self) -> None:
        return

    def close(self) -> None:
        return

    def write(self, data: str | bytes) -> int:
        assert self.file is not None
        self.path.disk.need_room()
        self.file.data += data.encode() if isinstance(data, str) else bytes(data)
        return len(data)


class _Os:
    """The real `os`, but for files of simulated directories."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: Any, flags: int, mode: int = 0o777) -> Any:
        if not isinstance(path, SimPath):
            return os.open(path, flags, mode)
        disk = path.disk
        if not path.name:
            return _Descriptor(path, None)
        disk.operate()
        if flags & os.O_CREAT and path.name not in disk.names:
            disk.need_room()
            disk.names[path.name] = _File()
        elif flags & os.O_TRUNC:
            disk.names[path.name].data = b""
        return _Descriptor(path, disk.names[path.name])

    def fdopen(self, descriptor: Any, *args: Any, **options: Any) -> Any:
        if isinstance(descriptor, _Descriptor):
            return descriptor
        return os.fdopen(descriptor, *args, **options)

    def write(self, descriptor: Any, data: bytes) -> int:
        if isinstance(descriptor, _Descriptor):
            return descriptor.write(data)
        return os.write(descriptor, data)

    def fsync(self, descriptor: Any) -> None:
        if not isinstance(descriptor, _Descriptor):
            os.fsync(descriptor)
        elif descriptor.file is None:
            descriptor.path.disk.sync_names()
        else:
            descriptor.path.disk.sync_file(descriptor.file)

    fdatasync = fsync

    def replace(self, source: Any, target: Any) -> None:
        if isinstance(source, SimPath):
            source.replace(target)
        else:
            os.replace(source, target)

    rename = replace

    def close(self, descriptor: Any) -> None:
        if not isinstance(descriptor, _Descriptor):
            os.close(descriptor)
        elif descriptor.path.name == "lock":
            disk = descriptor.path.disk
            if disk.holder is PROCESS.get():
                disk.holder = None


class _Fcntl:
    """Locks of simulated directories: held by a process until it is dead."""

    def __getattr__(self, name: str) -> Any:
        return getattr(fcntl, name)

    def flock(self, descriptor: Any, operation: int) -> None:
        if not isinstance(descriptor, _Descriptor):
            fcntl.flock(descriptor, operation)
            return
        disk = descriptor.path.disk
        if disk.holder is not None and disk.holder.alive:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        disk.holder = PROCESS.get()


@contextmanager
def simulated_directories() -> Iterator[None]:
    """Agents can be given a SimPath; real paths still lead to the real disk."""
    with patch(f"{PLACE}.os", _Os()), patch(f"{PLACE}.fcntl", _Fcntl()):
        yield
