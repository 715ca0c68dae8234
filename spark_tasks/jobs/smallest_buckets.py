"""Find the smallest token bucket of every topic of a recording (the shape `smallest_buckets`).

The payload is the question (`weir.queueing.smallest_buckets`), `inputs` of the order name the
recording. Messages are gathered by topic, then a few tasks per core measure their topics in a
loop: each trace is read once.
"""

import json
from collections.abc import Iterator
from typing import Any

from spark_tasks.blocks import collected, spread
from spark_tasks.gathering import gather, read_part
from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.order import JobOrder
from spark_tasks.progress import Reporter
from weir.errors import WeirError
from weir.queueing.smallest_buckets import (
    answer_of,
    bucket_row,
    question_from_dict,
    refuse_without_rate,
    smallest_bucket,
)


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the recording, measure its topics, write the answer or the sentence of refusal."""
    payload = bytes(read_snapshot(spark, input_uri).collect()[0].payload)
    try:
        answer, error = _answer(spark, payload, output_uri, order), None
    except WeirError as problem:
        answer, error = None, str(problem)
    row = [(None if answer is None else bytearray(answer), error)]
    write_answer(spark.createDataFrame(row, ANSWER_SCHEMA).coalesce(1), output_uri)


def _answer(spark: Any, payload: bytes, output_uri: str, order: JobOrder) -> bytes:
    question = question_from_dict(json.loads(payload))
    folder = f"{output_uri}-parts"
    with Reporter(order.progress_url, order.progress_token) as reporter:

        def report(phase: str, done: int, total: int) -> None:
            reporter.offer({"phase": phase, "done": done, "total": total})

        whole = gather(
            spark,
            order.inputs["recording"],
            folder,
            by="topic",
            report=report,
            frozen=order.inputs.get("source"),
        )
        topics, done = sum(whole.names), 0

        def measured(number: int, given: list[Any]) -> Iterator[tuple[int, Any]]:
            part = read_part(folder, given[0])
            if missing := question.without_rate(part.names):
                yield number, (missing, [])
                return
            rows = []
            for at, name in enumerate(part.names):
                times_s, counts = part.of(at)
                publishers = int(part.publishers[at])
                bucket = smallest_bucket(name, times_s, publishers, question, counts=counts)
                rows.append(bucket_row(bucket))
            yield number, ([], rows)

        def count(part: Any) -> None:
            nonlocal done
            done += len(part[1])
            report("measure", done, topics)

        frame = spread(spark, [at for at, names in enumerate(whole.names) if names], measured)
        parts = collected(frame, count)
    refuse_without_rate(name for missing, _ in parts for name in missing)
    return answer_of([row for _, rows in parts for row in rows], question)
