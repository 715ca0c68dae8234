"""Solve many small problems derived from one, a few tasks per core (the shape `sweep`).

Each task takes every n-th unit of the study and solves them in a loop, because a task costs about
40 ms and a unit may cost less. Rows go home in batches while the task runs (`Outbox`); the job's
output holds all of them, so nothing depends on a batch that was lost. Units whose rows are all
`done` already, from an attempt that was killed, are passed over.
"""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from pyspark.sql import functions
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.order import JobOrder
from spark_tasks.outbox import Outbox
from weir.codec import problem_from_json
from weir.errors import WeirError
from weir.scenarios import Unit, expand, solve_unit, study_from_dict

TASKS_PER_CORE = 3
ROWS_SCHEMA = StructType([StructField("payload", BinaryType()), StructField("error", StringType())])


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Spread the units over tasks, solve, gather every row into one answer."""
    try:
        units = len(_open_units(order))
    except WeirError:  # the task says why, in the way of every refusal
        units = 1
    tasks = max(1, min(units, TASKS_PER_CORE * _cores(spark)))

    def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            for task, payload in zip(frame["id"], frame["payload"], strict=True):
                rows, error = solve_share(bytes(payload), order, int(task), tasks)
                packed = None if rows is None else json.dumps(rows).encode()
                yield pd.DataFrame({"payload": [packed], "error": [error]})

    def gather(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        rows: list[dict[str, Any]] = []
        errors: list[str] = []
        for frame in frames:
            for payload, error in zip(frame["payload"], frame["error"], strict=True):
                if error is not None:
                    errors.append(error)
                else:
                    rows += json.loads(bytes(payload))
        answer = None if errors else answer_of(rows)
        # Every task refuses a bad input with the same words; one of them is enough.
        yield pd.DataFrame({"payload": [answer], "error": [min(errors) if errors else None]})

    # One partition per task number; the broadcast snapshot joins it without moving it.
    numbers = spark.range(0, tasks, 1, tasks)
    frame = numbers.crossJoin(functions.broadcast(read_snapshot(spark, input_uri)))
    solved = frame.mapInPandas(in_task, ROWS_SCHEMA)
    write_answer(solved.repartition(1).mapInPandas(gather, ANSWER_SCHEMA), output_uri)


def _cores(spark: Any) -> int:
    """Return how many tasks the cluster runs at once: what Spark itself cuts a range into."""
    return int(spark.range(1000).select(functions.spark_partition_id()).distinct().count())


def _open_units(order: JobOrder) -> Sequence[Unit]:
    study = study_from_dict(order.parameters.get("study"))
    done = set(order.inputs.get("done", ()))
    return [u for u in expand(study) if not all(case.index in done for case in u.cases)]


def solve_share(
    payload: bytes, order: JobOrder, task: int, tasks: int
) -> tuple[list[dict[str, Any]] | None, str | None]:
    """Return the rows of every `tasks`-th open unit from `task` on, or the sentence that refuses
    the input."""
    try:
        problem = problem_from_json(payload)
        study = study_from_dict(order.parameters.get("study"))
        units = _open_units(order)[task::tasks]
    except WeirError as error:
        return None, str(error)
    rows: list[dict[str, Any]] = []
    with Outbox(order.inputs.get("points_url", ""), order.progress_token) as outbox:

        def stop() -> bool:
            return outbox.told_to_stop

        for unit in units:
            for row in solve_unit(problem, study, unit, clock=time.monotonic, cancelled=stop):
                rows.append(row)
                outbox.add({**row, "rates": None})  # large; they travel once, at the end
            if stop():  # whoever stopped it knows why and drops the answer
                break
    return rows, None


def answer_of(rows: list[dict[str, Any]]) -> bytes:
    """Return all rows by index, in one spelling."""
    ordered = sorted(rows, key=lambda row: int(row["index"]))
    return json.dumps({"points": ordered}, sort_keys=True).encode()
