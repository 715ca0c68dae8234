"""Forecast hourly series of demand, many in parallel (docs/formats.md, Forecast)."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pandas as pd
from pyspark.sql.types import StringType, StructField, StructType

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.one_task import answer_in_task
from spark_tasks.order import JobOrder
from weir.errors import WeirError
from weir.forecasting import answer_of, forecast_plain, question_checked

PART_SCHEMA = StructType([StructField("part", StringType())])
MOST_TASKS = 16


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the series, forecast each, write the answer. `engine` local does all in one task."""
    if order.parameters.get("engine") != "spark":
        answer_in_task(spark, input_uri, output_uri, forecast_payload)
        return
    answer, error = _spread(spark, bytes(read_snapshot(spark, input_uri).collect()[0].payload))
    row = [(None if answer is None else bytearray(answer), error)]
    write_answer(spark.createDataFrame(row, ANSWER_SCHEMA).coalesce(1), output_uri)


def forecast_payload(payload: bytes) -> tuple[bytes | None, str | None]:
    """Return the whole forecast in this process: the answer, or the sentence with which it was
    refused."""
    try:
        question = question_checked(json.loads(payload))
    except (WeirError, ValueError) as error:
        return None, str(error)
    head = {name: value for name, value in question.items() if name != "series"}
    return _answer([_part(one, head) for one in question["series"]], head, payload), None


def _part(one: dict[str, Any], head: dict[str, Any]) -> dict[str, Any]:
    # Each series draws numbers of its own, whichever task has it.
    return forecast_plain(one, head, crc32(f"{one['subject']} {one['name']}".encode()))


def _answer(parts: list[dict[str, Any]], head: dict[str, Any], payload: bytes) -> bytes:
    whole = answer_of(parts, head, hashlib.sha256(payload).hexdigest())
    return json.dumps(whole, sort_keys=True, allow_nan=False).encode()


def _spread(spark: Any, payload: bytes) -> tuple[bytes | None, str | None]:
    try:
        question = question_checked(json.loads(payload))
    except (WeirError, ValueError) as error:
        return None, str(error)
    head = {name: value for name, value in question.items() if name != "series"}
    series = [(json.dumps(one),) for one in question["series"]]
    if not series:
        return _answer([], head, payload), None

    def forecast_all(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            parts = [json.dumps(_part(json.loads(text), head)) for text in frame["part"]]
            yield pd.DataFrame({"part": parts})

    frame = spark.createDataFrame(series, PART_SCHEMA).repartition(min(MOST_TASKS, len(series)))
    rows = frame.mapInPandas(forecast_all, PART_SCHEMA).collect()
    return _answer([json.loads(row.part) for row in rows], head, payload), None
