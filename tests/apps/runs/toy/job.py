"""The job `tally`: count in a task."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.order import JobOrder


def _counter() -> Callable[[bytes], bytes]:
    """Tasks cannot import the tests, so what they run is no name here and travels with them."""

    def count(payload: bytes) -> bytes:
        text = payload.decode()
        return json.dumps({"text": text, "words": len(text.split())}, sort_keys=True).encode()

    return count


count = _counter()
"""The answer to one text."""


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the text, count, write the answer."""

    answer_to = count

    def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            answers = [answer_to(bytes(payload)) for payload in frame["payload"]]
            yield pd.DataFrame({"payload": answers, "error": [None] * len(answers)})

    write_answer(read_snapshot(spark, input_uri).mapInPandas(in_task, ANSWER_SCHEMA), output_uri)
