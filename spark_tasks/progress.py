"""Progress from inside a running task: the latest value, posted by a thread that may fail."""

import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any

EVERY_S = 0.25
TIMEOUT_S = 1.0

FIRST_MOMENTS = 200
NEXT_MOMENT = 1.01
"""After the first moments only each that is a hundredth later: few, and enough for a picture."""


class Moments:
    """When each iteration ended, in seconds since the kernel was called.

    They travel beside the answer, never in it: the same run again gives the same bytes.
    """

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._kept: list[tuple[int, float]] = []

    def note(self, iteration: int) -> None:
        """This iteration has just ended; work between iterations may say so again."""
        now_s = time.monotonic() - self._began_s
        kept = self._kept
        if kept and iteration <= kept[-1][0]:
            return
        if len(kept) < FIRST_MOMENTS or now_s >= kept[-1][1] * NEXT_MOMENT:
            kept.append((iteration, now_s))

    def until(self, iterations: int) -> list[tuple[int, float]]:
        """All that were kept, with the end of the last iteration."""
        now_s = time.monotonic() - self._began_s
        kept = [moment for moment in self._kept if moment[0] < iterations]
        return [*kept, (iterations, now_s)] if iterations > 0 else kept


class Reporter:
    """Posts the newest value four times a second at most; the answer may tell it to stop."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self._latest: dict[str, Any] | None = None
        self._last: dict[str, Any] | None = None
        self._done = threading.Event()
        self.told_to_stop = False
        self._thread = threading.Thread(target=self._loop, name="progress", daemon=True)

    def __enter__(self) -> "Reporter":
        if self._url:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join(TIMEOUT_S)
        if self._url and self._last is not None:
            self._post(self._last)

    def conclude(self, *, iterations: int, utility: float, moments: Moments) -> None:
        """What to post when the work is done, after everything that was offered."""
        self._last = {
            "iteration": iterations,
            "utility": utility,
            "best_utility": utility,
            "moments": moments.until(iterations),
        }

    def offer(self, value: dict[str, Any]) -> None:
        """Replace the value that goes out next; costs one assignment."""
        self._latest = value

    def _loop(self) -> None:
        sent: dict[str, Any] | None = None
        while not self._done.wait(EVERY_S):
            value = self._latest
            if value is None or value is sent:
                continue
            sent = value
            self._post(value)

    def _post(self, value: dict[str, Any]) -> None:
        request = urllib.request.Request(
            self._url,
            data=json.dumps(value).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                if json.load(answer).get("continue") is False:
                    self.told_to_stop = True
        except (OSError, ValueError):
            # The control plane may restart while we compute; the result does not depend on this.
            return
