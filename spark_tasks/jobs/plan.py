"""The shape `plan`: the way from one overlay tree to another, one planner's work in one task."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.progress import Reporter
from weir.codec.transformation import transformation_from_json, transformation_plan_to_dict
from weir.errors import WeirError
from weir.planners import DEFAULT, PlanProgress, planner
from weir.plugins import from_dict


def build(spark: Any, input_uri: str, output_uri: str, parameters: dict[str, Any]) -> None:
    """Read the snapshot, plan in a task, write the answer."""
    text = json.dumps(parameters)

    def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            for payload in frame["payload"]:
                answer, error = plan_payload(bytes(payload), json.loads(text))
                yield pd.DataFrame({"payload": [answer], "error": [error]})

    frame = read_snapshot(spark, input_uri).mapInPandas(in_task, ANSWER_SCHEMA)
    write_answer(frame, output_uri)


def plan_payload(payload: bytes, parameters: dict[str, Any]) -> tuple[bytes | None, str | None]:
    """One planner's answer to one transformation problem, or the sentence that refuses it."""
    limit_s = parameters.get("time_limit_s")
    begin_s = time.monotonic()
    with Reporter(
        parameters.get("progress_url", ""), parameters.get("progress_token", "")
    ) as reporter:

        def stop(progress: PlanProgress) -> bool:
            reporter.offer(
                {
                    "round": progress.round,
                    "actions": progress.actions,
                    "steps": progress.steps,
                    "lower_bound_actions": progress.lower_bound_actions,
                    "lower_bound_steps": progress.lower_bound_steps,
                }
            )
            late = limit_s is not None and time.monotonic() - begin_s >= limit_s
            return reporter.told_to_stop or late

        try:
            chosen = planner(parameters.get("method") or DEFAULT)
            found = chosen.plan(
                transformation_from_json(payload),
                from_dict(chosen.Params, parameters.get("parameters", {})),
                objective=parameters.get("objective", "actions"),
                stop=stop,
                seed=parameters.get("seed", 0),
            )
        except WeirError as error:
            return None, str(error)
    found = replace(found, runtime_s=round(time.monotonic() - begin_s, 6))
    plain = transformation_plan_to_dict(found, priced=True)
    return json.dumps(plain, sort_keys=True).encode(), None
