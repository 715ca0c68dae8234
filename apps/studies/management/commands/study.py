"""Solve a what-if study from files: `manage.py study SPEC.json --problem IN.json --out
OUT.json`."""

import json
import time
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import (
    ANSWER,
    check_writable,
    read_input,
    write_output,
)
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import JobOrder, spark_solve
from weir.codec import canonical_bytes, content_hash, object_from_json, problem_from_json
from weir.model import Problem
from weir.scenarios import (
    check,
    count_cases,
    expand,
    solve_unit,
    study_csv,
    study_document,
    study_from_dict,
    study_to_dict,
)
from weir.scenarios.spec import Study


class Command(BaseCommand):
    """Solve a study. Exit status 0 with every scenario's row, 2 for bad input, 3 without Spark."""

    help = "Sweeps and schedules over the problem in --problem (docs/what-if.md)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("spec", metavar="SPEC", help="study file, - for standard input")
        parser.add_argument("--problem", required=True, metavar="IN", help="problem file")
        parser.add_argument("--out", required=True, help="result file, - for standard output")
        parser.add_argument("--csv", metavar="FILE", help="the rows as a table, too")
        parser.add_argument(
            "--engine", choices=["local", "spark"], default="local", help="same answer from both"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._study(options), name="study", stderr=self.stderr)

    def _study(self, options: dict[str, Any]) -> int:
        for path in (options["out"], options["csv"]):
            if path is not None:
                check_writable(path)
        study = study_from_dict(object_from_json(read_input(options["spec"])))
        problem = problem_from_json(read_input(options["problem"]))
        check(study, problem)
        solve = _on_spark if options["engine"] == "spark" else self._here
        rows = list(solve(problem, study))
        document = study_document(study, content_hash(problem), rows)
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        if options["csv"] is not None:
            write_output(options["csv"], study_csv(study, document["points"]).encode())
        write_output(options["out"], text.encode() + b"\n")
        return ANSWER

    def _here(self, problem: Problem, study: Study) -> Iterator[dict[str, Any]]:
        total, done = count_cases(study), 0
        for unit in expand(study):
            for row in solve_unit(problem, study, unit, clock=time.monotonic):
                done += 1
                if self.stderr.isatty():
                    self.stderr.write(f"\r{done} of {total}", ending="")
                yield row


def _on_spark(problem: Problem, study: Study) -> Iterator[dict[str, Any]]:
    answer = spark_solve(
        job="sweep",
        key=f"command-{uuid.uuid4()}",
        payload=canonical_bytes(problem),
        order=JobOrder(parameters={"study": study_to_dict(study)}),
        keep_going=lambda: True,
        patience_s=0.0,
    )
    yield from json.loads(answer)["points"]
