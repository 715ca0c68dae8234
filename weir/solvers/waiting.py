"""Run a solver aside and ask every few milliseconds whether it should end.

Solvers call back at moments of their own choosing, which presolve or a round of cuts may put off
for seconds. A thread costs nothing here: a solver's work runs outside of the interpreter's lock.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ASK_EVERY_S = 0.02


def run_aside(
    work: Callable[[], object], *, end: Callable[[], object], stop: Callable[[], bool]
) -> None:
    """Return when `work` is done; call `end` again and again from when `stop` says so.

    What `work` raises is raised here.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # handed over to the caller's thread
            raised.append(error)

    thread = threading.Thread(target=run, name="solver", daemon=True)
    thread.start()
    is_ending = False
    try:
        while thread.is_alive():
            thread.join(ASK_EVERY_S)
            is_ending = is_ending or stop()
            if is_ending:
                end()
    except BaseException:  # `stop` raised: the solver must not outlive the call
        while thread.is_alive():
            end()
            thread.join(ASK_EVERY_S)
        raise
    if raised:
        raise raised[0]
