"""The only door: run a job on the Spark Connect server, or interrupt it."""

from typing import Any

import grpc
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from spark_tasks import io
from spark_tasks.jobs import evaluate, fit, partitioned, plan, solve, sweep
from spark_tasks.partitions import cores
from spark_tasks.session import SparkAway, forget, reachable, session, short
from weir.errors import WeirError

__all__ = ["JobError", "SparkAway", "interrupt", "reachable", "run"]
CLOSED_MEANWHILE = "NO_ACTIVE_SESSION"
"""What a session says whose client heard, in an answer that pyspark swallowed, that its server is
another one by now."""

JOBS = {
    "evaluate": evaluate.build,
    "fit": fit.build,
    "plan": plan.build,
    "solve": solve.build,
    "sweep": sweep.build,
}


class JobError(Exception):
    """Signal that the job ran and failed."""


def run(
    *,
    remote: str,
    job: str,
    tag: str,
    payload: bytes,
    input_uri: str,
    output_uri: str,
    parameters: dict[str, Any],
) -> bytes:
    """Write the snapshot, run the job, read the answer. Raises SparkAway or JobError."""
    build = JOBS[job]
    try:
        spark = session(remote)
        spark.addTag(tag)
        try:
            if job == "solve" and partitioned.wanted(payload, parameters, lambda: cores(spark)):
                return partitioned.run(spark, payload, input_uri, parameters)
            io.write_snapshot(spark, payload, input_uri)
            build(spark, input_uri, output_uri, parameters)
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
