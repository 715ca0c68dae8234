"""Tell whether the Spark Connect server can be reached; needs none of its client."""

import socket
from urllib.parse import urlsplit

PROBE_S = 1.0


class SparkAway(Exception):
    """Signal that the Spark Connect server cannot be reached, or went away during a job."""


def reachable(remote: str) -> bool:
    """Return whether anything listens there now. A Connect client alone would try for minutes."""
    parts = urlsplit(remote.partition(";")[0])
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 15002), PROBE_S):
            return True
    except OSError:
        return False
