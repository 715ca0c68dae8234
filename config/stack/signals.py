"""Handle Ctrl-C in commands: clean up, and ignore it while cleaning up."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Signal that the user pressed Ctrl-C, or that the process was asked to end."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn Ctrl-C, TERM and a closed terminal into `Interrupted`, so that cleaning up runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    before = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deaf() -> Iterator[None]:
    """Ignore a second Ctrl-C while stopping, which must not leave half of it running."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
