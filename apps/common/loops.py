"""Call functions repeatedly, each in its own thread with its own connection.

A loop that fails is logged and called again at its next turn; one that loses Postgres closes its
connection and waits for it to return. Events on Valkey may wake a loop before its turn; without
Valkey only the turns remain.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence

import redis
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.common.events import CHANNEL

logger = logging.getLogger(__name__)
# The shortest pause between two calls, however many events there are, even its own.
LEAST_PAUSE_S = 0.05
RETRY_PAUSE_S = 1.0
LISTEN_S = 0.5
JOIN_S = 15.0


class Loop(threading.Thread):
    """Call one function every `every_s` seconds, or earlier when woken, until `stop` is set.

    Two calls are at least `least_pause_s` apart, however often it is woken. A call that returns
    nothing, or 0, had nothing to do: the next one is `quiet_s` later.
    """

    def __init__(
        self,
        *,
        name: str,
        function: Callable[[], object],
        every_s: float,
        stop: threading.Event,
        least_pause_s: float = LEAST_PAUSE_S,
        quiet_s: float | None = None,
    ) -> None:
        """Take `quiet_s`; None: as often as otherwise."""
        super().__init__(name=name)
        self.function = function
        self.every_s = every_s
        self.quiet_s = every_s if quiet_s is None else quiet_s
        self.least_pause_s = least_pause_s
        self.stop = stop
        self.wake = threading.Event()
        self._database_away = False

    def run(self) -> None:
        """Run the loop in its thread."""
        try:
            while not self.stop.is_set():
                began = time.monotonic()
                pause = self._call()
                # Pause first, so that a flood of events does not call it without end.
                if self.stop.wait(self.least_pause_s):
                    break
                self.wake.wait(max(0.0, pause - (time.monotonic() - began)))
                self.wake.clear()
        finally:
            connection.close()

    def _call(self) -> float:
        """Call the function; return after how many seconds it is called again."""
        try:
            has_work = self.function()
        except (OperationalError, InterfaceError) as error:
            # The connection is unusable; the next call opens a new one.
            connection.close()
            if not self._database_away:
                logger.warning("%s: database away, waiting: %s", self.name, str(error).strip())
            self._database_away = True
            return max(self.every_s, RETRY_PAUSE_S)
        except Exception:
            logger.exception("%s failed; it is called again", self.name)
            return max(self.every_s, RETRY_PAUSE_S)
        if self._database_away:
            logger.warning("%s: the database is back", self.name)
        self._database_away = False
        return self.every_s if has_work else self.quiet_s


class Waker(threading.Thread):
    """Wake the loops when an event of one of `kinds` arrives on Valkey."""

    def __init__(
        self, *, loops: Sequence[Loop], kinds: frozenset[str], stop: threading.Event
    ) -> None:
        super().__init__(name="waker")
        self.loops = loops
        self.kinds = kinds
        self.stop = stop

    def run(self) -> None:
        """Run in its thread; without Valkey loops only run at their turns."""
        while not self.stop.is_set():
            client = redis.Redis.from_url(settings.WEIR_BROKER_URL, socket_connect_timeout=1.0)
            try:
                with client.pubsub(  # type: ignore[no-untyped-call]
                    ignore_subscribe_messages=True
                ) as subscription:
                    subscription.subscribe(CHANNEL)
                    while not self.stop.is_set():
                        self._hear(subscription.get_message(timeout=LISTEN_S))
            except (redis.RedisError, OSError) as error:
                logger.warning("cannot receive events, trying again: %s", error)
                self.stop.wait(RETRY_PAUSE_S)
            finally:
                client.close()

    def _hear(self, item: dict[str, bytes] | None) -> None:
        if item is None:
            return
        try:
            kind = json.loads(item["data"]).get("kind")
        except (ValueError, AttributeError):
            return
        if kind in self.kinds:
            for loop in self.loops:
                loop.wake.set()


def run_loops(
    loops: Sequence[Loop], *, stop: threading.Event, wake_on: frozenset[str] = frozenset()
) -> bool:
    """Run the loops until `stop` is set. Returns False when a thread died or did not end in
    time."""
    threads: list[threading.Thread] = [*loops]
    if wake_on:
        threads.append(Waker(loops=loops, kinds=wake_on, stop=stop))
    for thread in threads:
        # Daemons do not delay the interpreter's end; the joins below wait long enough.
        thread.daemon = True
        thread.start()
    sound = True
    while not stop.wait(1.0):
        dead = [thread.name for thread in threads if not thread.is_alive()]
        # They may have been asked to end meanwhile.
        if dead and not stop.is_set():
            logger.error("ended unexpectedly: %s", ", ".join(dead))
            sound = False
            stop.set()
    for loop in loops:
        loop.wake.set()
    deadline = time.monotonic() + JOIN_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            logger.error("%s does not end; leaving it", thread.name)
            sound = False
    return sound
