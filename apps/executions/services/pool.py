"""Run the database work of agents' requests in a few threads.

Django would give every request that waits a thread and a connection of its own; two hundred
agents wait all the time.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connections

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 6
_pool: ThreadPoolExecutor | None = None


def _fresh(work: Callable[[], R]) -> R:
    # What Django does around a request: a connection that broke or grew old is not used again.
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


async def in_pool(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run `work` in one of the threads; wait for one while all are busy."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="agents")
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_pool, partial(_fresh, partial(work, *args, **kwargs)))


def pool_close() -> None:
    """End the threads and close their connections; the next request begins new ones."""
    global _pool
    if _pool is None:
        return
    # A connection can be closed only by its own thread: give each of them one job at once.
    together = Barrier(THREADS)

    def end() -> None:
        together.wait(timeout=10)
        connections.close_all()

    for _ in range(THREADS):
        _pool.submit(end)
    _pool.shutdown()
    _pool = None
