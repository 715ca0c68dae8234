"""Partial answers on their way home: batches, posted by a thread that may fail.

The job's own output stays the truth. What is posted here only lets people look earlier, so an
address that does not answer costs nothing but that.
"""

import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any

EVERY_S = 0.5
TIMEOUT_S = 2.0
MOST = 200
"""Rows of one post; a body stays small."""
RETRY_EVERY_S = 2.0
ASK_EVERY_S = 2.0
"""How often a task without news asks whether to go on: one scenario may take minutes."""


class Outbox:
    """Collects rows and posts them twice a second at most; the answer may tell the task to stop."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self._rows: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.told_to_stop = False
        self._thread = threading.Thread(target=self._loop, name="outbox", daemon=True)

    def __enter__(self) -> "Outbox":
        if self._url:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(2 * TIMEOUT_S)

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
            if self._post(batch):
                with self._lock:
                    del self._rows[: len(batch)]
                    more = bool(self._rows)
                closing = closing and not more
                pause = 0.0 if more else EVERY_S
            else:
                pause = RETRY_EVERY_S

    def _post(self, rows: list[dict[str, Any]]) -> bool:
        request = urllib.request.Request(
            self._url,
            data=json.dumps({"points": rows}).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                if json.load(answer).get("continue") is False:
                    self.told_to_stop = True
                return True
        except (OSError, ValueError):
            return False
