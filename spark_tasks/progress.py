"""Progress from inside a running task: the latest value, posted by a thread that may fail."""

import json
import threading
import urllib.error
import urllib.request
from typing import Any

EVERY_S = 0.25
TIMEOUT_S = 1.0


class Reporter:
    """Posts the newest value four times a second at most; the answer may tell it to stop."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self._latest: dict[str, Any] | None = None
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
