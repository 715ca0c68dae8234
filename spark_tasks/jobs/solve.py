"""Solve one problem with one kernel call inside one Spark task (the shape `solve`)."""

import json
import time
from functools import partial
from typing import Any

from spark_tasks.jobs import partitioned
from spark_tasks.one_task import answer_in_task
from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores
from spark_tasks.progress import Moments, Reporter
from weir.codec import problem_from_json, result_to_record, start_from_dict
from weir.errors import WeirError
from weir.optimizers import method
from weir.plugins import from_dict
from weir.stop import Progress


def direct(spark: Any, payload: bytes, input_uri: str, order: JobOrder) -> bytes | None:
    """Return the answer of the cut problem where cutting pays or was asked for; else None."""
    if not partitioned.wanted(payload, order, lambda: cores(spark)):
        return None
    return partitioned.run(spark, payload, input_uri, order)


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the snapshot, call the kernel in a task, write the answer."""
    answer_in_task(spark, input_uri, output_uri, partial(solve_payload, order=order))


def solve_payload(payload: bytes, order: JobOrder) -> tuple[bytes | None, str | None]:
    """Return the kernel's answer to one snapshot, or the sentence with which it refused it."""
    optimizer = method(order.method)
    limit = order.time_limit_s
    deadline = None if limit is None else time.monotonic() + limit
    with Reporter(order.progress_url, order.progress_token) as reporter:

        def stop(progress: Progress) -> bool:
            moments.note(progress.iteration)
            so_far = {
                "iteration": progress.iteration,
                "utility": progress.utility,
                "best_utility": progress.best_utility,
            }
            if progress.upper_bound is not None:
                so_far["upper_bound"] = progress.upper_bound
            reporter.offer(so_far)
            return reporter.told_to_stop or (deadline is not None and time.monotonic() > deadline)

        try:
            problem = problem_from_json(payload)
            params = from_dict(optimizer.Params, order.parameters)
            start = order.inputs.get("start")
            # Reading the problem is no part of the first iteration.
            moments = Moments()
            result = optimizer.solve(
                problem,
                params,
                stop=stop,
                seed=order.seed,
                start=None if start is None else start_from_dict(start),
            )
        except WeirError as error:
            return None, str(error)
        reporter.conclude(iterations=result.iterations, utility=result.utility, moments=moments)
    # One spelling of the same numbers, so that a rerun can be compared byte for byte.
    return json.dumps(result_to_record(result), sort_keys=True).encode(), None
