"""Measure the smallest bucket of every topic: `manage.py measure_buckets RECORDING --out OUT`."""

import csv
import io
import json
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import (
    ANSWER,
    Refused,
    check_writable,
    read_input,
    write_output,
)
from apps.common.formatting import counted
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import JobOrder, recordings, spark_solve
from weir.queueing.smallest_buckets import (
    BucketQuestion,
    answer_of,
    bucket_row,
    question_to_dict,
    refuse_without_rate,
    smallest_bucket,
)

SHOWN_EVERY = 1000
"""Topics between two reports to somebody who watches."""


class Command(BaseCommand):
    """Read a recording, measure each topic's trace once, write a row a topic."""

    help = "The smallest token bucket of every topic of RECORDING (docs/formats.md)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "recording", metavar="RECORDING", help="Parquet file, or folder of them"
        )
        parser.add_argument(
            "--out", required=True, help="result file: JSON, a table where it ends in .parquet"
        )
        rate = parser.add_mutually_exclusive_group(required=True)
        rate.add_argument("--headroom", type=float, help="token rate over a topic's mean rate, 1.1")
        rate.add_argument("--rates", metavar="FILE", help="CSV with the columns topic, rate_per_s")
        parser.add_argument("--percentile", type=float, default=0.99, help="find a token at once")
        parser.add_argument(
            "--engine", choices=["local", "spark"], default="local", help="same answer from both"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._measure(options), name="measure_buckets", stderr=self.stderr)

    def _measure(self, options: dict[str, Any]) -> int:
        out = options["out"]
        check_writable(out)
        rates = None if options["rates"] is None else _rates(read_input(options["rates"]))
        question = BucketQuestion(
            percentile=options["percentile"], headroom=options["headroom"], rates_per_s=rates
        )
        uri = Path(options["recording"]).absolute().as_uri()
        recordings().recording_at(uri, by="topic")
        on_spark = options["engine"] == "spark"
        answer = _on_spark(uri, question) if on_spark else self._here(uri, question)
        rows = json.loads(answer)["topics"]
        write_output(out, _table(rows) if out.endswith(".parquet") else answer + b"\n")
        open_topics = sum(not row["conclusive"] for row in rows)
        if open_topics:
            self.stderr.write(
                f"measure_buckets: {counted(open_topics, 'topic')} of {len(rows):,} inconclusive: "
                "the recording is too short for this percentile; record longer"
            )
        return ANSWER

    def _here(self, uri: str, question: BucketQuestion) -> bytes:
        _, whole = recordings().read_recording(uri, by="topic")
        refuse_without_rate(question.without_rate(whole.names))
        rows = []
        for at, name in enumerate(whole.names):
            times_s, counts = whole.of(at)
            publishers = int(whole.publishers[at])
            bucket = smallest_bucket(name, times_s, publishers, question, counts=counts)
            rows.append(bucket_row(bucket))
            if self.stderr.isatty() and len(rows) % SHOWN_EVERY == 0:
                self.stderr.write(f"\r{len(rows):,} of {len(whole.names):,} topics", ending="")
        return answer_of(rows, question)


def _rates(content: bytes) -> dict[str, float]:
    """Return the rates of a CSV by topic. Raises Refused."""
    try:
        lines = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        rows = list(lines)
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refused(f"--rates: not a CSV in UTF-8: {error}") from error
    if not {"topic", "rate_per_s"} <= set(lines.fieldnames or ()):
        raise Refused("--rates: the first line must name the columns topic and rate_per_s")
    rates: dict[str, float] = {}
    for number, row in enumerate(rows, 2):
        try:
            rate = float(row["rate_per_s"])
        except (TypeError, ValueError):
            raise Refused(f"--rates: line {number}: rate_per_s must be a number") from None
        if rates.setdefault(row["topic"], rate) != rate:
            raise Refused(f"--rates: line {number}: topic {row['topic']} has a rate already")
    return rates


def _table(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as a Parquet file."""
    # Only who writes a table waits for the import.
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"topic": pa.string(), "messages": pa.int64(), "publishers": pa.int64()}
    kinds["conclusive"] = pa.bool_()
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in rows[0]])
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), buffer)
    return buffer.getvalue()


def _on_spark(uri: str, question: BucketQuestion) -> bytes:
    return spark_solve(
        job="smallest_buckets",
        key=f"command-{uuid.uuid4()}",
        payload=json.dumps(question_to_dict(question)).encode(),
        order=JobOrder(inputs={"recording": uri}),
        keep_going=lambda: True,
        patience_s=0.0,
    )
