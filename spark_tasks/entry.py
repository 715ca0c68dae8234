"""Run a job on the Spark Connect server, or interrupt it; no other module does."""

from importlib import import_module
from types import ModuleType

import grpc
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from spark_tasks import io
from spark_tasks.order import JobOrder
from spark_tasks.reach import SparkAway, reachable
from spark_tasks.session import forget, session, short
from weir.errors import WeirError

__all__ = ["JobError", "interrupt", "run"]
CLOSED_MEANWHILE = "NO_ACTIVE_SESSION"
"""What a session says whose client heard, in an answer that pyspark swallowed, that its server is
another one by now."""


class JobError(Exception):
    """Signal that the job ran and failed."""


def job_of(name: str) -> ModuleType:
    """Return the module of a job: `spark_tasks.jobs.<name>`, or elsewhere by its whole name.

    Each has `build(spark, input_uri, output_uri, order)`, which reads the snapshot and writes the
    answer. One that may do better without has `direct(spark, payload, input_uri, order)`, which
    gives the answer itself, or None where `build` shall do it.
    """
    return import_module(name if "." in name else f"spark_tasks.jobs.{name}")


def run(
    *,
    remote: str,
    job: str,
    tag: str,
    payload: bytes,
    input_uri: str,
    output_uri: str,
    order: JobOrder,
) -> bytes:
    """Write the snapshot, run the job, read the answer. Raises SparkAway or JobError."""
    module = job_of(job)
    direct = getattr(module, "direct", None)
    try:
        spark = session(remote)
        spark.addTag(tag)
        try:
            answer: bytes | None = direct(spark, payload, input_uri, order) if direct else None
            error = None
            if answer is None:
                io.write_snapshot(spark, payload, input_uri)
                module.build(spark, input_uri, output_uri, order)
                answer, error = io.read_answer(spark, output_uri)
        finally:
            spark.removeTag(tag)
    except (grpc.RpcError, SparkConnectGrpcException) as problem:
        # What Spark answers has an error class of its own; a bare gRPC error means nobody answered.
        if isinstance(problem, SparkConnectGrpcException) and not _server_gone(problem):
            raise JobError(short(problem)) from problem
        forget()
        raise SparkAway(short(problem)) from problem
    except PySparkException as problem:
        if problem.getCondition() == CLOSED_MEANWHILE:
            forget()
            raise SparkAway(short(problem)) from problem
        raise JobError(short(problem)) from problem
    except WeirError as problem:
        raise JobError(str(problem)) from problem
    if answer is None:
        raise JobError(error or "the job gave no answer")
    return answer


def _server_gone(problem: SparkConnectGrpcException) -> bool:
    text = str(problem)
    signs = ("UNAVAILABLE", "SESSION_NOT_FOUND", "SESSION_CLOSED", "SESSION_CHANGED", "RETRIES")
    return any(sign in text for sign in signs) or type(problem) is SparkConnectGrpcException


def interrupt(*, remote: str, tag: str) -> None:
    """Stop everything under this tag; a server that is gone has stopped it already."""
    if not reachable(remote):
        forget()
        return
    try:
        session(remote).interruptTag(tag)
    except (grpc.RpcError, SparkConnectGrpcException, SparkAway):
        forget()
