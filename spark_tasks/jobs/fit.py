"""Fit resource models to telemetry records, many brokers in parallel (the shape `fit`).

Stage 1 sums the records of each partition by window; stage 2 fits one broker and resource per row.
The sums between them are small (windows x flows and classes), whatever the number of records.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.one_task import answer_in_task
from spark_tasks.order import JobOrder
from weir.errors import WeirError
from weir.fitting.document import answer_of, fit_plain, model_checked
from weir.fitting.records import Slot, Total, Totals, Windows, merged, totals_of

LINE_SCHEMA = StructType([StructField("line", BinaryType())])
TOTAL_SCHEMA = StructType(
    [
        StructField("window", LongType()),
        StructField("kind", StringType()),
        StructField("name", StringType()),
        StructField("broker", StringType()),
        StructField("amount", DoubleType()),
        StructField("weight", DoubleType()),
        StructField("least", DoubleType()),
        StructField("most", DoubleType()),
        StructField("error", StringType()),
    ]
)
PART_SCHEMA = StructType([StructField("part", StringType())])
COLUMNS = [field.name for field in TOTAL_SCHEMA]
MOST_TASKS = 16


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the records, sum, fit, write the answer. `engine` local does all in one task."""
    if order.parameters.get("engine") != "spark":
        answer_in_task(spark, input_uri, output_uri, fit_payload)
        return
    answer, error = _spread(spark, read_snapshot(spark, input_uri))
    row = [(None if answer is None else bytearray(answer), error)]
    write_answer(spark.createDataFrame(row, ANSWER_SCHEMA).coalesce(1), output_uri)


def fit_payload(payload: bytes) -> tuple[bytes | None, str | None]:
    """Return the whole fit in this process: the answer, or the sentence with which it was
    refused."""
    try:
        model, lines = _parts(payload)
        windows = Windows(totals_of(lines, window_s=float(model["window_s"])))
        parts = [fit_plain(case, windows) for case in model["cases"]]
    except WeirError as error:
        return None, str(error)
    return _answer(parts, payload), None


def _parts(payload: bytes) -> tuple[dict[str, Any], list[bytes]]:
    head, _, rest = payload.partition(b"\n")
    try:
        plain = json.loads(head)
    except ValueError:
        plain = None
    return model_checked(plain), [line for line in rest.split(b"\n") if line]


def _answer(parts: list[dict[str, Any]], payload: bytes) -> bytes:
    whole = answer_of(parts, hashlib.sha256(payload).hexdigest())
    return json.dumps(whole, sort_keys=True, allow_nan=False).encode()


def _spread(spark: Any, snapshot: Any) -> tuple[bytes | None, str | None]:
    payload = bytes(snapshot.collect()[0].payload)
    try:
        model, lines = _parts(payload)
    except WeirError as error:
        return None, str(error)
    window_s = float(model["window_s"])

    def summed(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        try:
            totals = merged(
                totals_of((bytes(line) for line in frame["line"]), window_s=window_s)
                for frame in frames
            )
            rows: list[tuple[Any, ...]] = [
                (*slot, total.amount, total.weight, total.least, total.most, None)
                for slot, total in totals.items()
            ]
        except WeirError as error:
            rows = [(0, "", "", "", 0.0, 0.0, 0.0, 0.0, str(error))]
        yield pd.DataFrame(rows, columns=COLUMNS)

    if lines:
        records = spark.createDataFrame([(bytearray(line),) for line in lines], LINE_SCHEMA)
        spread = records.repartition(min(MOST_TASKS, len(lines)))
        rows = spread.mapInPandas(summed, TOTAL_SCHEMA).collect()
    else:
        rows = []
    errors = [row.error for row in rows if row.error]
    if errors:
        return None, str(min(errors))
    totals: Totals = merged(
        {Slot(r.window, r.kind, r.name, r.broker): _total(r)}
        # One order of additions, whichever task was first.
        for r in sorted(rows, key=lambda r: (r.window, r.kind, r.name, r.broker, r.amount))
    )

    def fitted(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        windows = Windows(totals)
        for frame in frames:
            parts = [json.dumps(fit_plain(json.loads(text), windows)) for text in frame["part"]]
            yield pd.DataFrame({"part": parts})

    cases = [(json.dumps(case),) for case in model["cases"]]
    if not cases:
        return _answer([], payload), None
    frame = spark.createDataFrame(cases, PART_SCHEMA).repartition(min(MOST_TASKS, len(cases)))
    found = frame.mapInPandas(fitted, PART_SCHEMA).collect()
    return _answer([json.loads(row.part) for row in found], payload), None


def _total(row: Any) -> Total:
    return Total(amount=row.amount, weight=row.weight, least=row.least, most=row.most)
