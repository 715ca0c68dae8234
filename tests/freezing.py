"""A process that stands still: alive, its connections open, and nothing comes of it."""

import os
import signal
import time
from pathlib import Path

FREEZE_S = 60.0


def freeze(pid: int) -> None:
    """Stop a process and wait until each of its threads stands: `kill` returns before, and on a
    busy machine a server answers for milliseconds after it."""
    os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + FREEZE_S
    while not _stands(pid):
        assert time.monotonic() < until, f"{pid} does not stop"
        time.sleep(0.001)


def thaw(pid: int) -> None:
    """Let it go on."""
    os.kill(pid, signal.SIGCONT)


def _stands(pid: int) -> bool:
    # The state is what follows the name, which may hold anything.
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    try:
        return all(thread.read_text().rpartition(") ")[2].startswith("T") for thread in threads)
    except (FileNotFoundError, ProcessLookupError):
        # A thread that ended meanwhile.
        return False
