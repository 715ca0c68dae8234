"""Solve one problem, cut into parts that stay in the executors (the shape `partitioned`).

The same answer as `solve` with the method `certified`. This process (a Connect client) reads the
snapshot, cuts it and moves the prices. An iteration is one Spark job over the flows and, where
an allocation is made, one over the nodes: docs/algorithms/partitioned.md.
"""

import json
import time
from collections.abc import Callable
from typing import Any

from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores, cut_search
from spark_tasks.progress import Moments, Reporter
from weir.allocation.arrays import to_arrays
from weir.allocation.refusal import infeasible_result
from weir.codec import content_hash, problem_from_json, result_to_record, start_from_dict
from weir.optimizers import certified
from weir.optimizers.certified.search import SMALL_FLOWS
from weir.optimizers.certified.solve import LARGE_CLASSES, carry_out
from weir.plugins import from_dict
from weir.stop import Progress

METHOD = certified.NAME

FROM_CLASSES = 10_000_000
"""Size from which partitioning is chosen where nobody says otherwise (docs/algorithms)."""

WANTED = b'"forwarding":"wanted"'
"""Stands in the canonical text of a problem whose flows go only where they are wanted."""

A_CLASS, A_FLOW = b'"population_max":', b'"rate_min":'
"""Stand once in the canonical text of every class, of every flow."""


def wanted(payload: bytes, order: JobOrder, count_cores: Callable[[], int]) -> bool:
    """Return whether to partition: as the order says by `partitioned`, else by size and cores.

    Never where cutting planes finish the dual: they need all classes in one place.
    """
    if order.method != METHOD:
        return False
    if WANTED in payload:
        return False  # the parts know no ways (docs/algorithms/partitioned.md)
    params = {"exact_rounds": 1, **order.parameters}
    flows, classes = payload.count(A_FLOW), payload.count(A_CLASS)
    if params["exact_rounds"] and flows <= SMALL_FLOWS and classes < LARGE_CLASSES:
        return False
    asked = order.inputs.get("partitioned")
    if asked is not None:
        return bool(asked)
    threads = params.get("threads") or certified.Params().threads
    # With no more cores than one process uses, only the jobs would be paid for.
    return classes >= FROM_CLASSES and count_cores() > threads


def run(spark: Any, payload: bytes, folder: str, order: JobOrder) -> bytes:
    """Return the answer's record. Raises WeirError where the kernel refuses the problem."""
    limit = order.time_limit_s
    deadline = None if limit is None else time.monotonic() + limit
    params = from_dict(certified.Params, order.parameters)
    start = order.inputs.get("start")
    problem = problem_from_json(payload)
    problem_hash = content_hash(problem)
    arrays = to_arrays(problem)
    result = infeasible_result(arrays, METHOD, problem_hash, order.seed)
    if result is None:
        del problem  # its objects take more room than all arrays
        search = cut_search(
            spark, arrays, folder, cores(spark), None if start is None else start_from_dict(start)
        )
        with Reporter(order.progress_url, order.progress_token) as reporter:
            moments = Moments()

            def stop(progress: Progress) -> bool:
                moments.note(progress.iteration)
                reporter.offer(
                    {
                        "iteration": progress.iteration,
                        "utility": progress.utility,
                        "best_utility": progress.best_utility,
                        "upper_bound": progress.upper_bound,
                    }
                )
                late = deadline is not None and time.monotonic() > deadline
                return reporter.told_to_stop or late

            result = carry_out(search, problem_hash, params, stop=stop, seed=order.seed)
            reporter.conclude(iterations=result.iterations, utility=result.utility, moments=moments)
    return json.dumps(result_to_record(result), sort_keys=True).encode()
