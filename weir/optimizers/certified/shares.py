"""Shares out compiled work to threads. It runs without the interpreter's lock.

Each share writes to places of its own, so the answer does not depend on how many there are.
Plain threads, not numba's: those may not be used from two threads or after a fork.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def in_shares(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Call `work(first, last)` on consecutive shares of 0 to `count` - 1."""
    shares = max(1, min(threads, count))
    if shares == 1:
        work(0, count)
        return
    ends = [count * share // shares for share in range(shares + 1)]
    with ThreadPoolExecutor(shares) as pool:
        for done in [pool.submit(work, ends[at], ends[at + 1]) for at in range(shares)]:
            done.result()
