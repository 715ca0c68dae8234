"""Answer a snapshot inside one task: what the jobs of one call have in common."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer


def answer_in_task(
    spark: Any,
    input_uri: str,
    output_uri: str,
    answer_to: Callable[[bytes], tuple[bytes | None, str | None]],
) -> None:
    """Read the snapshot, let a task answer it, and write the answer or the sentence of refusal."""

    def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            for payload in frame["payload"]:
                answer, error = answer_to(bytes(payload))
                yield pd.DataFrame({"payload": [answer], "error": [error]})

    frame = read_snapshot(spark, input_uri).mapInPandas(in_task, ANSWER_SCHEMA)
    write_answer(frame, output_uri)
