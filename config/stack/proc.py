"""Find the processes of the stack: which descend from which, and how to end a whole tree."""

import ctypes
import os
import pwd
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER = 0x10000000
NOBODY = 65534

_libc = ctypes.CDLL(None, use_errno=True)

StopSteps = Sequence[tuple[signal.Signals, float]]


@dataclass(frozen=True, slots=True)
class Identity:
    """Identify a process so that a later one of the same number is not confused with it."""

    pid: int
    start_ticks: int

    def alive(self) -> bool:
        return start_ticks(self.pid) == self.start_ticks


def start_ticks(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot; None when it is gone or a zombie.

    Kept in files, so that it must not move: psutil publishes the start in seconds since 1970,
    which another process computes otherwise after the clock was set.
    """
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name in parentheses may hold anything, even ")": count from the last one.
    fields = raw[raw.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def identify(pid: int) -> Identity | None:
    ticks = start_ticks(pid)
    return None if ticks is None else Identity(pid, ticks)


def descendants(root: int) -> list[int]:
    """Return the living processes below `root`, without `root`; parents before their children."""
    try:
        below = psutil.Process(root).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [process.pid for process in below if start_ticks(process.pid) is not None]


def carries(pid: int, tags: Sequence[str]) -> bool:
    """Tell whether the process lives and its environment holds all of `tags` (`NAME=value`)."""
    try:
        environment = psutil.Process(pid).environ()
    except psutil.Error:
        return False
    wanted = dict(tag.split("=", 1) for tag in tags)
    return wanted.items() <= environment.items() and start_ticks(pid) is not None


def tagged(tags: Sequence[str]) -> list[int]:
    """Return the processes that carry every one of `tags`, without ourselves."""
    return [pid for pid in psutil.pids() if pid != os.getpid() and carries(pid, tags)]


def send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_gone(pids: Iterable[int], seconds: float) -> bool:
    """Wait until none of `pids` lives; False when the time is over first.

    Not `psutil.wait_procs`: it waits for zombies until their parent has collected them, and
    collects those that are our own children, whose status the launcher reads.
    """
    watched = [identity for pid in pids if (identity := identify(pid)) is not None]
    deadline = time.monotonic() + seconds
    while True:
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
    """Tell whether the system has a name for the user that we run as."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return True


def enter_user_namespace() -> None:
    """Look like `nobody` from here on, while file access stays that of the caller."""
    uid, gid = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses a user namespace")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {gid} 1")
