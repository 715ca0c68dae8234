"""The shape `solve`: one problem, one kernel call, inside one Spark task."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pandas as pd

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.progress import Moments, Reporter
from weir.codec import problem_from_json, result_to_record, start_from_dict
from weir.errors import WeirError
from weir.optimizers import method
from weir.plugins import from_dict
from weir.stop import Progress


def build(spark: Any, input_uri: str, output_uri: str, parameters: dict[str, Any]) -> None:
    """Read the snapshot, call the kernel in a task, write the answer."""
    text = json.dumps(parameters)

    def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            for payload in frame["payload"]:
                answer, error = solve_payload(bytes(payload), json.loads(text))
                yield pd.DataFrame({"payload": [answer], "error": [error]})

    frame = read_snapshot(spark, input_uri).mapInPandas(in_task, ANSWER_SCHEMA)
    write_answer(frame, output_uri)


def solve_payload(payload: bytes, parameters: dict[str, Any]) -> tuple[bytes | None, str | None]:
    """The kernel's answer to one snapshot, or the sentence with which it refused it."""
    optimizer = method(parameters["method"])
    limit = parameters.get("time_limit_s")
    deadline = None if limit is None else time.monotonic() + limit
    with Reporter(
        parameters.get("progress_url", ""), parameters.get("progress_token", "")
    ) as reporter:
        moments = Moments()

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
            params = from_dict(optimizer.Params, parameters.get("parameters", {}))
            start = parameters.get("start")
            moments = Moments()
            result = optimizer.solve(
                problem,
                params,
                stop=stop,
                seed=parameters.get("seed", 0),
                start=None if start is None else start_from_dict(start),
            )
        except WeirError as error:
            return None, str(error)
        reporter.conclude(iterations=result.iterations, utility=result.utility, moments=moments)
    # One spelling of the same numbers, so that a rerun can be compared byte for byte.
    return json.dumps(result_to_record(result), sort_keys=True).encode(), None
