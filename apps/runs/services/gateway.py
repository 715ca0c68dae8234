"""Reach Spark: the only module of Django that imports `spark_tasks`."""

import logging
import shutil
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings

from spark_tasks.order import JobOrder
from spark_tasks.reach import SparkAway, reachable

logger = logging.getLogger(__name__)
TICK_S = 0.25
ONE_CALL = "kernel"
"""The job that calls the kernel which its order names."""

__all__ = [
    "ONE_CALL",
    "JobCancelled",
    "JobFailed",
    "JobOrder",
    "SparkAway",
    "client_load",
    "recordings",
    "spark_answers",
    "spark_solve",
]


class JobCancelled(Exception):
    """Signal that the job was stopped because `keep_going` returned false."""


class JobFailed(Exception):
    """Signal that the job failed; the message is from the kernel or from Spark."""


def spark_answers() -> bool:
    """Tell whether something listens at the address of Spark."""
    return reachable(settings.WEIR_SPARK_REMOTE)


def _client() -> ModuleType:
    """Return the module that talks to Spark. It takes seconds and 100 MB to import, so only who
    starts a job does that, and never where a heartbeat would have to wait for it."""
    return import_module("spark_tasks.entry")


def client_load() -> None:
    """Import the client of Spark beside what this process does, before its first run needs it."""
    threading.Thread(target=_client, name="spark-client", daemon=True).start()


def recordings() -> ModuleType:
    """Return the module that reads recordings of messages, here and on Spark. It imports pyarrow
    and pandas, so only who reads one does that."""
    return import_module("spark_tasks.recordings")


def _addresses(key: str) -> tuple[str, str, str]:
    root = str(settings.WEIR_DATA_DIR)
    base = root if "://" in root else Path(root).absolute().as_uri()
    folder = f"{base.rstrip('/')}/runs/{key}"
    return folder, f"{folder}/input", f"{folder}/output"


def _wait_for_spark(keep_going: Callable[[], bool], patience_s: float) -> None:
    """Wait for a Spark server that restarts. Raises SparkAway or JobCancelled."""
    deadline = time.monotonic() + patience_s
    while not reachable(settings.WEIR_SPARK_REMOTE):
        if not keep_going():
            raise JobCancelled
        if time.monotonic() > deadline:
            raise SparkAway(f"nothing listens at {settings.WEIR_SPARK_REMOTE}")
        time.sleep(TICK_S)


def _discard(folder: str) -> None:
    """Delete what was exchanged with Spark: snapshots and results are in Postgres."""
    if folder.startswith("file://"):
        shutil.rmtree(folder.removeprefix("file://"), ignore_errors=True)


def spark_solve(
    *,
    job: str,
    key: str,
    payload: bytes,
    order: JobOrder,
    keep_going: Callable[[], bool],
    patience_s: float,
) -> bytes:
    """Run one job on the Spark Connect server and return its answer.

    `keep_going` is asked every quarter of a second; False, or any exception from it, interrupts the
    Spark job. A server that does not listen is waited for `patience_s` seconds. Raises
    JobCancelled, JobFailed, or SparkAway when the server does not answer.
    """
    _wait_for_spark(keep_going, patience_s)
    folder, input_uri, output_uri = _addresses(key)
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["answer"] = _client().run(
                remote=settings.WEIR_SPARK_REMOTE,
                job=job,
                tag=key,
                payload=payload,
                input_uri=input_uri,
                output_uri=output_uri,
                order=order,
            )
        except Exception as error:  # passed to the thread that waits, which raises it
            outcome["error"] = error

    thread = threading.Thread(target=work, name=f"spark-{key}", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(TICK_S)
            if thread.is_alive() and not keep_going():
                raise JobCancelled
    except BaseException:
        _client().interrupt(remote=settings.WEIR_SPARK_REMOTE, tag=key)
        thread.join(10.0)
        raise
    finally:
        _discard(folder)
    error = outcome.get("error")
    if isinstance(error, SparkAway):
        raise error
    if isinstance(error, _client().JobError):
        raise JobFailed(str(error)) from error
    if error is not None:
        raise error
    answer = outcome["answer"]
    assert isinstance(answer, bytes)
    return answer
