"""Processes as Linux shows them in /proc: who descends from whom, and how to end a whole tree."""

import ctypes
import os
import pwd
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER = 0x10000000
NOBODY = 65534

_libc = ctypes.CDLL(None, use_errno=True)

StopSteps = Sequence[tuple[signal.Signals, float]]


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be confused with a later one of the same number."""

    pid: int
    start_ticks: int

    def alive(self) -> bool:
        return start_ticks(self.pid) == self.start_ticks


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    parent: int
    start_ticks: int


def _stat(pid: int) -> _Stat | None:
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name in parentheses may hold anything, even ")": count from the last one.
    fields = raw[raw.rindex(b")") + 2 :].split()
    return _Stat(fields[0].decode(), int(fields[1]), int(fields[19]))


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when it is gone or a zombie."""
    stat = _stat(pid)
    if stat is None or stat.state in "ZX":
        return None
    return stat.start_ticks


def identify(pid: int) -> Identity | None:
    ticks = start_ticks(pid)
    return None if ticks is None else Identity(pid, ticks)


def all_pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def descendants(root: int) -> list[int]:
    """Living processes below `root`, without `root`; nearest first."""
    children: dict[int, list[int]] = {}
    for pid in all_pids():
        stat = _stat(pid)
        if stat is not None and stat.state not in "ZX":
            children.setdefault(stat.parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def tagged(tags: Sequence[str]) -> list[int]:
    """Processes whose environment holds every one of `tags` (`NAME=value`), without ourselves."""
    wanted = [tag.encode() for tag in tags]
    found = []
    for pid in all_pids():
        if pid == os.getpid():
            continue
        try:
            entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if all(tag in entries for tag in wanted) and start_ticks(pid) is not None:
            found.append(pid)
    return found


def send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_gone(pids: Iterable[int], seconds: float, reap: Callable[[], None] | None = None) -> bool:
    """Wait until none of `pids` lives; False when the time is over first."""
    watched = [identity for pid in pids if (identity := identify(pid)) is not None]
    deadline = time.monotonic() + seconds
    while True:
        if reap is not None:
            reap()
        watched = [identity for identity in watched if identity.alive()]
        if not watched:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)


def end(pids: Callable[[], list[int]], steps: StopSteps) -> list[int]:
    """End every process that `pids` lists: ask with each signal of `steps`, at last kill.

    Returns the numbers met, so that the caller can say what was left behind.
    """
    met: list[int] = []
    for number, grace in steps:
        current = pids()
        met += [pid for pid in current if pid not in met]
        for pid in current:
            send(pid, number)
        if wait_gone(current, grace):
            break
    # New ones may appear while the old ones go; a bounded number of rounds is enough for any tree.
    for _ in range(10):
        current = pids()
        if not current:
            break
        met += [pid for pid in current if pid not in met]
        for pid in current:
            send(pid, signal.SIGKILL)
        wait_gone(current, 2.0)
    return met


def die_with_parent(number: signal.Signals, parent: int) -> None:
    """Ask the kernel to send us `number` when our parent ends, however it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:  # it ended before we asked
        os.kill(os.getpid(), number)


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose own parent ends, so that none escapes."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def has_name() -> bool:
    """Whether the system has a name for the user that we run as."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return True


def enter_user_namespace() -> None:
    """From here on look like `nobody`, while file access stays that of the caller."""
    uid, gid = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses a user namespace")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {gid} 1")
