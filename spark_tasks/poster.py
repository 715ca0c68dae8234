"""Post from a running task to the control plane, in a thread that may fail.

The answer of a job never depends on it. An address that does not answer costs a post, nothing
else: the control plane may restart while tasks compute.
"""

import json
import threading
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self


class Poster(ABC):
    """Runs `_loop` in a thread while the task works; any answer may tell the task to stop."""

    def __init__(self, url: str, token: str, *, timeout_s: float) -> None:
        """Post nothing where `url` is empty."""
        self._url = url
        self._token = token
        self._timeout_s = timeout_s
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=type(self).__name__, daemon=True)
        self.told_to_stop = False

    def __enter__(self) -> Self:
        if self._url:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        if self._url:
            # A post that is under way, and one more after it.
            self._thread.join(2 * self._timeout_s)

    @abstractmethod
    def _loop(self) -> None:
        """Post what there is to tell, until `_closing` is set."""

    def _post(self, body: dict[str, Any]) -> bool:
        """Send one body; False where nobody took it."""
        request = urllib.request.Request(
            self._url,
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:
                if json.load(answer).get("continue") is False:
                    self.told_to_stop = True
                return True
        except (OSError, ValueError):
            return False
