"""Partial answers on their way home, in batches.

The job's own output stays the truth. What is posted here only lets people look earlier.
"""

import threading
import time
from typing import Any

from spark_tasks.poster import Poster

EVERY_S = 0.5
TIMEOUT_S = 2.0
MOST = 200
"""Rows of one post; a body stays small."""
RETRY_EVERY_S = 2.0
ASK_EVERY_S = 2.0
"""How often a task without news asks whether to go on: one scenario may take minutes."""


class Outbox(Poster):
    """Collects rows and posts them twice a second at most."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token, timeout_s=TIMEOUT_S)
        self._rows: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def add(self, row: dict[str, Any]) -> None:
        """Send this with the next batch."""
        if self._url:
            with self._lock:
                self._rows.append(row)

    def _loop(self) -> None:
        pause = EVERY_S
        closing = False
        asked = time.monotonic()
        # The last round runs once after closing, so that a short task still shows its rows.
        while not closing:
            closing = self._closing.wait(pause)
            with self._lock:
                batch = self._rows[:MOST]
            if not batch and (closing or time.monotonic() - asked < ASK_EVERY_S):
                continue
            asked = time.monotonic()
            if self._post({"points": batch}):
                with self._lock:
                    del self._rows[: len(batch)]
                    more = bool(self._rows)
                closing = closing and not more
                pause = 0.0 if more else EVERY_S
            else:
                pause = RETRY_EVERY_S
