"""Compute facts of records: `manage.py run_pipeline IN --out OUT`."""

import json
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import ANSWER, Refused, folder_uri, new_folder, write_output
from apps.common.formatting import counted
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import JobOrder, pipeline, spark_solve

WINDOW_S = 60


class Command(BaseCommand):
    """Read records of a folder, write a folder with a table for each kind of facts."""

    help = "Rates, bursts, traffic, interests and delays of the records in IN (docs/formats.md)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "records",
            metavar="IN",
            help="folder with messages/, deliveries/, requests/, samples/, delays/",
        )
        parser.add_argument("--out", required=True, help="new folder for the tables of facts")
        parser.add_argument(
            "--window", type=int, default=WINDOW_S, metavar="S", help="of a row, in seconds; 60"
        )
        parser.add_argument(
            "--engine", choices=["local", "spark"], default="local", help="same answer from both"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._run(options), name="run_pipeline", stderr=self.stderr)

    def _run(self, options: dict[str, Any]) -> int:
        engine = pipeline()
        window_s = engine.check_window(options["window"])
        uri = folder_uri(options["records"])
        _check_apart(options["records"], options["out"])
        on_spark = options["engine"] == "spark"
        with new_folder(options["out"]) as out:
            if on_spark:
                engine.records_at(uri)
                answer = _on_spark(uri, out.as_uri(), window_s)
            else:
                answer = engine.compute_here(
                    uri, out.as_uri(), window_s=window_s, report=self._report
                )
            write_output(str(out / "summary.json"), answer + b"\n")
        for table, counts in json.loads(answer)["records"].items():
            for problem, rows in counts["quarantined"].items():
                what = counted(rows, "row") if rows else "a file"
                self.stderr.write(f"run_pipeline: {table}: {what} quarantined: {problem}")
        return ANSWER

    def _report(self, phase: str, done: int, total: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{phase}: {done:,} of {total:,}", ending="")


def _check_apart(records: str, out: str) -> None:
    """Check that facts will not lie among the records that the next run reads. Raises Refused."""
    if Path(out).resolve().is_relative_to(Path(records).resolve()):
        raise Refused(f"{out}: lies in {records}; name a folder elsewhere")


def _on_spark(uri: str, out_uri: str, window_s: int) -> bytes:
    return spark_solve(
        job="pipeline",
        key=f"command-{uuid.uuid4()}",
        payload=json.dumps({"window_s": window_s}).encode(),
        order=JobOrder(inputs={"records": uri, "out": out_uri}),
        keep_going=lambda: True,
        patience_s=0.0,
    )
