"""Log in as a subscriber, with a client that stays: it reconnects whatever the server says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from nats import errors
from nats.aio.client import Client
from nats.protocol.parser import PERMISSIONS_ERR

SUBSCRIBER_USER = "subscriber"

_Answer = TypeVar("_Answer")


class PersistentClient(Client):
    """A client of NATS that may be waited for in an application's own tasks.

    It reconnects, too, after the server has said why it ends a connection: the library would close
    for good, also where a server that has just started does so. And a task that is cancelled while
    it requests, publishes, subscribes or flushes ends: the library loses that where the answer
    comes in the same moment, and the application would wait for its task for ever.
    """

    async def request(self, *args: Any, **options: Any) -> Any:
        return await _cancellable(super().request(*args, **options))

    async def flush(self, *args: Any, **options: Any) -> None:
        await _cancellable(super().flush(*args, **options))

    async def _flush_pending(self, *args: Any, **options: Any) -> Any:
        return await _cancellable(super()._flush_pending(*args, **options))

    async def _process_err(self, err_msg: str) -> None:
        if PERMISSIONS_ERR in err_msg:
            await super()._process_err(err_msg)
        else:
            await self._process_op_err(errors.Error(f"nats: {err_msg}"))


async def log_in(
    client: Any,
    url: str,
    *,
    name: str,
    key: str,
    inbox: str,
    back: Callable[[], object],
    closed: Callable[[], object],
    options: dict[str, Any],
) -> None:
    """Connect a client that calls `back` after each reconnect, and `closed` once it has ended for
    good. `options` are those of `nats.connect`; unless they say otherwise, a broker that is away or
    lets nobody in is tried again for ever. Raises what `nats.connect` raises."""
    options = {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.2, **options}
    # What these raise would be taken by the client for a connection that failed.
    callbacks = {
        "reconnected_cb": _each(back, options.pop("reconnected_cb", None)),
        "closed_cb": _each(closed, options.pop("closed_cb", None)),
    }
    await client.connect(
        url,
        name=name,
        user=SUBSCRIBER_USER,
        password=key,
        inbox_prefix=inbox,
        **callbacks,
        **options,
    )


def _each(
    first: Callable[[], object], then: Callable[[], Awaitable[None]] | None
) -> Callable[[], Awaitable[None]]:
    """Return a callback that does one thing, and what the caller's own does."""

    async def both() -> None:
        first()
        if then is not None:
            await then()

    return both


async def _cancellable(work: Awaitable[_Answer]) -> _Answer:
    """Wait for what may lose a cancellation, as Python 3.11's `wait_for` does where its future is
    done, and the client where it writes. Raises CancelledError in place of what came."""
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    try:
        return await work
    finally:
        if task.cancelling() > before:
            raise asyncio.CancelledError
