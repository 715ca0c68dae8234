"""Let requests share a fixed number of threads, so that each finds a database connection open.

Django's ASGI handler gives every request a thread of its own, and a connection belongs to a thread:
opening one took longer than most answers. Here a request borrows a thread for as long as it lasts
and leaves the connection to the next. It also bounds how many connections one process can hold.
"""

import asyncio
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import ThreadSensitiveContext

from config.request_guard import Application, Receive, Scope, Send


class RequestThreads:
    """Wrap an ASGI application; paths in `besides` last minutes and get a thread of their own."""

    def __init__(self, inner: Application, *, threads: int, besides: Collection[str]) -> None:
        self.inner = inner
        self.besides = besides
        self.executors = [
            ThreadPoolExecutor(1, thread_name_prefix=f"request-{k}") for k in range(threads)
        ]
        # The last one that was given back first: few threads then do most, and few connections.
        self._free: asyncio.LifoQueue[ThreadPoolExecutor] = asyncio.LifoQueue()
        for executor in reversed(self.executors):
            self._free.put_nowait(executor)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.besides:
            await self.inner(scope, receive, send)
            return
        executor = await self._free.get()
        try:
            async with ThreadSensitiveContext(executor=executor):
                await self.inner(scope, receive, send)
        finally:
            # Whoever left early may have left the thread at work: it is free once it is idle.
            idle = asyncio.wrap_future(executor.submit(_nothing))
            idle.add_done_callback(lambda _: self._free.put_nowait(executor))
            await asyncio.shield(idle)


def _nothing() -> None:
    """Do nothing, after everything that was asked before."""
