"""Choose a port for each server that needs one, without two stacks taking the same."""

import fcntl
import json
import os
import socket
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from config.stack.errors import StackError

TRIES = 400
CLAIM_S = 120.0  # long enough for a stack that chose a port to bind it


def is_free(port: int) -> bool:
    """Return whether a server could bind the port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@contextmanager
def _claims() -> Iterator[dict[str, tuple[str, float]]]:
    """Yield the ports that some stack of this user chose a moment ago and may not have bound
    yet."""
    path = Path(tempfile.gettempdir()) / f"weir-ports-{os.getuid()}.json"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "r+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        try:
            stored = json.load(stream)
        except json.JSONDecodeError:
            stored = {}
        now = time.time()
        claims = {
            port: (owner, when)
            for port, (owner, when) in stored.items()
            if now - CLAIM_S < when <= now
        }
        yield claims
        stream.seek(0)
        stream.truncate()
        json.dump(claims, stream)


def choose(preferred: int, owner: str, ours: Container[int] = ()) -> int:
    """Return the preferred port, or the next free one that no other stack has just claimed.

    `ours` are the ports of this stack's other parts.
    """
    with _claims() as claims:
        for port in range(preferred, preferred + TRIES):
            other, _ = claims.get(str(port), (owner, 0.0))
            if port not in ours and other == owner and is_free(port):
                claims[str(port)] = (owner, time.time())
                return port
    raise StackError(f"no free port between {preferred} and {preferred + TRIES - 1}")
