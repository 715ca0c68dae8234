"""Keep one Spark Connect session per process, made on first use and never before a fork."""

import atexit
import contextlib
import os
import re
import threading
import uuid
from typing import Any

import grpc
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy

from spark_tasks.reach import SparkAway, reachable

_RAISED = re.compile(r"^(?!SQLSTATE)[A-Za-z_][\w.]*(: .*)?$")
_DETAILS = re.compile(r'details = "(.*?)"')
_lock = threading.Lock()
_session: tuple[int, str, Any] | None = None


def session(remote: str) -> Any:
    """Return this process's session at `remote` (sc://host:port). Raises SparkAway."""
    global _session
    with _lock:
        if _session is not None and _session[:2] == (os.getpid(), remote) and _usable(_session[2]):
            return _session[2]
        if not reachable(remote):
            raise SparkAway(f"nothing listens at {remote.partition(';')[0]}")
        separator = "" if remote.endswith("/") or ";" in remote else "/"
        address = f"{remote}{separator};session_id={uuid.uuid4()}"
        try:
            made = SparkSession.builder.remote(address).create()
            # Connect retries a dead server for ten minutes; our runs have their own retries.
            made.client.set_retry_policies(
                [DefaultPolicy(max_retries=4, initial_backoff=100, max_backoff=1000)]
            )
        except (grpc.RpcError, SparkConnectGrpcException) as error:
            raise SparkAway(short(error)) from error
        _session = (os.getpid(), remote, made)
        return made


def _usable(candidate: Any) -> bool:
    return not getattr(candidate, "is_stopped", False)


def forget() -> None:
    """Drop the session, for instance because its server died; the next use makes a new one."""
    global _session
    with _lock:
        _session = None


@atexit.register
def close() -> None:
    """End this process's session; the process cannot exit while it is open."""
    # A client that exits with an unstopped session hangs; one whose server died must not wait.
    global _session
    with _lock:
        current, _session = _session, None
    if current is not None and current[0] == os.getpid():
        with contextlib.suppress(grpc.RpcError, SparkConnectGrpcException):
            current[2].stop()


def short(error: Exception) -> str:
    """Return one line of what gRPC or Spark said: of a Python traceback the last one, else the
    first."""
    text = str(error.details()) if isinstance(error, grpc.Call) else str(error)
    found = _DETAILS.search(text)
    text = (found[1] if found else text) or type(error).__name__
    lines = [line for line in text.splitlines() if line.strip()]
    if any("Traceback (most recent call last)" in line for line in lines):
        # Frames and their source are indented, what was raised is not.
        raised = [line for line in lines if _RAISED.match(line)]
        return (raised or lines)[-1].strip()[:300]
    return lines[0].strip()[:300]
