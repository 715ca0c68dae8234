"""Plan the steps from one overlay tree to another, one planner in one task (the shape `plan`)."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.order import JobOrder
from weir.codec.transformation import transformation_from_json, transformation_plan_to_dict
from weir.errors import WeirError
from weir.planners import DEFAULT, PlanProgress, planner
from weir.plugins import from_dict


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the snapshot, plan in a task, write the answer."""

    def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            for payload in frame["payload"]:
                answer, error = plan_payload(bytes(payload), order)
                yield pd.DataFrame({"payload": [answer], "error": [error]})

    frame = read_snapshot(spark, input_uri).mapInPandas(in_task, ANSWER_SCHEMA)
    write_answer(frame, output_uri)


def plan_payload(payload: bytes, order: JobOrder) -> tuple[bytes | None, str | None]:
    """Return one planner's answer to one transformation problem, or the sentence that refuses
    it."""
    limit_s = order.time_limit_s
    begin_s = time.monotonic()

    def stop(_: PlanProgress) -> bool:
        return limit_s is not None and time.monotonic() - begin_s >= limit_s

    try:
        chosen = planner(order.method or DEFAULT)
        found = chosen.plan(
            transformation_from_json(payload),
            from_dict(chosen.Params, order.parameters),
            objective=order.inputs.get("objective", "actions"),
            stop=stop,
            seed=order.seed,
        )
    except WeirError as error:
        return None, str(error)
    found = replace(found, runtime_s=round(time.monotonic() - begin_s, 6))
    plain = transformation_plan_to_dict(found, priced=True)
    return json.dumps(plain, sort_keys=True).encode(), None
