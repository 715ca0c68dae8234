"""The door to Spark: the only module of Django that reaches `spark_tasks`."""

import logging
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from spark_tasks import entry
from spark_tasks.entry import SparkAway

logger = logging.getLogger(__name__)
TICK_S = 0.25

__all__ = ["JobCancelled", "JobFailed", "SparkAway", "spark_solve"]


class JobCancelled(Exception):
    """The job was stopped because `keep_going` said so."""


class JobFailed(Exception):
    """The job ran and failed; the message is what the kernel or Spark said."""


def _addresses(key: str) -> tuple[str, str, str]:
    root = str(settings.WEIR_DATA_DIR)
    base = root if "://" in root else Path(root).absolute().as_uri()
    folder = f"{base.rstrip('/')}/runs/{key}"
    return folder, f"{folder}/input", f"{folder}/output"


def _wait_for_spark(keep_going: Callable[[], bool], patience_s: float) -> None:
    """Give a Spark server that restarts the time it needs. Raises SparkAway or JobCancelled."""
    deadline = time.monotonic() + patience_s
    while not entry.reachable(settings.WEIR_SPARK_REMOTE):
        if not keep_going():
            raise JobCancelled
        if time.monotonic() > deadline:
            raise SparkAway(f"nothing listens at {settings.WEIR_SPARK_REMOTE}")
        time.sleep(TICK_S)


def _discard(folder: str) -> None:
    """Snapshots and results are in Postgres; what travelled to Spark is no longer needed."""
    if folder.startswith("file://"):
        shutil.rmtree(folder.removeprefix("file://"), ignore_errors=True)


def spark_solve(
    *,
    job: str,
    key: str,
    payload: bytes,
    parameters: dict[str, Any],
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
            outcome["answer"] = entry.run(
                remote=settings.WEIR_SPARK_REMOTE,
                job=job,
                tag=key,
                payload=payload,
                input_uri=input_uri,
                output_uri=output_uri,
                parameters=parameters,
            )
        except Exception as error:  # handed to the thread that waits, which raises it
            outcome["error"] = error

    thread = threading.Thread(target=work, name=f"spark-{key}", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(TICK_S)
            if thread.is_alive() and not keep_going():
                raise JobCancelled
    except BaseException:
        entry.interrupt(remote=settings.WEIR_SPARK_REMOTE, tag=key)
        thread.join(10.0)
        raise
    finally:
        _discard(folder)
    error = outcome.get("error")
    if isinstance(error, SparkAway):
        raise error
    if isinstance(error, entry.JobError):
        raise JobFailed(str(error)) from error
    if error is not None:
        raise error
    answer = outcome["answer"]
    assert isinstance(answer, bytes)
    return answer
