"""Reach Spark: the only module of Django that imports `spark_tasks`."""

import contextlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from django.conf import settings

from spark_tasks.order import JobOrder
from spark_tasks.reach import SparkAway, reachable
from spark_tasks.recording_files import SUFFIX, data_files

logger = logging.getLogger(__name__)
TICK_S = 0.25
ONE_CALL = "kernel"
"""The job that calls the kernel which its order names."""

__all__ = [
    "ONE_CALL",
    "SUFFIX",
    "JobCancelled",
    "JobFailed",
    "JobOrder",
    "SparkAway",
    "client_load",
    "data_files",
    "data_folder",
    "discard",
    "exchanged",
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
    """Return the module that looks at recordings of messages and reads whole ones in this process.
    It imports pyarrow and pandas, so only who reads one does that."""
    return import_module("spark_tasks.grouping")


def pipeline() -> ModuleType:
    """Return the module that computes facts of records in this process. It imports pyarrow, so
    only who computes some does that."""
    return import_module("spark_tasks.pipeline")


def sent_records() -> ModuleType:
    """Return the module that reads and checks batches of records. It imports pyarrow, so only who
    takes some does that."""
    return import_module("spark_tasks.sent_records")


def record_files() -> ModuleType:
    """Return the module that reads files of records in parts. It imports pyarrow, so only who
    takes some does that."""
    return import_module("spark_tasks.record_files")


def metric_protocols() -> ModuleType:
    """Return the module that reads metrics as collectors send them. It imports pyarrow and the
    messages of OpenTelemetry, so only who takes some does that."""
    return import_module("spark_tasks.metric_protocols")


def packed_metrics() -> ModuleType:
    """Return the module that unpacks what collectors send. It imports pyarrow, so only who takes
    some does that."""
    return import_module("spark_tasks.packed_metrics")


def landing() -> ModuleType:
    """Return the module that keeps batches of records as files. It imports pyarrow, so only who
    writes, reads or removes some does that."""
    return import_module("spark_tasks.landing")


def minutes() -> ModuleType:
    """Return the module that sums batches of records by minute. It imports pyarrow, so only who
    adds some to the sums does that."""
    return import_module("spark_tasks.minutes")


def data_folder(name: str) -> str:
    """Return the address of a folder of the installation's data, which Spark reaches, too."""
    root = str(settings.WEIR_DATA_DIR)
    base = root if "://" in root else Path(root).absolute().as_uri()
    return f"{base.rstrip('/')}/{name}"


def _exchange() -> str:
    """Return the address of the folder below which each attempt has one of its own."""
    return data_folder("runs")


def _addresses(key: str) -> tuple[str, str, str]:
    folder = f"{_exchange()}/{key}"
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
    if (path := _local(folder)) is not None:
        shutil.rmtree(path, ignore_errors=True)


def _local(address: str) -> Path | None:
    return Path(url2pathname(urlsplit(address).path)) if address.startswith("file://") else None


def exchanged() -> dict[str, float]:
    """Return the keys of all attempts whose files are still there, with when the latest of each was
    written, in Unix seconds. Storage that is no folder of this machine keeps its own order."""
    folder = _local(_exchange())
    if folder is None or not folder.is_dir():
        return {}
    return {each.name: _written_s(each) for each in folder.iterdir()}


def _written_s(folder: Path) -> float:
    times = [0.0]
    for place, _, names in os.walk(folder):
        for each in (place, *(os.path.join(place, name) for name in names)):
            # Whoever owns it may be deleting it.
            with contextlib.suppress(OSError):
                times.append(os.lstat(each).st_mtime)
    return max(times)


def discard(key: str) -> None:
    """Delete what an attempt exchanged with Spark."""
    _discard(_addresses(key)[0])


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
