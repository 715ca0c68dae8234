"""Compute facts of records: `manage.py run_pipeline IN --out OUT`."""

import json
import time
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import (
    ANSWER,
    Refused,
    folder_uri,
    kept_folder,
    new_folder,
    write_output,
)
from apps.common.formatting import counted
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import JobOrder, pipeline, spark_solve

WINDOW_S = 60
MOST_OFTEN_S, LEAST_OFTEN_S = 0.1, 86_400.0
"""Between two looks for new records."""


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
            "--update",
            action="store_true",
            help="keep sums in OUT, and read only files that a former --update has not read",
        )
        parser.add_argument(
            "--follow",
            type=float,
            metavar="S",
            help="as --update, again and again, S seconds after each time, until it is ended",
        )
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
        every_s, keep = options["follow"], options["update"] or options["follow"] is not None
        if every_s is not None and not MOST_OFTEN_S <= every_s <= LEAST_OFTEN_S:
            allowed = f"{MOST_OFTEN_S:g} to {LEAST_OFTEN_S:,.0f} s"
            raise Refused(f"--follow: must be {allowed}, not {every_s:g}")
        question = {"window_s": engine.check_window(options["window"]), "keep": keep}
        uri = folder_uri(options["records"])
        _check_apart(options["records"], options["out"])
        make = _on_spark if options["engine"] == "spark" else self._here
        with (kept_folder if keep else new_folder)(options["out"]) as out:
            patient, answer = every_s is not None, dict[str, Any]()
            while True:
                new = engine.check_readable(uri, out.as_uri(), patient=patient, **question)
                if new or not answer:
                    before, answer = answer, make(uri, out, question)
                    self._print_quarantined(answer, before)
                if every_s is None:
                    break
                time.sleep(every_s)
        return ANSWER

    def _here(self, uri: str, out: Path, question: dict[str, Any]) -> dict[str, Any]:
        answer = pipeline().compute_here(uri, out.as_uri(), report=self._report, **question)
        return _written(out, answer)

    def _print_quarantined(self, summary: dict[str, Any], before: dict[str, Any]) -> None:
        """Print what was quarantined since the summary before."""
        for table, counts in summary["records"].items():
            known = before.get("records", {}).get(table, {}).get("quarantined", {})
            for problem, rows in counts["quarantined"].items():
                if known.get(problem) != rows:
                    what = counted(rows, "row") if rows else "a file"
                    self.stderr.write(f"run_pipeline: {table}: {what} quarantined: {problem}")

    def _report(self, phase: str, done: int, total: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{phase}: {done:,} of {total:,}", ending="")


def _check_apart(records: str, out: str) -> None:
    """Check that facts will not lie among the records that the next run reads. Raises Refused."""
    here, there = Path(records).resolve(), Path(out).resolve()
    if there.is_relative_to(here) or here.is_relative_to(there):
        inner, outer = (out, records) if there.is_relative_to(here) else (records, out)
        raise Refused(f"{inner}: lies in {outer}; name a folder elsewhere")


def _on_spark(uri: str, out: Path, question: dict[str, Any]) -> dict[str, Any]:
    answer = spark_solve(
        job="pipeline",
        key=f"command-{uuid.uuid4()}",
        payload=json.dumps(question).encode(),
        order=JobOrder(inputs={"records": uri, "out": out.as_uri()}),
        keep_going=lambda: True,
        patience_s=0.0,
    )
    return _written(out, answer)


def _written(out: Path, answer: bytes) -> dict[str, Any]:
    """Write the summary of a folder of facts; return it."""
    write_output(str(out / "summary.json"), answer + b"\n")
    return dict(json.loads(answer))
